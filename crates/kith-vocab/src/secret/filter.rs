//! Removes known secrets from what leaves the house.
//!
//! A secret is found as it is, URL-encoded, in hex and in base64, also where it is a part of what was
//! encoded. Whoever wants to smuggle one out has other ciphers; what this ends is the accident and the
//! easy way. Values of fewer than [`SECRET_CHARS_MIN`] characters are not looked for: they stand in
//! ordinary text, which would be spoiled, and give no protection worth the name. The owner's own screen
//! is no exit.
//!
//! A text is read one byte at a time, whether it comes whole or in chunks, so the chunks make no
//! difference. What may still become a secret is held back; the longest form limits how much.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde_json::Value;

use super::Secret;
use super::automaton::{Automaton, ROOT};
use super::encodings::{folded, forms, is_looked_for, percent_value};
use crate::json::Json;

pub use super::encodings::{SECRET_BYTES_MAX, SECRET_CHARS_MIN};

/// What stands in place of a secret.
pub const REMOVED: &str = "[secret]";
/// White space inside a secret that does not count; more of it ends the match.
const SKIPPED_BYTES_MAX: usize = 16;
/// Further secrets are not looked for.
pub const SECRETS_MAX: usize = 256;

/// The secrets that are known. It cannot be printed, as they cannot.
#[derive(Default)]
pub struct SecretFilter {
    automaton: Automaton,
}

impl SecretFilter {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> SecretFilter {
        let values = secrets.into_iter().map(Secret::reveal).filter(|it| is_looked_for(it));
        let forms: Vec<Vec<u8>> = values.take(SECRETS_MAX).flat_map(forms).collect();
        SecretFilter { automaton: Automaton::new(forms.iter().map(Vec::as_slice)) }
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.automaton.is_empty()
    }

    pub fn is_in(&self, text: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut stream = FilterStream::new(self);
        stream.push(text.as_bytes(), &mut Vec::new());
        stream.finish(&mut Vec::new());
        stream.n_removed > 0
    }

    /// Whether a string of the JSON, or a key, or the text of it, holds a secret.
    pub fn is_in_json(&self, json: &Json) -> bool {
        if self.is_empty() {
            return false;
        }
        // The text catches what is split over several strings only by their quotes; the strings
        // catch what is escaped.
        self.is_in(json.as_str())
            || json.read::<Value>().is_ok_and(|value| self.is_in_value(&value))
    }

    fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => self.is_in(text),
            Value::Array(items) => items.iter().any(|item| self.is_in_value(item)),
            Value::Object(map) => {
                map.iter().any(|(key, value)| self.is_in(key) || self.is_in_value(value))
            }
        }
    }

    /// The JSON without secrets in its strings and keys; as it is, byte for byte, if it holds none.
    pub fn filtered_json(&self, json: &Json) -> Json {
        if self.is_empty() {
            return json.clone();
        }
        // JSON that was parsed once is parsed again.
        let mut value = json.read::<Value>().unwrap_or_default();
        if self.filter_value(&mut value) { Json::of(&value) } else { json.clone() }
    }

    /// Tells whether there were any.
    fn filter_value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => match self.filtered(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(filtered) => {
                    *text = filtered;
                    true
                }
            },
            Value::Array(items) => {
                items.iter_mut().fold(false, |found, item| self.filter_value(item) | found)
            }
            Value::Object(map) => {
                let mut has_found = false;
                for (key, mut value) in std::mem::take(map) {
                    has_found |= self.filter_value(&mut value) | self.is_in(&key);
                    map.insert(self.filtered(&key).into_owned(), value);
                }
                has_found
            }
        }
    }

    /// The text with [`REMOVED`] in place of each secret; borrowed if it holds none.
    pub fn filtered<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut stream = FilterStream::new(self);
        let mut filtered = Vec::with_capacity(text.len());
        stream.push(text.as_bytes(), &mut filtered);
        stream.finish(&mut filtered);
        if stream.n_removed == 0 {
            return Cow::Borrowed(text);
        }
        // Secrets are text, so whole characters were removed.
        Cow::Owned(String::from_utf8_lossy(&filtered).into_owned())
    }
}

/// Filters a stream of bytes; what is written may lag behind what was read until
/// [`finish`](FilterStream::finish).
pub struct FilterStream<'a> {
    automaton: &'a Automaton,
    /// What was read and not written yet.
    held: VecDeque<u8>,
    /// The place of the first byte of `held`.
    held_from: u64,
    /// Secrets that begin in what is held, in order and apart from each other.
    found: VecDeque<FoundSecret>,
    plain: Lane,
    decoded: Lane,
    /// The bytes of a `%XX` that is not complete, which end what is held.
    n_pending: usize,
    n_removed: u64,
}

#[derive(Clone, Copy)]
struct FoundSecret {
    begin: u64,
    end: u64,
    /// [`REMOVED`] has been written for it.
    is_marked: bool,
}

/// One way to read the text.
#[derive(Default)]
struct Lane {
    state: usize,
    /// Where each byte of the match that may come began; as many as the state is deep.
    begins: VecDeque<u64>,
    n_skipped: usize,
}

