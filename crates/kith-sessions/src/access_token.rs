//! The token by which programs show that they run for the house's owner: `.kith/http-token`.
//!
//! Whoever can read the file owns the house, so the file is the owner's alone and is opened like every
//! other one of `.kith`: never through a link, never with a second name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kith_vocab::files::if_found;

use crate::disk::owner_only;
use crate::own_file;

const TOKEN_NAME: &str = "http-token";
/// A file that is longer holds something else.
const TOKEN_FILE_BYTES_MAX: u64 = 256;
/// Fewer characters could be guessed.
const TOKEN_CHARS_MIN: usize = 43;

/// Where the token of a house stands.
pub fn token_path(kith_dir: &Path) -> PathBuf {
    kith_dir.join(TOKEN_NAME)
}

/// The token of the house; `None` if it has none yet.
pub fn read_token(kith_dir: &Path) -> io::Result<Option<String>> {
    let path = token_path(kith_dir);
    let Some(file) = if_found(own_file::open(&path, OpenOptions::new().read(true)))? else {
        return Ok(None);
    };
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(unusable(&path, "can be read by other users"));
    }
    let token = text_of(&file)?;
    let is_token = |it: &str| {
        it.len() >= TOKEN_CHARS_MIN && it.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    match token.trim() {
        "" => Ok(None),
        token if is_token(token) => Ok(Some(token.to_owned())),
        _ => Err(unusable(&path, "does not hold a token")),
    }
}

/// The token of the house, made by `new_token` and written if there is none.
pub fn read_or_create_token(
    kith_dir: &Path,
    new_token: impl FnOnce() -> io::Result<String>,
) -> io::Result<String> {
    if let Some(token) = read_token(kith_dir)? {
        return Ok(token);
    }
    let token = new_token()?;
    let path = token_path(kith_dir);
    // Renamed into place when it is whole: a token that is half written would be refused for ever.
    let part = path.with_extension("part");
    if_found(fs::remove_file(&part))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_only(&mut options);
    let mut file = own_file::open(&part, &mut options)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&part, &path)?;
    Ok(token)
}

fn text_of(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(TOKEN_FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn unusable(path: &Path, problem: &str) -> io::Error {
    let message = format!("`{}` {problem}; delete it, and kith makes a new one", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn create(dir: &Path) -> io::Result<String> {
        read_or_create_token(dir, || Ok(TOKEN.to_owned()))
    }

    #[test]
    fn a_token_is_made_once_and_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_token(dir.path()).unwrap(), None);
        assert_eq!(create(dir.path()).unwrap(), TOKEN);
        let again = read_or_create_token(dir.path(), || panic!("there is one already"));
        assert_eq!(again.unwrap(), TOKEN);
        let mode = fs::metadata(token_path(dir.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_token_that_others_can_read_or_that_is_none_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        create(dir.path()).unwrap();
        let path = token_path(dir.path());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(create(dir.path()).unwrap_err().to_string().contains("other users"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["short", &"a b".repeat(30), &"ü".repeat(50)] {
            fs::write(&path, text).unwrap();
            assert!(create(dir.path()).unwrap_err().to_string().contains("hold a token"), "{text}");
        }
    }

    #[test]
    fn a_token_is_not_read_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, TOKEN).unwrap();
        std::os::unix::fs::symlink(&elsewhere, token_path(dir.path())).unwrap();
        assert!(create(dir.path()).unwrap_err().to_string().contains("symbolic link"));
    }
}
