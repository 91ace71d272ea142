//! `kith session rm`: removes a session permanently, after confirmation.

use std::process::ExitCode;

use kith_host::calls::session::{DescribeSession, RemoveSession, SessionDescription};
use kith_host::error::{CallError, ErrorCode};
use kith_host::words::short;

use super::super::{call, print_form, print_notes};
use crate::program::args::{GlobalArgs, SessionRm};
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: SessionRm) -> Result<ExitCode, CallError> {
    let session = super::meant(shared, args.session).await?;
    let described = call(shared, DescribeSession { session }).await?;
    print_notes(&described.notes);
    let described = described.data;
    let id = described.session_id;
    if !args.yes {
        let what = in_words(&described);
        if shared.json || !ui::is_interactive() || !ui::input_is_terminal() {
            let message = format!("refusing to remove {what} without confirmation");
            return Err(CallError::request(ErrorCode::InvalidRequest, message)
                .hint("pass `--yes` to confirm"));
        }
        ui::line(&what);
        ui::note("this cannot be undone; clones and anything already sent stay as they are");
        ui::prompt("Remove it? [y/N] ");
        if !ui::is_yes()? {
            return Err(CallError::request(ErrorCode::Cancelled, "nothing was removed"));
        }
    }
    // The whole id: what was shown is what goes.
    let told = call(shared, RemoveSession { session: id.to_string() }).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        if described.is_gone {
            ui::line(&format!("forgot session {}", short(id)));
        }
        for path in &told.data.removed {
            ui::line(&format!("removed .kith/{path}"));
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

/// What would go.
fn in_words(described: &SessionDescription) -> String {
    let id = short(described.session_id);
    if described.is_gone {
        return format!("session {id} (its file is missing)");
    }
    let title = described.title.as_ref().map_or_else(String::new, |title| format!(" ({title})"));
    let (bytes, n_others) = (described.bytes, described.files.saturating_sub(1));
    format!("session {id}{title} ({bytes} bytes in the log and {n_others} other files)")
}
