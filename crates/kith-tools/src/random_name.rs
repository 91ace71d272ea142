//! Names for the folder of temporary files, where anybody may make files.

use std::fs::File;
use std::io::{self, Read};

use kith_vocab::digest::hex;

/// A name that nobody can guess and that nothing has which was left behind.
pub(crate) fn random_name(prefix: &str) -> io::Result<String> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(format!("{prefix}-{}", hex(&random)))
}
