//! The form of one line of a session file.
//!
//! A line is a JSON object whose last two members, `prev` and `crc`, are put on as text and taken
//! off as text: they speak about bytes, and going through a JSON parser would let two spellings of
//! an event pass for the same line. `crc` tells a whole line from a half one, `prev` ties it to the
//! line before.

mod intact;
mod proven;

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

use kith_vocab::event::{BatchPlace, Event, EventRecord};
use kith_vocab::header::{LOG_FORMAT_VERSION, SessionHeader};
use kith_vocab::ids::EventId;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use sha2::{Digest, Sha256};

use crate::blob::no_blobs;
use crate::damage::{BadLine, DamageCode, Flaw};
use crate::texts::{
    BlobRef, INLINE_TEXT_BYTES_MAX, LongText, SharedTexts, may_name_a_blob, put_back, take_out,
};
use crate::validator::EventKind;

pub(crate) use intact::RunningChecksum;

/// A longer line is neither written nor read; the blobs that it names count as part of it.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A batch is held in memory until its last line is seen; these two bound it.
pub const BATCH_BYTES_MAX: u64 = 256 * 1024 * 1024;
pub const BATCH_EVENTS_MAX: u32 = 1024 * 1024;

/// Room for most batches of a turn, so that writing one does not move it about.
const BATCH_BYTES_USUAL: usize = 4096;

const PREV_KEY: &[u8] = b",\"prev\":\"";
const CRC_KEY: &[u8] = b",\"crc\":\"";

/// The first eight bytes of the SHA-256 of a line without its newline: 16 digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LineHash(u64);

impl LineHash {
    pub fn of(line: &[u8]) -> LineHash {
        let digest = Sha256::digest(line);
        LineHash(digest.iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte)))
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line's hash is 16 hex digits in lower case")]
pub struct LineHashError;

impl FromStr for LineHash {
    type Err = LineHashError;

    fn from_str(text: &str) -> Result<LineHash, LineHashError> {
        if text.len() != 16 {
            return Err(LineHashError);
        }
        parse_hex(text.as_bytes()).map(LineHash).ok_or(LineHashError)
    }
}

impl From<LineHash> for String {
    fn from(hash: LineHash) -> String {
        hash.to_string()
    }
}

impl TryFrom<String> for LineHash {
    type Error = LineHashError;

    fn try_from(text: String) -> Result<LineHash, LineHashError> {
        text.parse()
    }
}

/// The newest event of a log: its number, and the hash of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    pub seq: u64,
    pub hash: LineHash,
}

/// An event line, taken apart and found whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLine {
    pub event: Event,
    pub batch: BatchPlace,
    /// Bytes of its texts that stand in blobs.
    pub blob_bytes: u64,
}

/// The lines of one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedBatch {
    /// The lines, newlines included.
    pub bytes: Vec<u8>,
    /// Of the last line.
    pub hash: LineHash,
    /// Where the last line begins.
    pub last_line_start: usize,
    /// Texts that the lines name. They must be on the disk before the lines are.
    pub(crate) long_texts: Vec<LongText>,
}

/// Writes the header's line, newline included, and gives its hash.
pub fn encode_header(header: &SessionHeader) -> Result<(Vec<u8>, LineHash), Flaw> {
    let refused = |detail: String| Flaw::wrong(DamageCode::InvalidHeader, detail);
    let mut bytes = serde_json::to_vec(header).map_err(|error| refused(error.to_string()))?;
    put_crc(&mut bytes, 0)?;
    if Decoder::default().header(&bytes)? != *header {
        return Err(refused("it would be read back as a different header".to_owned()));
    }
    let hash = LineHash::of(&bytes);
    bytes.push(b'\n');
    Ok((bytes, hash))
}

