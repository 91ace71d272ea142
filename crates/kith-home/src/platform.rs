//! The machine as the model is told of it.

use std::env;
use std::path::Path;

use crate::prompt_file::read_text;
use crate::rendering::one_line;

const FACT_CHARS_MAX: usize = 120;

/// Each is one line of text; an unknown fact is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platform {
    pub os: String,
    pub os_version: Option<String>,
    pub shell: Option<String>,
}

impl Platform {
    /// The facts that need no environment variable; the caller knows the shell.
    pub fn of_this_machine(shell: Option<String>) -> Platform {
        let os = env::consts::OS.to_owned();
        let os_version = os_version(Path::new("/etc/os-release"));
        Platform { os, os_version, shell }
    }
}

fn os_version(os_release: &Path) -> Option<String> {
    // A machine without a readable file has a version all the same; it is just not known.
    let text = read_text(os_release).ok()?;
    pretty_name(&text)
}

fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| one_line(value, FACT_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_pretty_name() {
        check(
            "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
            Some("Debian GNU/Linux 12 (bookworm)"),
        );
        check("PRETTY_NAME='Void'\n", Some("Void"));
        check("PRETTY_NAME=\"\"\n", None);
        check("", None);
    }

    #[track_caller]
    fn check(text: &str, version: Option<&str>) {
        assert_eq!(pretty_name(text).as_deref(), version);
    }
}
