//! tonic: a refusal is the status of a call.

use tonic::metadata::MetadataValue;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::rejection::{Rejection, RejectionKind};
use crate::span::Span;

/// For methods that return `Result<_, Status>`: `RESOURCE_EXHAUSTED` for a limit that is reached, with how long to wait as `RetryInfo`
/// and as `retry-after` in whole seconds, and without for one that can never admit the call. `UNAVAILABLE` while the store does
/// not decide, `PERMISSION_DENIED` for a call that `deny_if` turned away, `INVALID_ARGUMENT` for a key that the client left blank, and
/// `INTERNAL` for a limiter that is not set up or a function whose ambient client nobody set: those are faults of the service.
impl From<Rejection> for Status {
    fn from(rejection: Rejection) -> Self {
        let code = match rejection.kind() {
            RejectionKind::Limited | RejectionKind::Impossible => Code::ResourceExhausted,
            RejectionKind::StoreUnavailable => Code::Unavailable,
            RejectionKind::Aborted => Code::Aborted,
            RejectionKind::Denied => Code::PermissionDenied,
            RejectionKind::MissingClient => Code::InvalidArgument,
            RejectionKind::Misconfigured => Code::Internal,
        };
        let Some(wait) = rejection.retry_after() else {
            return Self::new(code, rejection.to_string());
        };
        let details = ErrorDetails::with_retry_info(Some(wait));
        let mut status = Self::with_error_details(code, rejection.to_string(), details);
        let seconds = Span::from_duration(wait).in_whole_seconds().as_seconds();
        status
            .metadata_mut()
            .insert("retry-after", MetadataValue::from(seconds));
        status
    }
}
