//! Statements that the compiler and clippy warn of, so that it shows whether they warn of them beside the attribute.

use super::Grammar;

pub fn bait(g: &mut Grammar) -> Vec<String> {
    let name = g.fresh("bait");
    let made = g.made("bait");
    let lines: &[&str] = match g.random.below(24) {
        0 => &["let NAME = 3;"],
        1 => &["let mut NAME = 3;", "note(NAME);"],
        2 => &["important(3);"],
        3 => &["outdated();"],
        4 => &["let NAME = String::new();", "note(NAME.len() == 0);"],
        5 => &["let mut NAME = 1;", "NAME = NAME + 1;", "note(NAME);"],
        6 => &["let NAME = 1;", "let NAME = NAME;", "note(NAME);"],
        7 => &["let NAME = Some(1).map(|n| important(n));", "note(NAME.is_some());"],
        8 => &["match maybe(1) {", "Some(n) => note(n),", "_ => {}", "}"],
        9 => &["if (input() > 3) {", "note(\"much\");", "}"],
        10 => &["let NAME = MADE;"],
        11 => &["let NAME = ();", "let _ = NAME;"],
        12 => &["let NAME = &&3;", "note(**NAME);"],
        13 => &["let NAME = 3_u32 as u32;", "note(NAME);"],
        14 => &["fn NAME() {}"],
        15 => &[
            "let a = 1;",
            "let b = 2;",
            "let c = 3;",
            "let d = 4;",
            "let e = 5;",
            "note(a + b + c + d + e);",
        ],
        16 => &["let mut NAME = 1;", "NAME = 2;", "note(NAME);"],
        17 => &["let NAME = if input() > 1 { true } else { false };", "note(NAME);"],
        18 => &["for NAME in 0..2 {", "note(NAME);", "continue;", "}"],
        19 => &[
            "let NAME = vec![1, 2];",
            "for i in 0..NAME.len() {",
            "note(NAME[i]);",
            "}",
        ],
        20 => &["let NAME = \"a\".to_string().clone();", "note(NAME);"],
        21 => &["let _NAME = 3;", "note(_NAME);"],
        22 => &["step(1);"],
        _ => &["async { note(\"never\") };"],
    };
    lines
        .iter()
        .map(|line| line.replace("NAME", &name).replace("MADE", &made))
        .collect()
}
