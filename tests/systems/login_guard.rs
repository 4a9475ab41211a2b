//! The login guard stops each kind of guessing at its number.

use crate::example::command;

#[test]
fn login_guard_stops_each_kind_of_guessing() {
    let output = command("login_guard").output().expect("it runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("it writes text");
    let guesses: Vec<&str> = text
        .split_whitespace()
        .filter(|word| word.parse::<u32>().is_ok())
        .collect();
    assert_eq!(guesses, ["10", "100", "100", "50"], "f_07: the third is of one /64");
    assert!(text.contains("refused by \"10 in 1d\""), "{text}");
    assert!(text.contains("alice herself, from elsewhere: admitted"), "{text}");
}
