//! What the attribute accepts and refuses, and in which words: one program for each shape and each mistake.

use std::path::Path;

#[test]
fn ui() {
    let programs = trybuild::TestCases::new();
    programs.pass("tests/ui/pass/*.rs");
    for stage in ["args", "item", "types"] {
        // A stage without programs would pass.
        assert!(Path::new("tests/ui").join(stage).is_dir(), "{stage}");
        programs.compile_fail(format!("tests/ui/{stage}/*.rs"));
    }
}
