//! `kith prime export` and `kith prime save`: a session as a script.

use std::process::ExitCode;

use kith_home::priming::export::export as text_of;
use kith_home::priming::history::{Source, from_events};
use kith_home::priming::script::Script;
use kith_home::priming::slug::{MemberId, ScriptRef, Slug};
use kith_home::priming::store::{Existing, PrimingStore};
use kith_sessions::read::Tail;
use kith_vocab::clock::Clock;
use serde::Serialize;

use super::super::{print_form, print_notes, reader};
use super::{in_form, n_records_in_words};
use crate::args::Shared;
use crate::args::prime::{PrimeExport, PrimeSave};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::house::House;
use crate::reading::{Read, rfc3339, tail_in_words};
use crate::report::Report;
use crate::ui;

#[derive(Serialize)]
struct SaveForm {
    /// `null` where nothing was written.
    path: Option<String>,
    records: usize,
}

pub(super) async fn export(shared: &Shared, args: PrimeExport) -> Result<ExitCode, Report> {
    let (script, notes) = script_of(shared, &args.session).await?;
    if shared.json {
        print_form(true, &SaveForm { path: None, records: script.records.len() });
    } else {
        ui::document(&text_of(&script));
    }
    print_notes(&notes);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run(shared: &Shared, args: PrimeSave) -> Result<ExitCode, Report> {
    // Refused before anything is read.
    let slug: Slug = args.slug.parse()?;
    let house = House::find(shared.home.as_deref())?;
    let script_ref = if args.shared {
        ScriptRef::TeamShared { slug }
    } else {
        let config = Config::load(&house)?;
        let member: MemberId = config.team.choose(shared.agent())?.id.parse()?;
        ScriptRef::Individual { member, slug }
    };
    let (script, notes) = script_of(shared, &args.session).await?;
    let existing = if args.overwrite { Existing::Replace } else { Existing::Keep };
    let path = PrimingStore::new(&house.dir).save(&script_ref, &script, existing)?;
    let n_records = script.records.len();
    if shared.json {
        print_form(true, &SaveForm { path: Some(in_form(&path)), records: n_records });
    } else {
        let n_records = n_records_in_words(n_records);
        ui::line(&format!("{n_records} in `{}`", path.display()));
        ui::line(&format!("\nBegin with it:\n  kith new --prime {script_ref}"));
    }
    print_notes(&notes);
    Ok(ExitCode::SUCCESS)
}

/// The path from root to leaf as a script, and what a person should know about the session.
async fn script_of(shared: &Shared, session: &str) -> Result<(Script, Vec<String>), Report> {
    let reader = reader(shared).await?;
    let id = reader.resolve(session).await?;
    let Read { reading, state } = reader.read(id).await?;
    let header = reading.header;
    let is_damaged = matches!(reading.tail, Tail::Damaged(_));
    let source = Source {
        title: state.title.as_ref().map(|(title, _)| title.clone()).or(header.meta.title),
        owner_agent_id: header.agent_id,
        generated_at: rfc3339(SystemClock.now()),
        session_id: id.to_string(),
        thread_id: header.thread_id.as_str().to_owned(),
        // A branch is known by where it ends.
        branch: state.leaf().map_or_else(String::new, |leaf| leaf.to_string()),
        state: if is_damaged { "readOnly" } else { kith_engine::shelf::standing(&state) }
            .to_owned(),
    };
    let path = state.tree.path();
    let script = from_events(path.iter().map(|node| &node.event), &source)?;
    Ok((script, tail_in_words(&reading.tail)))
}
