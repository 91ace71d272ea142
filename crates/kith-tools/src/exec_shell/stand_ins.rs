//! What stands for absent protected files while a command runs, where its output shows it.
//!
//! A model that reads `SOUL.md` in a listing takes it for a file. It is told what it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kith_home::placeholder::is_placeholder;

use crate::sandbox::spec::{CommandSpec, GuardKind};

/// Names of what is not there, and that a command will see. To be asked before it runs.
pub(super) fn names(spec: &CommandSpec) -> BTreeSet<String> {
    let guards = spec.view.iter().flat_map(|it| &it.guards);
    let shown = guards.filter(|it| it.is_writable_place && it.kind != GuardKind::Pinned);
    let is_absent = |path: &Path| fs::symlink_metadata(path).map_or(true, |it| is_placeholder(&it));
    let absent = shown.filter(|it| is_absent(&it.path));
    absent.filter_map(|it| it.path.file_name()?.to_str().map(str::to_owned)).collect()
}

/// A line that says which of the names in a listing are no files.
pub(super) fn remark(names: &BTreeSet<String>, output: &str) -> Option<String> {
    let listed: BTreeSet<&str> = output.lines().filter_map(listed_name).collect();
    let found: Vec<&str> =
        names.iter().map(String::as_str).filter(|it| listed.contains(it)).collect();
    let found = found.join(", ");
    (!found.is_empty())
        .then(|| format!("[placeholders of the sandbox, not there afterwards: {found}]"))
}

/// The name that a line of `ls`, `ls -l` or `find` ends with.
fn listed_name(line: &str) -> Option<&str> {
    let path = line.split_whitespace().next_back()?;
    path.trim_end_matches('/').rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_explained_and_other_texts_are_not() {
        let names: BTreeSet<String> = ["SOUL.md", "USER.md"].map(str::to_owned).into();
        for listing in ["a\nSOUL.md\n", "dr-xr-xr-t 2 me me 40 Nov 1 SOUL.md/\n", "./b/SOUL.md"] {
            let expected = "[placeholders of the sandbox, not there afterwards: SOUL.md]";
            assert_eq!(remark(&names, listing).as_deref(), Some(expected), "{listing}");
        }
        for text in ["", "MYSOUL.md", "SOUL.md says that", "SOUL.md:"] {
            assert_eq!(remark(&names, text), None, "{text}");
        }
    }
}
