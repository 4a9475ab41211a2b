//! Accounts, their hashed passwords, and the tokens of who is logged in.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _, PasswordVerifier as _};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use rate_limit::{KeyHasher, ToKey};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use uuid::Uuid;

/// A student number: up to 16 digits. What is none does not get as far as a limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct StudentId(String);

impl TryFrom<String> for StudentId {
    type Error = &'static str;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        if (1..=16).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()) {
            Ok(Self(id))
        } else {
            Err("a student number is 1 to 16 digits")
        }
    }
}

impl ToKey for StudentId {
    fn to_key(&self, hasher: &mut KeyHasher) {
        self.0.to_key(hasher);
    }
}

#[derive(Clone, Default)]
pub struct Accounts(Arc<RwLock<State>>);

#[derive(Default)]
struct State {
    hashes: HashMap<StudentId, String>,
    tokens: HashMap<String, StudentId>,
}

impl Accounts {
    /// `false` if there is one of this number.
    pub async fn register(&self, id: StudentId, password: String) -> Result<bool, password_hash::Error> {
        let hash = spawn_blocking(move || {
            Argon2::default()
                .hash_password(password.as_bytes())
                .map(|hash| hash.to_string())
        });
        let hash = hash.await.unwrap_or(Err(password_hash::Error::Internal))?;
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let free = !state.hashes.contains_key(&id);
        if free {
            state.hashes.insert(id, hash);
        }
        Ok(free)
    }

    /// A token, if the password is right. Takes as long for a number that does not exist.
    pub async fn log_in(&self, id: StudentId, password: String) -> Result<String, password_hash::Error> {
        /// Of no password that is ever given.
        const NOBODY: &str =
            "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$G1N6Bb4tLqGmUAj4CRDqf5mCcxAWfzL+Ut5lVRS4mEg";
        let known = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .hashes
            .get(&id)
            .cloned();
        let checked = spawn_blocking(move || {
            let hash = known.as_deref().unwrap_or(NOBODY);
            Argon2::default().verify_password(password.as_bytes(), &PasswordHash::new(hash)?)?;
            known.map(|_| ()).ok_or(password_hash::Error::PasswordInvalid)
        });
        checked.await.unwrap_or(Err(password_hash::Error::Internal))?;
        let token = Uuid::new_v4().simple().to_string();
        self.0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .tokens
            .insert(token.clone(), id);
        Ok(token)
    }

    /// Whose token a request bears.
    pub fn logged_in(&self, headers: &HeaderMap) -> Option<StudentId> {
        let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .tokens
            .get(token)
            .cloned()
    }
}
