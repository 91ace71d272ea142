//! `kith agent`: lists, adds and removes the agents of a house.

use std::path::Path;
use std::process::ExitCode;

use kith_host::agents::{self, AgentRow};
use kith_host::error::CallError;
use unicode_width::UnicodeWidthStr as _;

use super::forms::{AgentListForm, NewAgentForm, RemovedAgentForm};
use super::{CommandResult, as_texts, house_of, padded, print_form};
use crate::program::args::GlobalArgs;
use crate::program::args::agent::AgentCommand;
use crate::program::ui;

pub(crate) fn run(shared: &GlobalArgs, command: AgentCommand) -> CommandResult {
    match command {
        AgentCommand::Ls => list(shared),
        AgentCommand::New { id, dir } => add(shared, &id, dir.as_deref()),
        AgentCommand::Rm { id } => remove(shared, &id),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list(shared: &GlobalArgs) -> Result<(), CallError> {
    let rows = agents::list(&house_of(shared)?)?;
    if shared.json {
        print_form(true, &AgentListForm { agents: rows });
        return Ok(());
    }
    let width = rows.iter().map(|row| row.agent_id.width()).max().unwrap_or_default();
    ui::lines(rows.iter().map(|AgentRow { agent_id, home, default, problem }| {
        let place = problem.as_ref().or(home.as_ref()).map_or("", String::as_str);
        let mark = if *default { "  (default)" } else { "" };
        format!("{}  {place}{mark}", padded(agent_id, width))
    }));
    Ok(())
}

fn add(shared: &GlobalArgs, id: &str, dir: Option<&Path>) -> Result<(), CallError> {
    let house = house_of(shared)?;
    let made = agents::add(&house, id, dir)?;
    if shared.json {
        let (agent_id, home) = (id.to_owned(), made.home.to_string_lossy().into_owned());
        print_form(true, &NewAgentForm { agent_id, home, files: as_texts(&made.files) });
        return Ok(());
    }
    let home = made.home.strip_prefix(&house.dir).unwrap_or(&made.home);
    ui::line(&format!("Added agent `{id}` in `{}`", home.display()));
    ui::line(&format!("\nTalk to it:\n  kith --agent {id}"));
    Ok(())
}

fn remove(shared: &GlobalArgs, id: &str) -> Result<(), CallError> {
    let home = agents::remove(&house_of(shared)?, id)?;
    if shared.json {
        print_form(true, &RemovedAgentForm { agent_id: id.to_owned(), home });
        return Ok(());
    }
    ui::line(&format!("Removed agent `{id}` from kith.toml"));
    if let Some(home) = home {
        ui::note(&format!("its files stay in `{home}`, and its sessions where they are"));
    }
    Ok(())
}
