//! `kith project`: registers the folders in which one works, lists and removes them.

use std::path::Path;

use kith_host::calls::project::{
    ListProjects, ProjectKind, ProjectRow, RegisterProject, RemoveProject,
};
use kith_host::error::CallError;

use super::{CommandResult, call, house_of, print_answer};
use crate::program::args::GlobalArgs;
use crate::program::args::project::{ProjectAction, ProjectArgs};
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: ProjectArgs) -> CommandResult {
    match args.action {
        ProjectAction::Ls => list(shared).await,
        ProjectAction::Add { dir } => add(shared, dir.as_deref()).await,
        ProjectAction::Rm { dir } => remove(shared, &dir).await,
    }
}

async fn list(shared: &GlobalArgs) -> CommandResult {
    let told = call(shared, ListProjects {}).await?;
    Ok(print_answer(shared, &told, |list| {
        for row in &list.projects {
            ui::line(&in_words(row));
        }
    }))
}

fn in_words(row: &ProjectRow) -> String {
    let sessions = match row.sessions {
        1 => "1 session".to_owned(),
        n => format!("{n} sessions"),
    };
    let kind = match row.kind {
        ProjectKind::House => "  (this house)",
        ProjectKind::Registered if !row.exists => "  (the folder is missing)",
        ProjectKind::Registered => "",
        ProjectKind::Used => "  (not registered)",
    };
    format!("{sessions:>12}  {}{kind}", row.path)
}

async fn add(shared: &GlobalArgs, dir: Option<&Path>) -> CommandResult {
    let house = house_of(shared)?;
    let dir = house.cwd.join(dir.unwrap_or(Path::new(".")));
    let path = text_of(&dir)?;
    let told = call(shared, RegisterProject { path }).await?;
    Ok(print_answer(shared, &told, |it| {
        let said = if it.is_new { "registered" } else { "already a project:" };
        ui::line(&format!("{said} `{}`", it.path));
    }))
}

async fn remove(shared: &GlobalArgs, dir: &Path) -> CommandResult {
    let house = house_of(shared)?;
    let path = text_of(&house.cwd.join(dir))?;
    let told = call(shared, RemoveProject { path }).await?;
    Ok(print_answer(shared, &told, |it| {
        ui::line(&format!("`{}` is no longer a project; its sessions and files stay", it.path));
    }))
}

fn text_of(dir: &Path) -> Result<String, CallError> {
    let text = dir.to_str().map(str::to_owned);
    text.ok_or_else(|| CallError::invalid("the path of a project must be valid UTF-8"))
}
