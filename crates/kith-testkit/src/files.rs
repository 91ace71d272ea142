//! A disk in memory that can fail, tear or forget any single write.
//!
//! Like a real one it has two faces: what programs see (the page cache) and what is left after the
//! power fails. Bytes reach the second by `sync_data`, names by `sync_dir`, and nothing else. Every
//! operation that changes the disk is counted, so a test can run once, read the count, and run
//! again with a fault at each.

mod disk;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use kith_vocab::files::{AppendFile, FileSystem};

use disk::{Course, Disk, Kind, NodeId};

/// Is called with the name of each operation and its path before it happens; an error that it
/// returns is the outcome of the operation.
type Hook = Box<dyn FnMut(&str, &Path) -> io::Result<()> + Send>;

/// What goes wrong at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies in the operation; every later one fails.
    Kill { written: Written },
    /// The operation fails and has no effect.
    Fail,
    /// A write takes half of its bytes and fails; any other operation fails.
    Torn,
    /// Every operation fails, from now on until [`MemoryFiles::heal`].
    Offline,
    /// There is no room, from now on until [`MemoryFiles::heal`]. A write first takes half.
    Full,
    /// Nothing can be changed, from now on until [`MemoryFiles::heal`].
    ReadOnly,
    /// The next sync from here fails once. As on Linux, the bytes it should have saved stay
    /// readable but count as saved, so no later sync writes them.
    FailSync,
    /// The next write from here takes half of its bytes, but at least one.
    ShortWrite,
}

/// How much of an operation took effect before the process died. What has no half (a rename, a
/// new file) happens only with `All`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Nothing,
    Half,
    All,
}

impl Written {
    pub const EACH: [Written; 3] = [Written::Nothing, Written::Half, Written::All];
}

/// What a restart finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashModel {
    /// The page cache: all that was written.
    ProcessKilled,
    /// The disk: all that was synced.
    PowerCut,
    /// The disk, which had got round to every name and to half of the bytes that no sync asked for.
    PowerCutHalf,
}

impl CrashModel {
    pub const EACH: [CrashModel; 3] =
        [CrashModel::ProcessKilled, CrashModel::PowerCut, CrashModel::PowerCutHalf];
}

/// Clones share one disk.
#[derive(Clone, Default)]
pub struct MemoryFiles {
    disk: Arc<Mutex<Disk>>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl MemoryFiles {
    pub fn new() -> MemoryFiles {
        MemoryFiles::default()
    }

    /// Lets the operation with this number, counted from 1, go wrong.
    #[must_use]
    pub fn with_fault(self, at_operation: usize, fault: Fault) -> MemoryFiles {
        self.plan(at_operation, fault);
        self
    }

    pub fn plan(&self, at_operation: usize, fault: Fault) {
        self.disk().faults.insert(at_operation, fault);
    }

    /// Lets the n-th call from now on, counted from 0, go wrong. Here calls that only read count too.
    pub fn fail_at(&self, n: usize, fault: Fault) {
        let mut disk = self.disk();
        let number = disk.n_calls + 1 + n;
        disk.call_faults = [(number, fault)].into();
    }

    /// Whether the fault of [`MemoryFiles::fail_at`] has happened.
    pub fn has_failed(&self) -> bool {
        self.disk().call_faults.is_empty()
    }

    /// How many calls there have been, also of those that only read.
    pub fn n_calls(&self) -> usize {
        self.disk().n_calls
    }

    /// Ends the faults that last and drops that of [`MemoryFiles::fail_at`].
    pub fn heal(&self) {
        self.disk().heal();
    }

    /// Calls the hook before each operation. What the hook itself does is not reported to it.
    pub fn set_hook(&self, hook: impl FnMut(&str, &Path) -> io::Result<()> + Send + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    pub fn remove_hook(&self) {
        self.hook.lock().unwrap().take();
    }

    fn call_hook(&self, operation: &str, path: &Path) -> io::Result<()> {
        let Some(mut hook) = self.hook.lock().unwrap().take() else { return Ok(()) };
        let outcome = hook(operation, path);
        self.hook.lock().unwrap().get_or_insert(hook);
        outcome
    }

    /// The process dies now.
    pub fn kill(&self) {
        self.disk().killed = true;
    }

    pub fn is_killed(&self) -> bool {
        self.disk().killed
    }

    /// Kills the process; returns what the next one finds, see [`MemoryFiles::after`].
    #[must_use]
    pub fn reboot(&self, model: CrashModel) -> MemoryFiles {
        self.kill();
        self.after(model)
    }

    /// What a process would find after a crash now. It has no faults and counts from the start.
    #[must_use]
    pub fn after(&self, model: CrashModel) -> MemoryFiles {
        let disk = Arc::new(Mutex::new(self.disk().after(model)));
        MemoryFiles { disk, hook: Arc::default() }
    }

    /// The operations that changed the disk or tried to, in order.
    pub fn operations(&self) -> Vec<String> {
        self.disk().operations.clone()
    }

    pub fn count(&self) -> usize {
        self.disk().operations.len()
    }

    /// What a reader would see, dead or alive.
    pub fn contents(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let disk = self.disk();
        disk.node_of(path.as_ref()).ok().map(|id| disk.nodes[id].content.clone())
    }

    /// What would be left of the file if the power failed now.
    pub fn durable(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let disk = self.disk().after(CrashModel::PowerCut);
        disk.node_of(path.as_ref()).ok().map(|id| disk.nodes[id].content.clone())
    }

    /// Puts a file on the disk, durably and uncounted.
    pub fn write_raw(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        self.disk().put(path.as_ref(), bytes);
    }

    /// Every file there is, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.disk().names.keys().cloned().collect()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap()
    }

    fn handle(&self, node: NodeId, path: &Path) -> Box<dyn AppendFile> {
        Box::new(MemoryFile { files: self.clone(), node, path: path.to_owned() })
    }
}

impl fmt::Debug for MemoryFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.disk().fmt(f)
    }
}

