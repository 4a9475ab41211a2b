//! What generated functions return, and what of it is noted.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rate_limit::Rejection;

use super::record::note;
use super::values::{D, Touch};

/// What an `on_limit` answers, where it is a number or a text.
pub const REFUSED: u32 = 4_040_404;
pub const REFUSED_TEXT: &str = "refused";

/// A returned value as it is noted.
pub trait Show {
    fn show(&self) -> String;

    fn succeeds(&self) -> bool {
        true
    }

    /// Returns `true` if it says that the call was refused, or `None` where it cannot.
    fn refused(&self) -> Option<bool> {
        None
    }
}

/// The failure of a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Own(pub u32);

impl Display for Own {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "own {}", self.0)
    }
}

impl Error for Own {}

#[derive(Debug)]
pub enum Fail {
    Refused,
    Own(u32),
}

pub type Reply<T> = Result<T, Fail>;

impl From<Rejection> for Fail {
    fn from(_: Rejection) -> Self {
        Self::Refused
    }
}

impl From<Own> for Fail {
    fn from(own: Own) -> Self {
        Self::Own(own.0)
    }
}

/// A failure that drops.
#[derive(Debug)]
pub struct Heavy(pub Option<D>);

impl From<Rejection> for Heavy {
    fn from(_: Rejection) -> Self {
        Self(None)
    }
}

impl From<Own> for Heavy {
    fn from(_: Own) -> Self {
        Self(Some(D::new("failure")))
    }
}

impl Show for Fail {
    fn show(&self) -> String {
        format!("{self:?}")
    }

    fn refused(&self) -> Option<bool> {
        Some(matches!(self, Self::Refused))
    }
}

impl Show for Heavy {
    fn show(&self) -> String {
        format!("{self:?}")
    }

    fn refused(&self) -> Option<bool> {
        Some(self.0.is_none())
    }
}

impl Show for Box<dyn Error + Send + Sync> {
    fn show(&self) -> String {
        self.to_string()
    }

    fn refused(&self) -> Option<bool> {
        Some(self.is::<Rejection>())
    }
}

impl Show for Box<dyn Error> {
    fn show(&self) -> String {
        self.to_string()
    }

    fn refused(&self) -> Option<bool> {
        Some(self.is::<Rejection>())
    }
}

impl<T: Show, E: Show> Show for Result<T, E> {
    fn show(&self) -> String {
        match self {
            Ok(value) => format!("Ok({})", value.show()),
            Err(error) => format!("Err({})", error.show()),
        }
    }

    fn succeeds(&self) -> bool {
        self.as_ref().is_ok_and(Show::succeeds)
    }

    fn refused(&self) -> Option<bool> {
        self.as_ref().err().map_or(Some(false), Show::refused)
    }
}

impl<T: Show> Show for Option<T> {
    fn show(&self) -> String {
        self.as_ref().map_or("None".to_owned(), Show::show)
    }

    fn refused(&self) -> Option<bool> {
        self.as_ref().map_or(Some(false), Show::refused)
    }
}

impl<T: Show> Show for &T {
    fn show(&self) -> String {
        T::show(self)
    }
}

impl<T: Show, U: Show> Show for (T, U) {
    fn show(&self) -> String {
        format!("({}, {})", self.0.show(), self.1.show())
    }
}

impl<T: Show> Show for Vec<T> {
    fn show(&self) -> String {
        self.iter().map(Show::show).collect::<Vec<_>>().join(", ")
    }
}

impl Show for () {
    fn show(&self) -> String {
        "()".to_owned()
    }
}

impl Show for u32 {
    fn show(&self) -> String {
        self.to_string()
    }

    fn refused(&self) -> Option<bool> {
        Some(*self == REFUSED)
    }
}

impl Show for u64 {
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Show for String {
    fn show(&self) -> String {
        self.clone()
    }

    fn refused(&self) -> Option<bool> {
        Some(self == REFUSED_TEXT)
    }
}

impl Show for &'static str {
    fn show(&self) -> String {
        (*self).to_owned()
    }

    fn refused(&self) -> Option<bool> {
        Some(*self == REFUSED_TEXT)
    }
}

impl Show for D {
    fn show(&self) -> String {
        self.0.to_owned()
    }

    fn refused(&self) -> Option<bool> {
        Some(self.0 == REFUSED_TEXT)
    }
}

impl Show for Box<dyn Touch> {
    fn show(&self) -> String {
        (**self).show()
    }
}

impl Show for StatusCode {
    fn show(&self) -> String {
        self.to_string()
    }

    fn succeeds(&self) -> bool {
        self.as_u16() < 400
    }
}

impl Show for Response {
    fn show(&self) -> String {
        self.status().to_string()
    }

    fn succeeds(&self) -> bool {
        self.status().succeeds()
    }

    fn refused(&self) -> Option<bool> {
        Some(matches!(self.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::FORBIDDEN))
    }
}

/// A response that drops.
#[derive(Debug)]
pub struct Resp(pub D);

impl IntoResponse for Resp {
    fn into_response(self) -> Response {
        note(format_args!("respond {}", self.0.0));
        StatusCode::OK.into_response()
    }
}

/// For `success`.
pub fn good<T: Show>(out: &T) -> bool {
    out.succeeds()
}
