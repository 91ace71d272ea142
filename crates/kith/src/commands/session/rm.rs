//! `kith session rm`: a session is gone for good, after a yes.

use std::io::{self, BufRead};
use std::process::ExitCode;

use super::super::{print_form, print_notes, reader, unexpected, write};
use crate::args::{SessionRm, Shared};
use crate::client::{Answer, Request};
use crate::reading::short;
use crate::report::{Blame, Report};
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionRm) -> Result<ExitCode, Report> {
    let reader = reader(shared).await?;
    let id = reader.resolve(&super::meant(shared, args.session).await?).await?;
    if !args.yes {
        let belongings = reader.belongings(id)?;
        let title = reader.title_of(id).await?;
        let title = title.map_or_else(String::new, |title| format!(" ({title})"));
        let n_blobs = belongings.files.len() - 1;
        let (id, bytes) = (short(id), belongings.bytes);
        let what = format!("session {id}{title}: {bytes} bytes, the log and {n_blobs} other files");
        if shared.json || !ui::is_interactive() || !ui::input_is_terminal() {
            let message = format!("nobody was asked whether to remove {what}");
            return Err(Report::new(Blame::Request, "invalid_request", message)
                .hint("`--yes` removes it without asking"));
        }
        ui::line(&what);
        ui::note("it cannot be brought back; clones of it and what was sent elsewhere stay");
        ui::prompt("remove it? [y/N] ");
        if !is_yes()? {
            return Err(Report::new(Blame::Request, "cancelled", "nothing was removed"));
        }
    }
    drop(reader);
    // The whole id: what was shown is what goes.
    let request = Request::RemoveSession { session: id.to_string() };
    let Answer::Removed(told) = write(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
    } else {
        for path in &told.form.removed {
            ui::line(&format!("removed .kith/{path}"));
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn is_yes() -> Result<bool, Report> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| Report::new(Blame::Environment, "filesystem_error", source))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes" | "是" | "好"))
}
