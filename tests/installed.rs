//! Which limiter decides when none is given or scoped. It is one test, in a binary of its own: what is installed
//! stays for the process.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rate_limit::{AlreadyInstalled, Client, Key, Limiter, Method, Policy, Rejection, Rule, limit_per_time};

#[limit_per_time(5, "1d", key = "k", name = "anywhere")]
async fn anywhere() -> Result<(), Rejection> {
    Ok(())
}

#[limit_per_time(5, "1d", key = "k", name = "given", limiter = *limiter, reset_on_success, success = |_| false)]
async fn given(limiter: &Limiter) -> Result<(), Rejection> {
    Ok(())
}

/// How many calls of the function a limiter has counted.
async fn counted(limiter: &Limiter, name: &'static str) -> u32 {
    let key = Key::new(Method::named(name), Client::of("k").expect("a name"));
    let policy = Policy::sliding_window(5, Duration::from_secs(86_400));
    5 - limiter
        .peek(Rule::new(policy, key))
        .await
        .expect("the embedded store answers")
        .remaining
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn says(&self, what: &str) -> usize {
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text)
            .lines()
            .filter(|line| line.contains(what))
            .count()
    }
}

impl io::Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const EMBEDDED: &str = "WARN rate_limit_runtime::current: no limiter is installed";

#[tokio::test]
async fn the_embedded_limiter_serves_until_one_is_installed() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let [installed, late, own, scoped] = [(); 4].map(|()| Limiter::embedded());

    // A limiter that is given or scoped needs no other.
    assert_eq!(given(&own).await, Ok(()));
    assert_eq!(scoped.scope(anywhere()).await, Ok(()));
    assert_eq!(log.says(EMBEDDED), 0);
    assert_eq!(
        (counted(&own, "given").await, counted(&scoped, "anywhere").await),
        (1, 1)
    );

    // The embedded one holds the limit, and says once that it does.
    for _ in 0..5 {
        assert_eq!(anywhere().await, Ok(()));
    }
    assert!(anywhere().await.is_err());
    assert!(tokio::spawn(anywhere()).await.expect("it ends").is_err());
    assert_eq!(log.says(EMBEDDED), 1);

    // The first that is installed decides from then on, in every task.
    assert_eq!(rate_limit::install(installed.clone()), Ok(()));
    assert_eq!(rate_limit::install(late.clone()), Err(AlreadyInstalled));
    assert_eq!(anywhere().await, Ok(()));
    assert_eq!(tokio::spawn(anywhere()).await.expect("it ends"), Ok(()));
    assert_eq!(
        (counted(&installed, "anywhere").await, counted(&late, "anywhere").await),
        (2, 0)
    );

    // Given comes before installed, and scoped before given.
    assert_eq!(given(&own).await, Ok(()));
    assert_eq!(
        (counted(&own, "given").await, counted(&installed, "given").await),
        (2, 0)
    );
    assert_eq!(scoped.scope(given(&own)).await, Ok(()));
    assert_eq!((counted(&scoped, "given").await, counted(&own, "given").await), (1, 2));

    // What a scope spawns is not in it.
    let spawned = scoped.scope(async { tokio::spawn(anywhere()).await }).await;
    assert_eq!(spawned.expect("it ends"), Ok(()));
    assert_eq!(
        (
            counted(&installed, "anywhere").await,
            counted(&scoped, "anywhere").await
        ),
        (3, 1)
    );
    assert_eq!(log.says(EMBEDDED), 1);
}
