//! The token by which programs show that they run for the house's owner, `.kith/http-token`; and the
//! certificate by which the house shows itself to them on other machines, `.kith/tls.pem`. And
//! which logins of browsers were ended, `.kith/http-logouts`.
//!
//! Whoever can read these files owns the house or can pose as it, so they are the owner's alone and are
//! opened like every other file of `.kith`: never through a link, never with a second name.

use std::io;
use std::path::{Path, PathBuf};

use crate::private_file::{read_private, unusable, write_private};

const TOKEN_NAME: &str = "http-token";
const LOGOUTS_NAME: &str = "http-logouts";
/// Bytes of the list of ended logins that are read; it has less than half of them.
const LOGOUTS_FILE_BYTES_MAX: u64 = 64 * 1024;
/// A file that is longer holds something else.
const TOKEN_FILE_BYTES_MAX: u64 = 256;
/// The certificate that the house made for itself, and its key.
const TLS_NAME: &str = "tls.pem";
const TLS_FILE_BYTES_MAX: u64 = 64 * 1024;
/// Fewer characters could be guessed.
const TOKEN_CHARS_MIN: usize = 43;

/// Where the token of a house stands.
pub fn token_path(kith_dir: &Path) -> PathBuf {
    kith_dir.join(TOKEN_NAME)
}

/// The token of the house; `None` if it has none yet.
pub fn read_token(kith_dir: &Path) -> io::Result<Option<String>> {
    let path = token_path(kith_dir);
    let Some(token) = read_private(&path, TOKEN_FILE_BYTES_MAX)? else { return Ok(None) };
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
    write_private(&token_path(kith_dir), &format!("{token}\n"))?;
    Ok(token)
}

/// The logins that were ended, as [`write_logouts`] wrote them.
pub fn read_logouts(kith_dir: &Path) -> io::Result<String> {
    let text = read_private(&kith_dir.join(LOGOUTS_NAME), LOGOUTS_FILE_BYTES_MAX)?;
    Ok(text.unwrap_or_default())
}

/// Writes down which logins were ended.
pub fn write_logouts(kith_dir: &Path, text: &str) -> io::Result<()> {
    write_private(&kith_dir.join(LOGOUTS_NAME), text)
}

/// Where the certificate that the house made for itself stands, with its key.
pub fn tls_path(kith_dir: &Path) -> PathBuf {
    kith_dir.join(TLS_NAME)
}

/// The certificate and the key of the house as PEM, made by `new_pem` and written if there are none.
pub fn read_or_create_tls(
    kith_dir: &Path,
    new_pem: impl FnOnce() -> io::Result<String>,
) -> io::Result<String> {
    let path = tls_path(kith_dir);
    if let Some(pem) = read_private(&path, TLS_FILE_BYTES_MAX)? {
        return Ok(pem);
    }
    let pem = new_pem()?;
    write_private(&path, &pem)?;
    Ok(pem)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
    fn a_certificate_is_made_once_and_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let first = read_or_create_tls(dir.path(), || Ok("pem".to_owned())).unwrap();
        assert_eq!(first, "pem");
        let again = read_or_create_tls(dir.path(), || panic!("there is one already"));
        assert_eq!(again.unwrap(), "pem");
        let path = tls_path(dir.path());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = read_or_create_tls(dir.path(), || Ok("other".to_owned()));
        assert!(refused.unwrap_err().to_string().contains("other users"));
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
