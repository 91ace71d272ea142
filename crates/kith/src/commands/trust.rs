//! `kith trust`: trusts a repository or the house, lists what is trusted, and takes it back.
//!
//! Trust in the house's own repository is stored in the user's folder, which no clone brings along;
//! trust in other repositories is stored on the desk, by the host.

use std::path::{Path, PathBuf};

use kith_host::calls::trust::{
    DistrustRepository, ListRepositories, TrustRepository, TrustedFolder,
};
use kith_host::error::CallError;
use kith_host::house::House;
use kith_host::vouching::{self, FolderOwner};

use super::{CommandResult, call, house_of, print_answer};
use crate::program::args::GlobalArgs;
use crate::program::args::trust::{TrustAction, TrustArgs};
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: TrustArgs) -> CommandResult {
    match args.action {
        None => add(shared, args.dir.as_deref()).await,
        Some(TrustAction::Ls) => list(shared).await,
        Some(TrustAction::Rm { dir }) => remove(shared, &dir).await,
    }
}

async fn add(shared: &GlobalArgs, dir: Option<&Path>) -> CommandResult {
    let house = house_of(shared)?;
    let dir = dir.unwrap_or(&house.cwd);
    let refused =
        |what: String| CallError::invalid(format!("cannot trust `{}`: {what}", dir.display()));
    let real = dir.canonicalize().map_err(|source| refused(source.to_string()))?;
    if !real.is_dir() {
        return Err(refused("not a folder".to_owned()));
    }
    let told = match vouching::owner_of(&house, &real) {
        Some(FolderOwner::House(folder)) => vouching::vouch(&house, &folder)?,
        Some(FolderOwner::Repository(root)) => {
            let Some(path) = root.to_str() else {
                return Err(refused("its path is not valid UTF-8".to_owned()));
            };
            call(shared, TrustRepository { path: path.to_owned() }).await?
        }
        None => {
            return Err(refused(
                "it is not inside a git repository, so nothing there needs to be trusted"
                    .to_owned(),
            )
            .hint("name a folder inside the repository whose `AGENTS.md` you want to use"));
        }
    };
    Ok(print_answer(shared, &told, |TrustedFolder { path }| {
        ui::line(&format!("trusted `{path}`; new sessions follow its files as your instructions"));
    }))
}

async fn remove(shared: &GlobalArgs, dir: &Path) -> CommandResult {
    let house = house_of(shared)?;
    let real = where_it_was(&house, dir);
    let owner = vouching::owner_of(&house, &real).unwrap_or(FolderOwner::Repository(real));
    let told = match owner {
        FolderOwner::House(folder) => vouching::take_back(&house, &folder)?,
        FolderOwner::Repository(root) => {
            let path = root.to_string_lossy().into_owned();
            call(shared, DistrustRepository { path }).await?
        }
    };
    // The note says that it never was.
    let was_trusted = told.notes.is_empty();
    Ok(print_answer(shared, &told, |TrustedFolder { path }| {
        if was_trusted {
            ui::line(&format!("`{path}` is no longer trusted; existing sessions stay as they are"));
        }
    }))
}

async fn list(shared: &GlobalArgs) -> CommandResult {
    let told = call(shared, ListRepositories {}).await?;
    Ok(print_answer(shared, &told, |list| {
        if list.repositories.is_empty() {
            ui::note(
                "no trusted repositories; run `kith trust .` inside one to use its `AGENTS.md`",
            );
        }
        for row in &list.repositories {
            ui::line(&format!("{}  {}", row.trusted_at, row.path));
        }
    }))
}

/// The path of a repository that may be gone: trust in it can be taken back too.
fn where_it_was(house: &House, dir: &Path) -> PathBuf {
    let dir = house.cwd.join(dir);
    let in_parent = || Some(dir.parent()?.canonicalize().ok()?.join(dir.file_name()?));
    dir.canonicalize().ok().or_else(in_parent).unwrap_or(dir)
}
