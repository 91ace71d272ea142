//! The scripts that were chosen for a conversation, and why one cannot be used.

use std::io::ErrorKind;

use kith_home::priming::history::HistoryError;
use kith_home::priming::script::Script;
use kith_home::priming::slug::{NameError, ScriptRef};
use kith_home::priming::store::{PrimingStore, StoreError};

use crate::house::House;
use crate::report::{Blame, Report};

/// Of one conversation: enough for any, and few enough to be held at once.
pub(crate) const PRIMED_SCRIPTS_MAX: usize = 16;

/// The names as they are meant, before any file is looked at.
pub(crate) fn script_refs(names: &[String]) -> Result<Vec<ScriptRef>, Report> {
    if names.len() > PRIMED_SCRIPTS_MAX {
        let message = format!("a conversation begins with at most {PRIMED_SCRIPTS_MAX} scripts");
        return Err(Report::usage(message).hint("put what belongs together into one script"));
    }
    names.iter().map(|name| name.parse().map_err(Report::from)).collect()
}

/// The scripts in their order, if all of them can be read and are for this agent.
pub(crate) fn load(
    house: &House,
    agent_id: &str,
    script_refs: &[ScriptRef],
) -> Result<Vec<Script>, Report> {
    let store = PrimingStore::new(&house.dir);
    let load = |it| Ok(store.load_for(it, agent_id)?.script);
    script_refs.iter().map(load).collect()
}

impl From<StoreError> for Report {
    fn from(error: StoreError) -> Report {
        let refused = |code| move |error| Report::new(Blame::Request, code, error);
        match error {
            StoreError::Script { error: ref wrong, .. } => {
                let line = wrong.line;
                refused("invalid_request")(error).at_line(line)
            }
            StoreError::NotFound { .. } => refused("invalid_request")(error)
                .hint("`kith prime ls` lists the scripts there are"),
            StoreError::NotApplicable { .. } => refused("invalid_request")(error)
                .hint("its folder or its `applicableMemberIds` names those who may use it"),
            StoreError::LeadsOutside { .. }
            | StoreError::NotAFile { .. }
            | StoreError::Unreadable { .. } => refused("invalid_request")(error),
            StoreError::AlreadyExists { .. } => refused("already_exists")(error)
                .hint("`--overwrite` replaces it; nothing was changed"),
            StoreError::CaseClash { .. } => refused("conflict")(error),
            StoreError::Name(error) => error.into(),
            StoreError::Write { ref source, .. } | StoreError::WriteRecent { ref source, .. }
                if source.kind() == ErrorKind::StorageFull =>
            {
                Report::new(Blame::Environment, "disk_full", error).hint("make room on the disk")
            }
            StoreError::Read { .. }
            | StoreError::Write { .. }
            | StoreError::List { .. }
            | StoreError::ReadRecent { .. }
            | StoreError::WriteRecent { .. }
            | StoreError::Time { .. } => Report::new(Blame::Environment, "filesystem_error", error),
        }
    }
}

impl From<NameError> for Report {
    fn from(error: NameError) -> Report {
        Report::new(Blame::Usage, "usage", error)
    }
}

impl From<HistoryError> for Report {
    fn from(error: HistoryError) -> Report {
        let hint = match error {
            HistoryError::Empty => "say something in it first; no file was written",
            HistoryError::TooLong => "no file was written",
            HistoryError::NotARecord { .. } => "another kith wrote it; no file was written",
        };
        Report::new(Blame::Request, "invalid_request", error).hint(hint)
    }
}
