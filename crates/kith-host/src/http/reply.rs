//! Responses: their headers, and errors as every other client reads them.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde::Serialize;

use crate::error::{Blame, CallError, ErrorCode};

pub(super) type ReplyBody = UnsyncBoxBody<Bytes, Infallible>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A body that is there whole.
pub(super) fn whole(bytes: impl Into<Bytes>) -> ReplyBody {
    Full::new(bytes.into()).boxed_unsync()
}

/// A response that no browser or proxy keeps, and that no browser takes for something else.
pub(super) fn response(
    status: StatusCode,
    kind: HeaderValue,
    body: ReplyBody,
) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A response that says that there is nothing.
pub(super) fn no_content() -> Response<ReplyBody> {
    let mut response = Response::new(whole(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(super) fn json(value: &impl Serialize) -> Response<ReplyBody> {
    json_with(StatusCode::OK, value)
}

pub(super) fn json_with(status: StatusCode, value: &impl Serialize) -> Response<ReplyBody> {
    // Our own types are JSON; an answer without a body would still be understood by its status.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    response(status, JSON, whole(bytes))
}

/// Metrics in the text format of Prometheus.
pub(super) fn metrics(text: String) -> Response<ReplyBody> {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response(StatusCode::OK, kind, whole(text))
}

/// A request that is refused.
#[derive(Debug)]
pub(super) struct HttpProblem {
    status: StatusCode,
    error: CallError,
    /// The methods that would be allowed.
    allow: Option<&'static str>,
}

/// The form of every error.
#[derive(Serialize)]
struct HttpErrorForm<'a> {
    ok: bool,
    error: &'a CallError,
}

impl HttpProblem {
    fn new(status: StatusCode, code: ErrorCode, message: &str) -> HttpProblem {
        let error = CallError::request(code, message.to_owned());
        HttpProblem { status, error, allow: None }
    }

    pub(super) fn bad_request(message: &str) -> HttpProblem {
        HttpProblem::new(StatusCode::BAD_REQUEST, ErrorCode::InvalidRequest, message)
    }

    pub(super) fn forbidden(message: &str) -> HttpProblem {
        HttpProblem::new(StatusCode::FORBIDDEN, ErrorCode::AuthFailed, message)
    }

    pub(super) fn unauthorized(message: &str, hint: &str) -> HttpProblem {
        let mut problem =
            HttpProblem::new(StatusCode::UNAUTHORIZED, ErrorCode::AuthFailed, message);
        problem.error = problem.error.hint(hint);
        problem
    }

    pub(super) fn too_many_requests(message: &str) -> HttpProblem {
        HttpProblem::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::RuntimeBusy, message)
    }

    pub(super) fn too_large(message: &str) -> HttpProblem {
        HttpProblem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::InvalidRequest, message)
    }

    pub(super) fn head_too_large(bytes_max: usize) -> HttpProblem {
        let message = format!("the head of the request is longer than {bytes_max} bytes");
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        HttpProblem::new(status, ErrorCode::InvalidRequest, &message)
    }

    pub(super) fn timed_out(message: &str) -> HttpProblem {
        HttpProblem::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::InvalidRequest, message)
    }

    pub(super) fn unsupported_media_type(message: &str) -> HttpProblem {
        HttpProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::InvalidRequest, message)
    }

    pub(super) fn not_found(path: &str) -> HttpProblem {
        let message = format!("there is nothing at `{}`", path.escape_debug());
        HttpProblem::new(StatusCode::NOT_FOUND, ErrorCode::InvalidRequest, &message)
    }

    pub(super) fn method_not_allowed(path: &str) -> HttpProblem {
        let message = format!("`{}` does not take this method", path.escape_debug());
        let status = StatusCode::METHOD_NOT_ALLOWED;
        let allow = Some(if super::is_only_read(path) { "GET" } else { "POST" });
        HttpProblem { allow, ..HttpProblem::new(status, ErrorCode::InvalidRequest, &message) }
    }

    /// The host is ending, and the next one will answer.
    pub(super) fn ending() -> HttpProblem {
        let message = "the host is shutting down";
        let mut problem =
            HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::RuntimeBusy, message);
        problem.error = problem.error.hint("try again in a moment");
        problem
    }

    pub(super) fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(super) fn into_response(self) -> Response<ReplyBody> {
        let HttpProblem { status, error, allow } = self;
        let mut response = json_with(status, &HttpErrorForm { ok: false, error: &error });
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(allow) = allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

impl From<CallError> for HttpProblem {
    fn from(error: CallError) -> HttpProblem {
        HttpProblem { status: status_of(&error), error, allow: None }
    }
}

/// The status that says the same as the error's code.
fn status_of(error: &CallError) -> StatusCode {
    match (error.code, error.blame) {
        (ErrorCode::SessionNotFound | ErrorCode::ProjectNotFound | ErrorCode::HomeNotFound, _) => {
            StatusCode::NOT_FOUND
        }
        (ErrorCode::Conflict | ErrorCode::AlreadyExists, _) => StatusCode::CONFLICT,
        (ErrorCode::RuntimeBusy, _) => StatusCode::SERVICE_UNAVAILABLE,
        (ErrorCode::AuthFailed | ErrorCode::Untrusted, _) => StatusCode::FORBIDDEN,
        (ErrorCode::ModelFailed, Blame::Environment) => StatusCode::BAD_GATEWAY,
        (ErrorCode::DiskFull, _) => StatusCode::INSUFFICIENT_STORAGE,
        (_, Blame::Request | Blame::Usage | Blame::Stopped) => StatusCode::BAD_REQUEST,
        (_, Blame::Environment | Blame::Program) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
