//! `kith new`: begin a session before anything is said in it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kith_host::calls::dialog::CreateDialog;
use kith_host::clock::SystemClock;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_host::priming;
use kith_host::settings::Settings;
use kith_host::words::short;
use kith_vocab::clock::Clock;
use kith_vocab::header::Priming;
use kith_vocab::ids::SessionId;

use super::{call, house_of, print_form, print_notes};
use crate::args::Shared;
use crate::args::prime::New;
use crate::ui;

pub(crate) async fn run(shared: &Shared, args: New) -> Result<ExitCode, CallError> {
    let script_refs = priming::script_refs(&args.prime)?;
    let mut house = house_of(shared)?;
    if let Some(cwd) = &args.cwd {
        house.cwd = folder(cwd)?;
    }
    // All that can be refused is refused before the house is touched.
    let settings = Settings::load(&house)?;
    let agent_id = settings.team.choose(shared.agent())?.id.clone();
    priming::check(&house, &agent_id, &script_refs)?;
    let thread_id = match &args.thread {
        None => house.thread_of_cwd()?,
        Some(thread) => thread.parse().map_err(|error| {
            CallError::new(Blame::Usage, ErrorCode::Usage, error)
                .hint("use a thread id such as `--thread web:room:notes`")
        })?,
    };
    let priming = Priming { script_refs: args.prime, show_in_ui: !args.hide_primed };
    let create = CreateDialog {
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        agent_id: Some(agent_id),
        thread_id,
        cwd: house.cwd.display().to_string(),
        priming: Some(priming),
    };
    let told = call(shared, create).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        let told_events = match told.data.primed {
            0 => "empty".to_owned(),
            1 => "1 event primed".to_owned(),
            n => format!("{n} events primed"),
        };
        let (id, thread) = (short(told.data.session_id), told.data.thread_id.as_str());
        ui::line(&format!("{id}  {thread}  {told_events}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn folder(dir: &Path) -> Result<PathBuf, CallError> {
    let unusable = |what: String| {
        let message = format!("cannot use the folder `{}`: {what}", dir.display());
        CallError::new(Blame::Request, ErrorCode::InvalidRequest, message)
    };
    let real = dir.canonicalize().map_err(|source| unusable(source.to_string()))?;
    if real.is_dir() { Ok(real) } else { Err(unusable("not a folder".to_owned())) }
}
