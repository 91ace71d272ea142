//! `kith new`: creates a session before its first message.

use kith_host::calls::session::CreateDialog;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::house::House;
use kith_host::priming;
use kith_host::words::short;
use kith_vocab::clock::Clock;
use kith_vocab::header::Priming;
use kith_vocab::ids::{SessionId, ThreadId};

use super::{CommandResult, call, counted, folder, house_of, print_answer, settings_of, thread_of};
use crate::program::args::GlobalArgs;
use crate::program::args::prime::New;
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: New) -> CommandResult {
    let mut house = house_of(shared)?;
    let is_remote = shared.remote_house.is_some();
    if let Some(cwd) = &args.cwd {
        house.cwd = if is_remote { cwd.clone() } else { folder(cwd)? };
    }
    // Arguments are checked before the house is touched.
    let settings = settings_of(shared, &house)?.last_good();
    let agent_id = settings.team.choose(shared.agent())?.id.clone();
    let script_refs = script_refs(shared, &house, &agent_id, args.prime)?;
    let thread_id = thread_of(&house, args.thread.as_deref())?;
    let priming = Priming { script_refs, show_in_ui: !args.hide_primed };
    let told = call(shared, dialog(&house, agent_id, thread_id, priming)).await?;
    Ok(print_answer(shared, &told, |created| {
        let primed = match created.primed {
            0 => "empty".to_owned(),
            n => format!("{} primed", counted(n as u64, "event")),
        };
        let (id, thread) = (short(created.session_id), created.thread_id.as_str());
        ui::line(&format!("{id}  {thread}  {primed}"));
    }))
}

/// The scripts that are named, each with its whole reference, and none that cannot be used.
pub(super) fn script_refs(
    shared: &GlobalArgs,
    house: &House,
    agent_id: &str,
    named: Vec<String>,
) -> Result<Vec<String>, CallError> {
    if shared.remote_house.is_some() {
        // Only the host knows which scripts there are.
        return Ok(named);
    }
    let refs = named.iter().map(|name| priming::ref_of(house, agent_id, name));
    let refs = refs.collect::<Result<Vec<String>, CallError>>()?;
    priming::check(house, agent_id, &priming::script_refs(&refs)?)?;
    Ok(refs)
}

/// The request for a new session in this folder.
pub(super) fn dialog(
    house: &House,
    agent_id: String,
    thread_id: ThreadId,
    priming: Priming,
) -> CreateDialog {
    CreateDialog {
        session_id: Some(SessionId::from_uuid(SystemClock.new_id())),
        agent_id: Some(agent_id),
        thread_id: Some(thread_id),
        cwd: Some(house.cwd.display().to_string()),
        priming: Some(priming),
    }
}
