//! Small files of `.kith` that are the owner's alone: read whole, and replaced whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kith_vocab::files::{FileSystem as _, if_found};

use crate::disk::{DiskFiles, owner_only};
use crate::own_file;

/// The text of a file that only the owner may read; `None` if there is none. A longer one is refused.
pub(crate) fn read_private(path: &Path, bytes_max: u64) -> io::Result<Option<String>> {
    let Some(file) = if_found(own_file::open(path, OpenOptions::new().read(true)))? else {
        return Ok(None);
    };
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(unusable(path, "can be read by other users"));
    }
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    // One that was cut would be taken for another file.
    if bytes.len() as u64 > bytes_max {
        return Err(unusable(path, &format!("is longer than {bytes_max} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| unusable(path, "is not UTF-8"))
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
    fs::rename(&part, path)?;
    // Without this a power cut could bring the file before it back: an ended login, say.
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    DiskFiles.sync_dir(folder.unwrap_or(Path::new(".")))
}

pub(crate) fn unusable(path: &Path, problem: &str) -> io::Error {
    let message = format!("`{}` {problem}; delete it, and kith makes a new one", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_long_is_refused_and_not_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("numbers");
        write_private(&path, "12345678").unwrap();
        assert_eq!(read_private(&path, 8).unwrap().as_deref(), Some("12345678"));
        let refused = read_private(&path, 7).unwrap_err();
        assert!(refused.to_string().contains("longer than 7 bytes"), "{refused}");
        fs::write(&path, [0xff]).unwrap();
        let refused = read_private(&path, 7).unwrap_err();
        assert!(refused.to_string().contains("not UTF-8"), "{refused}");
    }
}
