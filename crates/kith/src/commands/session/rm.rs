//! `kith session rm`: a session is gone for good, after a yes.

use std::io::{self, BufRead};
use std::process::ExitCode;

use kith_vocab::ids::SessionId;

use super::super::{print_form, print_notes, reader, unexpected, write};
use crate::args::{SessionRm, Shared};
use crate::client::{Answer, Request};
use crate::reading::{Reader, short};
use crate::report::{Blame, Report};
use crate::ui;

pub(super) async fn run(shared: &Shared, args: SessionRm) -> Result<ExitCode, Report> {
    let reader = reader(shared).await?;
    let session = super::meant(shared, args.session).await?;
    let (id, is_gone) = match reader.resolve(&session).await {
        Ok(id) => (id, false),
        Err(report) => match reader.resolve_gone(&session).await? {
            Some(id) => (id, true),
            None => return Err(report),
        },
    };
    if !args.yes {
        let what = if is_gone {
            format!("session {}, whose file is gone: what is known of it", short(id))
        } else {
            in_words(&reader, id).await?
        };
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
        if is_gone {
            ui::line(&format!("session {} is forgotten", short(id)));
        }
        for path in &told.form.removed {
            ui::line(&format!("removed .kith/{path}"));
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

/// What would go.
async fn in_words(reader: &Reader, id: SessionId) -> Result<String, Report> {
    let belongings = reader.belongings(id)?;
    let title = reader.title_of(id).await?;
    let title = title.map_or_else(String::new, |title| format!(" ({title})"));
    let n_others = belongings.files.len() - 1;
    let (id, bytes) = (short(id), belongings.bytes);
    Ok(format!("session {id}{title}: {bytes} bytes, the log and {n_others} other files"))
}

fn is_yes() -> Result<bool, Report> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| Report::new(Blame::Environment, "filesystem_error", source))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes" | "是" | "好"))
}
