//! What is compiled: a router with a route for each handler.

use std::fmt::Write as _;

#[derive(Clone, Copy)]
pub enum Handlers {
    Annotated,
    Plain,
}

pub fn program(handlers: Handlers, count: usize) -> String {
    let mut items = String::from(BOTH);
    if let Handlers::Annotated = handlers {
        items += OURS;
    }
    let mut routes = String::new();
    for number in 0..count {
        items += match handlers {
            Handlers::Plain => "",
            Handlers::Annotated if number % 2 == 0 => "#[limit_per_time(100, \"1m\", key = caller)]",
            Handlers::Annotated => "#[limit_per_time(100, \"1m\", key = caller, reset_on_success)]",
        };
        let _ = write!(
            items,
            "
async fn handler_{number}(Path(caller): Path<u64>) -> Result<String, Failure> {{
    let name = look_up(caller).await?;
    Ok(format!(\"{number} for {{name}}\"))
}}
"
        );
        let _ = write!(routes, ".route(\"/{number}/{{caller}}\", get(handler_{number}))");
    }
    format!("{items}\nfn main() {{ let _: Router = Router::new(){routes}; }}\n")
}

const BOTH: &str = r#"
#![allow(unused)]

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

struct Failure(Response);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        self.0
    }
}

async fn look_up(caller: u64) -> Result<&'static str, Failure> {
    match caller {
        0 => Err(Failure(StatusCode::NOT_FOUND.into_response())),
        _ => Ok("somebody"),
    }
}
"#;

const OURS: &str = r#"
use rate_limit::{Rejection, limit_per_time};

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self(rejection.into_response())
    }
}
"#;
