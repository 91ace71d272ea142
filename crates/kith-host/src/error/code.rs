//! Every code that an error may have.

use std::fmt;

use kith_sessions::damage::DamageCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        /// What kind of error it is, for programs. Words for people may change, codes do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)+
        }

        impl ErrorCode {
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),+];

            /// The code as it is written in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $word,)+
                }
            }
        }
    };
}

codes!(
    SessionNotFound = "session_not_found",
    ProjectNotFound = "project_not_found",
    RuntimeBusy = "runtime_busy",
    InvalidRequest = "invalid_request",
    AuthFailed = "auth_failed",
    ProtocolMismatch = "protocol_mismatch",
    ResyncFailed = "resync_failed",
    InvalidEventId = "invalid_event_id",
    Conflict = "conflict",
    AlreadyExists = "already_exists",
    FilesystemError = "filesystem_error",
    InternalError = "internal_error",
    Usage = "usage",
    HomeNotFound = "home_not_found",
    Untrusted = "untrusted",
    ModelFailed = "model_failed",
    DiskFull = "disk_full",
    Damaged = "damaged",
    Cancelled = "cancelled",
    // From here on: what is wrong with a session file.
    MissingHeader = "missing_header",
    InvalidHeader = "invalid_header",
    InvalidEvent = "invalid_event",
    InvalidJson = "invalid_json",
    DuplicateEventId = "duplicate_event_id",
    InvalidParent = "invalid_parent",
    NonMonotonicSeq = "non_monotonic_seq",
    BrokenChain = "broken_chain",
    BadCrc = "bad_crc",
    BrokenBatch = "broken_batch",
    BadBlob = "bad_blob",
    LostTail = "lost_tail",
    NewerVersion = "newer_version",
    /// One that a newer host invented.
    #[serde(other)]
    Unknown = "unknown",
);

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, code: &&str) -> bool {
        self.as_str() == *code
    }
}

/// Damage has the same words as codes.
impl From<DamageCode> for ErrorCode {
    fn from(code: DamageCode) -> ErrorCode {
        let known = ErrorCode::ALL.iter().find(|it| it.as_str() == code.as_str());
        known.copied().unwrap_or(ErrorCode::Damaged)
    }
}

#[cfg(test)]
mod tests;
