//! `kith doctor`, `kith backup`, `kith prompt` and `kith explain`.

use std::env;
use std::path::{Path, PathBuf};

use kith_host::calls::agent::{ExplainAgent, GetPrompt, IdentityView};
use kith_host::calls::house::{BackUpHouse, BackupSummary, CheckHouse, Health};
use kith_host::doctor::without_house;
use kith_host::error::CallError;
use serde_json::json;

use super::{CommandResult, call, counted, exit_of_check, folder, house_of, print_answer};
use crate::program::args::{GlobalArgs, Prompt};
use crate::program::ui;

pub(crate) async fn check(shared: &GlobalArgs) -> CommandResult {
    let report = match house_of(shared) {
        Ok(house) => {
            let (agent_id, cwd) = (shared.agent_id(), house.cwd.display().to_string());
            call(shared, CheckHouse { agent_id, cwd }).await?.data
        }
        Err(error) => without_house(&error),
    };
    let checks = report.checks;
    let is_well = checks.iter().all(|check| check.state != Health::Fail);
    if shared.json {
        ui::json(&json!({ "ok": is_well, "checks": checks }));
    } else {
        for check in &checks {
            let state = match check.state {
                Health::Ok => "ok",
                Health::Warn => "warn",
                Health::Fail => "fail",
            };
            ui::line(&format!("{state:4}  {:12}  {}", check.name, check.detail));
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
    Ok(print_answer(shared, &call(shared, BackUpHouse { dir }).await?, |summary| {
        let BackupSummary { path, sessions, files, bytes } = summary;
        let sessions = counted(*sessions, "session");
        ui::line(&format!("copied {sessions}, {files} files, {bytes} bytes to `{path}`"));
        ui::note("derived files were not copied; kith recreates them when needed");
    }))
}

pub(crate) async fn prompt(shared: &GlobalArgs, args: Prompt) -> CommandResult {
    let cwd: PathBuf = args.cwd.map_or_else(env::current_dir, Ok).map_err(CallError::filesystem)?;
    let cwd = folder(&cwd)?.display().to_string();
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
