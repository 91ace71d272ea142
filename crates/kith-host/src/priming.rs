//! Reads the priming scripts chosen for a session, and explains why one cannot be used.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use kith_home::priming::history::HistoryError;
use kith_home::priming::parse::{ScriptWithWarnings, parse_bytes};
use kith_home::priming::script::{PrimingRecord, SCRIPT_BYTES_MAX, Script};
use kith_home::priming::slug::{NameError, ScriptRef, Slug};
use kith_home::priming::store::{PrimingStore, StoreError};
use kith_vocab::json::Json;

use crate::call::{Reply, Response};
use crate::error::{Blame, CallError, ErrorCode};
use crate::house::House;

/// Maximum number of scripts a conversation starts with: few enough to be held in memory at once.
pub const PRIMED_SCRIPTS_MAX: usize = 16;

/// The names as they are meant, before any file is looked at.
pub fn script_refs(names: &[String]) -> Result<Vec<ScriptRef>, CallError> {
    if names.len() > PRIMED_SCRIPTS_MAX {
        let message = format!("a conversation can start with at most {PRIMED_SCRIPTS_MAX} scripts");
        return Err(CallError::usage(message).hint("combine some of them into one script"));
    }
    names.iter().map(|name| name.parse().map_err(CallError::from)).collect()
}

/// Refuses a name that no script can have.
pub fn check_slug(slug: &str) -> Result<(), CallError> {
    let parsed: Result<Slug, NameError> = slug.parse();
    Ok(parsed.map(drop)?)
}

/// Refuses scripts that cannot be read or are not for this agent.
pub fn check(house: &House, agent_id: &str, script_refs: &[ScriptRef]) -> Result<(), CallError> {
    load_scripts(house, agent_id, script_refs).map(drop)
}

/// The scripts in their order, if all of them can be read and are for this agent.
pub(crate) fn load_scripts(
    house: &House,
    agent_id: &str,
    script_refs: &[ScriptRef],
) -> Result<Vec<Script>, CallError> {
    let store = PrimingStore::new(&house.dir);
    let load = |it| Ok(store.load_for(it, agent_id)?.script);
    script_refs.iter().map(load).collect()
}

/// A script that was read from a file outside of the house.
pub struct ParsedScript {
    pub script: Json,
    pub title: Option<String>,
    pub records: usize,
}

/// Reads one file as a script, wherever it lies.
pub fn parse_file(file: &Path) -> Reply<ParsedScript> {
    let bytes = read(file).map_err(|source| {
        let message = format!("cannot read `{}`: {source}", file.display());
        match source.kind() {
            ErrorKind::NotFound | ErrorKind::InvalidInput => CallError::invalid(message),
            _ => CallError::filesystem(message),
        }
    })?;
    let path = file.to_owned();
    let parsed = parse_bytes(&bytes).map_err(|error| StoreError::Script { path, error })?;
    let notes = warnings_in_words(file, &parsed);
    let ScriptWithWarnings { script, .. } = parsed;
    let (title, records) = (script.title(), script.records.len());
    Ok(Response::new(ParsedScript { script: script.to_json(), title, records }).with_notes(notes))
}

/// At most one byte more than a script may have: enough to see that it has too many.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would be waited for, and a folder is read on some systems.
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn warnings_in_words(path: &Path, parsed: &ScriptWithWarnings) -> Vec<String> {
    let warnings = parsed.warnings.iter();
    warnings.map(|warning| format!("`{}`, {warning}", path.display())).collect()
}

/// What a person reads of a primed record that has no counterpart in the log: the name of its type
/// and its text. `None` for one without a text, which is a mark for programs.
pub fn record_in_words(json: &Json) -> Option<(String, String)> {
    let record = PrimingRecord::from_json(json)?;
    let name = record.record_type.name();
    let name = name.strip_suffix("_record").unwrap_or(name).replace('_', " ");
    Some((name, record.body.clone()))
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> CallError {
        match error {
            StoreError::Script { error: ref wrong, .. } => {
                let line = wrong.line;
                CallError::invalid(error).at_line(line)
            }
            StoreError::NotFound { .. } => {
                CallError::invalid(error).hint("`kith prime ls` lists the scripts")
            }
            StoreError::NotApplicable { .. } => CallError::invalid(error)
                .hint("its folder and its `applicableMemberIds` say which agents may use it"),
            StoreError::LeadsOutside { .. }
            | StoreError::NotAFile { .. }
            | StoreError::Unreadable { .. } => CallError::invalid(error),
            StoreError::AlreadyExists { .. } => CallError::request(ErrorCode::AlreadyExists, error)
                .hint("`--overwrite` replaces it; nothing was changed"),
            StoreError::CaseClash { .. } => CallError::request(ErrorCode::Conflict, error),
            StoreError::Name(error) => error.into(),
            StoreError::Write { ref source, .. } | StoreError::WriteRecent { ref source, .. }
                if source.kind() == ErrorKind::StorageFull =>
            {
                CallError::new(Blame::Environment, ErrorCode::DiskFull, error)
                    .hint("free some disk space")
            }
            StoreError::Read { .. }
            | StoreError::Write { .. }
            | StoreError::List { .. }
            | StoreError::ReadRecent { .. }
            | StoreError::WriteRecent { .. }
            | StoreError::Time { .. } => CallError::filesystem(error),
        }
    }
}

impl From<NameError> for CallError {
    fn from(error: NameError) -> CallError {
        CallError::new(Blame::Usage, ErrorCode::Usage, error)
    }
}

impl From<HistoryError> for CallError {
    fn from(error: HistoryError) -> CallError {
        let hint = match error {
            HistoryError::Empty => "send a message in it first; no file was written",
            HistoryError::TooLong => "no file was written",
            HistoryError::NotARecord { .. } => {
                "another version of kith wrote it; no file was written"
            }
        };
        CallError::invalid(error).hint(hint)
    }
}
