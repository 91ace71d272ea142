//! Commands in the background: noted for the next host, and told of by it when they are gone.
//!
//! A command ends with its host, also with one that is killed. The host after it finds the note, and tells
//! each session when somebody speaks in it next: in an event, so that a replay agrees.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_engine::state::knowledge::ModelKnowledge;
use kith_sessions::background_notes::{
    read_background_notes, set_aside_background_notes, write_background_notes,
};
use kith_tools::exec_shell::background::BackgroundNotes;
use kith_vocab::event::Body;
use kith_vocab::event::messages::{HarnessItem, HarnessItemEvent, HarnessKind, Origin, Trust};
use kith_vocab::ids::SessionId;
use kith_vocab::json::Json;
use serde::{Deserialize, Serialize};

type CommandIds = BTreeMap<SessionId, Vec<String>>;

/// What is noted of commands, and what an earlier host left.
pub(super) struct CommandNotes {
    kith_dir: PathBuf,
    kept: Mutex<KeptNotes>,
}

#[derive(Default)]
struct KeptNotes {
    running: CommandIds,
    /// Those of an earlier host, until their sessions have been told.
    lost: CommandIds,
}

/// The facts of the reminder.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndedCommands {
    ended_commands: Vec<String>,
}

impl CommandNotes {
    /// The notes of a house, and what was wrong with those that an earlier host left.
    pub(super) fn open(kith_dir: PathBuf) -> (Arc<CommandNotes>, Option<String>) {
        let (lost, problem) = match read_background_notes(&kith_dir) {
            Ok(lost) => (lost, None),
            Err(error) => (BTreeMap::new(), Some(set_aside(&kith_dir, &error))),
        };
        let kept = Mutex::new(KeptNotes { running: BTreeMap::new(), lost });
        (Arc::new(CommandNotes { kith_dir, kept }), problem)
    }

    /// Tells a session which of its commands are gone, if its model does not know it yet.
    pub(super) fn news(&self, session: SessionId, told: &ModelKnowledge<'_>) -> Option<Body> {
        let mut kept = self.kept();
        let lost = kept.lost.get_mut(&session)?;
        let known: Vec<String> = told
            .data(HarnessKind::RuntimeNotice)
            .filter_map(|data| data.read::<EndedCommands>().ok())
            .flat_map(|it| it.ended_commands)
            .collect();
        lost.retain(|id| !known.contains(id));
        if !lost.is_empty() {
            return Some(reminder(lost.clone()));
        }
        kept.lost.remove(&session);
        self.write(&kept);
        None
    }

    /// Forgets what is noted of a session that is gone: nobody will speak in it.
    pub(super) fn forget(&self, session: SessionId) {
        let mut kept = self.kept();
        if kept.lost.remove(&session).is_some() {
            self.write(&kept);
        }
    }

    fn write(&self, kept: &KeptNotes) {
        let mut notes = kept.running.clone();
        for (session, ids) in &kept.lost {
            notes.entry(*session).or_default().extend(ids.iter().cloned());
        }
        // A full disk costs a reminder, not the command.
        write_background_notes(&self.kith_dir, &notes).ok();
    }

    fn kept(&self) -> MutexGuard<'_, KeptNotes> {
        // Each change replaces a whole entry, so a panic elsewhere does not spoil it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps notes that cannot be read for whoever wants to look at them: the next ones would replace them.
fn set_aside(kith_dir: &Path, error: &io::Error) -> String {
    let kept = match set_aside_background_notes(kith_dir) {
        Ok(path) => format!("they are kept as `{}`", path.display()),
        Err(error) => format!("they could not be kept: {error}"),
    };
    format!(
        "the notes about commands in the background cannot be read, so sessions are not told which of \
         theirs have ended: {error}; {kept}"
    )
}

/// The notes as the commands write them.
pub(super) struct NotesOfHost(pub(super) Arc<CommandNotes>);

impl BackgroundNotes for NotesOfHost {
    fn keep(&self, running: &CommandIds) {
        let mut kept = self.0.kept();
        kept.running.clone_from(running);
        self.0.write(&kept);
    }
}

fn reminder(ids: Vec<String>) -> Body {
    let named: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
    let content = format!(
        "No longer running in the background, because the kith that ran them has ended: {}. What they \
         printed and was not read is gone. Start again what is still needed.",
        named.join(", ")
    );
    let item = HarnessItem {
        kind: HarnessKind::RuntimeNotice,
        origin: Origin::System,
        content: content.into(),
        visibility: HarnessKind::RuntimeNotice.usual_visibility(),
        data: Some(Json::of(&EndedCommands { ended_commands: ids })),
    };
    Body::HarnessItem(HarnessItemEvent::new(item, Trust::Owner))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use kith_vocab::clock::Clock as _;

    use super::*;
    use crate::clock::SystemClock;

    fn session() -> SessionId {
        SessionId::from_uuid(SystemClock.new_id())
    }

    #[test]
    fn notes_that_cannot_be_read_are_kept_and_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let left = CommandIds::from([(session(), vec!["3f2a91".to_owned()])]);
        write_background_notes(dir.path(), &left).unwrap();
        let path = dir.path().join("background.json");
        fs::write(&path, "no JSON").unwrap();
        let (notes, problem) = CommandNotes::open(dir.path().to_owned());
        let problem = problem.unwrap();
        assert!(problem.contains("background.unreadable.json"), "{problem}");
        let next = CommandIds::from([(session(), vec!["12ab34".to_owned()])]);
        NotesOfHost(notes).keep(&next);
        assert_eq!(read_background_notes(dir.path()).unwrap(), next);
        let kept = fs::read_to_string(dir.path().join("background.unreadable.json")).unwrap();
        assert_eq!(kept, "no JSON");
    }

    #[test]
    fn notes_of_a_session_that_is_removed_go_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let (gone, other) = (session(), session());
        let ids = vec!["3f2a91".to_owned()];
        let left = CommandIds::from([(gone, ids.clone()), (other, ids.clone())]);
        write_background_notes(dir.path(), &left).unwrap();
        let (notes, problem) = CommandNotes::open(dir.path().to_owned());
        assert_eq!(problem, None);
        notes.forget(gone);
        let kept = read_background_notes(dir.path()).unwrap();
        assert_eq!(kept, CommandIds::from([(other, ids)]));
    }
}
