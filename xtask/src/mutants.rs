//! `cargo xtask mutants`: takes out one guard after the other and looks whether its test fails.
//!
//! A guard is a check that keeps a promise: a sync, a lock, a checksum, a limit. Each file in
//! `xtask/mutants/` is a small patch that removes one, with the tests that must fail without it. The
//! work is done in a copy of the working tree with a target folder of its own, so nothing of the
//! real one is touched.

pub(crate) mod patch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use anyhow::{Context, bail};

use crate::invocation::Invocation;
use crate::times::Times;
use crate::usage::WrongUsage;
use crate::{measured, workspace_root};
use patch::Mutant;

pub(crate) const PURPOSE: &str = "remove each guard in a copy and see that its test fails";

pub(crate) const HELP: &str = "
cargo xtask mutants [NAME…]

Applies each patch of xtask/mutants/ (or those named, without `.patch`) to a copy of the working tree
in target/mutants/, runs the tests it names, and reports whether they failed. First the tests run
without any patch and must pass. The table in docs/measured.md gets a row for each that was run and
keeps the rows of the others. Fails if a guard can go without a test noticing.

Examples:
  cargo xtask mutants
  cargo xtask mutants sync-of-a-batch
";

/// The folder of the patches, below the root.
pub(crate) const FOLDER: &str = "xtask/mutants/";

/// A test that has not ended by then never will.
const SECONDS_MAX: &str = "180";

/// What came of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Caught,
    NotCaught,
    /// The patch is wrong: nothing was tried.
    DoesNotCompile,
}

impl Verdict {
    fn in_words(self) -> &'static str {
        match self {
            Verdict::Caught => "caught",
            Verdict::NotCaught => "NOT caught",
            Verdict::DoesNotCompile => "does not compile",
        }
    }
}

pub(crate) fn run(names: &[String]) -> anyhow::Result<ExitCode> {
    let root = workspace_root();
    let all = read_mutants(&root)?;
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|it| it.name == **name)) {
        return Err(WrongUsage(format!("there is no `{FOLDER}{unknown}.patch`")).into());
    }
    let is_wanted = |it: &&Mutant| names.is_empty() || names.contains(&it.name);
    let mutants: Vec<&Mutant> = all.iter().filter(is_wanted).collect();
    let copy = WorkingCopy::make(&root)?;
    copy.check_unchanged(&mutants)?;
    let mut times = Times::new("mutant");
    let mut verdicts = Vec::new();
    for mutant in mutants {
        let (verdict, took) = times.measure(&mutant.name, || copy.verdict(mutant));
        let verdict = verdict.with_context(|| format!("`{}`", mutant.name))?;
        println!("   {}: {} in {:.1} s", mutant.name, verdict.in_words(), took.as_secs_f64());
        verdicts.push((mutant, verdict));
    }
    println!("\n{times}");
    let old = measured::recorded(&root, "mutants");
    let all: Vec<&Mutant> = all.iter().collect();
    let table = table(&all, &verdicts, &old);
    let command = [&["cargo xtask mutants".to_owned()], names].concat().join(" ");
    // Who reads the table must know that it was not made in one go.
    let note = if names.is_empty() { "" } else { "Other rows are of earlier runs.\n\n" };
    measured::record(&root, "mutants", &format!("{note}{table}"), &command)?;
    let n_caught = verdicts.iter().filter(|(_, it)| *it == Verdict::Caught).count();
    println!("{n_caught} of {} removals were caught", verdicts.len());
    Ok(if n_caught == verdicts.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read_mutants(root: &Path) -> anyhow::Result<Vec<Mutant>> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read `{FOLDER}`"))?;
    let mut mutants = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mutant = patch::parse(&name, &text).map_err(anyhow::Error::msg);
        mutants.push(mutant.with_context(|| format!("`{}`", path.display()))?);
    }
    mutants.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(mutants)
}

/// A row for each mutant there is: what came of it now, else what the old table says.
fn table(all: &[&Mutant], verdicts: &[(&Mutant, Verdict)], old: &str) -> String {
    let mut text = "| guard taken out | tests that fail then | |\n| --- | --- | --- |\n".to_owned();
    for mutant in all {
        let tests: Vec<String> = mutant.tests.iter().map(|it| format!("`{it}`")).collect();
        let begin = format!("| {} | {} | ", mutant.guard, tests.join(", "));
        let now = verdicts.iter().find(|(it, _)| it == mutant).map(|(_, it)| it.in_words());
        let before = || old.lines().find_map(|line| line.strip_prefix(&begin)?.strip_suffix(" |"));
        text += &begin;
        text += now.or_else(before).unwrap_or("not tried");
        text += " |\n";
    }
    text
}

