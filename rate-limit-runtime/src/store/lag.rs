//! Deadlines of a process that does not run for a while.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

/// How often the lag is measured.
const BEAT: Duration = Duration::from_millis(5);
/// How late a timer may be: those of Tokio go by milliseconds.
const ON_TIME: Duration = Duration::from_millis(5);

/// For how long a runtime was behind with its tasks, since the store was built.
///
/// A deadline is for a server that does not answer. A burst of requests can keep a runtime busy for longer than that, before it
/// comes to read what the server has answered long ago.
#[derive(Debug, Default)]
pub(crate) struct Lag(AtomicU64);

impl Lag {
    pub(crate) fn total(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    /// Measures the lag of this runtime from `start` on, for as long as `goes_on` returns `true`.
    pub(crate) async fn measure(&self, start: Instant, mut goes_on: impl FnMut() -> bool) {
        let mut due = start + BEAT;
        while goes_on() {
            sleep_until(due).await;
            let late = due.elapsed();
            if late > ON_TIME {
                self.0.fetch_add(late.as_micros() as u64, Ordering::Relaxed);
            }
            due = Instant::now() + BEAT;
        }
    }

    /// Waits for a future until `end`, and for as much longer as this process was behind meanwhile. Returns `None` if that is over.
    ///
    /// Where the end is noticed late, as much time is added from then on: the process was behind before it, too.
    pub(crate) async fn wait<F: Future>(&self, end: Instant, future: F) -> Option<F::Output> {
        let (mut future, before) = (pin!(future), self.total());
        let mut until = end;
        loop {
            if let Ok(output) = timeout_at(until, future.as_mut()).await {
                return Some(output);
            }
            let late = until.elapsed();
            let mut later = end + self.total().saturating_sub(before);
            if late > ON_TIME {
                later = later.max(Instant::now() + late);
            }
            if later <= until {
                return None;
            }
            until = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    const DEADLINE: Duration = Duration::from_millis(50);

    fn stall(time: Duration) {
        std::thread::sleep(time);
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_waited_for_until_the_deadline() {
        let (lag, start) = (Lag::default(), Instant::now());
        let waited = lag.wait(start + DEADLINE, std::future::pending::<()>()).await;
        assert_eq!(waited, None);
        assert!(start.elapsed() < DEADLINE * 3, "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn f_72_an_answer_that_this_process_comes_to_read_late_is_waited_for() {
        let (lag, (answer, answered)) = (Lag::default(), oneshot::channel());
        let end = Instant::now() + DEADLINE;
        tokio::spawn(async move {
            stall(DEADLINE * 2);
            yield_now().await;
            yield_now().await;
            let _ = answer.send(7);
        });
        assert_eq!(lag.wait(end, answered).await, Some(Ok(7)));
    }

    #[tokio::test]
    async fn f_72_a_stall_before_the_deadline_is_not_counted_either() {
        let (lag, goes_on) = (Arc::new(Lag::default()), Arc::new(AtomicBool::new(true)));
        let beat = (Arc::clone(&lag), Arc::clone(&goes_on));
        let start = Instant::now();
        tokio::spawn(async move { beat.0.measure(start, || beat.1.load(Ordering::Relaxed)).await });
        let (answer, answered) = oneshot::channel();
        tokio::spawn(async move {
            stall(DEADLINE * 9 / 10);
            tokio::time::sleep(DEADLINE / 2).await;
            let _ = answer.send(7);
        });
        assert_eq!(lag.wait(start + DEADLINE, answered).await, Some(Ok(7)));
        goes_on.store(false, Ordering::Relaxed);
    }
}
