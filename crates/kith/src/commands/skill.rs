//! `kith skill`: lists, shows and checks skills.

use kith_host::calls::agent::{
    CheckSkills, ListSkillsInForce, ShowSkill, SkillCheckReport, SkillIssueView, SkillList,
    SkillView,
};
use kith_vocab::event::control::SkillEntry;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::{CheckForm, CommandResult, call, counted, exit_of_check, house_of, padded};
use super::{print_answer, print_as, print_form};
use crate::program::args::{GlobalArgs, SkillCommand};
use crate::program::ui;

/// A skill as `kith skill show --json` prints it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SkillForm<'a> {
    #[serde(flatten)]
    entry: &'a SkillEntry,
    text: &'a str,
}

pub(crate) async fn run(shared: &GlobalArgs, command: SkillCommand) -> CommandResult {
    let cwd = house_of(shared)?.cwd.display().to_string();
    match command {
        SkillCommand::Ls => list(shared, cwd).await,
        SkillCommand::Show { name } => show(shared, name, cwd).await,
        SkillCommand::Check => check(shared, cwd).await,
    }
}

async fn list(shared: &GlobalArgs, cwd: String) -> CommandResult {
    let told = call(shared, ListSkillsInForce { agent_id: shared.agent_id(), cwd }).await?;
    Ok(print_answer(shared, &told, |SkillList { skills }| {
        if skills.is_empty() && told.notes.is_empty() {
            ui::note("no skills yet; create one as `skills/<name>/SKILL.md`");
        }
        let width = skills.iter().map(|it| it.name.width()).max().unwrap_or_default();
        for SkillEntry { name, scope, description, .. } in skills {
            ui::line(&format!("{}  {scope:11}  {description}", padded(name, width)));
        }
    }))
}

async fn show(shared: &GlobalArgs, name: String, cwd: String) -> CommandResult {
    let show = ShowSkill { agent_id: shared.agent_id(), cwd, name };
    let told = call(shared, show).await?;
    let SkillView { entry, text } = &told.data;
    Ok(print_as(shared, &told, &SkillForm { entry, text }, |_| {
        ui::part(text);
        if !text.ends_with('\n') {
            ui::line("");
        }
        ui::error_line(&entry.path);
    }))
}

async fn check(shared: &GlobalArgs, cwd: String) -> CommandResult {
    let report = call(shared, CheckSkills { agent_id: shared.agent_id(), cwd }).await?.data;
    let SkillCheckReport { checked, failed, issues, in_force } = report;
    let is_well = failed == 0;
    if shared.json {
        print_form(is_well, &CheckForm { checked, failed, issues: &issues });
    } else {
        for SkillIssueView { path, line, message } in &issues {
            ui::line(&format!("{path}:{line}: {message}"));
        }
        let folders = counted(checked as u64, "folder");
        ui::note(&format!("{folders} checked, {in_force} in use"));
    }
    Ok(exit_of_check(is_well))
}
