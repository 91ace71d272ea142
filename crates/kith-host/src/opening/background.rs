//! Commands in the background: noted for the next host, and told of by it when they are gone.
//!
//! A command ends with its host, also with one that is killed. The host after it finds the note, and tells
//! each session when somebody speaks in it next: in an event, so that a replay agrees.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kith_engine::state::knowledge::ModelKnowledge;
use kith_sessions::background_notes::{read_background_notes, write_background_notes};
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
    pub(super) fn open(kith_dir: PathBuf) -> Arc<CommandNotes> {
        // Notes that cannot be read cost a reminder.
        let lost = read_background_notes(&kith_dir).unwrap_or_default();
        let kept = Mutex::new(KeptNotes { running: BTreeMap::new(), lost });
        Arc::new(CommandNotes { kith_dir, kept })
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
