//! What a login needs: three limits on one function, decided together.
//!
//! `cargo run --example login_guard`. It needs nothing installed, and ends by itself.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rate_limit::{ClientIp, Limiter, Rejection, install, limit_per_time};

/// A hundred attempts a day by address stop one host that tries many accounts. Ten in a row by user and address stop it at one
/// account, and a success clears them. Fifty failures a day by user stop many hosts that try one account.
///
/// The address is a `ClientIp`, to which all addresses of an IPv6 `/64` are one host: as an `IpAddr` each would have a budget of its own.
/// If one of the limits refuses, none is charged.
#[limit_per_time(100, "1d", key = ip)]
#[limit_per_time(10, "1d", key = (user, ip), reset_on_success)]
#[limit_per_time(50, "1d", key = user, refund_on_success)]
async fn login(ip: ClientIp, user: &str, password: &str) -> Result<(), LoginError> {
    if password == "correct-horse" {
        Ok(())
    } else {
        Err(LoginError::WrongPassword)
    }
}

enum LoginError {
    WrongPassword,
    TooMany(Rejection),
}

impl From<Rejection> for LoginError {
    fn from(rejection: Rejection) -> Self {
        Self::TooMany(rejection)
    }
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPassword => f.write_str("wrong password"),
            Self::TooMany(rejection) => write!(f, "{}", rejection.policy()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    install(Limiter::embedded())?;

    let host = |n| client(Ipv4Addr::new(192, 0, 2, n).into());
    let (mut tried, refused) = until_refused(|_| (host(1), "alice".to_owned())).await;
    println!("one host against one account:    {tried:>3} guesses, then refused by \"{refused}\"");
    let answer = login(host(2), "alice", "correct-horse").await.is_ok();
    println!(
        "  alice herself, from elsewhere: {}",
        if answer { "admitted" } else { "refused" }
    );

    (tried, _) = until_refused(|n| (host(3), format!("user-{n}"))).await;
    println!("one host against many accounts:  {tried:>3} guesses");

    let address = |n| client(Ipv6Addr::new(0x2001, 0xdb8, 1, 2, n, n, n, n).into());
    (tried, _) = until_refused(|n| (address(n.into()), format!("user-{n}"))).await;
    println!("  from a fresh address each:     {tried:>3} guesses");

    (tried, _) = until_refused(|n| (host(100 + n), "bob".to_owned())).await;
    println!("many hosts against one account:  {tried:>3} guesses");
    Ok(())
}

/// What a framework's extractor gives.
fn client(ip: IpAddr) -> ClientIp {
    ClientIp::new(ip, 64)
}

/// How many wrong passwords are let through, and what stops them.
async fn until_refused(attempt: impl Fn(u8) -> (ClientIp, String)) -> (u8, String) {
    let mut n = 0;
    loop {
        let (ip, user) = attempt(n);
        match login(ip, &user, "guess").await {
            Err(refused @ LoginError::TooMany(_)) => return (n, refused.to_string()),
            _ => n += 1,
        }
    }
}