/// Writes the events as the lines of one batch. A refusal says the `seq` of the event at fault.
///
/// An event that could not be read later is refused: its line is read back first, unless
/// its event is of those in `line/proven.rs`.
pub fn encode_batch(events: &[Event], prev: LineHash) -> Result<EncodedBatch, (u64, Flaw)> {
    let n = u32::try_from(events.len()).unwrap_or(u32::MAX);
    if n > BATCH_EVENTS_MAX {
        let detail = format!("a batch holds at most {BATCH_EVENTS_MAX} events");
        let first = events.first().map_or(0, |it| it.seq);
        return Err((first, Flaw::wrong(DamageCode::BrokenBatch, detail)));
    }
    let mut decoder = Decoder::default();
    let mut bytes = Vec::with_capacity(BATCH_BYTES_USUAL);
    let mut long_texts = Vec::new();
    let (mut hash, mut last_line_start, mut n_bytes) = (prev, 0, 0);
    for (event, place) in events.iter().zip(1..) {
        last_line_start = bytes.len();
        let refused = |flaw| (event.seq, flaw);
        let taken_out =
            put_event(&mut bytes, event, BatchPlace(place, n), hash).map_err(refused)?;
        let line = bytes.get(last_line_start..).unwrap_or_default();
        let written = WrittenLine { line, prev: hash, long_texts: &taken_out };
        n_bytes +=
            check_written(&mut decoder, &written, event, BatchPlace(place, n)).map_err(refused)?;
        if n_bytes > BATCH_BYTES_MAX {
            let detail = format!("a batch holds at most {BATCH_BYTES_MAX} bytes");
            return Err(refused(Flaw::wrong(DamageCode::BrokenBatch, detail)));
        }
        hash = LineHash::of(line);
        bytes.push(b'\n');
        long_texts.extend(taken_out);
    }
    Ok(EncodedBatch { bytes, hash, last_line_start, long_texts })
}

/// Writes the line without its newline, and gives the texts that were too long for it.
fn put_event(
    bytes: &mut Vec<u8>,
    event: &Event,
    batch: BatchPlace,
    prev: LineHash,
) -> Result<Vec<LongText>, Flaw> {
    let start = bytes.len();
    let record = EventRecord { event: Cow::Borrowed(event), batch };
    serde_json::to_writer(&mut *bytes, &record).map_err(not_writable)?;
    let mut long_texts = Vec::new();
    if bytes.len() - start > INLINE_TEXT_BYTES_MAX {
        let json = bytes.get(start..).unwrap_or_default();
        let json = str::from_utf8(json).map_err(not_writable)?;
        if let Some((shorter, taken_out)) = take_out(json, &mut |_| true) {
            bytes.truncate(start);
            bytes.extend_from_slice(shorter.as_bytes());
            long_texts = taken_out;
        }
    }
    bytes.pop();
    bytes.extend_from_slice(PREV_KEY);
    write!(bytes, "{prev}\"").map_err(not_writable)?;
    bytes.push(b'}');
    put_crc(bytes, start)?;
    Ok(long_texts)
}

/// Replaces the closing brace of the object that begins at `start` by its checksum.
fn put_crc(bytes: &mut Vec<u8>, start: usize) -> Result<(), Flaw> {
    bytes.pop();
    let crc = crc32c::crc32c(bytes.get(start..).unwrap_or_default());
    bytes.extend_from_slice(CRC_KEY);
    write!(bytes, "{crc:08x}\"}}").map_err(not_writable)
}

fn not_writable(error: impl fmt::Display) -> Flaw {
    Flaw::wrong(DamageCode::InvalidEvent, format!("it cannot be written as JSON: {error}"))
}

/// A line as it would stand in the file.
struct WrittenLine<'a> {
    line: &'a [u8],
    prev: LineHash,
    long_texts: &'a [LongText],
}

/// Gives the bytes of the line and of the texts it names.
fn check_written(
    decoder: &mut Decoder,
    written: &WrittenLine<'_>,
    event: &Event,
    batch: BatchPlace,
) -> Result<u64, Flaw> {
    let refused = |detail: &str| Flaw::wrong(DamageCode::InvalidEvent, detail);
    let WrittenLine { line, prev, long_texts } = *written;
    let blob_bytes: usize = long_texts.iter().map(|it| it.text.len()).sum();
    if line.len() + blob_bytes > LINE_BYTES_MAX {
        return Err(refused("its line would be longer than 64 MiB"));
    }
    // JSON that came with line breaks between its tokens would cut the line in two.
    if line.contains(&b'\n') {
        return Err(refused("its JSON has a line break between two tokens"));
    }
    let n_bytes = (line.len() + blob_bytes) as u64;
    if !cfg!(debug_assertions) && long_texts.is_empty() && proven::is_proven(event) {
        return Ok(n_bytes);
    }
    let read = decoder.whole_event(line, prev, &mut |named| {
        let text = long_texts.iter().find(|it| it.sha256 == named.blob);
        text.map_or_else(|| no_blobs(named), |it| Ok(it.text.clone()))
    });
    match read {
        Ok(read) if read.batch == batch && read.event == *event => Ok(n_bytes),
        Err(BadLine::Flaw(flaw)) => Err(flaw),
        Ok(_) | Err(BadLine::Io(_)) => Err(refused("it would be read back as a different event")),
    }
}

/// Takes lines apart. Keeps one buffer, so reading a long file allocates for its events only.
#[derive(Debug, Default)]
pub struct Decoder {
    scratch: Vec<u8>,
    shared: SharedTexts,
}

