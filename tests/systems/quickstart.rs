//! The quickstart ends by itself and shows a refusal and a reset.

use crate::example::command;

#[test]
fn quickstart_shows_a_refusal_and_a_reset() {
    let output = command("quickstart").output().expect("it runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("it writes text");
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("call"))
        .collect();
    let remaining: Vec<&str> = lines
        .iter()
        .map(|line| line.rsplit("  ").next().unwrap_or(line))
        .map(str::trim)
        .collect();
    let of_five = |left: &[u32]| {
        left.iter()
            .map(|left| format!("{left} of 5 remain"))
            .collect::<Vec<_>>()
    };
    assert_eq!(remaining, of_five(&[4, 3, 2, 1, 0, 0, 4, 3, 2, 1, 5]));
    assert!(lines[5].contains("refused, wait 600s"), "{}", lines[5]);
    assert!(lines[10].contains("admitted, welcome"), "{}", lines[10]);
}
