//! Shows a long list in the person's pager.

use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::program::ui;

/// Prints lines, which are made visible already; those that do not fit on the screen go to a pager.
pub(crate) fn show(lines: &[String]) {
    let fits = ui::screen_rows().is_none_or(|rows| lines.len() < rows);
    if fits || !paged(lines) {
        ui::visible_lines(lines);
    }
}

/// Starts `KITH_PAGER`, `PAGER` or `less`. Returns whether one showed the lines; an empty name wants none.
#[expect(clippy::disallowed_methods, reason = "the person starts their own pager")]
fn paged(lines: &[String]) -> bool {
    let named = ["KITH_PAGER", "PAGER"].into_iter().find_map(env::var_os);
    let mut command = match &named {
        Some(pager) if pager.is_empty() => return false,
        Some(pager) => {
            // As shells do it: the variable may hold arguments.
            let mut command = Command::new("sh");
            command.arg("-c").arg(pager);
            command
        }
        None => Command::new("less"),
    };
    if env::var_os("LESS").is_none() {
        // Quit if it fits, keep colours, leave the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut pager) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut stdin) = pager.stdin.take() {
        // A person who quits early has seen enough.
        stdin.write_all((lines.join("\n") + "\n").as_bytes()).unwrap_or_default();
    }
    // 127: the shell found no such program.
    pager.wait().is_ok_and(|status| status.code() != Some(127))
}
