//! Small files of `.kith` that are the owner's alone: read whole, and replaced whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kith_vocab::files::if_found;

use crate::disk::owner_only;
use crate::own_file;

/// The text of a file that only the owner may read; `None` if there is none.
pub(crate) fn read_private(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let Some(file) = if_found(own_file::open(path, OpenOptions::new().read(true)))? else {
        return Ok(None);
    };
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(unusable(path, "can be read by other users"));
    }
    let mut text = String::new();
    file.take(bytes_max).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Writes a file that only the owner may read, in place of the one before.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // Renamed into place when it is whole: one that is half written would be refused for ever.
    let part = path.with_extension("part");
    if_found(fs::remove_file(&part))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_only(&mut options);
    let mut file = own_file::open(&part, &mut options)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&part, path)
}

pub(crate) fn unusable(path: &Path, problem: &str) -> io::Error {
    let message = format!("`{}` {problem}; delete it, and kith makes a new one", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}
