//! `kith session tree`: every way the conversation took.

use std::process::ExitCode;

use super::super::{print_form, print_notes, read, unexpected};
use crate::args::{SessionTree, Shared};
use crate::branches::drawn;
use crate::client::{Answer, Request};
use crate::report::Report;
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionTree) -> Result<ExitCode, Report> {
    let request = Request::ShowTree { session: args.session };
    let Answer::Tree(told) = read(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
    } else {
        // In one piece: many small writes would take longer than drawing.
        ui::line(&drawn(&told.form).join("\n"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
