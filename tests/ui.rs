//! What the attribute accepts and refuses, and in which words: one program for each shape and each mistake.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn ui() {
    let programs = trybuild::TestCases::new();
    programs.pass("tests/ui/pass/*.rs");
    for stage in ["args", "habits", "item", "types"] {
        // A stage without programs would pass.
        assert!(Path::new("tests/ui").join(stage).is_dir(), "{stage}");
        programs.compile_fail(format!("tests/ui/{stage}/*.rs"));
    }
}

/// The programs of `habits` are habits of those who come from other limiters: each attribute is wrong in one way.
#[test]
fn f_53_each_wrong_use_is_one_error() {
    let mut uses = 0;
    for entry in fs::read_dir("tests/ui/habits").expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "stderr") {
            continue;
        }
        let program = fs::read_to_string(path.with_extension("rs")).expect("the program beside it");
        let told = fs::read_to_string(&path).expect("the errors");
        // A limited `impl` in which only an attribute of a function is wrong says so.
        let wrong = program
            .lines()
            .filter(|line| line.trim_start().starts_with("#[limit_per_time("));
        let wrong = wrong.filter(|line| !line.ends_with("// right")).count();
        let places: BTreeSet<&str> = told.lines().zip(told.lines().skip(1)).filter_map(error_place).collect();
        let errors = told.lines().filter(|line| line.starts_with("error")).count();
        assert_eq!([errors, places.len()], [wrong, wrong], "{}", path.display());
        uses += wrong;
    }
    assert!(uses >= 60, "{uses}");
}

/// Where an error is, by its first two lines.
fn error_place<'a>((message, place): (&str, &'a str)) -> Option<&'a str> {
    let place = place.trim_start().strip_prefix("--> ")?;
    message.starts_with("error").then_some(place)
}
