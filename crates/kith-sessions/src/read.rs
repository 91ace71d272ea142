//! A session file read from its beginning, one batch at a time.
//!
//! Two kinds of bad bytes look alike and are not. A write that a crash cut short leaves a *torn
//! tail*: it was never acknowledged and may be set aside. Anything else is *damage*: bytes that
//! were acknowledged are gone or changed, and reading on would let a model act on a history that
//! did not happen. A crash can only spoil the last batch, so bad bytes are torn exactly if nothing
//! behind them was written later, and if the desk has not seen what they held.

mod intact;

use std::io::{self, BufRead, BufReader, Read};
use std::slice;

use kith_vocab::event::{BatchPlace, Event};
use kith_vocab::header::SessionHeader;

use crate::blob::no_blobs;
use crate::checkpoint::CheckpointPlace;
use crate::damage::{BadLine, Damage, DamageCode, Flaw};
use crate::line::{
    BATCH_BYTES_MAX, BATCH_EVENTS_MAX, Decoder, LINE_BYTES_MAX, LineHash, LogHead, RunningChecksum,
    id_of, place_of,
};
use crate::texts::BlobRef;
use crate::validator::{EventKinds, EventValidator, ValidatorMarks};

pub(crate) use intact::{IntactLine, each_line};

const CHUNK_BYTES: usize = 256 * 1024;

/// The result of reading a session file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub header: SessionHeader,
    /// How many events were given to the callback.
    pub events: u64,
    pub head: Option<LogHead>,
    /// Length of the header and all complete, valid batches.
    pub good_len: u64,
    /// The last good line has all its bytes but no newline; a writer must put one first.
    pub newline_missing: bool,
    pub tail: Tail,
}

/// The bytes after the last complete, valid batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    Clean,
    Torn { bytes: u64 },
    Damaged(Damage),
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Without a header there is nothing to read.
    #[error("{0}")]
    Damaged(Damage),
}

/// Reads a file to its end, or to its first damage.
///
/// `each` gets the events of complete, valid batches, in order. `head` is what the desk knows to
/// have been acknowledged. Blobs are not at hand: a line that names one is `bad_blob` here, and
/// [`crate::store::SessionStore::read`] reads it.
pub fn read_events(
    source: Box<dyn Read + Send>,
    head: Option<&LogHead>,
    each: &mut dyn FnMut(Event),
) -> Result<Reading, ReadError> {
    scan(source, head, &mut no_blobs, each).map(|scanned| scanned.reading)
}

/// The result of reading a file, with everything needed to append to its good part.
pub(crate) struct ScanResult {
    pub(crate) reading: Reading,
    pub(crate) validator: EventValidator,
    /// Where the last good line begins.
    pub(crate) line_start: u64,
}

/// Gives the text of a blob that a line names.
pub(crate) type TextOf<'a> = &'a mut dyn FnMut(&BlobRef) -> Result<String, BadLine>;

/// Like [`read_events`], with the texts that stand in blobs.
pub(crate) fn scan(
    source: Box<dyn Read + Send>,
    head: Option<&LogHead>,
    text_of: TextOf<'_>,
    each: &mut dyn FnMut(Event),
) -> Result<ScanResult, ReadError> {
    let mut lines = LogLines::new(source, 0);
    let mut line = Vec::new();
    let ending = lines.next(&mut line)?;
    let (header, hash) =
        first_line(&line, ending).map_err(|flaw| ReadError::Damaged(flaw.at(1)))?;
    let newline_missing = ending == Some(LineEnding::EndOfFile);
    let validator = EventValidator::after_header(hash);
    let open = &|| Ok(Box::new(io::empty()) as Box<dyn Read + Send>);
    let mut reader = LogReader::new(lines, open, validator, newline_missing, head, text_of, each);
    let end = reader.read_batches(&mut line)?;
    Ok(reader.conclude(header, end))
}

/// Opens the file of a log at its beginning.
pub(crate) type OpenLog<'a> = &'a dyn Fn() -> io::Result<Box<dyn Read + Send>>;

