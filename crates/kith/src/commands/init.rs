//! `kith init`: creates an agent.

use std::path::Path;
use std::process::ExitCode;

use kith_host::error::{CallError, ErrorCode, quoted};
use kith_host::init::{InitReport, adopted_files, house_around, init};

use super::forms::InitForm;
use super::{CommandResult, as_texts, print_form, print_notes};
use crate::program::args::{GlobalArgs, Init};
use crate::program::ui;

pub(crate) fn run(shared: &GlobalArgs, args: Init) -> CommandResult {
    let named = args.dir.or_else(|| shared.home.clone());
    let Some(dir) = named.filter(|dir| !dir.as_os_str().is_empty()) else {
        return Err(CallError::usage("no folder was given for the agent")
            .hint("`kith init my-agent` creates a folder, `kith init .` uses this one"));
    };
    if !args.yes {
        confirm_place(shared, &dir)?;
        confirm(shared, &dir)?;
    }
    let made = init(&dir)?;
    print_notes(&made.notes);
    let InitReport { house, agent_id, files, is_default } = made.data;
    if shared.json {
        let house = house.to_string_lossy().into_owned();
        let form = InitForm { house, agent_id, files: as_texts(&files), default: is_default };
        print_form(true, &form);
        return Ok(ExitCode::SUCCESS);
    }
    if files.is_empty() {
        ui::line(&format!("`{}` already has all its files; nothing was changed", dir.display()));
    } else {
        ui::line(&format!("Created in `{}`:", dir.display()));
        for file in &files {
            let name = file.file_name().unwrap_or(file.as_os_str());
            ui::line(&format!("  {}", name.to_string_lossy()));
        }
    }
    let talk = if dir == Path::new(".") {
        "kith".to_owned()
    } else {
        format!("cd {} && kith", quoted(&dir))
    };
    ui::line(&format!("\nTalk to it:\n  {talk}"));
    if is_default {
        ui::line("\nThis folder is its house: its files, settings and conversations stay here.");
        ui::line("It also answers `kith` in every folder that has no agent of its own.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks which is meant where an agent could join the house that is already there.
fn confirm_place(shared: &GlobalArgs, dir: &Path) -> Result<(), CallError> {
    let Some(house) = house_around(dir) else { return Ok(()) };
    let what = format!("`{}` is inside the house `{}`", dir.display(), house.display());
    let id = dir.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
    let joins = format!("`kith agent new {id}` adds an agent to that house");
    if shared.json || shared.unattended || !ui::is_interactive() {
        let apart = format!("`kith init {} --yes` creates a house of its own", quoted(dir));
        return Err(CallError::invalid(what).hint(joins).hint(apart));
    }
    ui::line(&what);
    ui::note(&joins);
    if ui::confirm("Create a separate house there? [y/N] ")? {
        return Ok(());
    }
    Err(CallError::request(ErrorCode::Cancelled, "nothing was created"))
}

/// Asks before files that came with a repository become the agent's own.
fn confirm(shared: &GlobalArgs, dir: &Path) -> Result<(), CallError> {
    let files = adopted_files(dir);
    if files.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = files.iter().map(|name| format!("`{name}`")).collect();
    let what = format!(
        "{} came with the repository and would count as your instructions",
        names.join(", ")
    );
    if shared.json || !ui::is_interactive() {
        let message = format!("{what}; refusing to create the agent without confirmation");
        return Err(CallError::request(ErrorCode::Untrusted, message)
            .hint("read the files, then pass `--yes` if you trust them"));
    }
    ui::line(&what);
    if ui::confirm("Trust them and create the agent? [y/N] ")? {
        return Ok(());
    }
    Err(CallError::request(ErrorCode::Cancelled, "nothing was created"))
}
