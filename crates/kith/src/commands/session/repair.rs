//! `kith session repair`: copies the readable part of a damaged session into a new one.

use std::process::ExitCode;

use kith_host::calls::session::RepairSession;
use kith_host::error::CallError;
use kith_host::words::short;

use super::super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionRepair};
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: SessionRepair) -> Result<ExitCode, CallError> {
    let session = super::meant(shared, args.session).await?;
    let told = call(shared, RepairSession { session }).await?;
    let form = &told.data;
    if shared.json {
        print_form(true, form);
    } else {
        ui::line(&format!(
            "copied {} events into the new session {}; line {} is the first unreadable one ({})",
            form.events,
            short(form.session_id),
            form.lost_from.line,
            form.lost_from.code
        ));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
