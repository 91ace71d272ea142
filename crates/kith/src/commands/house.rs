//! `kith doctor`, `kith backup`, `kith prompt` and `kith explain`.

use std::env;
use std::path::Path;

use kith_host::calls::agent::{ExplainAgent, GetPrompt, IdentityView};
use kith_host::calls::house::{BackUpHouse, BackupProgress, BackupSummary, CheckHouse, Health};
use kith_host::doctor::without_house;
use kith_host::error::CallError;
use kith_host::words::size_in_words;

use super::{
    CommandResult, call, counted, exit_of_check, folder, follow, house_of, print_answer, print_form,
};
use crate::program::args::{GlobalArgs, Prompt};
use crate::program::progress::ProgressLine;
use crate::program::ui::{self, Emphasis};

pub(crate) async fn check(shared: &GlobalArgs, is_verbose: bool) -> CommandResult {
    let report = match house_of(shared) {
        Ok(house) => {
            let (agent_id, cwd) = (shared.agent_id(), house.cwd.display().to_string());
            let progress = ProgressLine::begin("Checking");
            let told = call(shared, CheckHouse { agent_id, cwd }).await;
            drop(progress);
            told?.data
        }
        Err(error) => without_house(&error),
    };
    let is_well = report.checks.iter().all(|check| check.state != Health::Fail);
    if shared.json {
        print_form(is_well, &report);
    } else {
        for check in &report.checks {
            let (state, emphasis) = match check.state {
                Health::Ok => ("ok", Emphasis::Good),
                Health::Warn => ("warn", Emphasis::Warning),
                Health::Fail => ("fail", Emphasis::Bad),
            };
            let rest = format!("  {:12}  {}", check.name, check.detail);
            ui::line_with(&format!("{state:4}"), emphasis, &rest);
            for fact in check.facts.iter().filter(|_| is_verbose) {
                ui::line(&format!("      {:12}  - {fact}", ""));
            }
            if let Some(fix) = &check.fix {
                ui::line(&format!("      {:12}  -> {fix}", ""));
            }
        }
    }
    Ok(exit_of_check(is_well))
}

pub(crate) async fn back_up(shared: &GlobalArgs, named: &Path) -> CommandResult {
    let dir = house_of(shared)?.cwd.join(named);
    let Some(dir) = dir.to_str().map(str::to_owned) else {
        let message = format!("the path `{}` is not valid UTF-8", named.display());
        return Err(CallError::invalid(message));
    };
    let progress = ProgressLine::begin("Copying");
    let report = progress.reporter();
    let count = move |so_far: BackupProgress| {
        let sessions = counted(so_far.sessions, "session");
        report(format!("{sessions}, {}", size_in_words(so_far.bytes)));
    };
    let told = follow(shared, BackUpHouse { dir }, count).await;
    drop(progress);
    Ok(print_answer(shared, &told?, |summary| {
        let BackupSummary { path, sessions, files, bytes } = summary;
        let sessions = counted(*sessions, "session");
        let files = counted(*files, "file");
        let size = size_in_words(*bytes);
        ui::line(&format!("copied {sessions}, {files}, {size} to `{path}`"));
        ui::note("derived files were not copied; kith recreates them when needed");
    }))
}

pub(crate) async fn prompt(shared: &GlobalArgs, args: Prompt) -> CommandResult {
    let cwd = match (&shared.remote_house, args.cwd) {
        // A folder of that machine; by default that of the house.
        (Some(remote), cwd) => cwd.unwrap_or_else(|| remote.house().cwd.clone()),
        (None, cwd) => {
            folder(&cwd.map_or_else(env::current_dir, Ok).map_err(CallError::filesystem)?)?
        }
    };
    let cwd = cwd.display().to_string();
    let get = GetPrompt { agent_id: shared.agent_id(), audience: args.audience.into(), cwd };
    Ok(print_answer(shared, &call(shared, get).await?, |prompt| {
        ui::line(&prompt.system_prompt);
        let sections = prompt.snapshot.sections.iter();
        for source in sections.flat_map(|section| section.sources.iter().flatten()) {
            if let Some(path) = &source.path {
                let chars = source.chars.map_or_else(|| "uncounted".to_owned(), |n| n.to_string());
                let injected = source.injected_chars.unwrap_or_default();
                ui::error_line(&format!("{path}: {injected} of {chars} characters in the prompt"));
            }
        }
    }))
}

pub(crate) async fn explain_identity(shared: &GlobalArgs) -> CommandResult {
    let told = call(shared, ExplainAgent { agent_id: shared.agent_id() }).await?;
    Ok(print_answer(shared, &told, |identity| {
        let IdentityView { name, role, goal, voice, emoji, kind, style, avatar, source } = identity;
        ui::line(&format!("name: {name}"));
        let fields = [
            ("role", role),
            ("goal", goal),
            ("voice", voice),
            ("emoji", emoji),
            ("type", kind),
            ("style", style),
            ("avatar", avatar),
        ];
        for (label, value) in fields {
            if let Some(value) = value {
                ui::line(&format!("{label}: {value}"));
            }
        }
        ui::line(&format!("The name comes from {source}"));
    }))
}
