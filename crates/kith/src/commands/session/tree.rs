//! `kith session tree`: shows the branches of a session.

use std::process::ExitCode;

use kith_host::calls::tree::ShowTree;
use kith_host::error::CallError;

use super::super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionTree};
use crate::program::branches::drawn;
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: SessionTree) -> Result<ExitCode, CallError> {
    let told = call(shared, ShowTree { session: args.session }).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        // In one piece: many small writes would take longer than drawing.
        ui::line(&drawn(&told.data).join("\n"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
