//! `kith skill`: lists, shows and checks skills.

use std::process::ExitCode;

use kith_host::calls::skill::{
    CheckSkills, ListSkillsInForce, ShowSkill, SkillCheckReport, SkillIssueView, SkillView,
};
use kith_host::error::CallError;
use kith_vocab::event::control::SkillEntry;
use serde::Serialize;

use super::{call, house_of, print_form, print_notes};
use crate::program::args::{GlobalArgs, SkillCommand, SkillShow};
use crate::program::ui::{self, EXIT_REQUEST};

/// A skill as `kith skill show --json` prints it.
#[derive(Serialize)]
struct SkillForm<'a> {
    #[serde(flatten)]
    entry: &'a SkillEntry,
    text: &'a str,
}

/// A check as `kith skill check --json` prints it.
#[derive(Serialize)]
struct SkillCheckForm<'a> {
    checked: usize,
    failed: usize,
    issues: &'a [SkillIssueView],
}

pub(crate) async fn run(shared: &GlobalArgs, command: SkillCommand) -> Result<ExitCode, CallError> {
    let cwd = house_of(shared)?.cwd.display().to_string();
    match command {
        SkillCommand::Ls(_) => list(shared, cwd).await,
        SkillCommand::Show(args) => show(shared, args, cwd).await,
        SkillCommand::Check(_) => check(shared, cwd).await,
    }
}

async fn list(shared: &GlobalArgs, cwd: String) -> Result<ExitCode, CallError> {
    let told = call(shared, ListSkillsInForce { agent_id: shared.agent_id(), cwd }).await?;
    let skills = &told.data.skills;
    if shared.json {
        print_form(true, &told.data);
    } else if skills.is_empty() && told.notes.is_empty() {
        ui::note("no skills yet; create one as `skills/<name>/SKILL.md`");
    } else {
        let width = skills.iter().map(|it| it.name.chars().count()).max().unwrap_or_default();
        for SkillEntry { name, scope, description, .. } in skills {
            ui::line(&format!("{name:width$}  {scope:11}  {description}"));
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

async fn show(shared: &GlobalArgs, args: SkillShow, cwd: String) -> Result<ExitCode, CallError> {
    let show = ShowSkill { agent_id: shared.agent_id(), cwd, name: args.name };
    let SkillView { entry, text } = call(shared, show).await?.data;
    if shared.json {
        print_form(true, &SkillForm { entry: &entry, text: &text });
    } else {
        ui::part(&text);
        if !text.ends_with('\n') {
            ui::line("");
        }
        ui::error_line(&entry.path);
    }
    Ok(ExitCode::SUCCESS)
}

async fn check(shared: &GlobalArgs, cwd: String) -> Result<ExitCode, CallError> {
    let report = call(shared, CheckSkills { agent_id: shared.agent_id(), cwd }).await?.data;
    let SkillCheckReport { checked, failed, issues, in_force } = report;
    let is_well = failed == 0;
    if shared.json {
        print_form(is_well, &SkillCheckForm { checked, failed, issues: &issues });
    } else {
        for SkillIssueView { path, line, message } in &issues {
            ui::line(&format!("{path}:{line}: {message}"));
        }
        let folders = if checked == 1 { "folder" } else { "folders" };
        ui::note(&format!("{checked} {folders} checked, {in_force} in use"));
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REQUEST) })
}
