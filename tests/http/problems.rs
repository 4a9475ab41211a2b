//! The body of a refusal, against the schema of RFC 9457.

use rate_limit::{Limiter, OnStoreError, Rejection, limit_per_time};
use serde_json::{Value, json};

/// Appendix A of RFC 9457, in the words of JSON Schema.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string", "format": "uri-reference" },
            "title": { "type": "string" },
            "status": { "type": "integer", "minimum": 100, "maximum": 599 },
            "detail": { "type": "string" },
            "instance": { "type": "string", "format": "uri-reference" },
        },
    })
}

#[limit_per_time(1, "1m", key = user, name = "a \"name\" \u{fc}\u{0}", deny_if = user == "denied")]
async fn limited(user: &str) -> Result<(), Rejection> {
    let _ = user;
    Ok(())
}

async fn rejections() -> Vec<Rejection> {
    let limiter = Limiter::builder()
        .on_store_error(OnStoreError::Closed)
        .build()
        .expect("no secret is set");
    limiter
        .scope(async {
            assert!(limited("alice").await.is_ok());
            let mut rejections = Vec::new();
            for user in ["alice", " ", "denied"] {
                rejections.push(limited(user).await.expect_err(user));
            }
            rejections
        })
        .await
}

#[tokio::test]
async fn hdr_the_body_of_each_refusal_is_a_problem() {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema())
        .expect("a schema");
    let rejections = rejections().await;
    assert_eq!(rejections.len(), 3);
    for (rejection, status) in rejections.iter().zip([429, 400, 403]) {
        let answer = rejection.to_response();
        let body: Value = serde_json::from_str(answer.body()).expect("JSON");
        assert!(validator.is_valid(&body), "{body}");
        assert_eq!((answer.status().as_u16(), &body["status"]), (status, &json!(status)));
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert!(!body.to_string().contains("alice"), "{body}");
    }
}
