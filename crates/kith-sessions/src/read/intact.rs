//! Every line of a damaged file that is good by itself, also behind the damage.

use std::io::{self, Read};

use kith_vocab::event::{BatchPlace, Event};

use super::{LineEnding, LogLines, TextOf};
use crate::damage::BadLine;
use crate::line::{Decoder, EventLine, Head};

/// A line behind the header.
pub(crate) enum IntactLine {
    Event(Box<Event>),
    /// What stood here cannot be read.
    Lost,
}

/// Gives each line to the callback. Whether one follows the other is not asked.
///
/// A batch at the end that is not whole was never acknowledged, unless the desk knows of it: like the
/// torn tail of a session that is not damaged, it is left out.
pub(crate) fn each_line(
    source: Box<dyn Read + Send>,
    head: Option<&Head>,
    text_of: TextOf<'_>,
    each: &mut dyn FnMut(IntactLine),
) -> io::Result<()> {
    let mut batch = OpenBatch::default();
    let mut lines = LogLines::new(source, 0);
    let mut decoder = Decoder::default();
    let mut line = Vec::new();
    // The header.
    lines.next(&mut line)?;
    while let Some(ending) = lines.next(&mut line)? {
        if matches!(ending, LineEnding::TooLong { .. }) {
            batch.lost();
            continue;
        }
        match decoder.intact_event(&line, text_of) {
            Ok(read) => batch.take(read, each),
            Err(BadLine::Io(error)) => return Err(error),
            // A last line without its end is torn.
            Err(_) if ending == LineEnding::EndOfFile => (),
            Err(BadLine::Flaw(_) | BadLine::Unsure) => batch.lost(),
        }
    }
    if head.is_none_or(|head| batch.last_seq >= head.seq) {
        batch.tear();
    }
    batch.give(each);
    Ok(())
}

/// The lines since the last whole batch.
#[derive(Default)]
struct OpenBatch {
    lines: Vec<IntactLine>,
    /// The number of its first event, and how many it should have.
    place: Option<(u64, u32)>,
    n_events: u32,
    /// The number of the last event that was given on.
    last_seq: u64,
}

impl OpenBatch {
    fn lost(&mut self) {
        if !matches!(self.lines.last(), Some(IntactLine::Lost)) {
            self.lines.push(IntactLine::Lost);
        }
    }

    fn take(&mut self, line: EventLine, each: &mut dyn FnMut(IntactLine)) {
        let EventLine { event, batch: BatchPlace(i, n), .. } = line;
        let place = Some((event.seq.saturating_sub(u64::from(i) - 1), n));
        if self.place.is_some() && self.place != place {
            self.give(each);
        }
        self.place = place;
        self.lines.push(IntactLine::Event(Box::new(event)));
        self.n_events += 1;
        if i == n && self.n_events == n {
            self.give(each);
        }
    }

    /// Forgets it from its first event on.
    fn tear(&mut self) {
        let is_event = |line: &IntactLine| matches!(line, IntactLine::Event(_));
        self.lines.truncate(self.lines.iter().position(is_event).unwrap_or(self.lines.len()));
    }

    fn give(&mut self, each: &mut dyn FnMut(IntactLine)) {
        (self.place, self.n_events) = (None, 0);
        for line in self.lines.drain(..) {
            if let IntactLine::Event(event) = &line {
                self.last_seq = self.last_seq.max(event.seq);
            }
            each(line);
        }
    }
}
