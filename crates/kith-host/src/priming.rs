//! Reads the priming scripts chosen for a session, and explains why one cannot be used.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use kith_home::priming::history::HistoryError;
use kith_home::priming::parse::{ScriptWithWarnings, parse_bytes};
use kith_home::priming::script::{PrimingRecord, SCRIPT_BYTES_MAX, Script, ScriptField};
use kith_home::priming::slug::{NameError, ScriptRef, Slug};
use kith_home::priming::store::{Existing, PrimingStore, StoreError};
use kith_vocab::json::Json;

use crate::call::{Reply, Response};
use crate::error::{Blame, CallError, ErrorCode};
use crate::host::upkeep::checked_title;
use crate::house::House;
use crate::settings::nearest;

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

/// The name of a script as it was typed, without the `.md` of its file. Refuses a name that no script
/// can have.
pub fn slug_of(typed: &str) -> Result<Slug, CallError> {
    let name = typed.strip_suffix(".md").unwrap_or(typed);
    name.parse().map_err(|error: NameError| {
        let is_foreign = !name.is_ascii();
        let error = CallError::from(error);
        if !is_foreign {
            return error;
        }
        error.hint("names of scripts are file names in ASCII; `--title` takes any language")
    })
}

/// The reference of the only script of this name that the agent may use. A whole reference is left
/// as it is.
pub fn ref_of(house: &House, agent_id: &str, typed: &str) -> Result<String, CallError> {
    let name = typed.strip_suffix(".md").unwrap_or(typed);
    // What can be no name at all is refused with the reason, as a reference.
    if name.parse::<ScriptRef>().is_ok() || name.parse::<Slug>().is_err() {
        return Ok(name.to_owned());
    }
    let listed = PrimingStore::new(&house.dir).list(agent_id)?;
    let refs = listed.entries.iter().filter_map(|it| it.script_ref.as_ref());
    let slugs: Vec<String> = refs.clone().map(|it| it.slug().to_string()).collect();
    let fits = |it: &&ScriptRef| it.slug().is_named_by(name);
    match refs.filter(fits).collect::<Vec<_>>().as_slice() {
        [] => Err(CallError::invalid(format!("there is no script `{name}` for this agent")).hint(
            match nearest(name, slugs.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "`kith prime ls` lists the scripts".to_owned(),
            },
        )),
        [only] => Ok(only.to_string()),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            let message = format!("several scripts match `{name}`: {}", names.join(", "));
            Err(CallError::invalid(message).hint("use a whole reference"))
        }
    }
}

/// The reference of an agent's own script, or of one for every agent.
pub fn named_ref(agent_id: &str, slug: Slug, is_shared: bool) -> Result<ScriptRef, CallError> {
    if is_shared {
        return Ok(ScriptRef::TeamShared { slug });
    }
    Ok(ScriptRef::Individual { member: agent_id.parse()?, slug })
}

/// The script that `kith prime new` begins with, to be edited.
const SCAFFOLD: &str = "\
### record human_text_record

``````markdown
---
genseq: 1
msgId: message-1
---

What the person says.
``````

### record agent_words_record

``````markdown
---
genseq: 1
---

What the agent answers.
``````
";

/// Writes a short script to be edited. Returns its reference and its file, relative to the house.
pub fn create_script(
    house: &House,
    script_ref: &ScriptRef,
    title: Option<&str>,
) -> Result<PathBuf, CallError> {
    let parsed = parse_bytes(SCAFFOLD.as_bytes());
    let mut script = parsed.map_err(|_| CallError::bug("the scaffold is a script"))?.script;
    if let Some(title) = title {
        set_title(&mut script, title)?;
    }
    Ok(PrimingStore::new(&house.dir).save(script_ref, &script, Existing::Keep)?)
}

/// Gives a script a title, on one line.
pub(crate) fn set_title(script: &mut Script, title: &str) -> Result<(), CallError> {
    let title = checked_title(title)?;
    script.front_matter.retain(|field| field.name != "title");
    script.front_matter.insert(0, ScriptField::text("title", &title));
    Ok(())
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
