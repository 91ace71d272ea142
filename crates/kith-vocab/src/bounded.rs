//! Bytes up to a limit, so that what is too long to be used is not made whole first.

use std::io::{self, Write};

/// Keeps what is written to it up to its limit, and counts the rest.
#[derive(Debug)]
pub struct BoundedBytes {
    bytes: Vec<u8>,
    bytes_max: usize,
    n_written: u64,
}

impl BoundedBytes {
    /// `bytes_expected` is made room for at once.
    pub fn new(bytes_expected: usize, bytes_max: usize) -> BoundedBytes {
        let bytes = Vec::with_capacity(bytes_expected.min(bytes_max));
        BoundedBytes { bytes, bytes_max, n_written: 0 }
    }

    /// All that was written; or, if it was too much, how much that was.
    pub fn finish(self) -> Result<Vec<u8>, u64> {
        if self.n_written <= self.bytes_max as u64 { Ok(self.bytes) } else { Err(self.n_written) }
    }
}

impl Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.n_written += bytes.len() as u64;
        if self.n_written <= self.bytes_max as u64 {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).map(drop)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_not_kept() {
        for (words, expected) in [
            (["ab", "cd"], Ok(b"abcd".to_vec())),
            (["abcd", ""], Ok(b"abcd".to_vec())),
            (["abcd", "e"], Err(5)),
            (["abcdefgh", "i"], Err(9)),
        ] {
            let mut bytes = BoundedBytes::new(1 << 40, 4);
            assert_eq!(bytes.bytes.capacity(), 4);
            for word in words {
                bytes.write_all(word.as_bytes()).unwrap();
            }
            assert!(bytes.bytes.capacity() <= 4);
            assert_eq!(bytes.finish(), expected);
        }
    }
}