/// Reads on from a checkpoint. `source` begins at the last line before the place.
///
/// `None` if the file is not the one that the place was noted in, or if it can be told only from
/// the beginning whether what follows is good.
pub(crate) fn scan_from(
    source: Box<dyn Read + Send>,
    open: OpenLog<'_>,
    (header, header_hash): (SessionHeader, LineHash),
    place: &CheckpointPlace,
    head: Option<&LogHead>,
    text_of: TextOf<'_>,
    each: &mut dyn FnMut(Event),
) -> Result<Option<ScanResult>, ReadError> {
    let Some(validator) =
        place.validator().filter(|validator| validator.header_hash() == header_hash)
    else {
        return Ok(None);
    };
    let mut lines = LogLines::new(source, place.line_start);
    let mut line = Vec::new();
    let ending = lines.next(&mut line)?;
    let is_there = matches!(ending, Some(LineEnding::Newline | LineEnding::EndOfFile))
        && LineHash::of(&line) == place.head.hash
        // The newline that the last line lacked may have been put there since.
        && (lines.offset == place.offset || lines.offset == place.offset + 1);
    let is_acknowledged = head.is_none_or(|it| it.seq != place.head.seq || *it == place.head);
    let Some(line_number) = usize::try_from(place.head.seq).ok().and_then(|it| it.checked_add(1))
    else {
        return Ok(None);
    };
    if !is_there || !is_acknowledged {
        return Ok(None);
    }
    let newline_missing = ending == Some(LineEnding::EndOfFile);
    let mut reader = LogReader::new(lines, open, validator, newline_missing, head, text_of, each);
    reader.line_number = line_number;
    match reader.read_batches(&mut line)? {
        // The damage may be among the older lines, which are read without being checked.
        ReadEnd::Damaged(_) if reader.validator.has_older() => Ok(None),
        end => Ok(Some(reader.conclude(header, end))),
    }
}

/// Reads nothing but the header, and gives the hash of its line.
pub(crate) fn read_header(
    source: Box<dyn Read + Send>,
) -> Result<(SessionHeader, LineHash), ReadError> {
    let mut line = Vec::new();
    let ending = LogLines::new(source, 0).next(&mut line)?;
    first_line(&line, ending).map_err(|flaw| ReadError::Damaged(flaw.at(1)))
}

fn first_line(line: &[u8], ending: Option<LineEnding>) -> Result<(SessionHeader, LineHash), Flaw> {
    match ending {
        None => Err(Flaw::partial(DamageCode::MissingHeader, "the file is empty")),
        Some(LineEnding::TooLong { is_whole }) => Err(too_long(is_whole)),
        Some(LineEnding::Newline | LineEnding::EndOfFile) => {
            Ok((Decoder::default().header(line)?, LineHash::of(line)))
        }
    }
}

/// The events in the first `len` bytes of a file, which are known to be good.
pub(crate) fn event_kinds(source: Box<dyn Read + Send>, len: u64) -> io::Result<EventKinds> {
    let mut kinds = EventKinds::new();
    let mut lines = LogLines::new(Box::new(source.take(len)), 0);
    let mut line = Vec::new();
    while lines.next(&mut line)?.is_some() {
        // The header has no id.
        kinds.extend(id_of(&line));
    }
    Ok(kinds)
}

struct LogReader<'a> {
    lines: LogLines,
    open: OpenLog<'a>,
    decoder: Decoder,
    head: Option<&'a LogHead>,
    text_of: TextOf<'a>,
    each: &'a mut dyn FnMut(Event),
    validator: EventValidator,
    batch: OpenBatch,
    good: GoodPart,
    line_number: usize,
}

/// Where the last complete batch ended.
struct GoodPart {
    len: u64,
    /// Of its last line.
    line_start: u64,
    n_events: u64,
    marks: ValidatorMarks,
    newline_missing: bool,
}

/// The lines of a batch whose last line has not been seen.
#[derive(Default)]
struct OpenBatch {
    events: Vec<Event>,
    n: u32,
    bytes: u64,
}

/// Why reading stopped.
enum ReadEnd {
    /// Nothing bad was seen; an open batch may be left.
    File,
    /// No line, and nothing later behind it.
    Torn(Damage),
    Damaged(Damage),
}

