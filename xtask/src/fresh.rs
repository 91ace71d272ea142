//! `cargo xtask fresh`: do the two commands of the README work on a new clone?
//!
//! What lies in a developer's folder hides what is missing from the repository: a file that was
//! never committed, a build that only works on top of an older one. So this starts from nothing
//! but `HEAD`.

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, bail};

use crate::invocation::Invocation;
use crate::times::Times;
use crate::{usage, workspace_root};

pub(crate) const PURPOSE: &str = "run the README's two commands on a new clone of HEAD";

pub(crate) const HELP: &str = "
cargo xtask fresh

Clones HEAD into an empty temporary folder and runs the README's two commands there, with a target
folder of its own: `cargo xtask start` (without a terminal) and `cargo xtask test`. Prints their
times and removes the clone; when one fails the clone stays and its place is printed.

Example:
  cargo xtask fresh
";

/// Where a build goes when it does not go into the clone.
const TARGET_FOLDER_NAMES: [&str; 3] =
    ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_BUILD_DIR"];

pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    usage::no_arguments("fresh", args)?;
    let root = workspace_root();
    if has_uncommitted_changes(&root)? {
        println!("note: uncommitted changes are not part of the clone");
    }
    let folder = new_temporary_folder()?;
    let clone = folder.join("kith");
    if let Err(error) = clone_head(&root, &clone) {
        remove(&folder)?;
        return Err(error);
    }

    let mut times = Times::new("command");
    for invocation in
        [Invocation::cargo(&["xtask", "start"]), Invocation::cargo(&["xtask", "test"])]
    {
        println!("== {invocation}");
        let work = || succeeds_without_terminal(&invocation, &clone);
        let (succeeded, _) = times.measure(&invocation.to_string(), work);
        if !succeeded? {
            println!("\n{times}");
            bail!("`{invocation}` failed on a new clone, which stays at `{}`", clone.display());
        }
    }
    println!("\n{times}");
    remove(&folder)?;
    println!("both commands work on a new clone");
    Ok(ExitCode::SUCCESS)
}

fn has_uncommitted_changes(root: &Path) -> anyhow::Result<bool> {
    let status = Invocation::new("git", &["status", "--porcelain"]);
    let output = status.command(root).output().with_context(|| format!("cannot run `{status}`"))?;
    if !output.status.success() {
        bail!("`{}` is no git repository, so there is nothing to clone", root.display());
    }
    Ok(!output.stdout.is_empty())
}

fn new_temporary_folder() -> anyhow::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("kith-fresh-{}", std::process::id()));
    // Not `create_dir_all`: a folder that is already there would not be empty.
    std::fs::create_dir(&folder)
        .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    Ok(folder)
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    std::fs::remove_dir_all(folder)
        .with_context(|| format!("cannot remove the folder `{}`", folder.display()))
}

fn clone_head(root: &Path, clone: &Path) -> anyhow::Result<()> {
    let (from, to) = (root.to_string_lossy(), clone.to_string_lossy());
    let clone_command = Invocation::new("git", &["clone", "--quiet", "--", &from, &to]);
    if !clone_command.run_in(root)?.success() {
        bail!("cannot clone `{}` to `{}`", root.display(), clone.display());
    }
    if !clone.join("Cargo.toml").is_file() {
        bail!("HEAD has no Cargo.toml; commit first, then try again");
    }
    Ok(())
}

fn succeeds_without_terminal(invocation: &Invocation, clone: &Path) -> anyhow::Result<bool> {
    let mut command = invocation.command(clone);
    command.stdin(Stdio::null());
    for name in TARGET_FOLDER_NAMES {
        command.env_remove(name);
    }
    let status = command.status().with_context(|| format!("cannot run `{invocation}`"))?;
    Ok(status.success())
}
