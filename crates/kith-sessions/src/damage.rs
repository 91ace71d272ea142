//! The kinds of damage of a session file.
//!
//! The names are part of the format: people search for them, and the same name is given whether a
//! bad event is found in a file or refused on its way into one.

use std::fmt;
use std::io;

macro_rules! damage_codes {
    ($($code:ident = $word:literal,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DamageCode {
            $($code,)+
        }

        impl DamageCode {
            pub const ALL: &[DamageCode] = &[$(DamageCode::$code,)+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(DamageCode::$code => $word,)+
                }
            }
        }
    };
}

damage_codes! {
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
}

impl fmt::Display for DamageCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The first bad line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// From 1, which is the header.
    pub line: usize,
    pub code: DamageCode,
    pub detail: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.code, self.detail)
    }
}

/// A defect of one line or event, without its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Flaw {
    pub code: DamageCode,
    pub detail: String,
    /// Whether the line was written to its end. A crash leaves half lines, never wrong ones, so
    /// only a line that is not whole can be part of a torn tail.
    pub whole: bool,
}

impl Flaw {
    /// A defect of a complete line.
    pub(crate) fn wrong(code: DamageCode, detail: impl Into<String>) -> Flaw {
        Flaw { code, detail: detail.into(), whole: true }
    }

    /// A defect of bytes that are no line, or only part of one.
    pub(crate) fn partial(code: DamageCode, detail: impl Into<String>) -> Flaw {
        Flaw { code, detail: detail.into(), whole: false }
    }

    pub(crate) fn at(self, line: usize) -> Damage {
        Damage { line, code: self.code, detail: self.detail }
    }
}

/// Why a line could not be taken.
#[derive(Debug)]
pub(crate) enum BadLine {
    Flaw(Flaw),
    /// A blob that it names, or the file before it, could not be read, which says nothing about the
    /// line.
    Io(io::Error),
}

impl From<Flaw> for BadLine {
    fn from(flaw: Flaw) -> BadLine {
        BadLine::Flaw(flaw)
    }
}
