//! What is asked over HTTP.

use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, patch};
use axum::{Json, Router};
use serde::Serialize;

use crate::database::Database;
use crate::error::ReadError;
use crate::member::MemberId;
use crate::reads::{ArticleRead, Members, Standing};

pub fn router<DB: Database>(members: Members<DB>) -> Router {
    Router::new()
        .route("/articles/{id}/read", patch(read::<DB>))
        .route("/members/{id}", get(standing::<DB>).delete(delete::<DB>))
        .with_state(Arc::new(members))
}

#[derive(Serialize)]
struct Read {
    counted: bool,
}

/// The time of a read is that of the request: a member who told it himself could spread his reads over the past.
async fn read<DB: Database>(
    State(members): State<Arc<Members<DB>>>,
    Path(article): Path<u64>,
    member: MemberId,
) -> Result<Json<Read>, ReadError> {
    let read = ArticleRead {
        member,
        article,
        read_at: SystemTime::now(),
    };
    // A task of its own: it goes on if the reader goes away.
    let counted = tokio::spawn(async move { members.on_read(read).await });
    let counted = counted
        .await
        .unwrap_or_else(|error| Err(ReadError::Failed(error.into())))?;
    Ok(Json(Read { counted }))
}

async fn standing<DB: Database>(
    State(members): State<Arc<Members<DB>>>,
    Path(member): Path<MemberId>,
) -> Result<Json<Standing>, ReadError> {
    Ok(Json(members.standing(&member).await?))
}

async fn delete<DB: Database>(
    State(members): State<Arc<Members<DB>>>,
    Path(member): Path<MemberId>,
) -> Result<StatusCode, ReadError> {
    members.delete(&member).await?;
    Ok(StatusCode::NO_CONTENT)
}
