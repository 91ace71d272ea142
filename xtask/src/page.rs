//! `cargo xtask test --page`: the web page in a real Chromium, against the program's own copy of it.
//!
//! The packages are npm's, by the lock file of `web/`; the browser is Debian's. A machine without
//! node, a browser or, at the first run, a network cannot do this: that is said aloud, and it fails
//! nothing. The short form, which is a step of `cargo xtask test`, installs no system package.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::invocation::Invocation;
use crate::npm::{self, is_installed};
use crate::start;
use crate::test::{Outcome, is_superuser};

const SOURCES: &str = "web";
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The variable that the scenarios and `web/README.md` name.
const BROWSER_VARIABLE: &str = "CHROMIUM";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A few scenarios, for every run of the tests.
    Short,
    Whole,
}

impl Form {
    fn scenarios(self) -> &'static [&'static str] {
        match self {
            Form::Short => &["test/page/run.mjs", "--short"],
            Form::Whole => &["test/page/run.mjs"],
        }
    }
}

pub(crate) fn shown(form: Form) -> String {
    let kith = Path::new("../target/debug/kith");
    format!("{} (in {SOURCES})", scenarios(form, kith, None))
}

pub(crate) fn check(root: &Path, form: Form) -> anyhow::Result<Outcome> {
    let place = root.join(SOURCES);
    if let Some(program) = npm::missing_program(root) {
        return Ok(skipped(&format!("`{program}` is not installed")));
    }
    if browser(root).is_none() && form == Form::Whole {
        install_browser(root);
    }
    let Some(browser) = browser(root) else {
        return Ok(skipped(
            "there is no Chromium (on Debian: `apt-get install chromium`; else set `CHROMIUM`)",
        ));
    };
    if !npm::install(&place)? {
        return Ok(skipped("`npm ci` could not install its packages"));
    }
    start::build(root)?;
    let units = Invocation::new("npm", &["test", "--silent"]);
    let page = scenarios(form, &start::program()?, Some(&browser));
    for step in [units, page] {
        println!("   {step}");
        if !step.run_in(&place)?.success() {
            return Ok(Outcome::Failed);
        }
    }
    Ok(Outcome::Passed)
}

fn scenarios(form: Form, kith: &Path, browser: Option<&Path>) -> Invocation {
    let node = Invocation::new("node", form.scenarios())
        .with_environment("KITH_PAGE_EMBEDDED", "1")
        .with_environment("KITH", kith.to_string_lossy());
    match browser {
        Some(path) => node.with_environment(BROWSER_VARIABLE, path.to_string_lossy()),
        None => node,
    }
}

fn skipped(reason: &str) -> Outcome {
    Outcome::Skipped(format!("the web page in a browser; {reason}"))
}

fn browser(root: &Path) -> Option<PathBuf> {
    let named = env::var_os(BROWSER_VARIABLE).map(PathBuf::from);
    named.or_else(|| {
        let found = BROWSERS.into_iter().find(|name| is_installed(name, root))?;
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|it| it.join(found)).find(|it| it.is_file())
    })
}

/// Only the superuser may, and only Debian and its relatives have it. Whether it worked is seen by
/// looking for the browser again.
fn install_browser(root: &Path) {
    if !is_superuser() || !is_installed("apt-get", root) {
        return;
    }
    println!("   installing Debian's chromium");
    for args in [&["-q", "update"][..], &["-q", "-y", "install", "chromium"]] {
        let step = Invocation::new("apt-get", args);
        let mut command = step.command(root);
        command.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            return;
        }
    }
}
