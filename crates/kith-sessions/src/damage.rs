//! The kinds of damage of a session file.
//!
//! The names are part of the format: people search for them, and the same name is given whether a
//! bad event is found in a file or refused on its way into one.

use std::fmt;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DamageCode {
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

impl DamageCode {
    pub const ALL: [DamageCode; 13] = [
        DamageCode::MissingHeader,
        DamageCode::InvalidHeader,
        DamageCode::InvalidEvent,
        DamageCode::InvalidJson,
        DamageCode::DuplicateEventId,
        DamageCode::InvalidParent,
        DamageCode::NonMonotonicSeq,
        DamageCode::BrokenChain,
        DamageCode::BadCrc,
        DamageCode::BrokenBatch,
        DamageCode::BadBlob,
        DamageCode::LostTail,
        DamageCode::NewerVersion,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            DamageCode::MissingHeader => "missing_header",
            DamageCode::InvalidHeader => "invalid_header",
            DamageCode::InvalidEvent => "invalid_event",
            DamageCode::InvalidJson => "invalid_json",
            DamageCode::DuplicateEventId => "duplicate_event_id",
            DamageCode::InvalidParent => "invalid_parent",
            DamageCode::NonMonotonicSeq => "non_monotonic_seq",
            DamageCode::BrokenChain => "broken_chain",
            DamageCode::BadCrc => "bad_crc",
            DamageCode::BrokenBatch => "broken_batch",
            DamageCode::BadBlob => "bad_blob",
            DamageCode::LostTail => "lost_tail",
            DamageCode::NewerVersion => "newer_version",
        }
    }
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
