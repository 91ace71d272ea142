//! `kith cancel`: stops a running turn.

use std::process::ExitCode;

use kith_host::calls::control::CancelTurn;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::words::short;
use kith_vocab::clock::Clock as _;
use kith_vocab::ids::EventId;

use super::session::named_or_current;
use super::{call, print_form, print_notes};
use crate::program::args::{Cancel, GlobalArgs};
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: Cancel) -> Result<ExitCode, CallError> {
    let session = named_or_current(shared, args.session).await?;
    let cancel_id = EventId::from_uuid(SystemClock.new_id());
    let told = call(shared, CancelTurn { session, cancel_id }).await?;
    let id = short(told.data.session_id);
    if shared.json {
        print_form(true, &told.data);
    } else if told.data.was_running {
        ui::line(&format!("stopping the turn in session {id}"));
    } else {
        ui::note(&format!("no turn is running in session {id}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
