//! Every code that an error may have.

use std::fmt;

use kith_sessions::damage::DamageCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of error it is, for programs. Words for people may change, codes do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    SessionNotFound,
    ProjectNotFound,
    RuntimeBusy,
    InvalidRequest,
    AuthFailed,
    ProtocolMismatch,
    ResyncFailed,
    InvalidEventId,
    Conflict,
    AlreadyExists,
    FilesystemError,
    InternalError,
    Usage,
    HomeNotFound,
    Untrusted,
    ModelFailed,
    DiskFull,
    Damaged,
    Cancelled,
    // From here on: what is wrong with a session file.
    MissingHeader,
    InvalidHeader,
    InvalidEvent,
    InvalidJson,
    DuplicateEventId,
    InvalidParent,
    NonMonotonicSeq,
    BrokenChain,
    BadCrc,
    BrokenBatch,
    BadBlob,
    LostTail,
    NewerVersion,
    /// One that a newer host invented.
    #[serde(other)]
    Unknown,
}

impl ErrorCode {
    /// Every code but [`ErrorCode::Unknown`], which nobody sends on purpose.
    pub const ALL: [ErrorCode; 32] = [
        ErrorCode::SessionNotFound,
        ErrorCode::ProjectNotFound,
        ErrorCode::RuntimeBusy,
        ErrorCode::InvalidRequest,
        ErrorCode::AuthFailed,
        ErrorCode::ProtocolMismatch,
        ErrorCode::ResyncFailed,
        ErrorCode::InvalidEventId,
        ErrorCode::Conflict,
        ErrorCode::AlreadyExists,
        ErrorCode::FilesystemError,
        ErrorCode::InternalError,
        ErrorCode::Usage,
        ErrorCode::HomeNotFound,
        ErrorCode::Untrusted,
        ErrorCode::ModelFailed,
        ErrorCode::DiskFull,
        ErrorCode::Damaged,
        ErrorCode::Cancelled,
        ErrorCode::MissingHeader,
        ErrorCode::InvalidHeader,
        ErrorCode::InvalidEvent,
        ErrorCode::InvalidJson,
        ErrorCode::DuplicateEventId,
        ErrorCode::InvalidParent,
        ErrorCode::NonMonotonicSeq,
        ErrorCode::BrokenChain,
        ErrorCode::BadCrc,
        ErrorCode::BrokenBatch,
        ErrorCode::BadBlob,
        ErrorCode::LostTail,
        ErrorCode::NewerVersion,
    ];

    /// The code as it is written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::SessionNotFound => "session_not_found",
            ErrorCode::ProjectNotFound => "project_not_found",
            ErrorCode::RuntimeBusy => "runtime_busy",
            ErrorCode::InvalidRequest => "invalid_request",
            ErrorCode::AuthFailed => "auth_failed",
            ErrorCode::ProtocolMismatch => "protocol_mismatch",
            ErrorCode::ResyncFailed => "resync_failed",
            ErrorCode::InvalidEventId => "invalid_event_id",
            ErrorCode::Conflict => "conflict",
            ErrorCode::AlreadyExists => "already_exists",
            ErrorCode::FilesystemError => "filesystem_error",
            ErrorCode::InternalError => "internal_error",
            ErrorCode::Usage => "usage",
            ErrorCode::HomeNotFound => "home_not_found",
            ErrorCode::Untrusted => "untrusted",
            ErrorCode::ModelFailed => "model_failed",
            ErrorCode::DiskFull => "disk_full",
            ErrorCode::Damaged => "damaged",
            ErrorCode::Cancelled => "cancelled",
            ErrorCode::MissingHeader => "missing_header",
            ErrorCode::InvalidHeader => "invalid_header",
            ErrorCode::InvalidEvent => "invalid_event",
            ErrorCode::InvalidJson => "invalid_json",
            ErrorCode::DuplicateEventId => "duplicate_event_id",
            ErrorCode::InvalidParent => "invalid_parent",
            ErrorCode::NonMonotonicSeq => "non_monotonic_seq",
            ErrorCode::BrokenChain => "broken_chain",
            ErrorCode::BadCrc => "bad_crc",
            ErrorCode::BrokenBatch => "broken_batch",
            ErrorCode::BadBlob => "bad_blob",
            ErrorCode::LostTail => "lost_tail",
            ErrorCode::NewerVersion => "newer_version",
            ErrorCode::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// For callers that still write codes as words; what is none of them is [`ErrorCode::Unknown`].
impl From<&str> for ErrorCode {
    fn from(code: &str) -> ErrorCode {
        let known = ErrorCode::ALL.into_iter().find(|it| it.as_str() == code);
        known.unwrap_or(ErrorCode::Unknown)
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, code: &&str) -> bool {
        self.as_str() == *code
    }
}

impl From<DamageCode> for ErrorCode {
    fn from(code: DamageCode) -> ErrorCode {
        match code {
            DamageCode::MissingHeader => ErrorCode::MissingHeader,
            DamageCode::InvalidHeader => ErrorCode::InvalidHeader,
            DamageCode::InvalidEvent => ErrorCode::InvalidEvent,
            DamageCode::InvalidJson => ErrorCode::InvalidJson,
            DamageCode::DuplicateEventId => ErrorCode::DuplicateEventId,
            DamageCode::InvalidParent => ErrorCode::InvalidParent,
            DamageCode::NonMonotonicSeq => ErrorCode::NonMonotonicSeq,
            DamageCode::BrokenChain => ErrorCode::BrokenChain,
            DamageCode::BadCrc => ErrorCode::BadCrc,
            DamageCode::BrokenBatch => ErrorCode::BrokenBatch,
            DamageCode::BadBlob => ErrorCode::BadBlob,
            DamageCode::LostTail => ErrorCode::LostTail,
            DamageCode::NewerVersion => ErrorCode::NewerVersion,
        }
    }
}

#[cfg(test)]
mod tests;
