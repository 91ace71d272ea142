//! `kith skill`: which skills are in force, what one says, and what keeps others out.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;

use kith_home::skills::{SKILL_FILE_BYTES_MAX, SkillIndex, SkillIssue};
use kith_sessions::desk::Desk;
use kith_vocab::event::control::SkillEntry;
use serde::Serialize;

use super::print_form;
use crate::args::{Shared, Skill, SkillShow};
use crate::config::Config;
use crate::house::House;
use crate::report::{Blame, EXIT_REQUEST, Report};
use crate::{skills, trust, ui};

/// Of a name that is repeated in an error.
const NAME_CHARS_MAX: usize = 80;

#[derive(Serialize)]
struct SkillList<'a> {
    skills: &'a [SkillEntry],
}

#[derive(Serialize)]
struct SkillView<'a> {
    #[serde(flatten)]
    entry: &'a SkillEntry,
    text: String,
}

#[derive(Serialize)]
struct Tally {
    checked: usize,
    failed: usize,
    issues: Vec<Issue>,
}

#[derive(Serialize)]
struct Issue {
    path: String,
    line: usize,
    message: String,
}

pub(crate) async fn run(shared: &Shared, command: Skill) -> Result<ExitCode, Report> {
    let house = House::find(shared.home.as_deref())?;
    let config = Config::load(&house)?;
    let member = config.team.choose(shared.agent())?;
    let desk = Desk::open_read_only(&house.desk_path()).await?;
    let trusted = trust::folders_of(&house, desk.as_ref()).await?;
    let index = skills::index(&house, member, &config.skills.extra, &trusted, &house.cwd);
    match command {
        Skill::Ls(_) => Ok(list(shared, &index)),
        Skill::Show(args) => show(shared, &args, &index),
        Skill::Check(_) => Ok(check(shared, &index)),
    }
}

fn list(shared: &Shared, index: &SkillIndex) -> ExitCode {
    let skills = &index.entries;
    if shared.json {
        print_form(true, &SkillList { skills });
    } else if skills.is_empty() {
        ui::note("no skills yet; a skill is a folder `skills/<name>` with a `SKILL.md`");
    } else {
        let width = skills.iter().map(|it| it.name.chars().count()).max().unwrap_or_default();
        for SkillEntry { name, scope, description, .. } in skills {
            ui::line(&format!("{name:width$}  {scope:11}  {description}"));
        }
    }
    let n_failed = failed(&index.issues);
    if n_failed > 0 {
        let something = if n_failed == 1 { "something is" } else { "some things are" };
        ui::note(&format!("{something} wrong with skills; `kith skill check` says what"));
    }
    ExitCode::SUCCESS
}

fn show(shared: &Shared, args: &SkillShow, index: &SkillIndex) -> Result<ExitCode, Report> {
    let Some(entry) = index.entries.iter().find(|it| it.name == args.name) else {
        let name = args.name.chars().take(NAME_CHARS_MAX).flat_map(char::escape_debug);
        let message = format!("there is no skill `{}` in force here", name.collect::<String>());
        return Err(Report::new(Blame::Request, "invalid_request", message)
            .hint("`kith skill ls` lists those there are, `kith skill check` what is left out"));
    };
    let text = text_of(entry).map_err(|source| {
        let message = format!("cannot read `{}`: {source}", entry.path);
        Report::new(Blame::Environment, "filesystem_error", message)
    })?;
    if shared.json {
        print_form(true, &SkillView { entry, text });
    } else {
        ui::part(&text);
        if !text.ends_with('\n') {
            ui::line("");
        }
        ui::error_line(&entry.path);
    }
    Ok(ExitCode::SUCCESS)
}

fn text_of(entry: &SkillEntry) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(&entry.path)?.take(SKILL_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn check(shared: &Shared, index: &SkillIndex) -> ExitCode {
    let n_failed = failed(&index.issues);
    let is_well = n_failed == 0;
    if shared.json {
        let issues = index.issues.iter().map(issue).collect();
        print_form(is_well, &Tally { checked: index.n_checked, failed: n_failed, issues });
    } else {
        for Issue { path, line, message } in index.issues.iter().map(issue) {
            ui::line(&format!("{path}:{line}: {message}"));
        }
        let n_skills = index.entries.len();
        let folders = if index.n_checked == 1 { "folder" } else { "folders" };
        ui::note(&format!("{} {folders} looked at, {n_skills} in force", index.n_checked));
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::from(EXIT_REQUEST) }
}

/// How many folders or files something is wrong with.
fn failed(issues: &[SkillIssue]) -> usize {
    issues.iter().map(|issue| &issue.path).collect::<BTreeSet<_>>().len()
}

fn issue(issue: &SkillIssue) -> Issue {
    let path = issue.path.to_string_lossy().into_owned();
    Issue { path, line: issue.line, message: issue.problem.to_string() }
}
