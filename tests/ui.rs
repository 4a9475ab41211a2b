//! What the attribute accepts and refuses, and in which words: one program for each shape and each mistake.

#[test]
fn ui() {
    let programs = trybuild::TestCases::new();
    programs.pass("tests/ui/pass/*.rs");
    for stage in ["args", "target", "types"] {
        programs.compile_fail(format!("tests/ui/{stage}/*.rs"));
    }
}
