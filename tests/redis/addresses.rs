//! One server, however it is reached: by a socket, as a user, in a database of its own, under a prefix.

use rate_limit::RedisStore;

use crate::common::{PATIENT, admits, rule, strict};
use crate::probe::Probe;
use crate::support::RedisServer;

#[tokio::test]
async fn a_socket_a_user_a_database_and_a_prefix_are_all_one_server() {
    let server = RedisServer::start();
    let socket = server
        .folder()
        .join(server.port().to_string())
        .join("socket")
        .display()
        .to_string();
    let probe = Probe::of(&server).await;
    let _: () = probe.ask("ACL SETUSER app on >a-secret ~* &* +@all").await;
    let urls = [
        format!("redis+unix://{socket}?db=3"),
        format!("redis+unix://{socket}?db=3&user=app&pass=a-secret"),
        format!("redis://app:a-secret@127.0.0.1:{}/3", server.port()),
        format!("redis://127.0.0.1:{}/3", server.port()),
    ];
    for (n, url) in urls.iter().enumerate() {
        let store = RedisStore::builder(url)
            .prefix("staging:")
            .deadline(PATIENT)
            .connect()
            .await;
        let limiter = strict(store.unwrap_or_else(|error| panic!("{url}: {error}")));
        assert!(admits(&limiter, rule(5, "a")).await, "{url}");
        let shown = format!("{limiter:?}");
        assert!(!shown.contains("a-secret"), "{shown}");
        let _: () = probe.ask("SELECT 3").await;
        assert_eq!(probe.hits().await, n + 1, "all by one counter");
        assert!(probe.key().await.starts_with("staging:rl1:"));
    }
    let _: () = probe.ask("SELECT 0").await;
    assert_eq!(probe.keys().await, Vec::<String>::new(), "and in no other database");
}