impl<'a> LogReader<'a> {
    /// Reads on behind the first line, or behind a checkpoint.
    fn new(
        lines: LogLines,
        open: OpenLog<'a>,
        validator: EventValidator,
        newline_missing: bool,
        head: Option<&'a LogHead>,
        text_of: TextOf<'a>,
        each: &'a mut dyn FnMut(Event),
    ) -> LogReader<'a> {
        let (len, line_start, marks) = (lines.offset, lines.line_start, validator.marks());
        LogReader {
            lines,
            open,
            decoder: Decoder::default(),
            head,
            text_of,
            each,
            validator,
            batch: OpenBatch::default(),
            good: GoodPart { len, line_start, n_events: 0, marks, newline_missing },
            line_number: 1,
        }
    }

    fn read_batches(&mut self, line: &mut Vec<u8>) -> io::Result<ReadEnd> {
        while let Some(ending) = self.lines.next(line)? {
            self.line_number += 1;
            match self.take(line, ending) {
                Ok(()) => (),
                Err(BadLine::Io(error)) => return Err(error),
                Err(BadLine::Flaw(flaw)) if flaw.whole => {
                    return Ok(ReadEnd::Damaged(flaw.at(self.line_number)));
                }
                Err(BadLine::Flaw(flaw)) => {
                    let first_bad = flaw.at(self.line_number);
                    return self.check_rest(first_bad, line);
                }
            }
        }
        Ok(ReadEnd::File)
    }

    fn take(&mut self, line: &[u8], ending: LineEnding) -> Result<(), BadLine> {
        if let LineEnding::TooLong { is_whole } = ending {
            return Err(too_long(is_whole).into());
        }
        let read = self.decoder.whole_event(line, self.validator.last_hash(), self.text_of)?;
        self.batch.expect(read.batch, line.len() as u64 + read.blob_bytes)?;
        let older = || event_kinds((self.open)()?, self.good.len);
        self.validator.find_older(slice::from_ref(&read.event), older).map_err(BadLine::Io)?;
        self.validator.admit(&read.event)?;
        let hash = LineHash::of(line);
        if let Some(head) = self.head
            && head.seq == read.event.seq
            && head.hash != hash
        {
            let detail = format!("its hash is {hash}, expected {}", head.hash);
            return Err(Flaw::wrong(DamageCode::BrokenChain, detail).into());
        }
        self.validator.set_last_hash(hash);
        self.batch.events.push(read.event);
        if read.batch.0 == read.batch.1 {
            self.deliver(ending);
        }
        Ok(())
    }

    fn deliver(&mut self, ending: LineEnding) {
        self.good.n_events += self.batch.events.len() as u64;
        for event in self.batch.events.drain(..) {
            (self.each)(event);
        }
        self.batch.bytes = 0;
        self.validator.evict();
        self.good.len = self.lines.offset;
        self.good.line_start = self.lines.line_start;
        self.good.marks = self.validator.marks();
        self.good.newline_missing = ending == LineEnding::EndOfFile;
    }

    /// Reads on behind the first bad line, looking for anything that was written after its batch.
    ///
    /// Pages of one write reach the disk in any order, so whole lines of the *same* batch may
    /// stand behind a hole. They are the ones that count from the first number after the good part
    /// and whose places rise behind the hole.
    fn check_rest(&mut self, first_bad: Damage, line: &mut Vec<u8>) -> io::Result<ReadEnd> {
        let first_seq = self.validator.next_seq() - self.batch.events.len() as u64;
        let mut n = (!self.batch.events.is_empty()).then_some(self.batch.n);
        let mut place_min = self.batch.events.len() as u64 + 2;
        while let Some(ending) = self.lines.next(line)? {
            match ending {
                LineEnding::TooLong { is_whole: true } => return Ok(ReadEnd::Damaged(first_bad)),
                LineEnding::TooLong { is_whole: false } => continue,
                LineEnding::Newline | LineEnding::EndOfFile => (),
            }
            let Some(place) = place_of(line) else { continue };
            let Ok(place) = place else { return Ok(ReadEnd::Damaged(first_bad)) };
            let BatchPlace(i, of) = place.batch;
            let is_same_batch = u64::from(i) >= place_min
                && i <= of
                && n.is_none_or(|n| n == of)
                && place.seq.checked_sub(u64::from(i) - 1) == Some(first_seq);
            if !is_same_batch {
                return Ok(ReadEnd::Damaged(first_bad));
            }
            n = Some(of);
            place_min = u64::from(i) + 1;
        }
        Ok(ReadEnd::Torn(first_bad))
    }

    fn conclude(mut self, header: SessionHeader, end: ReadEnd) -> ScanResult {
        let torn_bytes = self.lines.offset - self.good.len;
        // A flaw may be found after the event was let in: go by what is counted, not by the batch.
        let n_open = self.validator.next_seq() - self.good.marks.next_seq();
        self.validator.forget(self.good.marks, usize::try_from(n_open).unwrap_or(usize::MAX));
        let head = self.validator.head();
        let tail = match (end, self.missing_events(head)) {
            (ReadEnd::Damaged(damage), _) => Tail::Damaged(damage),
            (ReadEnd::File, None) if torn_bytes == 0 => Tail::Clean,
            (ReadEnd::File | ReadEnd::Torn(_), None) => Tail::Torn { bytes: torn_bytes },
            (ReadEnd::File, Some(detail)) => {
                let line = self.line_number - self.batch.events.len() + 1;
                Tail::Damaged(Damage { line, code: DamageCode::LostTail, detail })
            }
            (ReadEnd::Torn(Damage { line, code, .. }), Some(detail)) => {
                let detail = format!("{detail} ({code})");
                Tail::Damaged(Damage { line, code: DamageCode::LostTail, detail })
            }
        };
        let reading = Reading {
            header,
            events: self.good.n_events,
            head,
            good_len: self.good.len,
            newline_missing: self.good.newline_missing,
            tail,
        };
        ScanResult { reading, validator: self.validator, line_start: self.good.line_start }
    }

    /// Says which acknowledged events are not among the readable ones.
    fn missing_events(&self, readable: Option<LogHead>) -> Option<String> {
        let acknowledged = self.head?.seq;
        let readable = readable.map_or(0, |head| head.seq);
        (readable < acknowledged).then(|| {
            format!(
                "events up to {acknowledged} were acknowledged, but only {readable} can be read"
            )
        })
    }
}

