//! What is logged, by thread.
//!
//! One subscriber serves all tests, from before the first call of any: one that comes later may miss a place that
//! another thread is just reaching for the first time.

use std::cell::RefCell;
use std::io;
use std::sync::Once;

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing_subscriber::fmt().with_ansi(false).with_writer(|| Writer).init());
}

/// What this thread has logged since this was last asked, a line an event.
pub(crate) fn take() -> Vec<String> {
    String::from_utf8_lossy(&TEXT.take())
        .lines()
        .map(str::to_owned)
        .collect()
}

struct Writer;

impl io::Write for Writer {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        TEXT.with_borrow_mut(|log| log.extend(text));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
