//! `kith prime ls`: what this agent may begin a conversation with.

use std::collections::BTreeMap;
use std::process::ExitCode;

use kith_home::priming::store::{Entry, EntryState, LISTING_ENTRIES_MAX, PrimingStore};
use serde::Serialize;

use super::super::print_form;
use super::{at_line, in_form, n_records_in_words};
use crate::args::Shared;
use crate::args::prime::PrimeLs;
use crate::config::Config;
use crate::house::House;
use crate::report::Report;
use crate::ui;

#[derive(Serialize)]
struct ListForm {
    scripts: Vec<ScriptForm>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScriptForm {
    /// `null` when the file's name is no name of a script.
    script_ref: Option<String>,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorForm>,
}

#[derive(Serialize)]
struct ErrorForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    message: String,
}

pub(super) fn run(shared: &Shared, args: &PrimeLs) -> Result<ExitCode, Report> {
    let house = House::find(shared.home.as_deref())?;
    let config = Config::load(&house)?;
    let agent_id = &config.team.choose(shared.agent())?.id;
    let store = PrimingStore::new(&house.dir);
    let query = args.query.as_deref().unwrap_or_default();
    let listing = store.search(agent_id, query)?;
    let recent: BTreeMap<String, (usize, String)> = (0..)
        .zip(store.recent(agent_id)?)
        .map(|(place, it)| (it.script_ref.to_string(), (place, it.last_used_at)))
        .collect();
    let mut scripts: Vec<(usize, ScriptForm)> = listing
        .entries
        .into_iter()
        .map(|entry| {
            let name = entry.script_ref.as_ref().map(ToString::to_string);
            let (place, last_used_at) = name
                .and_then(|name| recent.get(&name).cloned())
                .map_or((usize::MAX, None), |(place, at)| (place, Some(at)));
            (place, form_of(entry, last_used_at))
        })
        .collect();
    // Those never used keep their order.
    scripts.sort_by_key(|(place, _)| *place);
    let scripts: Vec<ScriptForm> = scripts.into_iter().map(|(_, form)| form).collect();
    if shared.json {
        print_form(true, &ListForm { scripts });
    } else if scripts.is_empty() && !query.is_empty() {
        ui::note(&format!("no script fits `{query}`"));
    } else if scripts.is_empty() {
        ui::note("no scripts yet; `kith prime save latest SLUG` makes one of a conversation");
    } else {
        let names = scripts.iter().map(|it| name_of(it).chars().count());
        let width = names.max().unwrap_or_default();
        let lines: Vec<String> = scripts.iter().map(|it| line_of(it, width)).collect();
        ui::line(&lines.join("\n"));
    }
    if listing.is_cut {
        ui::note(&format!("there are more than {LISTING_ENTRIES_MAX} files; not all are listed"));
    }
    Ok(ExitCode::SUCCESS)
}

fn form_of(entry: Entry, last_used_at: Option<String>) -> ScriptForm {
    let (title, records, error) = match entry.state {
        EntryState::Ready { title, n_records, .. } => (title, Some(n_records), None),
        EntryState::Broken(issue) => {
            (None, None, Some(ErrorForm { line: issue.line, message: issue.message }))
        }
    };
    let script_ref = entry.script_ref.map(|it| it.to_string());
    ScriptForm { script_ref, path: in_form(&entry.path), title, records, last_used_at, error }
}

fn name_of(script: &ScriptForm) -> &str {
    script.script_ref.as_ref().unwrap_or(&script.path)
}

fn line_of(script: &ScriptForm, width: usize) -> String {
    let name = name_of(script);
    match (&script.error, script.records) {
        (Some(error), _) => {
            format!("{name:width$}  cannot be used{}: {}", at_line(error.line), error.message)
        }
        (None, n_records) => {
            let n_records = n_records_in_words(n_records.unwrap_or_default());
            let title = script.title.as_deref().unwrap_or_default();
            format!("{name:width$}  {n_records}  {title}").trim_end().to_owned()
        }
    }
}
