//! A place in a session file from which it can be read on.
//!
//! Reading a file from its beginning is always right; a place only saves time. So whatever is
//! strange about one (the file is shorter, the line before it another) means that it is not used,
//! never that something is reported.

use crate::journal::Cursor;
use crate::line::LogHead;
use crate::validator::EventValidator;

/// Between two batches of a session file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointPlace {
    /// Length of the file up to here.
    pub offset: u64,
    /// Where the last line before `offset` begins.
    pub line_start: u64,
    /// The event of that line.
    pub head: LogHead,
    /// The stored validator, a few kilobytes however long the file is.
    pub validator: Vec<u8>,
}

impl CheckpointPlace {
    pub(crate) fn to_cursor(&self) -> Cursor {
        let numbers = [self.offset.to_be_bytes(), self.line_start.to_be_bytes()];
        Cursor { head: self.head, bytes: [&numbers.concat()[..], &self.validator].concat() }
    }

    /// `None` if the cursor is none of ours.
    pub(crate) fn of_cursor(cursor: &Cursor) -> Option<CheckpointPlace> {
        let (offset, rest) = cursor.bytes.split_first_chunk()?;
        let (line_start, validator) = rest.split_first_chunk()?;
        Some(CheckpointPlace {
            offset: u64::from_be_bytes(*offset),
            line_start: u64::from_be_bytes(*line_start),
            head: cursor.head,
            validator: validator.to_vec(),
        })
    }

    /// The stored validator, if it agrees with the head of this place.
    pub(crate) fn validator(&self) -> Option<EventValidator> {
        EventValidator::from_bytes(&self.validator)
            .filter(|validator| validator.head() == Some(self.head))
    }
}

#[cfg(test)]
mod tests;