impl FileSystem for MemoryFiles {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn io::Read + Send>> {
        self.call_hook("open_read", path)?;
        let mut disk = self.disk();
        disk.begin_read()?;
        let bytes = disk.nodes[disk.node_of(path)?].content.clone();
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn open_read_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn io::Read + Send>> {
        self.call_hook("open_read_at", path)?;
        let mut disk = self.disk();
        disk.begin_read()?;
        let bytes = &disk.nodes[disk.node_of(path)?].content;
        let start = usize::try_from(offset).map_or(bytes.len(), |it| it.min(bytes.len()));
        Ok(Box::new(io::Cursor::new(bytes[start..].to_owned())))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.call_hook("open_append", path)?;
        let mut disk = self.disk();
        disk.begin_read()?;
        disk.may_change()?;
        let node = disk.node_of(path)?;
        drop(disk);
        Ok(self.handle(node, path))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.call_hook("create_new", path)?;
        let mut disk = self.disk();
        let course = disk.begin(Kind::Create, format!("create {}", path.display()))?;
        let node = if course.takes_effect() { disk.create(path)? } else { 0 };
        drop(disk);
        course.outcome()?;
        Ok(self.handle(node, path))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.call_hook("len", path)?;
        let mut disk = self.disk();
        disk.begin_read()?;
        Ok(disk.nodes[disk.node_of(path)?].content.len() as u64)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call_hook("rename", from)?;
        let mut disk = self.disk();
        let label = format!("rename {} to {}", from.display(), to.display());
        let course = disk.begin(Kind::Other, label)?;
        if course.takes_effect() {
            disk.rename(from, to)?;
        }
        course.outcome()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call_hook("remove", path)?;
        let mut disk = self.disk();
        let course = disk.begin(Kind::Other, format!("remove {}", path.display()))?;
        if course.takes_effect() {
            disk.node_of(path)?;
            disk.names.remove(path);
        }
        course.outcome()
    }

    /// Folders are durable as soon as they are made: a caller could not know which of those above
    /// are new, so the real one has to sync them itself.
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.disk();
        let course = disk.begin(Kind::Create, format!("create_dir_all {}", path.display()))?;
        if course.takes_effect() {
            disk.create_folders(path);
        }
        course.outcome()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.call_hook("sync_dir", path)?;
        let mut disk = self.disk();
        let course = disk.begin(Kind::Sync, format!("sync_dir {}", path.display()))?;
        disk.folder_exists(path)?;
        if course.takes_effect() {
            disk.sync_names(path);
        }
        course.outcome()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.call_hook("list", path)?;
        let mut disk = self.disk();
        disk.begin_read()?;
        disk.folder_exists(path)?;
        Ok(disk.names.keys().filter(|name| name.parent() == Some(path)).cloned().collect())
    }
}

struct MemoryFile {
    files: MemoryFiles,
    node: NodeId,
    path: PathBuf,
}

impl AppendFile for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.files.call_hook("write", &self.path)?;
        let mut disk = self.files.disk();
        let label = format!("write {} {}", self.path.display(), bytes.len());
        let course = disk.begin(Kind::Write { n_bytes: bytes.len() }, label)?;
        let taken = match course {
            Course::Dies(Written::Nothing) => 0,
            Course::Dies(Written::Half) => bytes.len() / 2,
            Course::Short(n_bytes) | Course::Torn(n_bytes) => n_bytes,
            Course::Whole | Course::Dies(Written::All) | Course::SyncFails => bytes.len(),
        };
        disk.nodes[self.node].content.extend_from_slice(&bytes[..taken]);
        course.outcome().map(|()| taken)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.files.call_hook("sync_data", &self.path)?;
        let mut disk = self.files.disk();
        let course = disk.begin(Kind::Sync, format!("sync {}", self.path.display()))?;
        let node = &mut disk.nodes[self.node];
        match course {
            Course::Dies(Written::Nothing) => (),
            Course::Dies(Written::Half) => node.sync_half(),
            Course::SyncFails => node.fail_sync(),
            Course::Whole | Course::Dies(Written::All) | Course::Short(_) | Course::Torn(_) => {
                node.sync();
            }
        }
        course.outcome()
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let mut disk = self.files.disk();
        let label = format!("set_len {} {len}", self.path.display());
        let course = disk.begin(Kind::Other, label)?;
        if course.takes_effect() {
            disk.nodes[self.node].set_len(usize::try_from(len).expect("a test's file is small"));
        }
        course.outcome()
    }
}

#[cfg(test)]
mod tests;
