//! Packages of npm, installed by a lock file that names hashes and no host.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::invocation::Invocation;

const LOCK: &str = "package-lock.json";
/// Written when all packages are there; it holds the lock file they were installed by.
const INSTALLED: &str = "node_modules/installed-by.json";

/// The first of the two programs that is not there.
pub(crate) fn missing_program(root: &Path) -> Option<&'static str> {
    ["node", "npm"].into_iter().find(|program| !is_installed(program, root))
}

pub(crate) fn is_installed(program: &str, root: &Path) -> bool {
    let mut probe = Invocation::new(program, &["--version"]).command(root);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

/// Installs what the lock file in this folder names, unless it is there. False if it cannot.
pub(crate) fn install(place: &Path) -> anyhow::Result<bool> {
    let read = |name: &str| fs::read(place.join(name)).ok(); // what cannot be read is installed anew
    if read(INSTALLED).is_some() && read(INSTALLED) == read(LOCK) {
        return Ok(true);
    }
    // Some packages ask for a newer node than some machines have, and run on theirs all the same.
    let args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let succeeded = Invocation::new("npm", &args).run_in(place)?.success();
    if succeeded {
        fs::copy(place.join(LOCK), place.join(INSTALLED))?;
    }
    Ok(succeeded)
}
