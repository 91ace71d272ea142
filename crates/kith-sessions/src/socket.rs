//! Where the host of a house listens.
//!
//! The socket lies in the house's own `.kith` folder, which is its owner's alone. A path longer
//! than the kernel takes gets a short stand-in, in a folder of the same kind elsewhere.

use std::fs::Metadata;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{env, fs};

use kith_vocab::digest::sha256_hex;
use kith_vocab::files::if_found;

use crate::lock::socket_path_of_holder;

/// What `sun_path` takes on Linux is 107 bytes; other systems take a little less.
pub const SOCKET_PATH_BYTES_MAX: usize = 100;

const SOCKET_NAME: &str = "host.sock";

/// A socket that is removed when its host ends.
#[derive(Debug)]
pub struct HostSocket {
    path: PathBuf,
}

/// Where the host of this house would listen from here. Where it does listen, the lock says.
pub fn socket_path(kith_dir: &Path) -> PathBuf {
    let path = kith_dir.join(SOCKET_NAME);
    if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return path;
    }
    let name = sha256_hex(path.as_os_str().as_encoded_bytes());
    runtime_dir().join(format!("{}.sock", &name[..32]))
}

/// Chooses where a new host listens, and creates the folder if it is not `.kith`. If another user
/// has taken the usual name, the folder gets a random one.
pub(crate) fn choose_socket_path(kith_dir: &Path) -> io::Result<PathBuf> {
    let path = socket_path(kith_dir);
    let Some(dir) = path.parent().filter(|_| !path.starts_with(kith_dir)) else {
        return Ok(path);
    };
    if make_own_dir(dir).is_ok() {
        return Ok(path);
    }
    let number = RandomState::new().build_hasher().finish();
    let user = rustix::process::getuid().as_raw();
    let dir = env::temp_dir().join(format!("kith-{user}-{number:016x}"));
    make_own_dir(&dir)?;
    Ok(dir.join(SOCKET_NAME))
}

/// Whether this user made the socket, in a folder where other users cannot create one.
/// An error if there is none, as between two hosts.
pub fn is_own_socket(path: &Path) -> io::Result<bool> {
    let user = rustix::process::getuid().as_raw();
    let is_ours = |it: &Metadata| it.uid() == user;
    let folder = path.parent().and_then(|it| fs::symlink_metadata(it).ok());
    // Writable by a group is usual where every user has a group of their own.
    let is_own_folder =
        folder.is_some_and(|it| it.is_dir() && is_ours(&it) && it.mode() & 0o002 == 0);
    // Looked at once: a host that ends takes it away.
    let socket = fs::symlink_metadata(path)?;
    Ok(is_own_folder && socket.file_type().is_socket() && is_ours(&socket))
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
        let path = match socket_path_of_holder(kith_dir) {
            Some(path) => path,
            None => choose_socket_path(kith_dir)?,
        };
        if_found(fs::remove_file(&path))?;
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
        // A folder that was made for this host alone; the usual one stays.
        if let Some(dir) = self.path.parent().filter(|it| *it != runtime_dir())
            && dir.parent() == Some(&*env::temp_dir())
        {
            fs::remove_dir(dir).ok();
        }
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
        Err(io::Error::other(format!("`{}` belongs to another user", dir.display())))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
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
    fn only_a_socket_of_ours_in_a_folder_of_ours_is_talked_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("host.sock");
        let set_mode = |mode| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
        };
        assert_eq!(is_own_socket(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        let _listener = UnixListener::bind(&path).unwrap();
        set_mode(0o755);
        assert!(is_own_socket(&path).unwrap());
        for mode in [0o777, 0o1777, 0o702] {
            set_mode(mode);
            assert!(!is_own_socket(&path).unwrap(), "{mode:o}");
        }
        set_mode(0o700);
        let link = dir.path().join("link.sock");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(!is_own_socket(&link).unwrap());
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(!is_own_socket(&dir.path().join("file")).unwrap());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            assert!(!is_own_socket(&path).unwrap());
            std::os::unix::fs::chown(&path, Some(0), None).unwrap();
            std::os::unix::fs::chown(dir.path(), Some(65534), None).unwrap();
            assert!(!is_own_socket(&path).unwrap());
        }
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
