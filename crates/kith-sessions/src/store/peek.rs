//! Facts about a session that need no full reading: its header, its last event.

use serde::Deserialize;

use super::{SessionStore, read_error};
use crate::damage::{Damage, DamageCode};
use crate::last_line::{LastLine, last_line};
use crate::log::LogError;
use crate::read::read_header;
use kith_vocab::header::SessionHeader;
use kith_vocab::ids::SessionId;

impl SessionStore {
    /// The first line, which says whose session it is.
    pub fn header(&self, id: SessionId) -> Result<SessionHeader, LogError> {
        let path = self.path(id);
        let failed = |error| read_error(&path, error);
        let source = self.files.open_read(&path).map_err(|error| failed(error.into()))?;
        let (header, _) = read_header(source).map_err(failed)?;
        if header.session_id != id {
            let detail = format!("it is the header of session `{}`", header.session_id);
            let damage = Damage { line: 1, code: DamageCode::InvalidHeader, detail };
            return Err(LogError::Damaged { path, damage });
        }
        Ok(header)
    }

    /// The number of the last event, by the looks of the last line; `None` if that is torn or no
    /// event.
    pub fn newest_seq(&self, id: SessionId) -> Result<Option<u64>, LogError> {
        #[derive(Deserialize)]
        struct SeqOnly {
            seq: u64,
        }
        let path = self.path(id);
        let line = last_line(&*self.files, &path);
        let line = line.map_err(|error| read_error(&path, error.into()))?;
        let LastLine::Whole(line) = line else { return Ok(None) };
        // What else the line holds is for those who read the session.
        Ok(serde_json::from_slice::<SeqOnly>(&line).ok().map(|it| it.seq))
    }
}
