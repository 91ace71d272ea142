//! The project's files in memory: what every rule reads, and what a test writes by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::source::Source;

/// Folders that hold no sources of ours. An agent's folder is somebody's own.
const FOREIGN_FOLDERS: [&str; 5] = ["target", "node_modules", "my-agent", "dist", ".git"];

/// Of the hidden folders only these belong to the project.
const HIDDEN_FOLDERS_OF_OURS: [&str; 3] = [".cargo", ".ci", ".github"];

/// Larger files are fixtures or recordings, which no rule is about.
const FILE_BYTES_MAX: u64 = 1 << 20;

pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// Invariant: keys are relative to the root, with `/` on every platform.
    files: BTreeMap<String, File>,
}

pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    rust: Option<Source>,
}

/// A `.rs` file with its views.
#[derive(Clone, Copy)]
pub(crate) struct RustFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) source: &'a Source,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Tree> {
        let mut tree = Tree { root: root.to_path_buf(), files: BTreeMap::new() };
        tree.read_folder(root)?;
        Ok(tree)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }

    pub(crate) fn text(&self, path: &str) -> Option<&String> {
        self.files.get(path).map(|file| &file.text)
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = RustFile<'_>> {
        self.files().filter_map(|File { path, text, rust }| {
            rust.as_ref().map(|source| RustFile { path, text, source })
        })
    }

    pub(crate) fn production_files(&self) -> impl Iterator<Item = RustFile<'_>> {
        self.rust_files().filter(|file| !is_test(file.path))
    }

    /// The folders with a package, `crates/kith-vocab` for one, and the text of its `Cargo.toml`.
    pub(crate) fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter_map(|File { path, text, .. }| {
            path.strip_suffix("/Cargo.toml").map(|folder| (folder, text.as_str()))
        })
    }

    fn read_folder(&mut self, folder: &Path) -> anyhow::Result<()> {
        let context = || format!("cannot read the folder `{}`", folder.display());
        for entry in fs::read_dir(folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            let kind = entry.file_type().with_context(context)?;
            if kind.is_dir() && is_ours(&entry.file_name().to_string_lossy()) {
                self.read_folder(&entry.path())?;
            } else if kind.is_file()
                && entry.metadata().with_context(context)?.len() <= FILE_BYTES_MAX
            {
                self.read_file(&entry.path())?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let bytes =
            fs::read(path).with_context(|| format!("cannot read the file `{}`", path.display()))?;
        // What is no text (a picture, a damaged log as a fixture) is no rule's business.
        if let (Ok(text), Ok(relative)) = (String::from_utf8(bytes), path.strip_prefix(&self.root))
        {
            let parts = relative.components().map(|part| part.as_os_str().to_string_lossy());
            let relative = parts.collect::<Vec<_>>().join("/");
            self.add(relative, text);
        }
        Ok(())
    }

    fn add(&mut self, path: String, text: String) {
        let rust = has_extension(&path, "rs").then(|| Source::of(&text));
        self.files.insert(path.clone(), File { path, text, rust });
    }
}

/// Whether the file is compiled for tests only.
pub(crate) fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    let name = parts.next_back();
    name == Some("tests.rs") || parts.any(|part| part == "tests" || part == "benches")
}

pub(crate) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|it| it == extension)
}

fn is_ours(folder: &str) -> bool {
    if folder.starts_with('.') {
        return HIDDEN_FOLDERS_OF_OURS.contains(&folder);
    }
    !FOREIGN_FOLDERS.contains(&folder)
}

#[cfg(test)]
impl Tree {
    /// A tree written as one text: each file begins with a line `//- its/path`.
    pub(crate) fn fixture(text: &str) -> Tree {
        let mut tree = Tree { root: PathBuf::from("/builder/kith"), files: BTreeMap::new() };
        for file in text.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').unwrap_or((file, ""));
            tree.add(path.to_owned(), text.to_owned());
        }
        tree
    }
}
