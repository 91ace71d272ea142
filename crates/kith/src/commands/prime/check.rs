//! `kith prime check`: checks every script of the house.

use std::process::ExitCode;

use kith_host::calls::priming::{CheckScripts, ScriptIssueView};
use kith_host::error::CallError;
use serde::Serialize;

use super::super::{call, print_form, print_notes};
use super::at_line;
use crate::program::args::GlobalArgs;
use crate::program::ui::{self, EXIT_REQUEST};

/// A check as `--json` prints it.
#[derive(Serialize)]
struct ScriptCheckForm<'a> {
    checked: usize,
    failed: usize,
    issues: &'a [ScriptIssueView],
}

pub(super) async fn run(shared: &GlobalArgs) -> Result<ExitCode, CallError> {
    let report = call(shared, CheckScripts {}).await?.data;
    let (checked, failed, issues) = (report.checked, report.failed, &report.issues);
    let is_sound = issues.is_empty();
    if shared.json {
        print_form(is_sound, &ScriptCheckForm { checked, failed, issues });
    } else {
        for issue in issues {
            ui::line(&in_words(issue));
        }
        let scripts = if checked == 1 { "script" } else { "scripts" };
        ui::line(&format!("{checked} {scripts} checked, {failed} unusable"));
    }
    print_notes(&report.warnings.iter().map(in_words).collect::<Vec<_>>());
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REQUEST) })
}

fn in_words(issue: &ScriptIssueView) -> String {
    format!("`{}`{}: {}", issue.path, at_line(issue.line), issue.message)
}
