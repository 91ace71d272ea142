//! The real files, readable by their owner only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kith_vocab::files::{AppendFile, FileSystem, if_found};

use crate::own_file;

/// The disk. A session holds what people said, so files are made with mode 0600, folders with 0700.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

struct DiskFile {
    file: File,
    /// Device and inode number, which identify the file.
    identity: (u64, u64),
}

impl FileSystem for DiskFiles {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(own_file::open(path, OpenOptions::new().read(true))?))
    }

    fn open_read_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = own_file::open(path, OpenOptions::new().read(true))?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Box::new(file))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        DiskFile::boxed(own_file::open(path, OpenOptions::new().append(true))?)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        owner_only(&mut options);
        DiskFile::boxed(own_file::open(path, &mut options)?)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(own_file::metadata(path)?.ok_or(io::ErrorKind::NotFound)?.len())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        own_file::check_folder_of(to)?;
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        own_file::check_folder_of(path)?;
        fs::remove_file(path)
    }

    // The caller cannot know which folders were new, so their names are made durable here: a
    // synced file in a folder that a power cut takes away is lost all the same.
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        own_file::check_folder(path)?;
        let missing: Vec<&Path> =
            path.ancestors().take_while(|it| !it.as_os_str().is_empty() && !it.is_dir()).collect();
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)?;
        for folder in missing {
            let above = folder.parent().filter(|it| !it.as_os_str().is_empty());
            self.sync_dir(above.unwrap_or(Path::new(".")))?;
        }
        Ok(())
    }

    // Elsewhere a folder cannot be opened like a file, and names are durable when rename returns.
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        own_file::check_folder(path)?;
        let mut paths = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                paths.push(entry.path());
            }
        }
        Ok(paths)
    }
}

impl DiskFile {
    fn boxed(file: File) -> io::Result<Box<dyn AppendFile>> {
        let identity = own_file::identity(&file.metadata()?);
        Ok(Box::new(DiskFile { file, identity }))
    }
}

impl AppendFile for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn is_at(&self, path: &Path, len: u64) -> io::Result<bool> {
        let there = if_found(fs::symlink_metadata(path))?;
        Ok(there.is_some_and(|it| own_file::identity(&it) == self.identity && it.len() == len))
    }
}

/// Makes the file that `options` create readable by its owner only.
pub(crate) fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let OpenOptions { .. } = options;
}

#[cfg(test)]
mod tests;
