//! Packages of Python, installed into a folder of their own.

use std::fs;
use std::path::Path;

use crate::invocation::Invocation;

pub(crate) const REQUIREMENTS: &str = "requirements.txt";
/// Written when the packages are there; it holds the requirements they were installed by.
const INSTALLED: &str = "installed-by.txt";

/// Installs what the requirements in this folder name into `python` beside them, unless it is there. False
/// if it cannot.
pub(crate) fn install(place: &Path, options: &[&str]) -> anyhow::Result<bool> {
    let read = |name: &str| fs::read(place.join(name)).ok(); // what cannot be read is installed anew
    if read(INSTALLED).is_some() && read(INSTALLED) == read(REQUIREMENTS) {
        return Ok(true);
    }
    let venv = Invocation::new("python3", &["-m", "venv", "python"]);
    let mut args = vec!["-m", "pip", "install", "--quiet", "-r", REQUIREMENTS];
    args.extend(options);
    let pip = Invocation::new(place.join("python/bin/python"), &args);
    for step in [venv, pip] {
        // A program that is not there is the reason to skip, not to fail.
        if !step.run_in(place).is_ok_and(|status| status.success()) {
            return Ok(false);
        }
    }
    fs::copy(place.join(REQUIREMENTS), place.join(INSTALLED))?;
    Ok(true)
}