impl<'a> FilterStream<'a> {
    pub fn new(filter: &'a SecretFilter) -> FilterStream<'a> {
        FilterStream {
            automaton: &filter.automaton,
            held: VecDeque::new(),
            held_from: 0,
            found: VecDeque::new(),
            plain: Lane::default(),
            decoded: Lane::default(),
            n_pending: 0,
            n_removed: 0,
        }
    }

    /// Reads a chunk and writes what cannot be a part of a secret any more.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        for byte in chunk {
            let place = self.held_from + self.held.len() as u64;
            self.held.push_back(*byte);
            self.read_plain(*byte, place);
            self.n_pending += 1;
            self.decode(false);
            self.write_settled(out);
        }
    }

    /// Writes the rest: the stream has ended.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.decode(true);
        let end = self.held_from + self.held.len() as u64;
        self.write_until(end, out);
    }

    /// Bytes that are held back.
    pub fn n_held(&self) -> usize {
        self.held.len()
    }

    fn read_plain(&mut self, byte: u8, place: u64) {
        if let Some(found) = self.plain.read(self.automaton, byte, place, place + 1) {
            self.note(found);
        }
    }

    /// Reads the pending bytes as `%XX` or, where they are none, as they are.
    fn decode(&mut self, is_end: bool) {
        while self.n_pending > 0 {
            let begin = self.held.len() - self.n_pending;
            let pending: Vec<u8> = self.held.range(begin..).copied().collect();
            let may_be_more = !is_end
                && match pending.as_slice() {
                    [b'%'] => true,
                    [b'%', digit] => digit.is_ascii_hexdigit(),
                    _ => false,
                };
            if may_be_more {
                return;
            }
            let (byte, n_bytes) = match percent_value(&pending) {
                Some(byte) => (byte, 3),
                None => (pending[0], 1),
            };
            let place = self.held_from + begin as u64;
            self.n_pending -= n_bytes;
            let end = place + n_bytes as u64;
            if let Some(found) = self.decoded.read(self.automaton, byte, place, end) {
                self.note(found);
            }
        }
    }

    /// Notes a secret; those that overlap become one.
    fn note(&mut self, mut new: FoundSecret) {
        let mut is_known = false;
        self.found.retain(|old| {
            let overlaps = old.begin < new.end && new.begin < old.end;
            if overlaps {
                is_known = true;
                new.begin = new.begin.min(old.begin);
                new.end = new.end.max(old.end);
                new.is_marked |= old.is_marked;
            }
            !overlaps
        });
        let at = self.found.partition_point(|it| it.begin < new.begin);
        self.found.insert(at, new);
        self.n_removed += u64::from(!is_known);
    }

    fn write_settled(&mut self, out: &mut Vec<u8>) {
        let end = self.held_from + self.held.len() as u64;
        let open = [
            self.plain.begins.front().copied(),
            self.decoded.begins.front().copied(),
            Some(end - self.n_pending as u64),
        ];
        self.write_until(open.into_iter().flatten().min().unwrap_or(end), out);
    }

    fn write_until(&mut self, end: u64, out: &mut Vec<u8>) {
        while self.held_from < end {
            let Some(found) = self.found.front_mut().filter(|it| it.begin < end) else {
                self.take(end, Some(out));
                return;
            };
            let (begin, until) = (found.begin, found.end.min(end));
            if !found.is_marked {
                found.is_marked = true;
                self.take(begin, Some(out));
                out.extend_from_slice(REMOVED.as_bytes());
            }
            self.take(until, None);
            if self.found.front().is_some_and(|it| it.end <= until) {
                self.found.pop_front();
            } else if let Some(found) = self.found.front_mut() {
                found.begin = until;
            }
        }
    }

    /// Lets go of what is held up to a place.
    fn take(&mut self, until: u64, out: Option<&mut Vec<u8>>) {
        let n_bytes = usize::try_from(until.saturating_sub(self.held_from)).unwrap_or(usize::MAX);
        let taken = self.held.drain(..n_bytes.min(self.held.len()));
        match out {
            Some(out) => out.extend(taken),
            None => drop(taken),
        }
        self.held_from = self.held_from.max(until);
    }
}

impl Lane {
    /// Reads a byte that stands for these places of the text; the secret that ends with it, if any.
    fn read(
        &mut self,
        automaton: &Automaton,
        byte: u8,
        begin: u64,
        end: u64,
    ) -> Option<FoundSecret> {
        let Some(byte) = folded(byte) else {
            self.n_skipped += 1;
            if self.n_skipped > SKIPPED_BYTES_MAX {
                self.state = ROOT;
                self.begins.clear();
            }
            return None;
        };
        self.n_skipped = 0;
        self.state = automaton.next(self.state, byte);
        self.begins.push_back(begin);
        let n_gone = self.begins.len() - automaton.depth(self.state);
        self.begins.drain(..n_gone);
        let n_matched = automaton.matched(self.state);
        let first = self.begins.len().checked_sub(n_matched).filter(|_| n_matched > 0)?;
        let begin = *self.begins.get(first)?;
        Some(FoundSecret { begin, end, is_marked: false })
    }
}

#[cfg(test)]
mod tests;
