//! The output of a command while it runs: head and tail for the model, the whole in a file.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use kith_vocab::digest::hex;
use kith_vocab::tool::{Progress, SpillFile, TOOL_OUTPUT_BYTES_MAX};
use sha2::{Digest, Sha256};

use crate::random_name::random_name;

/// Bytes of output after which a command is ended.
pub(crate) const COMMAND_OUTPUT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Bytes kept of the beginning and of the end of an output that is too long for a result.
const HEAD_BYTES_MAX: usize = TOOL_OUTPUT_BYTES_MAX * 7 / 10;
const TAIL_BYTES_MAX: usize = TOOL_OUTPUT_BYTES_MAX / 5;
/// Bytes read at once.
const CHUNK_BYTES_MAX: usize = 64 * 1024;
/// Characters of a line that a screen is shown while the command runs.
const PROGRESS_CHARS_MAX: usize = 200;

/// What a command has printed.
pub(super) struct CommandOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
    spill: Option<Spill>,
    pub(super) is_too_long: bool,
}

/// The file with the whole output, removed unless it is handed over.
struct Spill {
    path: PathBuf,
    file: File,
    hash: Sha256,
}

impl CommandOutput {
    /// Reads until the last process that holds the pipe is gone, or there is too much of it.
    pub(super) fn read(mut pipe: impl Read, progress: &dyn Progress) -> io::Result<CommandOutput> {
        let mut output = CommandOutput {
            head: Vec::new(),
            tail: VecDeque::new(),
            bytes: 0,
            spill: None,
            is_too_long: false,
        };
        let mut chunk = vec![0; CHUNK_BYTES_MAX];
        loop {
            let n_bytes = match pipe.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if n_bytes == 0 {
                return Ok(output);
            }
            let read = &chunk[..n_bytes];
            output.take(read)?;
            if let Some(line) = last_line(read) {
                progress.line(&line);
            }
            if output.bytes >= COMMAND_OUTPUT_BYTES_MAX {
                output.is_too_long = true;
                return Ok(output);
            }
        }
    }

    fn take(&mut self, read: &[u8]) -> io::Result<()> {
        let was_short = self.bytes <= TOOL_OUTPUT_BYTES_MAX as u64;
        self.bytes += read.len() as u64;
        // Until it is too long, all of it is in the head.
        if was_short && self.head.len() + read.len() <= TOOL_OUTPUT_BYTES_MAX {
            self.head.extend_from_slice(read);
            return Ok(());
        }
        if self.spill.is_none() {
            let mut spill = Spill::make()?;
            spill.add(&self.head)?;
            self.spill = Some(spill);
            self.tail.extend(self.head.iter().skip(HEAD_BYTES_MAX));
            let room = HEAD_BYTES_MAX.saturating_sub(self.head.len());
            self.head.extend_from_slice(&read[..room.min(read.len())]);
            self.head.truncate(HEAD_BYTES_MAX);
        }
        if let Some(spill) = &mut self.spill {
            spill.add(read)?;
        }
        self.tail.extend(read);
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES_MAX);
        self.tail.drain(..surplus);
        Ok(())
    }

    /// The text for the model, and the file with the whole if that is a part.
    pub(super) fn finish(mut self) -> io::Result<(String, Option<SpillFile>)> {
        let head = String::from_utf8_lossy(&self.head);
        let Some(spill) = self.spill.take() else { return Ok((head.into_owned(), None)) };
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let tail = String::from_utf8_lossy(&tail);
        // Each byte that is no text is shown as a character of three.
        let head = &head[..head.floor_char_boundary(HEAD_BYTES_MAX)];
        let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(TAIL_BYTES_MAX))..];
        let n_missing = self.bytes.saturating_sub((head.len() + tail.len()) as u64);
        let text = format!("{head}\n… {n_missing} bytes left out …\n{tail}");
        Ok((text, Some(spill.finish(self.bytes)?)))
    }
}

impl Spill {
    fn make() -> io::Result<Spill> {
        let path = std::env::temp_dir().join(random_name("kith-output")?);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Spill { path, file, hash: Sha256::new() })
    }

    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    fn finish(mut self, bytes: u64) -> io::Result<SpillFile> {
        self.file.flush()?;
        let sha256 = hex(&std::mem::take(&mut self.hash).finalize());
        // From here on the file belongs to the journal.
        let path = std::mem::take(&mut self.path);
        Ok(SpillFile { path, sha256, bytes })
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // A file in the folder for temporary files that stays is the system's to remove.
            fs::remove_file(&self.path).ok();
        }
    }
}

/// The last line with something in it.
fn last_line(read: &[u8]) -> Option<String> {
    let line = read.split(|&byte| byte == b'\n' || byte == b'\r').rfind(|line| !line.is_empty())?;
    Some(String::from_utf8_lossy(line).chars().take(PROGRESS_CHARS_MAX).collect())
}

#[cfg(test)]
mod tests;
