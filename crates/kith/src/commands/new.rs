//! `kith new`: begin a session before anything is said in it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kith_vocab::clock::Clock;
use kith_vocab::header::Priming;
use kith_vocab::ids::SessionId;

use super::{print_form, print_notes, unexpected, write};
use crate::args::Shared;
use crate::args::prime::New;
use crate::client::dialog::CreateDialog;
use crate::client::{Answer, Request};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::house::House;
use crate::priming;
use crate::reading::short;
use crate::report::{Blame, Report};
use crate::ui;

pub(crate) async fn run(shared: &Shared, args: New) -> Result<ExitCode, Report> {
    let script_refs = priming::script_refs(&args.prime)?;
    let mut house = House::find(shared.home.as_deref())?;
    if let Some(cwd) = &args.cwd {
        house.cwd = folder(cwd)?;
    }
    // All that can be refused is refused before the house is touched.
    let config = Config::load(&house)?;
    let agent_id = config.team.choose(shared.agent())?.id.clone();
    priming::load(&house, &agent_id, &script_refs)?;
    let thread_id = match &args.thread {
        None => house.thread_of_cwd()?,
        Some(thread) => thread.parse().map_err(|error| {
            Report::new(Blame::Usage, "usage", error).hint("for example `--thread web:room:notes`")
        })?,
    };
    let priming = Priming { script_refs: args.prime, show_in_ui: !args.hide_primed };
    let request = Request::CreateDialog(CreateDialog {
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        agent_id: Some(agent_id),
        thread_id,
        cwd: house.cwd.display().to_string(),
        priming: Some(priming),
    });
    let Answer::Created(told) = write(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
    } else {
        let told_events = match told.form.primed {
            0 => "empty".to_owned(),
            1 => "1 event primed".to_owned(),
            n => format!("{n} events primed"),
        };
        let (id, thread) = (short(told.form.session_id), told.form.thread_id.as_str());
        ui::line(&format!("{id}  {thread}  {told_events}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn folder(dir: &Path) -> Result<PathBuf, Report> {
    let unusable = |what: String| {
        let message = format!("cannot use the folder `{}`: {what}", dir.display());
        Report::new(Blame::Request, "invalid_request", message)
    };
    let real = dir.canonicalize().map_err(|source| unusable(source.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(unusable("it is not a folder".to_owned())) }
}
