use rate_limit::{limit_per_time, Rejection, Limiter};
#[limit_per_time(2, "10m", key = user)]
async fn plain(user: &str) -> Result<u8, Rejection> { Ok(1) }
#[limit_per_time(count = 2, window = "10m", key = (user, n), reset_on_success)]
async fn reset(user: String, n: u8, ok: bool) -> Result<u8, Box<dyn std::error::Error>> { drop(user); if ok { Ok(1) } else { Err("x")? } }
#[tokio::test]
async fn it_limits() {
    Limiter::embedded().scope(async {
        assert!(plain("a").await.is_ok());
        assert!(plain("a").await.is_ok());
        println!("{}", plain("a").await.unwrap_err());
        assert!(plain("b").await.is_ok());
        for ok in [false, true, false, false] { println!("{:?}", reset("a".into(), 1, ok).await); }
        println!("{:?}", reset("a".into(), 1, true).await);
    }).await;
}
