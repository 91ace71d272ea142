//! A new session from what can be read of a damaged one.
//!
//! The damaged file stays as it is. Every line has its own checksum, so each intact one is copied,
//! also behind the damage, and marked as not lived: no call runs and no question is asked again. A
//! reminder tells the model where something of the conversation is missing.

mod copy;

use std::io::Read;

use kith_vocab::clock::Clock;
use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::SessionId;

use super::draft::SessionDraft;
use super::{SessionStore, read_error};
use crate::damage::{Damage, DamageCode};
use crate::journal::RepairedSession;
use crate::line::LogHead;
use crate::log::LogError;
use crate::read::{IntactLine, Tail, each_line};

pub(crate) use copy::{CopiedPart, ReadablePart};

impl SessionStore {
    /// Writes a new session of the same thread from what can be read of a damaged one.
    ///
    /// `header` is the new session's; where it comes from is put in here, and its title if it has
    /// none. Of a session whose own header cannot be read, it says which thread that was. `head` is
    /// what the desk knows of the damaged one: without it a lost tail does not show.
    pub fn repair(
        &self,
        damaged: SessionId,
        head: Option<&LogHead>,
        header: SessionHeader,
        clock: &dyn Clock,
    ) -> Result<RepairedSession, LogError> {
        let session_id = header.session_id;
        let (known, damage) = self.damage_of(damaged, head)?;
        let mut readable = ReadablePart::default();
        let len = self
            .files
            .len(&self.path(damaged))
            .map_err(|source| LogError::Read { path: self.path(damaged), source })?;
        self.each_line((damaged, len), head, &mut |line| readable.take(&line))?;
        if readable.is_empty() && known.is_none() {
            return Err(LogError::Damaged { path: self.path(damaged), damage });
        }
        let header = readable
            .header_of_repair(header, damaged, known.as_ref())
            .map_err(|flaw| LogError::RefusedHeader { path: self.path(session_id), flaw })?;
        let mut draft = SessionDraft::begin(self, &header)?;
        let copied = self.copy((damaged, len), head, &mut draft, clock);
        let copied = match copied {
            Ok(copied) => copied,
            Err(error) => {
                draft.abandon();
                return Err(error);
            }
        };
        let (n_events, keys) = (copied.n_events(), readable.into_keys());
        let head = draft.finish()?.head();
        let Damage { line: lost_from_line, code, .. } = damage;
        Ok(RepairedSession { session_id, n_events, lost_from_line, code, head, keys })
    }

    /// The header of the damaged session, if it can be read, and what is wrong with it.
    fn damage_of(
        &self,
        damaged: SessionId,
        head: Option<&LogHead>,
    ) -> Result<(Option<SessionHeader>, Damage), LogError> {
        match self.read(damaged, head, &mut |_| ()) {
            Ok(reading) => match reading.tail {
                Tail::Damaged(damage) => Ok((Some(reading.header), damage)),
                Tail::Clean | Tail::Torn { .. } => {
                    Err(LogError::NotDamaged { path: self.path(damaged) })
                }
            },
            // A whole header that says something else is that of another session, or of another program.
            Err(LogError::Damaged { damage, .. })
                if matches!(damage.code, DamageCode::BadCrc | DamageCode::InvalidJson) =>
            {
                Ok((None, damage))
            }
            Err(error) => Err(error),
        }
    }

    fn copy(
        &self,
        (damaged, len): (SessionId, u64),
        head: Option<&LogHead>,
        draft: &mut SessionDraft<'_>,
        clock: &dyn Clock,
    ) -> Result<CopiedPart, LogError> {
        let mut copied = CopiedPart::default();
        let mut outcome = Ok(());
        // One by one, so that a session of any length fits into memory; the batches of the
        // damaged file mean nothing here, because the new one exists only when it is whole.
        self.each_line((damaged, len), head, &mut |line| {
            if outcome.is_ok() {
                let events = copied.next(line, clock);
                outcome = add(draft, events, &mut copied);
            }
        })?;
        outcome?;
        let events = copied.end(head, clock);
        add(draft, events, &mut copied)?;
        Ok(copied)
    }

    fn each_line(
        &self,
        (id, len): (SessionId, u64),
        head: Option<&LogHead>,
        each: &mut dyn FnMut(IntactLine),
    ) -> Result<(), LogError> {
        let path = self.path(id);
        let source = self.files.open_read(&path);
        let mut text_of = |named: &_| self.blobs.text(named);
        source
            .and_then(|source| each_line(Box::new(source.take(len)), head, &mut text_of, each))
            .map_err(|error| read_error(&path, error.into()))
    }
}

/// Adds the events one by one. One that may not stand here is left out: it was intact by itself only.
fn add(
    draft: &mut SessionDraft<'_>,
    events: Vec<Event>,
    copied: &mut CopiedPart,
) -> Result<(), LogError> {
    for mut event in events {
        event.seq = draft.next_seq();
        match draft.add(std::slice::from_ref(&event)) {
            Ok(()) => copied.record_written(&event),
            Err(LogError::Refused { .. }) => copied.mark_missing(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
