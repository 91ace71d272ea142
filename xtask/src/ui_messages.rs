//! Thread files, judged by the AI SDK itself.
//!
//! The Rust tests leave thread files beside the build; here node validates them with the packages
//! that clients use. They are installed into the target folder, by a lock file that names hashes
//! and no host. A machine without node, or without a network at the first run, cannot do this:
//! that is said aloud, and it fails nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;

use crate::invocation::Invocation;
use crate::test::Outcome;

/// Where the check and its packages are named.
const SOURCES: &str = "checks/ui-messages";
const LOCK: &str = "package-lock.json";
const FILES: [&str; 3] = ["package.json", LOCK, "check.mjs"];
/// Written when all packages are there; it holds the lock file they were installed by.
const INSTALLED: &str = "installed-by.json";

pub(crate) const SHOWN: &str = "node check.mjs ../tmp/ui-messages (in target/ui-messages)";

pub(crate) fn check(root: &Path) -> anyhow::Result<Outcome> {
    for program in ["node", "npm"] {
        if !is_installed(program, root) {
            let sentence = format!("thread files against the AI SDK; `{program}` is not installed");
            return Ok(Outcome::Skipped(sentence));
        }
    }
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let place = root.join(target).join("ui-messages");
    fs::create_dir_all(&place)?;
    for name in FILES {
        let source = root.join(SOURCES).join(name);
        fs::copy(&source, place.join(name))
            .with_context(|| format!("cannot copy `{}`", source.display()))?;
    }
    if !is_up_to_date(&place) && !install(&place)? {
        let sentence = "thread files against the AI SDK; `npm ci` could not install its packages";
        return Ok(Outcome::Skipped(sentence.to_owned()));
    }
    let check = Invocation::new("node", &["check.mjs", "../tmp/ui-messages"]);
    Ok(if check.run_in(&place)?.success() { Outcome::Passed } else { Outcome::Failed })
}

fn is_installed(program: &str, root: &Path) -> bool {
    let mut probe = Invocation::new(program, &["--version"]).command(root);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

fn is_up_to_date(place: &Path) -> bool {
    let read = |name: &str| fs::read(place.join(name)).ok(); // what cannot be read is installed anew
    read(INSTALLED).is_some() && read(INSTALLED) == read(LOCK)
}

fn install(place: &Path) -> anyhow::Result<bool> {
    // Version 7 asks for a newer node than some machines have, and runs on theirs all the same.
    let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let succeeded = Invocation::new("npm", &args).run_in(place)?.success();
    if succeeded {
        fs::copy(place.join(LOCK), place.join(INSTALLED))?;
    }
    Ok(succeeded)
}
