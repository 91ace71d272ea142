//! `kith trust`: whose files may speak to the agent, and whose settings count.
//!
//! What is said of the house's own repository is noted in the user's folder, which no clone brings
//! along; what is said of others is noted on the desk, by the host.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kith_home::trust::{self, repository_of};
use kith_vocab::clock::Clock;

use super::{print_form, print_notes, read, unexpected, write};
use crate::args::{Shared, Trust, TrustAction};
use crate::client::{Answer, Request, Told, TrustedView};
use crate::clock::SystemClock;
use crate::house::House;
use crate::report::{Blame, Report};
use crate::ui;

pub(crate) async fn run(shared: &Shared, args: Trust) -> Result<ExitCode, Report> {
    match args.action {
        None => add(shared, args.dir.as_deref()).await,
        Some(TrustAction::Ls(_)) => list(shared).await,
        Some(TrustAction::Rm(args)) => remove(shared, &args.dir).await,
    }
}

async fn add(shared: &Shared, dir: Option<&Path>) -> Result<ExitCode, Report> {
    let house = House::find(shared.home.as_deref())?;
    let dir = dir.unwrap_or(&house.cwd);
    let refused = |what: String| {
        let message = format!("cannot trust `{}`: {what}", dir.display());
        Report::new(Blame::Request, "invalid_request", message)
    };
    let real = dir.canonicalize().map_err(|source| refused(source.to_string()))?;
    if !real.is_dir() {
        return Err(refused("it is not a folder".to_owned()));
    }
    let told = match whose(&house, &real) {
        Some(Whose::Own(folder)) => {
            let user_home = own_folder(&house)?;
            trust::remember(&user_home, &folder, SystemClock.now())?;
            own(&folder)
        }
        Some(Whose::Other(root)) => {
            let Some(path) = root.to_str() else {
                return Err(refused("its path is not text".to_owned()));
            };
            let request = Request::TrustRepository { path: path.to_owned() };
            let Answer::Trusted(told) = write(shared, request).await? else {
                return Err(unexpected());
            };
            told
        }
        None => {
            return Err(refused("it is in no repository, so nothing of it is left out".to_owned())
                .hint("name a folder of the repository whose `AGENTS.md` is to be read"));
        }
    };
    let path = &told.form.path;
    let line = format!("`{path}` is trusted: new sessions read its files as your words");
    Ok(print(shared, &told, &line))
}

async fn remove(shared: &Shared, dir: &Path) -> Result<ExitCode, Report> {
    let house = House::find(shared.home.as_deref())?;
    let real = where_it_was(&house, dir);
    let told = match whose(&house, &real).unwrap_or(Whose::Other(real)) {
        Whose::Own(folder) => {
            let user_home = own_folder(&house)?;
            let mut was_trusted = false;
            for said in trust::remembered(&user_home, &house.dir) {
                was_trusted |= trust::forget(&user_home, &said.folder)?;
            }
            let note = "nothing had been said of this house".to_owned();
            Told { notes: if was_trusted { Vec::new() } else { vec![note] }, ..own(&folder) }
        }
        Whose::Other(root) => {
            let path = root.to_string_lossy().into_owned();
            let Answer::Trusted(told) = write(shared, Request::DistrustRepository { path }).await?
            else {
                return Err(unexpected());
            };
            told
        }
    };
    let path = &told.form.path;
    let line = format!("`{path}` is not trusted; sessions that began stay as they are");
    Ok(print(shared, &told, &line))
}

async fn list(shared: &Shared) -> Result<ExitCode, Report> {
    let Answer::Repositories(told) = read(shared, Request::ListRepositories {}).await? else {
        return Err(unexpected());
    };
    if shared.json {
        print_form(true, &told.form);
    } else if told.form.repositories.is_empty() {
        ui::note("no repository is trusted; `kith trust` in one lets its `AGENTS.md` be read");
    } else {
        for row in &told.form.repositories {
            ui::line(&format!("{}  {}", row.trusted_at, row.path));
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

enum Whose {
    /// The house belongs to it.
    Own(PathBuf),
    Other(PathBuf),
}

/// What is meant by a folder; `None` if it needs no trust.
fn whose(house: &House, dir: &Path) -> Option<Whose> {
    let user_home = house.real_user_home();
    match repository_of(dir, user_home.as_deref()) {
        Some(root) if house.dir.starts_with(&root) => Some(Whose::Own(root)),
        Some(root) => Some(Whose::Other(root)),
        None if dir.starts_with(&house.dir) => Some(Whose::Own(house.dir.clone())),
        None => None,
    }
}

/// What is gone can be taken back too; the folder it lay in tells where it was.
fn where_it_was(house: &House, dir: &Path) -> PathBuf {
    let dir = house.cwd.join(dir);
    let in_parent = || Some(dir.parent()?.canonicalize().ok()?.join(dir.file_name()?));
    dir.canonicalize().ok().or_else(in_parent).unwrap_or(dir)
}

fn own_folder(house: &House) -> Result<PathBuf, Report> {
    house.real_user_home().ok_or_else(|| {
        let message = "cannot note it: there is no home folder of the user";
        Report::new(Blame::Environment, "filesystem_error", message)
            .hint("set HOME, or name the house with `--home`: what is named is trusted")
    })
}

fn own(folder: &Path) -> Told<TrustedView> {
    let form = TrustedView { path: folder.to_string_lossy().into_owned() };
    Told { form, notes: Vec::new() }
}

fn print(shared: &Shared, told: &Told<TrustedView>, line: &str) -> ExitCode {
    if shared.json {
        print_form(true, &told.form);
    } else {
        ui::line(line);
    }
    print_notes(&told.notes);
    ExitCode::SUCCESS
}
