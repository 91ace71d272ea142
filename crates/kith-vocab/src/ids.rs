//! Names of events, sessions, calls and threads.
//!
//! Each is parsed strictly: two spellings of one id would be two keys in every map, and a log that
//! is read and written again must come out byte for byte the same.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct IdError {
    pub text: String,
    pub expected: &'static str,
}

impl IdError {
    fn new(text: &str, expected: &'static str) -> IdError {
        // An id comes from outside and may be anything; the message stays short.
        IdError { text: text.chars().take(80).collect(), expected }
    }
}

/// The id of an event: a UUIDv7 in lower case with dashes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(Uuid);

/// The id of a session, in the form of an [`EventId`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Uuid);

/// Where a conversation ends: at an event, or before its first message (`start`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum LeafId {
    Start,
    Event(EventId),
}

/// Ours, not the vendor's: the answer's event id without dashes, `_`, and the call's place in it.
/// Vendors' ids repeat and have other alphabets, so they are kept but never relied upon.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    pub answer: EventId,
    pub index: u32,
}

/// A conversation on a platform: `platform:scopeType:scopeId`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(String);

pub const THREAD_ID_CHARS_MAX: usize = 512;

/// Length of an id as people see it, taken from the end: the beginning is a time, alike for ids made
/// together.
const SHORT_ID_CHARS: usize = 8;

fn parse_uuid(text: &str, expected: &'static str) -> Result<Uuid, IdError> {
    let error = || IdError::new(text, expected);
    let uuid = Uuid::try_parse(text).map_err(|_| error())?;
    // `try_parse` also takes upper case, braces and no dashes.
    let mut buffer = Uuid::encode_buffer();
    if uuid.get_version_num() != 7 || uuid.hyphenated().encode_lower(&mut buffer) != text {
        return Err(error());
    }
    Ok(uuid)
}

macro_rules! uuid_id {
    ($name:ident, $expected:literal) => {
        impl $name {
            /// Takes any UUID; only ids that are read back are checked to be version 7.
            pub fn from_uuid(uuid: Uuid) -> $name {
                $name(uuid)
            }

            pub fn as_uuid(&self) -> Uuid {
                self.0
            }

            /// The id as people see it: its last characters.
            pub fn short(&self) -> String {
                let id = self.to_string();
                id.get(id.len() - SHORT_ID_CHARS..).unwrap_or_default().to_owned()
            }

            /// Those of the ids that a person who typed this can mean: what they see of them begins
            /// so. If there are none, those whose own beginning or end it is.
            pub fn named_by(typed: &str, ids: impl IntoIterator<Item = $name>) -> Vec<$name> {
                let (mut shown, mut others) = (Vec::new(), Vec::new());
                for id in ids.into_iter().filter(|_| !typed.is_empty()) {
                    let text = id.to_string();
                    if text[text.len() - SHORT_ID_CHARS..].starts_with(typed) {
                        shown.push(id);
                    } else if text.starts_with(typed) || text.ends_with(typed) {
                        others.push(id);
                    }
                }
                if shown.is_empty() { others } else { shown }
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<$name, IdError> {
                parse_uuid(text, $expected).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        string_id!($name, $expected);
    };
}

/// `Debug` as the text itself, and serde through `Display` and `FromStr`.
macro_rules! string_id {
    ($name:ident, $expected:literal) => {
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                struct IdVisitor;
                impl de::Visitor<'_> for IdVisitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(IdVisitor)
            }
        }
    };
}

uuid_id!(EventId, "an event id (a UUIDv7 in lower case with dashes)");
uuid_id!(SessionId, "a session id (a UUIDv7 in lower case with dashes)");
string_id!(CallId, "a call id (32 hex digits, `_`, a number)");
string_id!(ThreadId, "a thread id (`platform:scopeType:scopeId`)");

impl EventId {
    pub fn call(self, index: u32) -> CallId {
        CallId { answer: self, index }
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.answer.0.simple(), self.index)
    }
}

impl FromStr for CallId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<CallId, IdError> {
        let error = || IdError::new(text, "a call id (32 hex digits, `_`, a number)");
        let (hex, index) = text.split_once('_').ok_or_else(error)?;
        if hex.len() != 32 {
            return Err(error());
        }
        let uuid = Uuid::try_parse(hex).map_err(|_| error())?;
        let call_id = CallId { answer: EventId(uuid), index: index.parse().map_err(|_| error())? };
        // Catches upper case, leading zeros and a plus sign in one comparison.
        if call_id.to_string() == text { Ok(call_id) } else { Err(error()) }
    }
}

impl ThreadId {
    /// The thread of a session that belongs to no other.
    pub fn room_of(session: SessionId) -> ThreadId {
        ThreadId(format!("web:room:{session}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn platform(&self) -> &str {
        self.0.split(':').next().unwrap_or_default()
    }
}

impl FromStr for ThreadId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<ThreadId, IdError> {
        let error = || IdError::new(text, "a thread id (`platform:scopeType:scopeId`)");
        let mut parts = text.splitn(3, ':');
        let (platform, scope_type, scope_id) =
            (parts.next(), parts.next(), parts.next().ok_or_else(error)?);
        let is_word = |word: Option<&str>| {
            word.is_some_and(|it| {
                !it.is_empty() && it.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
            })
        };
        let well_formed = is_word(platform)
            && is_word(scope_type)
            && !scope_id.is_empty()
            && text.chars().count() <= THREAD_ID_CHARS_MAX
            && !text.chars().any(char::is_control);
        if well_formed { Ok(ThreadId(text.to_owned())) } else { Err(error()) }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

const START: &str = "start";

impl From<Option<EventId>> for LeafId {
    fn from(leaf: Option<EventId>) -> LeafId {
        leaf.map_or(LeafId::Start, LeafId::Event)
    }
}

impl LeafId {
    /// The event it is at, if it is at one.
    pub fn event(&self) -> Option<EventId> {
        match self {
            LeafId::Start => None,
            LeafId::Event(id) => Some(*id),
        }
    }
}

impl FromStr for LeafId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<LeafId, IdError> {
        if text == START {
            return Ok(LeafId::Start);
        }
        let error = |_| IdError::new(text, "`start` or the id of an event");
        text.parse().map(LeafId::Event).map_err(error)
    }
}

impl fmt::Display for LeafId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeafId::Start => f.write_str(START),
            LeafId::Event(id) => id.fmt(f),
        }
    }
}

string_id!(LeafId, "`start` or the id of an event");

#[cfg(test)]
mod tests;
