//! The folders whose files can be named with `@`: those that the agent's tools can read as well.

use std::path::{Component, Path, PathBuf};

/// What lies in it is the house's own, and never goes to a model.
const PRIVATE_FOLDER: &str = ".kith";

pub(crate) struct FileRoots {
    /// Relative names start here.
    cwd: PathBuf,
    /// Canonical, the working folder or its repository among them.
    roots: Vec<PathBuf>,
}

impl FileRoots {
    /// Roots that cannot be opened hold no files.
    pub(crate) fn new(cwd: &Path, roots: &[PathBuf]) -> FileRoots {
        let mut real: Vec<PathBuf> = Vec::new();
        for root in roots.iter().filter_map(|root| root.canonicalize().ok()) {
            if !real.contains(&root) {
                real.push(root);
            }
        }
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        FileRoots { cwd, roots: real }
    }

    /// The canonical path of a name, if that lies beneath a root wherever links lead.
    pub(crate) fn resolve(&self, name: &str) -> Option<PathBuf> {
        let path = self.cwd.join(name).canonicalize().ok()?;
        let is_beneath = |root: &PathBuf| {
            path.strip_prefix(root).is_ok_and(|rest| {
                !rest.components().any(|it| it == Component::Normal(PRIVATE_FOLDER.as_ref()))
            })
        };
        self.roots.iter().any(is_beneath).then_some(path)
    }

    /// The roots besides the working folder, each with a name that leads there and ends in a slash.
    pub(crate) fn others(&self) -> Vec<String> {
        let name = |root: &PathBuf| match self.cwd.strip_prefix(root) {
            Ok(below) => "../".repeat(below.components().count()),
            Err(_) => format!("{}/", root.display()),
        };
        self.roots.iter().map(name).filter(|name| !name.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_lead_beneath_the_roots_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        for folder in ["project/src", "home/.kith", "other"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        for file in ["project/a.md", "home/USER.md", "home/.kith/state.db", "other/secret"] {
            fs::write(dir.join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(dir.join("other"), dir.join("project/src/link")).unwrap();
        let roots =
            FileRoots::new(&dir.join("project/src"), &[dir.join("project"), dir.join("home")]);
        let home = dir.join("home").display().to_string();
        assert_eq!(roots.resolve("../a.md"), Some(dir.join("project/a.md")));
        assert_eq!(roots.resolve(&format!("{home}/USER.md")), Some(dir.join("home/USER.md")));
        let outside = [
            "../../other/secret".to_owned(),
            "link/secret".to_owned(),
            format!("{home}/.kith/state.db"),
            "/etc/passwd".to_owned(),
            "nobody".to_owned(),
        ];
        for name in outside {
            assert_eq!(roots.resolve(&name), None, "{name}");
        }
        assert_eq!(roots.others(), ["../".to_owned(), format!("{home}/")]);
    }
}
