//! The folders that tools may read, and the only way to open something in them.
//!
//! A path is judged first and then opened so that nothing but what was judged can be opened. Its
//! links are resolved, the real path must lie beneath a root and outside `.kith`, and it is opened
//! from the root's descriptor with no link allowed on the way. If a part of it is swapped for
//! a link in between, the result is an error, not another file. A path that can be opened in this way
//! as it is written has no links to resolve.
//!
//! Folders of skills are the exception to `.kith`: some lie in it. What is beneath them may be read,
//! and nothing else that lies there.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use kith_vocab::event::messages::Trust;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::display;
use crate::folder::{Folder, is_of_the_kernel};
use crate::hard_links::{PrivateFiles, has_hard_links};
use crate::trust::TrustOf;

pub const PATH_BYTES_MAX: usize = 4096;
/// Each part costs a disk access, and a path that does not exist is resolved part by part.
pub const PATH_PARTS_MAX: usize = 256;

/// The folder with the sessions, keys and databases of a house.
const PRIVATE_FOLDER: &str = ".kith";

/// Invariant: every root's `real` is free of links, and of `.kith` unless it holds skills.
#[derive(Debug)]
pub struct Roots {
    cwd: PathBuf,
    readable: Vec<ReadableRoot>,
    /// The `.kith` folders whose files may not be read by another name either.
    private: Vec<PathBuf>,
}

#[derive(Debug)]
struct ReadableRoot {
    real: PathBuf,
    folder: Folder,
    kind: RootKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RootKind {
    /// Nothing in `.kith` may be read.
    Plain,
    /// May itself lie in `.kith`.
    Skills,
}

impl ReadableRoot {
    fn open(path: &Path, kind: RootKind) -> io::Result<ReadableRoot> {
        let real = fs::canonicalize(path)?;
        let folder = Folder::open(&real)?;
        Ok(ReadableRoot { real, folder, kind })
    }

    /// The part of a path beneath the root, unless it may not be read.
    fn place<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let relative = path.strip_prefix(&self.real).ok()?;
        let judged = match self.kind {
            RootKind::Plain => path,
            RootKind::Skills => relative,
        };
        (!is_private(judged)).then_some(relative)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("cannot open folder `{}`", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("folder `{}` lies in `.kith`, which tools never read", path.display())]
    Private { path: PathBuf },
}

/// A regular file, open for reading.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) real: PathBuf,
    pub(crate) bytes: u64,
    /// The file has several names (hard links), so its path does not tell whose it is.
    pub(crate) has_hard_links: bool,
}

impl OpenedFile {
    pub(crate) fn trust(&self, trust_of: &TrustOf) -> Trust {
        if self.has_hard_links { Trust::Untrusted } else { trust_of(&self.real) }
    }
}

#[derive(Debug)]
pub(crate) struct OpenedFolder {
    pub(crate) folder: Folder,
    pub(crate) real: PathBuf,
    /// The folders from the root down to this one, itself left out.
    pub(crate) above: Vec<(Folder, PathBuf)>,
}

#[derive(Debug)]
pub(crate) enum OpenedPath {
    File(OpenedFile),
    Folder(OpenedFolder),
}

impl Roots {
    /// Relative paths start at `cwd`; only what lies beneath one of `readable` can be opened.
    pub fn new(cwd: &Path, readable: Vec<PathBuf>) -> Result<Roots, RootsError> {
        let cwd = fs::canonicalize(cwd)
            .map_err(|source| RootsError::Open { path: cwd.to_owned(), source })?;
        let mut roots: Vec<ReadableRoot> = Vec::with_capacity(readable.len());
        for path in readable {
            let root = match ReadableRoot::open(&path, RootKind::Plain) {
                Ok(root) => root,
                Err(source) => return Err(RootsError::Open { path, source }),
            };
            if is_private(&root.real) {
                return Err(RootsError::Private { path });
            }
            if !roots.iter().any(|known| known.real == root.real) {
                roots.push(root);
            }
        }
        let private = roots.iter().map(|root| root.real.join(PRIVATE_FOLDER)).collect();
        Ok(Roots { cwd, readable: roots, private })
    }

    /// Keeps the files of this house's `.kith` from being read by another name.
    #[must_use]
    pub fn with_house(mut self, house: &Path) -> Roots {
        self.private.push(house.join(PRIVATE_FOLDER));
        self
    }

