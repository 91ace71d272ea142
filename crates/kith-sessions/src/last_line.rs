//! The last line of a file, without the rest of it.

use std::io::{self, Read};
use std::path::Path;

use kith_vocab::files::{FileSystem, if_found};

/// Read at once, from the end back.
const CHUNK_BYTES: u64 = 16 * 1024;
/// A longer line is not looked for.
pub const LAST_LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LastLine {
    /// There is no file, or nothing in it.
    Absent,
    /// The last write was cut short, or the line is longer than any of ours.
    Torn,
    /// Without its newline.
    Whole(Vec<u8>),
}

pub(crate) fn last_line(files: &dyn FileSystem, path: &Path) -> io::Result<LastLine> {
    let Some(len) = if_found(files.len(path))?.filter(|len| *len > 0) else {
        return Ok(LastLine::Absent);
    };
    let mut wanted = CHUNK_BYTES;
    // The piece doubles, so a line of any length is read at most twice.
    while wanted <= LAST_LINE_BYTES_MAX {
        let start = len.saturating_sub(wanted);
        let mut bytes = Vec::new();
        files.open_read_at(path, start)?.take(len - start).read_to_end(&mut bytes)?;
        if bytes.pop() != Some(b'\n') {
            return Ok(LastLine::Torn);
        }
        if let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n') {
            return Ok(LastLine::Whole(bytes.split_off(newline + 1)));
        }
        if start == 0 {
            return Ok(LastLine::Whole(bytes));
        }
        wanted *= 2;
    }
    Ok(LastLine::Torn)
}