/// The sources in a folder of their own, as they are in the working tree.
struct WorkingCopy {
    root: PathBuf,
    target: PathBuf,
}

impl WorkingCopy {
    /// Files that are the same already are left alone, so that little is compiled again.
    fn make(root: &Path) -> anyhow::Result<WorkingCopy> {
        let place = root.join("target/mutants");
        let copy = WorkingCopy { root: place.join("tree"), target: place.join("target") };
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("cannot run `git`")?;
        if !listed.status.success() {
            bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&listed.stderr));
        }
        for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            let (from, to) = (root.join(name), copy.root.join(name));
            // A file that was removed and not yet committed is listed too.
            let Ok(bytes) = fs::read(&from) else { continue };
            if fs::read(&to).is_ok_and(|old| old == bytes) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(&copy.root))?;
            fs::write(&to, bytes).with_context(|| format!("cannot write `{}`", to.display()))?;
        }
        Ok(copy)
    }

    /// Sees that the named tests exist and pass without any patch.
    fn check_unchanged(&self, mutants: &[&Mutant]) -> anyhow::Result<()> {
        let mut targets: Vec<&str> = mutants.iter().map(|it| it.target.as_str()).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            let of_target = mutants.iter().filter(|it| it.target == target);
            let tests: Vec<&str> =
                of_target.flat_map(|it| it.tests.iter().map(String::as_str)).collect();
            println!("== {target}: {} tests without a patch", tests.len());
            let built = self.cargo(target, &["--no-run"]).run_in(&self.root)?;
            if !built.success() {
                bail!("`{target}` does not compile as it is");
            }
            let output = self.test(target, &tests)?;
            let said = String::from_utf8_lossy(&output.stdout);
            let missing = tests.iter().find(|test| outcome_of(&said, test) != Some("ok"));
            if let Some(test) = missing {
                let why = String::from_utf8_lossy(&output.stderr);
                bail!("`{test}` of `{target}` does not pass as it is:\n{said}{why}");
            }
        }
        Ok(())
    }

    fn verdict(&self, mutant: &Mutant) -> anyhow::Result<Verdict> {
        let path = self.root.join(&mutant.path);
        let before = fs::read_to_string(&path)?;
        fs::write(&path, mutant.apply(&before).map_err(anyhow::Error::msg)?)?;
        let built = self.cargo(&mutant.target, &["--no-run"]).command(&self.root).output();
        let tests: Vec<&str> = mutant.tests.iter().map(String::as_str).collect();
        let output = match &built {
            Ok(built) if built.status.success() => Some(self.test(&mutant.target, &tests)),
            Ok(_) | Err(_) => None,
        };
        // Whatever came of it, the next one finds the file as it was.
        fs::write(&path, before)?;
        let Some(output) = output else {
            eprintln!("{}", String::from_utf8_lossy(&built?.stderr));
            return Ok(Verdict::DoesNotCompile);
        };
        let output = output?;
        let said = String::from_utf8_lossy(&output.stdout);
        let is_caught = !output.status.success()
            // A test that was stopped because it did not end has no outcome.
            && tests.iter().all(|test| outcome_of(&said, test) != Some("ok"));
        Ok(if is_caught { Verdict::Caught } else { Verdict::NotCaught })
    }

    fn test(&self, target: &str, tests: &[&str]) -> anyhow::Result<Output> {
        let words = [&["--no-fail-fast", "--"], tests].concat();
        let invocation = self.cargo(target, &words);
        let cargo = invocation.command(&self.root);
        let mut command = Command::new("timeout");
        command.arg(SECONDS_MAX).arg(cargo.get_program()).args(cargo.get_args());
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command.output().with_context(|| format!("cannot run `timeout {SECONDS_MAX} {invocation}`"))
    }

    fn cargo(&self, target: &str, words: &[&str]) -> Invocation {
        let mut args = vec!["test", "--package"];
        args.extend(target.split_whitespace());
        args.extend(words);
        Invocation::cargo(&args).with_environment("CARGO_TARGET_DIR", self.target.to_string_lossy())
    }
}

/// What the test runner says of the test with this name: `ok`, `FAILED`, or nothing.
fn outcome_of<'a>(said: &'a str, test: &str) -> Option<&'a str> {
    said.lines().find_map(|line| {
        let (path, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let name = path.trim().trim_end_matches(" - should panic").rsplit("::").next()?;
        (name == test).then_some(outcome.trim())
    })
}

#[cfg(test)]
mod tests;
