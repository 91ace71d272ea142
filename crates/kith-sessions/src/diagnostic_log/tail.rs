//! The end of a log, and what is appended to it afterwards.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use kith_vocab::files::if_found;

use super::LogName;
use crate::own_file;

/// Bytes that are read at once. What a log gained beyond that is read the next time.
pub const TAIL_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A place in a log that is read on from. The file may be renamed or removed meanwhile.
#[derive(Debug)]
pub struct LogTail {
    kith_dir: PathBuf,
    name: LogName,
    /// The file that is read, with how far.
    at: Option<(File, u64)>,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl LogTail {
    /// The last lines of the log, and where they end. A log that is not there has none.
    pub fn open(
        kith_dir: &Path,
        name: LogName,
        n_lines: usize,
    ) -> io::Result<(LogTail, Vec<String>)> {
        let mut tail = LogTail { kith_dir: kith_dir.to_owned(), name, at: None, rest: Vec::new() };
        let mut lines = Vec::new();
        // The part before is read first; if the log was renamed in between, the same lines are not read
        // twice, because its file is the same.
        let older = open_read(&name.older_path(kith_dir))?;
        let newer = open_read(&name.path(kith_dir))?;
        let is_same = match (&older, &newer) {
            (Some(older), Some(newer)) => identity(older)? == identity(newer)?,
            _ => false,
        };
        if let Some(mut older) = older.filter(|_| !is_same) {
            tail.read_lines(&mut older, 0, &mut lines)?;
            tail.rest.clear();
        }
        if let Some(mut newer) = newer {
            let end = tail.read_lines(&mut newer, 0, &mut lines)?;
            tail.at = Some((newer, end));
        }
        let surplus = lines.len().saturating_sub(n_lines);
        lines.drain(..surplus);
        Ok((tail, lines))
    }

    /// The lines that have come since the last look.
    pub fn read_new(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        if let Some((mut file, from)) = self.at.take() {
            let end = self.read_lines(&mut file, from, &mut lines)?;
            self.at = Some((file, end));
        }
        // Another file has the name: the one that was read is complete, and was read to its end above,
        // unless lines came in between.
        let present = open_read(&self.name.path(&self.kith_dir))?;
        let Some(mut present) = present else { return Ok(lines) };
        let is_same = match &self.at {
            Some((file, _)) => identity(file)? == identity(&present)?,
            None => false,
        };
        if is_same {
            return Ok(lines);
        }
        if let Some((mut file, from)) = self.at.take() {
            self.read_lines(&mut file, from, &mut lines)?;
        }
        self.rest.clear();
        let end = self.read_lines(&mut present, 0, &mut lines)?;
        self.at = Some((present, end));
        Ok(lines)
    }

    /// Reads whole lines, and returns where it has come to.
    fn read_lines(
        &mut self,
        file: &mut File,
        from: u64,
        lines: &mut Vec<String>,
    ) -> io::Result<u64> {
        // One that was cut begins anew.
        let from = if file.metadata()?.len() < from { 0 } else { from };
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        let n_read = file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
        for byte in bytes {
            if byte == b'\n' {
                lines.push(String::from_utf8_lossy(&self.rest).into_owned());
                self.rest.clear();
            } else {
                self.rest.push(byte);
            }
        }
        Ok(from + n_read as u64)
    }
}

fn open_read(path: &Path) -> io::Result<Option<File>> {
    if_found(own_file::open(path, OpenOptions::new().read(true)))
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    Ok(own_file::identity(&file.metadata()?))
}
