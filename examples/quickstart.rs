//! A limited function, called until it is refused; then a success that clears the record.
//!
//! `cargo run --example quickstart`. It needs nothing installed, and ends by itself.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use rate_limit::{Client, Key, Limiter, Method, Policy, Rejection, Rule, install, limit_per_time};

/// Five attempts in ten minutes for each user. The key is an expression over the arguments, so the compiler checks
/// it: try `user.nmae`.
#[limit_per_time(count = 5, window = "10m", key = user.name, reset_on_success, name = "login")]
async fn login(user: &User, password: &str) -> Result<&'static str, LoginError> {
    if password == user.password {
        Ok("welcome")
    } else {
        Err(LoginError::WrongPassword)
    }
}

struct User {
    name: &'static str,
    password: &'static str,
}

#[derive(Debug)]
enum LoginError {
    WrongPassword,
    TooMany(Rejection),
}

/// What a refused call returns: this is all that the attribute asks of an error.
impl From<Rejection> for LoginError {
    fn from(rejection: Rejection) -> Self {
        Self::TooMany(rejection)
    }
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPassword => f.write_str("wrong password"),
            Self::TooMany(rejection) => write!(f, "{rejection}"),
        }
    }
}

impl Error for LoginError {}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Without this line the same limiter is made at the first call, and the log says so once.
    let limiter = Limiter::embedded();
    install(limiter.clone())?;

    let alice = User {
        name: "alice",
        password: "correct horse",
    };
    println!("alice guesses six times, at 5 in 10m:");
    for call in 1..=6 {
        attempt(&limiter, call, &alice, "guess").await?;
    }

    let bob = User {
        name: "bob",
        password: "battery staple",
    };
    println!("\nbob is counted apart, and a right password clears his record:");
    for call in 1..=4 {
        attempt(&limiter, call, &bob, "guess").await?;
    }
    attempt(&limiter, 5, &bob, bob.password).await?;
    Ok(())
}

async fn attempt(limiter: &Limiter, call: u32, user: &User, password: &str) -> Result<(), Box<dyn Error>> {
    let answer = match login(user, password).await {
        Ok(welcome) => format!("admitted, {welcome}"),
        Err(error @ LoginError::WrongPassword) => format!("admitted, {error}"),
        Err(LoginError::TooMany(rejection)) => {
            format!("refused, wait {:.0?}", rejection.retry_after().unwrap_or_default())
        }
    };
    let policy = Policy::sliding_window(5, Duration::from_secs(600));
    let key = Key::new(Method::named("login"), Client::of(user.name)?);
    let remaining = limiter.peek(Rule::new(policy, key)).await?.remaining;
    println!("  call {call}: {answer:<32} {remaining} of 5 remain");
    Ok(())
}
