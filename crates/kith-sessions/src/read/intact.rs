//! Every line of a damaged file that is good by itself, also behind the damage.

use std::io::{self, Read};

use kith_vocab::event::Event;

use super::{LineEnding, LogLines, TextOf};
use crate::damage::BadLine;
use crate::line::Decoder;

/// A line behind the header.
pub(crate) enum IntactLine {
    Event(Box<Event>),
    /// What stood here cannot be read.
    Lost,
}

/// Gives each line to the callback. Whether one follows the other is not asked.
pub(crate) fn each_line(
    source: Box<dyn Read + Send>,
    text_of: TextOf<'_>,
    each: &mut dyn FnMut(IntactLine),
) -> io::Result<()> {
    let mut lines = LogLines::new(source, 0);
    let mut decoder = Decoder::default();
    let mut line = Vec::new();
    // The header.
    lines.next(&mut line)?;
    while let Some(ending) = lines.next(&mut line)? {
        if matches!(ending, LineEnding::TooLong { .. }) {
            each(IntactLine::Lost);
            continue;
        }
        match decoder.intact_event(&line, text_of) {
            Ok(read) => each(IntactLine::Event(Box::new(read.event))),
            Err(BadLine::Io(error)) => return Err(error),
            Err(BadLine::Flaw(_) | BadLine::Unsure) => each(IntactLine::Lost),
        }
    }
    Ok(())
}
