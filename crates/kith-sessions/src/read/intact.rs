//! Every line of a damaged file that is good by itself, also behind the damage.

use std::io::{self, Read};

use kith_vocab::event::{BatchPlace, Event};

use super::{LineEnding, LogLines, TextOf};
use crate::damage::BadLine;
use crate::line::{BATCH_BYTES_MAX, BATCH_EVENTS_MAX, Decoder, EventLine, LogHead};

/// A line behind the header.
pub(crate) enum IntactLine {
    Event(Box<Event>),
    /// One or more lines that cannot be read.
    Lost,
}

/// Gives each line to the callback. Whether one follows the other is not asked.
///
/// A batch at the end that is not whole was never acknowledged, unless the desk knows of it: like the
/// torn tail of a session that is not damaged, it is left out.
pub(crate) fn each_line(
    source: Box<dyn Read + Send>,
    head: Option<&LogHead>,
    text_of: TextOf<'_>,
    each: &mut dyn FnMut(IntactLine),
) -> io::Result<()> {
    let mut batch = IntactBatch::default();
    let mut lines = LogLines::new(source, 0);
    let mut decoder = Decoder::default();
    let mut line = Vec::new();
    // The header.
    lines.next(&mut line)?;
    while let Some(ending) = lines.next(&mut line)? {
        if matches!(ending, LineEnding::TooLong { .. }) {
            batch.push_lost();
            continue;
        }
        match decoder.intact_event(&line, text_of) {
            Ok(read) => batch.take(read, line.len() as u64, each),
            Err(BadLine::Io(error)) => return Err(error),
            // A last line without its end is torn.
            Err(_) if ending == LineEnding::EndOfFile => (),
            Err(BadLine::Flaw(_)) => batch.push_lost(),
        }
    }
    if !batch.is_known_to(head) {
        batch.discard_torn();
    }
    batch.deliver(each);
    Ok(())
}

/// The lines since the last whole batch.
#[derive(Default)]
struct IntactBatch {
    lines: Vec<IntactLine>,
    /// The number of its first event, and how many it should have.
    place: Option<(u64, u32)>,
    /// How many of its events were read without a gap.
    n_read: u32,
    n_bytes: u64,
}

impl IntactBatch {
    fn push_lost(&mut self) {
        if !matches!(self.lines.last(), Some(IntactLine::Lost)) {
            self.lines.push(IntactLine::Lost);
        }
    }

    /// `bytes` is the length of the line.
    fn take(&mut self, line: EventLine, bytes: u64, each: &mut dyn FnMut(IntactLine)) {
        let EventLine { event, batch: BatchPlace(i, n), blob_bytes } = line;
        let first = u64::from(i).checked_sub(1).and_then(|before| event.seq.checked_sub(before));
        let Some(first) = first.filter(|_| i <= n) else { return self.push_lost() };
        let place = Some((first, n));
        let is_too_long = self.n_bytes > BATCH_BYTES_MAX || self.n_read > BATCH_EVENTS_MAX;
        if self.place.is_some() && (self.place != place || is_too_long) {
            self.deliver(each);
        }
        self.place = place;
        self.n_bytes = self.n_bytes.saturating_add(bytes).saturating_add(blob_bytes);
        self.n_read += u32::from(i == self.n_read + 1);
        self.lines.push(IntactLine::Event(Box::new(event)));
        if self.n_read == n {
            self.deliver(each);
        }
    }

    /// Whether the desk knows of events of the batch or behind it.
    fn is_known_to(&self, head: Option<&LogHead>) -> bool {
        head.zip(self.place).is_some_and(|(head, (first, _))| first <= head.seq)
    }

    /// Forgets the batch from its first event on.
    fn discard_torn(&mut self) {
        let is_event = |line: &IntactLine| matches!(line, IntactLine::Event(_));
        self.lines.truncate(self.lines.iter().position(is_event).unwrap_or(self.lines.len()));
    }

    fn deliver(&mut self, each: &mut dyn FnMut(IntactLine)) {
        self.lines.drain(..).for_each(each);
        (self.place, self.n_read, self.n_bytes) = (None, 0, 0);
    }
}
