//! Where the host of a house listens.
//!
//! The socket lies in the house's own `.kith` folder, which is its owner's alone. A path longer
//! than the kernel takes gets a short stand-in, in a folder of the same kind elsewhere.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{env, fs};

use kith_vocab::digest::sha256_hex;

/// What `sun_path` takes on Linux is 107 bytes; other systems take a little less.
pub const SOCKET_PATH_BYTES_MAX: usize = 100;

/// A socket that is removed when its host ends.
#[derive(Debug)]
pub struct HostSocket {
    path: PathBuf,
}

/// Where the host of this house listens, if there is one.
pub fn socket_path(kith_dir: &Path) -> PathBuf {
    let path = kith_dir.join("host.sock");
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return path;
    }
    let name = sha256_hex(path.as_os_str().as_encoded_bytes());
    runtime_dir().join(format!("{}.sock", &name[..32]))
}

fn runtime_dir() -> PathBuf {
    let user = rustix::process::getuid().as_raw();
    match env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if Path::new(&dir).is_absolute() => PathBuf::from(dir).join("kith"),
        _ => env::temp_dir().join(format!("kith-{user}")),
    }
}

impl HostSocket {
    /// Binds the socket. Only the holder of the house's lock may: whatever lies at the path is
    /// then left over from a host that is gone.
    pub fn bind(kith_dir: &Path) -> io::Result<(HostSocket, UnixListener)> {
        let path = socket_path(kith_dir);
        if !path.starts_with(kith_dir)
            && let Some(dir) = path.parent()
        {
            make_own_dir(dir)?;
        }
        match fs::remove_file(&path) {
            Ok(()) => (),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok((HostSocket { path }, listener))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for HostSocket {
    fn drop(&mut self) {
        // If it cannot be removed, the next host does it.
        fs::remove_file(&self.path).ok();
    }
}

/// A folder in a place that others can write: it must be ours, and ours alone.
fn make_own_dir(dir: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
        Err(error) => return Err(error),
    }
    let metadata = fs::symlink_metadata(dir)?;
    let is_ours = metadata.is_dir()
        && metadata.uid() == rustix::process::getuid().as_raw()
        && metadata.mode() & 0o777 == 0o700;
    if is_ours {
        Ok(())
    } else {
        Err(io::Error::other(format!("`{}` belongs to others", dir.display())))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_stale_socket_is_replaced_and_the_last_one_removed() {
        let house = tempfile::tempdir().unwrap();
        let (first, listener) = HostSocket::bind(house.path()).unwrap();
        // As after a crash: nobody listens, the file is there.
        drop(listener);
        std::mem::forget(first);
        let (second, _listener) = HostSocket::bind(house.path()).unwrap();
        UnixStream::connect(second.path()).unwrap();
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_long_path_gets_a_short_stand_in() {
        let long = PathBuf::from("/").join("x".repeat(120)).join(".kith");
        let other = PathBuf::from("/").join("y".repeat(120)).join(".kith");
        assert!(socket_path(&long).as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
        assert_ne!(socket_path(&long), socket_path(&other));
        let short = Path::new("/house/.kith");
        assert_eq!(socket_path(short), short.join("host.sock"));
    }
}
