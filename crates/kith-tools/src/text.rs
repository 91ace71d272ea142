//! What counts as a text file.

use std::fs::File;
use std::io::{self, Read};

/// A NUL this near to the front makes a file binary, as it does for git.
const BINARY_HEAD_BYTES_MAX: u64 = 8 * 1024;

/// Reads the first bytes of a file; none if they are not text.
pub(crate) fn head_of(file: &mut File) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    file.take(BINARY_HEAD_BYTES_MAX).read_to_end(&mut head)?;
    Ok((!head.contains(&0)).then_some(head))
}