impl Decoder {
    pub fn header(&mut self, line: &[u8]) -> Result<SessionHeader, Flaw> {
        let covered = match checksum(line) {
            Checksum::Right(covered) => covered,
            Checksum::Wrong => return Err(bad_crc()),
            Checksum::Absent => return Err(header_flaw(line, "it does not end in `crc`")),
        };
        let json = self.close(covered);
        let header: SessionHeader = match serde_json::from_slice(json) {
            Ok(header) => header,
            Err(error) if is_syntax(&error) => {
                return Err(Flaw::wrong(DamageCode::InvalidJson, error.to_string()));
            }
            Err(error) => return Err(header_flaw(json, &error.to_string())),
        };
        match header.v {
            0 => Err(Flaw::wrong(DamageCode::InvalidHeader, "there is no version 0")),
            LOG_FORMAT_VERSION => Ok(header),
            v => Err(newer(u64::from(v))),
        }
    }

    /// `prev` is the hash of the line before. A line that names a blob is no event by itself.
    pub fn event(&mut self, line: &[u8], prev: LineHash) -> Result<EventLine, Flaw> {
        self.scratch.clear();
        let covered = covered(line)?;
        let Some((body, found)) = split_prev(covered) else {
            return Err(event_flaw(line, "it has no `prev` before its `crc`"));
        };
        if found != prev {
            let detail = format!("its `prev` is {found}, but the line before it has {prev}");
            return Err(Flaw::wrong(DamageCode::BrokenChain, detail));
        }
        decode(self.close(body))
    }

    /// Like [`Decoder::event`], with the texts of the blobs that the line names in their places.
    ///
    /// A line without blobs costs nothing more: one with blobs cannot be read as an event, because
    /// an object stands where a text belongs, and only then is it looked at again.
    pub(crate) fn whole_event(
        &mut self,
        line: &[u8],
        prev: LineHash,
        text_of: &mut dyn FnMut(&BlobRef) -> Result<String, BadLine>,
    ) -> Result<EventLine, BadLine> {
        let flaw = match self.event(line, prev) {
            Err(flaw) if flaw.code == DamageCode::InvalidEvent => flaw,
            other => return Ok(other?),
        };
        let json = str::from_utf8(&self.scratch).unwrap_or_default();
        if !may_name_a_blob(json.as_bytes()) {
            return Err(flaw.into());
        }
        let mut blob_bytes: u64 = 0;
        let whole = put_back(json, &mut |named| {
            blob_bytes = blob_bytes.saturating_add(named.bytes);
            if blob_bytes.saturating_add(line.len() as u64) > LINE_BYTES_MAX as u64 {
                let detail = format!("it refers to more than {LINE_BYTES_MAX} bytes of text");
                return Err(Flaw::wrong(DamageCode::BadBlob, detail).into());
            }
            text_of(named)
        })?;
        let Some(whole) = whole else { return Err(flaw.into()) };
        let mut read = EventLine { blob_bytes, ..decode(whole.as_bytes())? };
        self.shared.share(&mut read.event);
        Ok(read)
    }

    fn close(&mut self, open_object: &[u8]) -> &[u8] {
        self.scratch.clear();
        self.scratch.extend_from_slice(open_object);
        self.scratch.push(b'}');
        &self.scratch
    }
}

fn decode(json: &[u8]) -> Result<EventLine, Flaw> {
    match serde_json::from_slice::<EventRecord<'static>>(json) {
        Ok(record) => {
            let event = record.event.into_owned();
            Ok(EventLine { event, batch: record.batch, blob_bytes: 0 })
        }
        Err(error) => Err(event_flaw(json, &error.to_string())),
    }
}

/// Where a line says it belongs, as far as it can be understood at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinePlace {
    pub(crate) seq: u64,
    pub(crate) batch: BatchPlace,
}

/// Looks at a line that stands behind a bad one: `None` if it is no whole line either.
pub(crate) fn place_of(line: &[u8]) -> Option<Result<LinePlace, Flaw>> {
    match covered(line) {
        Ok(_) => (),
        Err(flaw) if flaw.whole => return Some(Err(flaw)),
        Err(_) => return None,
    }
    let peek = peek(line).ok();
    let place = peek.and_then(|it| {
        Some(LinePlace { seq: it.seq?, batch: it.batch.unwrap_or(BatchPlace::ALONE) })
    });
    Some(place.ok_or_else(|| event_flaw(line, "it has no `seq`")))
}

