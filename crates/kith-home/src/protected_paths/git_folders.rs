//! Folders that git takes for the inside of a repository by what is in them, whatever they are called.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// What decides in such a folder what git runs.
const DECIDING: [&str; 4] = ["config", "config.worktree", "commondir", "hooks"];

/// Whether a file written at this path would make git obey the folder it lies in, or one above.
pub fn would_lead_git(path: &Path) -> bool {
    let folders = path.ancestors().filter_map(|it| Some((it.parent()?, it.file_name()?)));
    folders.into_iter().any(|(folder, written)| is_led(folder, written))
}

fn is_led(folder: &Path, written: &OsStr) -> bool {
    let is_written = |name: &str| written.eq_ignore_ascii_case(name);
    let is_deciding = DECIDING.iter().any(|it| is_written(it));
    if !is_deciding && !["HEAD", "objects", "refs"].iter().any(|it| is_written(it)) {
        return false;
    }
    let is_there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    let was = ["HEAD", "objects", "refs", "commondir"].map(is_there);
    let [head, objects, refs, commondir] = was;
    // Git also takes what is missing from the folder that `commondir` names.
    let is_whole =
        |[head, objects, refs, commondir]: [bool; 4]| head && (commondir || objects && refs);
    let becomes = [
        head || is_written("HEAD"),
        objects || is_written("objects"),
        refs || is_written("refs"),
        commondir || is_written("commondir"),
    ];
    if is_deciding {
        let n_there = [head, objects, refs].iter().filter(|it| **it).count();
        return n_there >= 2 || is_whole(becomes);
    }
    // Of a repository that was one before, branches and objects run nothing.
    is_whole(becomes) && (is_written("HEAD") || !is_whole(was))
}
