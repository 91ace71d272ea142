//! Pending approvals as files for people: `.kith/approvals/<id>.json`.
//!
//! They follow from the logs and are never synced: whoever deletes one loses nothing, and the next
//! time its session is opened it is there again.

use std::fs;
use std::io;
use std::path::PathBuf;

/// The folder of the files.
#[derive(Clone, Debug)]
pub struct ApprovalFolder(PathBuf);

impl ApprovalFolder {
    /// The folder of a house whose hidden folder is `dir`.
    pub fn in_folder(dir: &std::path::Path) -> ApprovalFolder {
        ApprovalFolder(dir.join("approvals"))
    }

    /// Writes the file of an approval, unless it holds this text already.
    pub fn write(&self, approval_id: &str, text: &str) -> io::Result<()> {
        let path = self.path(approval_id)?;
        if fs::read_to_string(&path).is_ok_and(|present| present == text) {
            return Ok(());
        }
        fs::create_dir_all(&self.0)?;
        let part = path.with_extension("part");
        fs::write(&part, text)?;
        fs::rename(&part, &path)
    }

    /// Removes the file of an approval, if it is there.
    pub fn remove(&self, approval_id: &str) -> io::Result<()> {
        match fs::remove_file(self.path(approval_id)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A log can come from anywhere, so an id must not lead out of the folder.
    fn path(&self, approval_id: &str) -> io::Result<PathBuf> {
        let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-');
        if approval_id.is_empty() || approval_id.len() > 128 || !approval_id.chars().all(is_plain) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the id of an approval"));
        }
        Ok(self.0.join(format!("{approval_id}.json")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_removed_once_and_never_outside_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let folder = ApprovalFolder::in_folder(dir.path());
        folder.write("ap_1", "{}").unwrap();
        let path = dir.path().join("approvals/ap_1.json");
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        folder.remove("ap_1").unwrap();
        folder.remove("ap_1").unwrap();
        assert!(!path.exists());
        for id in ["", "../x", "a/b", "a.b"] {
            assert!(folder.write(id, "{}").is_err(), "{id}");
        }
    }
}
