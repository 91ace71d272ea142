//! `kith session repair`: what can be read of a damaged session, in a new one.

use std::process::ExitCode;

use super::super::{print_form, print_notes, unexpected, write};
use crate::args::{SessionRepair, Shared};
use crate::client::{Answer, Request};
use crate::reading::short;
use crate::report::Report;
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionRepair) -> Result<ExitCode, Report> {
    let request = Request::RepairSession { session: super::meant(shared, args.session).await? };
    let Answer::Repaired(told) = write(shared, request).await? else { return Err(unexpected()) };
    let form = &told.form;
    if shared.json {
        print_form(true, form);
    } else {
        ui::line(&format!(
            "{} events are in the new session {}; from line {} on ({}) nothing could be read",
            form.events,
            short(form.session_id),
            form.lost_from.line,
            form.lost_from.code
        ));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
