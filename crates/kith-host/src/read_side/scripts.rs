//! Priming scripts: listed, shown, checked, and made of a session.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kith_engine::checkpoints::activity;
use kith_home::priming::export::export;
use kith_home::priming::history::{ScriptSource, from_events};
use kith_home::priming::script::{Script, ScriptField};
use kith_home::priming::slug::ScriptRef;
use kith_home::priming::store::{
    LISTING_ENTRIES_MAX, PrimingStore, ScriptEntry, ScriptIssue, ScriptState,
};
use kith_sessions::read::Tail;
use kith_vocab::clock::Clock;
use kith_vocab::secret::filter::SecretFilter;

use super::sessions::WITHOUT_DESK;
use super::{FoldedSession, ReadSide};
use crate::call::{Reply, Response};
use crate::calls::priming::{
    CheckScripts, ExportScript, ListScripts, ScriptCheckReport, ScriptFault, ScriptIssueView,
    ScriptList, ScriptRow, ScriptText, ScriptView, ShowScript,
};
use crate::clock::SystemClock;
use crate::priming::warnings_in_words;
use crate::secrets::secret_filter;
use crate::words::{rfc3339, tail_in_words};

pub async fn list_scripts(side: Arc<ReadSide>, call: ListScripts) -> Reply<ScriptList> {
    let agent_id = side.agent_id(call.agent_id.as_deref())?;
    let store = PrimingStore::new(&side.house.dir);
    let listing = store.search(&agent_id, call.query.as_deref().unwrap_or_default())?;
    let recent: BTreeMap<String, (usize, String)> = (0..)
        .zip(store.recent(&agent_id)?)
        .map(|(place, it)| (it.script_ref.to_string(), (place, it.last_used_at)))
        .collect();
    let mut scripts: Vec<(usize, ScriptRow)> = listing
        .entries
        .into_iter()
        .map(|entry| {
            let name = entry.script_ref.as_ref().map(ToString::to_string);
            let (place, last_used_at) = name
                .and_then(|name| recent.get(&name).cloned())
                .map_or((usize::MAX, None), |(place, at)| (place, Some(at)));
            (place, row_of(entry, last_used_at))
        })
        .collect();
    // Those never used keep their order.
    scripts.sort_by_key(|(place, _)| *place);
    let scripts = scripts.into_iter().map(|(_, row)| row).collect();
    let cut = format!("there are more than {LISTING_ENTRIES_MAX} files; not all are listed");
    Ok(Response::new(ScriptList { scripts }).with_notes(listing.is_cut.then_some(cut)))
}

pub async fn show_script(side: Arc<ReadSide>, call: ShowScript) -> Reply<ScriptView> {
    let script_ref: ScriptRef = call.script_ref.parse()?;
    let parsed = PrimingStore::new(&side.house.dir).load(&script_ref)?;
    let path = PrimingStore::path_of(&script_ref);
    let view = ScriptView {
        script_ref: script_ref.to_string(),
        path: as_text(&path),
        script: parsed.script.to_json(),
        text: export(&parsed.script),
    };
    Ok(Response::new(view).with_notes(warnings_in_words(&path, &parsed)))
}

pub async fn check_scripts(side: Arc<ReadSide>, _: CheckScripts) -> Reply<ScriptCheckReport> {
    let report = PrimingStore::new(&side.house.dir).check_all()?;
    Ok(Response::new(ScriptCheckReport {
        checked: report.n_checked,
        failed: report.n_failed,
        issues: report.issues.iter().map(issue_of).collect(),
        warnings: report.warnings.iter().map(issue_of).collect(),
    }))
}

pub async fn export_script(side: Arc<ReadSide>, call: ExportScript) -> Reply<ScriptText> {
    let script = side.script_of(&call.session).await?;
    let text = ScriptText { records: script.data.records.len(), text: export(&script.data) };
    Ok(Response { data: text, notes: script.notes })
}

impl ReadSide {
    /// The path from root to leaf as a script, and what a person should know about the session.
    pub(crate) async fn script_of(&self, session: &str) -> Reply<Script> {
        let id = self.resolve(session).await?;
        let FoldedSession { reading, state } = self.read(id).await?;
        let header = reading.header;
        let is_damaged = matches!(reading.tail, Tail::Damaged(_));
        let source = ScriptSource {
            title: state.title.as_ref().map(|(title, _)| title.clone()).or(header.meta.title),
            owner_agent_id: header.agent_id,
            generated_at: rfc3339(SystemClock.now()),
            session_id: id.to_string(),
            thread_id: header.thread_id.as_str().to_owned(),
            // A branch is known by where it ends.
            branch: state.leaf().map_or_else(String::new, |leaf| leaf.to_string()),
            state: if is_damaged { "readOnly" } else { activity(&state) }.to_owned(),
        };
        let path = state.tree.path();
        let mut script = from_events(path.iter().map(|node| &node.event), &source)?;
        remove_secrets(&mut script, &secret_filter(&*self.settings()?));
        let notes = tail_in_words(&reading.tail);
        Ok(Response::new(script).with_notes(notes).with_notes(self.desk_note(WITHOUT_DESK)))
    }
}

/// A script is made to be kept with the agent's files and given to others.
fn remove_secrets(script: &mut Script, secrets: &SecretFilter) {
    let fields = |fields: &mut Vec<ScriptField>| {
        for field in fields {
            field.value = secrets.filtered_json(&field.value);
        }
    };
    fields(&mut script.front_matter);
    for record in &mut script.records {
        fields(&mut record.fields);
        if let Cow::Owned(filtered) = secrets.filtered(&record.body) {
            record.body = filtered;
        }
    }
}

fn row_of(entry: ScriptEntry, last_used_at: Option<String>) -> ScriptRow {
    let (title, records, error) = match entry.state {
        ScriptState::Ready { title, n_records, .. } => (title, Some(n_records), None),
        ScriptState::Broken(issue) => {
            (None, None, Some(ScriptFault { line: issue.line, message: issue.message }))
        }
    };
    let script_ref = entry.script_ref.map(|it| it.to_string());
    ScriptRow { script_ref, path: as_text(&entry.path), title, records, last_used_at, error }
}

fn issue_of(issue: &ScriptIssue) -> ScriptIssueView {
    let (path, message) = (as_text(&issue.path), issue.message.clone());
    ScriptIssueView { path, line: issue.line, message }
}

pub(crate) fn as_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
