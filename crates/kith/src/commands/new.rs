//! `kith new`: creates a session before its first message.

use std::process::ExitCode;

use kith_host::calls::dialog::CreateDialog;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::priming;
use kith_host::settings::Settings;
use kith_host::words::short;
use kith_vocab::clock::Clock;
use kith_vocab::header::Priming;
use kith_vocab::ids::SessionId;

use super::{call, folder, house_of, print_form, print_notes, thread_of};
use crate::program::args::GlobalArgs;
use crate::program::args::prime::New;
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: New) -> Result<ExitCode, CallError> {
    let script_refs = priming::script_refs(&args.prime)?;
    let mut house = house_of(shared)?;
    if let Some(cwd) = &args.cwd {
        house.cwd = folder(cwd)?;
    }
    // All that can be refused is refused before the house is touched.
    let settings = Settings::load(&house)?;
    let agent_id = settings.team.choose(shared.agent())?.id.clone();
    priming::check(&house, &agent_id, &script_refs)?;
    let thread_id = thread_of(&house, args.thread.as_deref())?;
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