    pub(crate) fn private_files(&self) -> PrivateFiles<'_> {
        PrivateFiles::of(&self.private)
    }

    /// Lets the files of skills be read as well, also of those that lie in `.kith`.
    ///
    /// A folder that cannot be opened is passed over: a conversation does not end for a skill.
    #[must_use]
    pub fn with_skills(mut self, folders: &[PathBuf]) -> Roots {
        for folder in folders {
            if let Ok(root) = ReadableRoot::open(folder, RootKind::Skills) {
                self.readable.push(root);
            }
        }
        self
    }

    /// The real paths of the roots.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.readable.iter().map(|root| root.real.as_path())
    }

    /// Opens a file. An error is a sentence for the model, as everywhere in this file.
    pub(crate) fn open_file(&self, text: &str) -> Result<OpenedFile, String> {
        match self.open_path(text)? {
            OpenedPath::File(file) => Ok(file),
            OpenedPath::Folder(_) => {
                Err(format!("`{}` is a folder; use list_files", display::name(text)))
            }
        }
    }

    pub(crate) fn open_folder(&self, text: &str) -> Result<OpenedFolder, String> {
        match self.open_path(text)? {
            OpenedPath::File(_) => {
                Err(format!("`{}` is a file; use read_file", display::name(text)))
            }
            OpenedPath::Folder(folder) => Ok(folder),
        }
    }

    pub(crate) fn open_path(&self, text: &str) -> Result<OpenedPath, String> {
        let (file, real) = self.open(text)?;
        let metadata = file.metadata().map_err(|error| self.in_words(text, &error))?;
        if metadata.is_file() {
            if self.private_files().hold(&metadata) {
                return Err(private(text));
            }
            let (bytes, has_hard_links) = (metadata.len(), has_hard_links(&metadata));
            return Ok(OpenedPath::File(OpenedFile { file, real, bytes, has_hard_links }));
        }
        if !metadata.is_dir() {
            return Err(not_a_file(text));
        }
        let above = self.folders_above(&real);
        Ok(OpenedPath::Folder(OpenedFolder { folder: Folder::from_file(file), real, above }))
    }

    /// The absolute path that a text names, links and all.
    pub(crate) fn absolute(&self, text: &str) -> Result<PathBuf, String> {
        self.check_form(text)?;
        Ok(self.cwd.join(text))
    }

    /// Refuses a place that tools may not write: outside the roots, or in `.kith`.
    pub(crate) fn check_writable(&self, text: &str, real: &Path) -> Result<(), String> {
        if is_private(Path::new(text)) || is_private(real) {
            return Err(private(text));
        }
        match self.place(real) {
            Some((root, relative)) if root.kind == RootKind::Plain => {
                let is_root = relative.as_os_str().is_empty();
                if is_root { Err(format!("`{}` is a folder", display::name(text))) } else { Ok(()) }
            }
            _ => Err(self.outside(text)),
        }
    }

    /// The folder of a file that is to be written, made if it is not there, and the file's name in it.
    pub(crate) fn folder_to_write<'a>(&self, real: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
        let outside = || io::Error::from(io::ErrorKind::PermissionDenied);
        let (root, relative) = self.place(real).ok_or_else(outside)?;
        let name = relative.file_name().map(Path::new).ok_or_else(outside)?;
        let mut folder = root.folder.open_beneath(Path::new("")).map(OwnedFd::from)?;
        for part in relative.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(part) = part else { return Err(outside()) };
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => (),
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            folder = rustix::fs::openat(&folder, part, flags, Mode::empty())?;
        }
        Ok((folder, name))
    }

    fn open(&self, text: &str) -> Result<(File, PathBuf), String> {
        let (file, real) = match self.open_plain(text) {
            Some(opened) => opened,
            None => self.open_resolved(text)?,
        };
        if is_of_the_kernel(&file) {
            return Err(self.outside(text));
        }
        Ok((file, real))
    }

    /// Opens what is named without links and `..`, as most files are: then the path is the real one, and
    /// its parts need not be looked at one by one. `None` says nothing about the path.
    fn open_plain(&self, text: &str) -> Option<(File, PathBuf)> {
        // Elsewhere another spelling may name the same file.
        if cfg!(not(target_os = "linux")) || self.check_form(text).is_err() {
            return None;
        }
        // What ends like this must be a folder.
        if text.ends_with('/') || text.ends_with("/.") {
            return None;
        }
        let path: PathBuf = self.cwd.join(text).components().collect();
        if path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let (root, relative) = self.place(&path)?;
        let file = root.folder.open_beneath(relative).ok()?;
        Some((file, path))
    }

    fn open_resolved(&self, text: &str) -> Result<(File, PathBuf), String> {
        let real = self.judge(text)?;
        let (root, relative) = self.place(&real).ok_or_else(|| self.outside(text))?;
        let file = match root.folder.open_beneath(relative) {
            Ok(file) => file,
            Err(error) if is_errno(&error, &[Errno::LOOP, Errno::NOTDIR, Errno::XDEV]) => {
                let name = display::name(text);
                return Err(format!("`{name}` changed while it was opened; try again"));
            }
            Err(error) if is_errno(&error, &[Errno::NXIO, Errno::NODEV]) => {
                return Err(not_a_file(text));
            }
            Err(error) => return Err(self.in_words(text, &error)),
        };
        Ok((file, real))
    }

    /// The real path of what `text` names, if it may be opened.
    fn judge(&self, text: &str) -> Result<PathBuf, String> {
        self.check_form(text)?;
        let path = self.cwd.join(text);
        // Checked before the disk is touched, so that the answer does not tell what `.kith` holds.
        if is_private(Path::new(text)) && !self.is_of_a_skill(&path) {
            return Err(private(text));
        }
        let real = match fs::canonicalize(&path) {
            Ok(real) => real,
            Err(error) if self.is_beneath_as_far_as_it_exists(&path) => {
                return Err(self.in_words(text, &error));
            }
            // Whether something exists out there is not told either.
            Err(_) => return Err(self.outside(text)),
        };
        if self.place(&real).is_some() {
            return Ok(real);
        }
        let is_beneath = self.readable.iter().any(|root| real.starts_with(&root.real));
        Err(if is_beneath { private(text) } else { self.outside(text) })
    }

    fn check_form(&self, text: &str) -> Result<(), String> {
        let cwd = display::name(&self.cwd.to_string_lossy());
        if text.is_empty() {
            return Err(format!("the path is empty; `.` is `{cwd}`"));
        }
        if text.contains('\0') {
            return Err("the path holds a NUL character, which no path can".to_owned());
        }
        if text.len() > PATH_BYTES_MAX || Path::new(text).components().count() > PATH_PARTS_MAX {
            return Err(format!(
                "the path `{}` is too long: at most {PATH_BYTES_MAX} bytes and {PATH_PARTS_MAX} parts",
                display::words(text, 40)
            ));
        }
        if text == "~" || text.starts_with("~/") {
            let name = display::name(text);
            return Err(format!(
                "`~` in `{name}` is not expanded; give an absolute path or one relative to `{cwd}`"
            ));
        }
        Ok(())
    }

    fn place<'a>(&self, real: &'a Path) -> Option<(&ReadableRoot, &'a Path)> {
        self.readable.iter().find_map(|root| Some((root, root.place(real)?)))
    }

    /// Judged by the words alone, so `..` is none of a skill's.
    fn is_of_a_skill(&self, path: &Path) -> bool {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        !climbs && self.place(path).is_some()
    }

    fn is_beneath_as_far_as_it_exists(&self, path: &Path) -> bool {
        let existing = path.ancestors().skip(1).find_map(|path| fs::canonicalize(path).ok());
        existing.is_some_and(|real| self.place(&real).is_some())
    }

    fn folders_above(&self, real: &Path) -> Vec<(Folder, PathBuf)> {
        let Some((root, relative)) = self.place(real) else {
            return Vec::new();
        };
        let mut above: Vec<(Folder, PathBuf)> = relative
            .ancestors()
            .skip(1)
            .filter_map(|relative| {
                // One that cannot be opened has no ignore file that could be read.
                let folder = Folder::from_file(root.folder.open_beneath(relative).ok()?);
                Some((folder, root.real.join(relative)))
            })
            .collect();
        above.reverse();
        above
    }

    fn outside(&self, text: &str) -> String {
        let roots: Vec<String> = self
            .paths()
            .map(|path| format!("`{}`", display::name(&path.to_string_lossy())))
            .collect();
        let name = display::name(text);
        format!("`{name}` lies outside the folders you may read ({})", roots.join(", "))
    }

    fn in_words(&self, text: &str, error: &io::Error) -> String {
        let name = display::name(text);
        match error.kind() {
            io::ErrorKind::NotFound if Path::new(text).is_relative() => {
                let cwd = display::name(&self.cwd.to_string_lossy());
                format!("`{name}` does not exist (relative paths start at `{cwd}`)")
            }
            io::ErrorKind::NotFound => format!("`{name}` does not exist"),
            io::ErrorKind::PermissionDenied => {
                format!("`{name}` cannot be read: permission denied")
            }
            io::ErrorKind::NotADirectory => {
                format!("`{name}` does not exist: a part of it is a file, not a folder")
            }
            _ if is_errno(error, &[Errno::LOOP]) => {
                format!("`{name}` is a link that leads back to itself")
            }
            _ => format!("`{name}` cannot be opened: {error}"),
        }
    }
}

/// Whether a part of the path is `.kith`. Some disks do not tell capitals from small letters, so
/// neither do we.
pub fn is_private(path: &Path) -> bool {
    path.iter().any(|part| part.eq_ignore_ascii_case(PRIVATE_FOLDER))
}

fn private(text: &str) -> String {
    format!("`{}` lies in `.kith`, which tools may not read", display::name(text))
}

fn not_a_file(text: &str) -> String {
    format!("`{}` is neither a file nor a folder but a pipe, socket or device", display::name(text))
}

fn is_errno(error: &io::Error, errnos: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|errno| errnos.contains(&errno))
}

#[cfg(test)]
mod tests;
