//! `kith session rename`: a title by hand, which no generated one replaces.

use std::process::ExitCode;

use super::super::{print_form, print_notes, unexpected, write};
use crate::args::{SessionRename, Shared};
use crate::client::{Answer, Request};
use crate::host::upkeep::checked_title;
use crate::reading::short;
use crate::report::Report;
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionRename) -> Result<ExitCode, Report> {
    // Refused before the house is touched.
    let title = checked_title(&args.title.join(" "))?;
    let request =
        Request::RenameSession { session: super::meant(shared, args.session).await?, title };
    let Answer::Renamed(told) = write(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
    } else {
        ui::line(&format!("{}  {}", short(told.form.session_id), told.form.title));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
