//! `kith prime check`: every script of the house, and what is wrong.

use std::process::ExitCode;

use kith_home::priming::store::{CheckReport, Issue, PrimingStore};
use serde::Serialize;

use super::super::{print_form, print_notes};
use super::{at_line, in_form};
use crate::args::Shared;
use crate::house::House;
use crate::report::{EXIT_REQUEST, Report};
use crate::ui;

#[derive(Serialize)]
struct CheckForm {
    checked: usize,
    failed: usize,
    issues: Vec<IssueForm>,
}

#[derive(Serialize)]
struct IssueForm {
    path: String,
    line: Option<usize>,
    message: String,
}

pub(super) fn run(shared: &Shared) -> Result<ExitCode, Report> {
    let house = House::find(shared.home.as_deref())?;
    let report = PrimingStore::new(&house.dir).check_all()?;
    let is_sound = report.issues.is_empty();
    if shared.json {
        print_form(is_sound, &form_of(&report));
    } else {
        for issue in &report.issues {
            ui::line(&in_words(issue));
        }
        let CheckReport { n_checked, n_failed, .. } = report;
        let scripts = if n_checked == 1 { "script" } else { "scripts" };
        ui::line(&format!("{n_checked} {scripts} read, {n_failed} cannot be used"));
    }
    print_notes(&report.warnings.iter().map(in_words).collect::<Vec<_>>());
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REQUEST) })
}

fn form_of(report: &CheckReport) -> CheckForm {
    let issues = report.issues.iter().map(|issue| IssueForm {
        path: in_form(&issue.path),
        line: issue.line,
        message: issue.message.clone(),
    });
    CheckForm { checked: report.n_checked, failed: report.n_failed, issues: issues.collect() }
}

fn in_words(issue: &Issue) -> String {
    format!("`{}`{}: {}", issue.path.display(), at_line(issue.line), issue.message)
}
