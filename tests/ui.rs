//! What the attribute accepts and refuses, and in which words: one program for each shape and each mistake.

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
fn f_53_each_wrong_use_is_one_error_that_tells_what_to_write() {
    let mut uses = 0;
    for entry in fs::read_dir("tests/ui/habits").expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "stderr") {
            continue;
        }
        let program = fs::read_to_string(path.with_extension("rs")).expect("the program beside it");
        let told = fs::read_to_string(&path).expect("the errors");
        let lines: Vec<&str> = program.lines().collect();
        let wrong = lines
            .iter()
            .filter(|line| line.trim_start().starts_with("#[limit_per_time("));
        // What `habits` shows of a limited `impl` is right but for what is inside of it.
        let wrong: Vec<&str> = wrong.filter(|line| !line.ends_with("// right")).copied().collect();
        let errors: Vec<&str> = told.lines().filter(|line| line.starts_with("error")).collect();
        assert_eq!(errors.len(), wrong.len(), "{}: {errors:#?}", path.display());
        uses += wrong.len();
        let texts = told.split("error").skip(1);
        for text in texts {
            assert!(text.contains('`'), "{}: no line to write in {text}", path.display());
        }
    }
    assert!(uses >= 60, "{uses}");
}
