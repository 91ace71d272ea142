//! `kith session rename`: sets a title, which no generated one replaces.

use std::process::ExitCode;

use kith_host::calls::session::RenameSession;
use kith_host::error::CallError;
use kith_host::host::upkeep::checked_title;
use kith_host::words::short;

use super::super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionRename};
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: SessionRename) -> Result<ExitCode, CallError> {
    // Refused before the house is touched.
    let title = checked_title(&args.title.join(" "))?;
    let session = super::meant(shared, args.session).await?;
    let told = call(shared, RenameSession { session, title }).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        ui::line(&format!("{}  {}", short(told.data.session_id), told.data.title));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