/// The id of an event line, and whether it is of the tree. Looks at nothing else of it.
pub(crate) fn id_of(line: &[u8]) -> Option<(EventId, EventKind)> {
    #[derive(Deserialize)]
    struct NamedLine {
        id: EventId,
        /// If only as `null`, this is there exactly on events of the tree.
        #[serde(rename = "parentId", default, deserialize_with = "present")]
        is_tree: bool,
    }

    fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| true)
    }

    // A line without an id is the header.
    let named: NamedLine = serde_json::from_slice(line).ok()?;
    Some((named.id, if named.is_tree { EventKind::Tree } else { EventKind::Control }))
}

enum Checksum<'a> {
    /// With the bytes it covers.
    Right(&'a [u8]),
    Wrong,
    Absent,
}

fn checksum(line: &[u8]) -> Checksum<'_> {
    let parts = line.strip_suffix(b"\"}").and_then(|it| it.split_last_chunk::<8>());
    let Some((covered, digits)) =
        parts.and_then(|(rest, digits)| Some((rest.strip_suffix(CRC_KEY)?, digits)))
    else {
        return Checksum::Absent;
    };
    let found = parse_hex(digits);
    if found == Some(u64::from(crc32c::crc32c(covered))) {
        Checksum::Right(covered)
    } else {
        Checksum::Wrong
    }
}

/// The bytes before `,"crc"` of a whole event line.
fn covered(line: &[u8]) -> Result<&[u8], Flaw> {
    match checksum(line) {
        Checksum::Right(covered) => Ok(covered),
        Checksum::Wrong => Err(bad_crc()),
        Checksum::Absent => match peek(line) {
            Ok(Peek { v: Some(v), .. }) if v > u64::from(LOG_FORMAT_VERSION) => Err(newer(v)),
            Ok(_) => {
                let detail = "it does not end in `prev` and `crc`";
                Err(Flaw::partial(DamageCode::InvalidEvent, detail))
            }
            Err(error) => Err(Flaw::partial(DamageCode::InvalidJson, error.to_string())),
        },
    }
}

fn split_prev(covered: &[u8]) -> Option<(&[u8], LineHash)> {
    let (rest, digits) = covered.strip_suffix(b"\"")?.split_last_chunk::<16>()?;
    Some((rest.strip_suffix(PREV_KEY)?, LineHash(parse_hex(digits)?)))
}

/// At most 16 digits, lower case only: a line has one spelling.
fn parse_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value: u64, &digit| {
        let nibble = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(nibble))
    })
}

/// The few members that say what a line is, of whatever version.
#[derive(Deserialize)]
struct Peek {
    v: Option<u64>,
    seq: Option<u64>,
    batch: Option<BatchPlace>,
    #[serde(rename = "type")]
    line_type: Option<String>,
}

fn peek(json: &[u8]) -> Result<Peek, serde_json::Error> {
    serde_json::from_slice(json)
}

/// Why a line that is JSON, but not a header we know, is none.
fn header_flaw(json: &[u8], detail: &str) -> Flaw {
    match peek(json) {
        Ok(Peek { v: Some(v), .. }) if v > u64::from(LOG_FORMAT_VERSION) => newer(v),
        Ok(Peek { line_type: Some(line_type), .. }) if line_type != "session_header" => {
            let line_type: String = line_type.chars().take(80).collect();
            let detail = format!("the first line is a `{line_type}`");
            Flaw::wrong(DamageCode::MissingHeader, detail)
        }
        Err(error) if is_syntax(&error) => {
            Flaw::partial(DamageCode::InvalidJson, error.to_string())
        }
        Ok(_) | Err(_) => Flaw::wrong(DamageCode::InvalidHeader, detail),
    }
}

/// Why a whole line is no event we know.
fn event_flaw(json: &[u8], detail: &str) -> Flaw {
    match peek(json) {
        Ok(Peek { v: Some(v), .. }) if v > u64::from(LOG_FORMAT_VERSION) => newer(v),
        Err(error) if is_syntax(&error) => Flaw::wrong(DamageCode::InvalidJson, error.to_string()),
        Ok(_) | Err(_) => Flaw::wrong(DamageCode::InvalidEvent, detail),
    }
}

fn newer(v: u64) -> Flaw {
    let detail = format!(
        "its format version is {v}, and this kith knows versions up to {LOG_FORMAT_VERSION}; a \
         newer kith can read it"
    );
    Flaw::wrong(DamageCode::NewerVersion, detail)
}

fn bad_crc() -> Flaw {
    Flaw::partial(DamageCode::BadCrc, "its checksum does not match")
}

fn is_syntax(error: &serde_json::Error) -> bool {
    matches!(error.classify(), Category::Syntax | Category::Eof)
}

#[cfg(test)]
mod tests;
