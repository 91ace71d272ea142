//! What a shell command names, looked up on the disk.
//!
//! It changes nothing and runs nothing. `exec_shell` and `kith explain command` both ask here, so
//! that what is explained is what is judged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use kith_home::zones::Places;
use kith_shell::facts::{ProgramFacts, ProgramPlace};
use kith_shell::gather::{Lookup, PathLookup};
use kith_vocab::facts::{PathEntry, Zone};

/// Maximum number of folders that are searched for a program.
const PROGRAM_FOLDERS_MAX: usize = 64;

/// Looks on the real disk.
#[derive(Clone, Debug)]
pub struct DiskLookup {
    pub places: Places,
    /// The folders of `PATH`, as the command will have it.
    pub program_folders: Vec<PathBuf>,
}

impl Lookup for DiskLookup {
    fn path(&self, path: &Path) -> PathLookup {
        let real = resolve(path);
        let zone = self.places.zone(path).max(self.places.zone(&real));
        let entry = match fs::metadata(&real) {
            Ok(it) if it.is_file() => PathEntry::File,
            Ok(it) if it.is_dir() => PathEntry::Folder,
            Ok(_) => PathEntry::Special,
            // A link to what does not exist: whoever writes to it creates that.
            Err(_) if real.is_symlink() => PathEntry::Special,
            Err(_) => PathEntry::Absent,
        };
        PathLookup { real, zone, entry }
    }

    fn program(&self, name: &str, cwd: &Path) -> ProgramFacts {
        let found = if name.contains('/') {
            Some(cwd.join(name)).filter(|it| is_program(it))
        } else {
            let folders = self.program_folders.iter().take(PROGRAM_FOLDERS_MAX);
            folders.map(|it| cwd.join(it).join(name)).find(|it| is_program(it))
        };
        let place = found.as_deref().map_or(ProgramPlace::Unknown, |it| self.place(it));
        let path = found.map(|it| resolve(&it).to_string_lossy().into_owned());
        ProgramFacts { name: name.to_owned(), path, place }
    }

    fn user_home(&self) -> Option<PathBuf> {
        self.places.user_home.clone()
    }
}

impl DiskLookup {
    /// The same, with what the protected names lead to at this moment: for one call.
    #[must_use]
    pub fn looked_up(&self) -> DiskLookup {
        DiskLookup {
            places: self.places.looked_up(),
            program_folders: self.program_folders.clone(),
        }
    }

    /// A program is the system's only if neither its name nor its file lies where commands write.
    fn place(&self, program: &Path) -> ProgramPlace {
        let zones = [self.places.zone(program), self.places.zone(&resolve(program))];
        let is_installed = |zone: &Zone| matches!(zone, Zone::System | Zone::Outside);
        if zones.iter().all(is_installed) { ProgramPlace::System } else { ProgramPlace::Workspace }
    }
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// The path with its links resolved as far as it exists, `..` as the kernel understands it. All of it:
/// the beginning of a path may lie in another zone than its end.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let mut real = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                real.push(name);
                // All before it is resolved. What does not exist leads nowhere.
                if fs::read_link(&real).is_ok()
                    && let Ok(resolved) = fs::canonicalize(&real)
                {
                    real = resolved;
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => (),
        }
    }
    real
}

#[cfg(test)]
mod tests;
