//! Every code that an error may have.

use std::fmt;

use kith_sessions::damage::DamageCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! codes {
    (
        own { $($variant:ident = $word:literal,)+ }
        damage { $($damage:ident,)+ }
        $(#[$doc:meta])* $other:ident = $other_word:literal
    ) => {
        /// What kind of error it is, for programs. Words for people may change, codes do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $($variant,)+
            $($damage,)+
            $(#[$doc])* $other,
        }

        impl ErrorCode {
            pub const ALL: &[ErrorCode] =
                &[$(ErrorCode::$variant,)+ $(ErrorCode::$damage,)+ ErrorCode::$other];

            /// The code as it is written in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $word,)+
                    $(ErrorCode::$damage => DamageCode::$damage.as_str(),)+
                    ErrorCode::$other => $other_word,
                }
            }
        }

        /// Damage has the same words as codes.
        impl From<DamageCode> for ErrorCode {
            fn from(code: DamageCode) -> ErrorCode {
                match code {
                    $(DamageCode::$damage => ErrorCode::$damage,)+
                }
            }
        }
    };
}

codes!(
    own {
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
    }
    damage {
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
    }
    /// One that a newer host invented.
    #[serde(other)]
    Unknown = "unknown"
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

#[cfg(test)]
mod tests;
