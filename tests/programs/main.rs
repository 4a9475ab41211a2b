//! The annotated function is the plain function: programs made by chance, each compiled and run with the attribute and without.
//!
//! `RATE_LIMIT_PROGRAMS=1000` makes as many, `RATE_LIMIT_PROGRAMS_SEED` others, and `RATE_LIMIT_PROGRAMS_ONLY=17,40` these alone. What was
//! compiled stays in `target/tmp/programs`, with `plain.rs` and `limited.rs` side by side.

mod batch;
mod case;
mod grammar;
mod lints;
#[path = "../support/random.rs"]
mod random;
#[path = "harness/rule.rs"]
mod rule;
mod toolchain;

use std::path::Path;
use std::str::FromStr;

use batch::{Batch, Report};
use case::Case;
use grammar::{Edition, Grammar};
use random::Random;
use toolchain::Toolchain;

/// How many programs are made.
const PROGRAMS: u64 = 100;
/// How many of them are compiled as one.
const A_BATCH: u64 = 50;
const SEED: u64 = 1;

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {value}")),
    )
}

fn edition(number: u64) -> Edition {
    match (number / A_BATCH) % 2 {
        0 => Edition::Of2024,
        _ => Edition::Of2021,
    }
}

/// Generates a case from its number alone, so that it can be reproduced without the cases before it.
fn case(seed: u64, number: u64) -> Case {
    let mut mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (number + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let mut random = Random(mixed | 1);
    // The first values of neighbouring seeds are alike.
    (0..8).for_each(|_| {
        random.below(2);
    });
    grammar::case(Grammar::new(random, edition(number)), number)
}

fn numbers() -> Vec<u64> {
    match std::env::var("RATE_LIMIT_PROGRAMS_ONLY") {
        Ok(only) => only
            .split(',')
            .map(|number| number.parse().expect("numbers of cases"))
            .collect(),
        Err(_) => (0..variable("RATE_LIMIT_PROGRAMS").unwrap_or(PROGRAMS)).collect(),
    }
}

#[test]
fn a_limited_function_is_the_plain_one_until_its_limit() {
    let seed = variable("RATE_LIMIT_PROGRAMS_SEED").unwrap_or(SEED);
    let numbers = numbers();
    let toolchain = Toolchain::find();
    let mut total = Report::default();
    for batch in numbers.chunk_by(|one, next| one / A_BATCH == next / A_BATCH) {
        let index = batch[0] / A_BATCH;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs/{seed}-{index}"));
        let cases = batch.iter().map(|number| case(seed, *number)).collect();
        let mut report = Batch::new(folder.clone(), edition(batch[0]), cases).run(&toolchain);
        for difference in &report.differences {
            println!(
                "seed {seed}, case {} in {}: {}",
                difference.case,
                folder.display(),
                difference.what
            );
        }
        total.ran += report.ran;
        total.differences.append(&mut report.differences);
        total.sizes.append(&mut report.sizes);
    }
    let (plain, limited) = total
        .sizes
        .iter()
        .fold((0, 0), |sum, size| (sum.0 + size.plain, sum.1 + size.limited));
    println!(
        "{} programs ran; their futures take {plain} bytes without the attribute and {limited} with it",
        total.ran
    );
    assert!(
        total.differences.is_empty(),
        "seed {seed}: {} differences, printed above",
        total.differences.len()
    );
    assert_eq!(total.ran, numbers.len());
}