impl OpenBatch {
    fn expect(&mut self, place: BatchPlace, n_bytes: u64) -> Result<(), Flaw> {
        let BatchPlace(i, n) = place;
        let broken = |detail: String| Err(Flaw::wrong(DamageCode::BrokenBatch, detail));
        let next = self.events.len() as u64 + 1;
        if next == 1 {
            self.n = n;
        }
        if u64::from(i) != next || n != self.n || i > n {
            return broken(format!("it is [{i},{n}], expected [{next},{}]", self.n));
        }
        self.bytes += n_bytes;
        if n > BATCH_EVENTS_MAX || self.bytes > BATCH_BYTES_MAX {
            return broken(format!(
                "a batch holds at most {BATCH_EVENTS_MAX} events and {BATCH_BYTES_MAX} bytes"
            ));
        }
        Ok(())
    }
}

/// LogLines of a file, read in chunks.
struct LogLines {
    source: BufReader<Box<dyn Read + Send>>,
    /// Where the next line begins.
    offset: u64,
    /// Where the last line began.
    line_start: u64,
    /// Set when the end was seen: what a writer adds afterwards is not of the file that was read.
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnding {
    Newline,
    EndOfFile,
    /// The line was skipped. A crash leaves no such line that ends in its checksum.
    TooLong {
        is_whole: bool,
    },
}

impl LogLines {
    fn new(source: Box<dyn Read + Send>, offset: u64) -> LogLines {
        let source = BufReader::with_capacity(CHUNK_BYTES, source);
        LogLines { source, offset, line_start: offset, has_ended: false }
    }

    /// Fills `line` with the next line, without its newline.
    fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<LineEnding>> {
        line.clear();
        if self.has_ended {
            return Ok(None);
        }
        self.line_start = self.offset;
        let limit = LINE_BYTES_MAX as u64 + 1;
        let n_bytes = (&mut self.source).take(limit).read_until(b'\n', line)?;
        self.offset += n_bytes as u64;
        if n_bytes == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            return Ok(Some(LineEnding::Newline));
        }
        if line.len() <= LINE_BYTES_MAX {
            self.has_ended = true;
            return Ok(Some(LineEnding::EndOfFile));
        }
        let is_whole = self.skip_rest(line)?;
        line.clear();
        Ok(Some(LineEnding::TooLong { is_whole }))
    }

    /// Reads to the end of a line of which this is the beginning, and says whether it is whole.
    fn skip_rest(&mut self, begun: &[u8]) -> io::Result<bool> {
        let mut checksum = RunningChecksum::default();
        checksum.add(begun);
        loop {
            let chunk = self.source.fill_buf()?;
            if chunk.is_empty() {
                self.has_ended = true;
                return Ok(checksum.is_right());
            }
            let line_end = chunk.iter().position(|&byte| byte == b'\n');
            checksum.add(chunk.get(..line_end.unwrap_or(chunk.len())).unwrap_or_default());
            let n_bytes = line_end.map_or(chunk.len(), |at| at + 1);
            self.source.consume(n_bytes);
            self.offset += n_bytes as u64;
            if line_end.is_some() {
                return Ok(checksum.is_right());
            }
        }
    }
}

fn too_long(is_whole: bool) -> Flaw {
    let detail = format!("it is longer than {LINE_BYTES_MAX} bytes");
    let flaw = if is_whole { Flaw::wrong } else { Flaw::partial };
    flaw(DamageCode::InvalidJson, detail)
}

#[cfg(test)]
mod tests;
