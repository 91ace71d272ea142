//! Which sessions have commands in the background, for the host after this one: `.kith/background.json`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kith_vocab::files::if_found;
use kith_vocab::ids::SessionId;

use crate::private_file::{read_private, write_private};

const NAME: &str = "background.json";
/// Notes that could not be read, until others cannot be read either.
const UNREADABLE_NAME: &str = "background.unreadable.json";
/// A longer file is none that we wrote.
const NOTES_BYTES_MAX: u64 = 1024 * 1024;

fn path(kith_dir: &Path) -> PathBuf {
    kith_dir.join(NAME)
}

/// The ids of the commands of each session, as they were noted last.
pub fn read_background_notes(kith_dir: &Path) -> io::Result<BTreeMap<SessionId, Vec<String>>> {
    let Some(text) = read_private(&path(kith_dir), NOTES_BYTES_MAX)? else {
        return Ok(BTreeMap::new());
    };
    serde_json::from_str(&text).map_err(io::Error::from)
}

/// Moves notes that cannot be read out of the way of the next ones; where they are then.
pub fn set_aside_background_notes(kith_dir: &Path) -> io::Result<PathBuf> {
    let aside = kith_dir.join(UNREADABLE_NAME);
    fs::rename(path(kith_dir), &aside)?;
    Ok(aside)
}

/// Notes them in place of those before.
pub fn write_background_notes(
    kith_dir: &Path,
    notes: &BTreeMap<SessionId, Vec<String>>,
) -> io::Result<()> {
    if notes.is_empty() {
        return if_found(fs::remove_file(path(kith_dir))).map(drop);
    }
    write_private(&path(kith_dir), &serde_json::to_string(notes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_were_written_and_leave_no_file_when_there_are_none() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_background_notes(dir.path()).unwrap(), BTreeMap::new());
        let session: SessionId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let notes = BTreeMap::from([(session, vec!["3f2a91".to_owned()])]);
        write_background_notes(dir.path(), &notes).unwrap();
        assert_eq!(read_background_notes(dir.path()).unwrap(), notes);
        write_background_notes(dir.path(), &BTreeMap::new()).unwrap();
        write_background_notes(dir.path(), &BTreeMap::new()).unwrap();
        assert!(!path(dir.path()).exists());
        fs::write(path(dir.path()), "no JSON").unwrap();
        assert!(read_background_notes(dir.path()).is_err());
    }
}
