//! What the expressions of the attribute may do with the arguments that the body needs.

use axum::http::Request;
use axum::response::IntoResponse;
use rate_limit::{Rejection, limit_per_time};

use crate::support::World;

struct Form {
    user: String,
    password: String,
}

impl Form {
    fn of(user: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: "secret".to_owned(),
        }
    }
}

fn consume(form: Form) -> String {
    form.user + &form.password
}

#[limit_per_time(1, "1m", key = form.user)]
async fn by_a_field(form: Form) -> Result<String, Rejection> {
    Ok(consume(form))
}

#[limit_per_time(1, "1m", key = (form.user, form.password.len()), reset_on_success, success = |_| false)]
async fn by_fields(form: Form) -> Result<String, Rejection> {
    Ok(consume(form))
}

#[limit_per_time(1, "1m", key = form.user.as_str(), reset_on_success, success = |_| false)]
async fn by_a_borrow(form: Form) -> Result<String, Rejection> {
    Ok(consume(form))
}

#[limit_per_time(1, "1m", key = Clone::clone(&form.user), reset_on_success)]
async fn response_by_a_field(form: Form) -> impl IntoResponse {
    consume(form)
}

#[limit_per_time(1, "1m", key = request.headers().get("x-client").map_or("anonymous", |name| name.to_str().unwrap_or("odd")))]
async fn by_a_header(request: Request<String>) -> Result<String, Rejection> {
    Ok(request.into_body())
}

#[limit_per_time(1, "1m", key = { let name = form.user.to_lowercase(); [name].concat() }, on_limit = |_| form.password)]
async fn refusing_by_an_argument(form: Form) -> String {
    form.user
}

#[tokio::test]
async fn mac_30_the_key_takes_nothing_that_the_body_needs() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(by_a_field(Form::of("a")).await.as_deref(), Ok("asecret"));
            assert!(by_a_field(Form::of("a")).await.is_err());
            assert_eq!(by_fields(Form::of("a")).await.as_deref(), Ok("asecret"));
            assert!(by_fields(Form::of("a")).await.is_err());
            assert_eq!(by_a_borrow(Form::of("a")).await.as_deref(), Ok("asecret"));
            assert!(by_a_borrow(Form::of("a")).await.is_err());
            assert_eq!(response_by_a_field(Form::of("a")).await.into_response().status(), 200);

            let request = |name: &str| {
                let request = Request::builder().header("x-client", name).body("body".to_owned());
                request.expect("a request")
            };
            assert_eq!(by_a_header(request("a")).await.as_deref(), Ok("body"));
            assert!(by_a_header(request("a")).await.is_err());
            assert!(by_a_header(Request::new(String::new())).await.is_ok());
            assert!(by_a_header(request("anonymous")).await.is_err());
        })
        .await;
}

#[tokio::test]
async fn on_limit_may_take_an_argument() {
    let world = World::new();
    assert_eq!(world.run(refusing_by_an_argument(Form::of("a"))).await, "a");
    assert_eq!(world.run(refusing_by_an_argument(Form::of("A"))).await, "secret");
}
