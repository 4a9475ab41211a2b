//! How far a command is, on a terminal. Nothing in a pipe.

use std::io::Read;

use indicatif::{ProgressBar, ProgressStyle};

/// The bytes read of a log, by its length if it is known.
pub fn of_bytes(length: Option<u64>, bytes: impl Read + Send + 'static) -> impl Read + Send {
    let bar = match length {
        Some(length) => styled(length, "{wide_bar} {binary_bytes} of {binary_total_bytes}, {eta} left"),
        None => styled(0, "{spinner} {binary_bytes} read"),
    };
    bar.wrap_read(bytes)
}

/// The clients that are through.
pub fn of_clients(clients: usize) -> ProgressBar {
    styled(
        clients as u64,
        "{wide_bar} {human_pos} of {human_len} clients, {eta} left",
    )
}

/// It draws on standard error if that is a terminal, and is wiped away when it is dropped.
fn styled(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    ProgressBar::new(length)
        .with_style(style)
        .with_finish(indicatif::ProgressFinish::AndClear)
}
