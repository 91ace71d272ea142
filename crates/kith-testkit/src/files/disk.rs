//! The two faces of the disk, and the faults that lie in wait.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{CrashModel, Fault, Written};

pub(super) type NodeId = usize;

#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "any of them may hold beside any other")]
pub(super) struct Disk {
    pub(super) names: BTreeMap<PathBuf, NodeId>,
    durable_names: BTreeMap<PathBuf, NodeId>,
    folders: BTreeSet<PathBuf>,
    /// A file that has lost its name stays: someone may hold it open.
    pub(super) nodes: Vec<Node>,
    pub(super) operations: Vec<String>,
    /// By the number of the change.
    pub(super) faults: BTreeMap<usize, Fault>,
    /// How many calls there were, of those that change something and those that only read.
    pub(super) n_calls: usize,
    /// By the number of the call.
    pub(super) call_faults: BTreeMap<usize, Fault>,
    pub(super) full: bool,
    pub(super) read_only: bool,
    pub(super) offline: bool,
    pub(super) killed: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) content: Vec<u8>,
    durable: Vec<u8>,
    /// Up to here no byte of `content` waits for a sync.
    clean_len: usize,
    /// Bytes that count as clean and never reached the disk.
    lost: Vec<Range<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Write { n_bytes: usize },
    Create,
    Sync,
    Other,
    Read,
}

impl Kind {
    fn failure(self) -> io::Error {
        os_error(if matches!(self, Kind::Write { .. }) { ENOSPC } else { EIO })
    }
}

/// What becomes of one operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Course {
    Whole,
    Short(usize),
    Torn(usize),
    SyncFails,
    Dies(Written),
}

impl Course {
    pub(super) fn takes_effect(self) -> bool {
        matches!(self, Course::Whole | Course::Short(_) | Course::Dies(Written::All))
    }

    pub(super) fn outcome(self) -> io::Result<()> {
        match self {
            Course::Whole | Course::Short(_) => Ok(()),
            Course::Torn(_) => Err(os_error(ENOSPC)),
            Course::SyncFails => Err(os_error(EIO)),
            Course::Dies(_) => Err(killed()),
        }
    }
}

// The same numbers on every Unix we build for.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

fn os_error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

fn killed() -> io::Error {
    io::Error::other("process killed")
}

impl Disk {
    pub(super) fn alive(&self) -> io::Result<()> {
        if self.killed { Err(killed()) } else { Ok(()) }
    }

    pub(super) fn may_change(&self) -> io::Result<()> {
        if self.read_only { Err(os_error(EROFS)) } else { Ok(()) }
    }

    /// Counts a call that only reads.
    pub(super) fn begin_read(&mut self) -> io::Result<()> {
        self.alive()?;
        match self.count_call(Kind::Read)? {
            None => Ok(()),
            Some(fault @ (Fault::FailSync | Fault::ShortWrite)) => {
                self.call_faults.entry(self.n_calls + 1).or_insert(fault);
                Ok(())
            }
            Some(_) => Err(Kind::Read.failure()),
        }
    }

    fn count_call(&mut self, kind: Kind) -> io::Result<Option<Fault>> {
        self.n_calls += 1;
        let fault = self.call_faults.remove(&self.n_calls);
        self.offline |= fault == Some(Fault::Offline);
        if self.offline { Err(kind.failure()) } else { Ok(fault) }
    }

    /// Counts an operation and says what becomes of it.
    pub(super) fn begin(&mut self, kind: Kind, label: String) -> io::Result<Course> {
        self.alive()?;
        self.operations.push(label);
        let number = self.operations.len();
        let fault = self.count_call(kind)?.or_else(|| self.faults.remove(&number));
        match (fault, kind) {
            (Some(Fault::Kill { written }), _) => {
                self.killed = true;
                return Ok(Course::Dies(written));
            }
            (Some(Fault::Full), Kind::Write { n_bytes }) if n_bytes > 1 => {
                self.full = true;
                return Ok(Course::Short(n_bytes / 2));
            }
            (Some(Fault::Full), _) => self.full = true,
            (Some(Fault::ReadOnly), _) => self.read_only = true,
            (Some(Fault::FailSync), Kind::Sync) => return Ok(Course::SyncFails),
            (Some(Fault::ShortWrite), Kind::Write { n_bytes }) if n_bytes > 1 => {
                return Ok(Course::Short(n_bytes / 2));
            }
            (Some(Fault::Torn), Kind::Write { n_bytes }) => return Ok(Course::Torn(n_bytes / 2)),
            (Some(Fault::Fail | Fault::Torn), _) => return Err(kind.failure()),
            (Some(Fault::Offline), _) => {
                self.offline = true;
                return Err(kind.failure());
            }
            (Some(fault @ (Fault::FailSync | Fault::ShortWrite)), _) => {
                self.call_faults.entry(self.n_calls + 1).or_insert(fault);
            }
            (None, _) => (),
        }
        self.may_change()?;
        if self.full && matches!(kind, Kind::Write { .. } | Kind::Create) {
            return Err(os_error(ENOSPC));
        }
        Ok(Course::Whole)
    }

    pub(super) fn node_of(&self, path: &Path) -> io::Result<NodeId> {
        self.names.get(path).copied().ok_or_else(|| not_found(path))
    }

    pub(super) fn folder_exists(&self, path: &Path) -> io::Result<()> {
        // The root and the working folder are always there.
        let exists = path.parent().is_none() || self.folders.contains(path);
        if exists { Ok(()) } else { Err(not_found(path)) }
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<NodeId> {
        self.folder_exists(path.parent().unwrap_or(path))?;
        if self.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.nodes.push(Node::default());
        self.names.insert(path.to_owned(), self.nodes.len() - 1);
        Ok(self.nodes.len() - 1)
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.folder_exists(to.parent().unwrap_or(to))?;
        let node = self.node_of(from)?;
        self.names.remove(from);
        self.names.insert(to.to_owned(), node);
        Ok(())
    }

    pub(super) fn create_folders(&mut self, path: &Path) {
        self.folders.extend(path.ancestors().map(Path::to_owned));
    }

    pub(super) fn sync_names(&mut self, folder: &Path) {
        self.durable_names.retain(|name, _| name.parent() != Some(folder));
        let synced = self.names.iter().filter(|(name, _)| name.parent() == Some(folder));
        self.durable_names.extend(synced.map(|(name, node)| (name.clone(), *node)));
    }

    pub(super) fn put(&mut self, path: &Path, bytes: &[u8]) {
        self.create_folders(path.parent().unwrap_or(path));
        self.nodes.push(Node::durable(bytes.to_owned()));
        self.names.insert(path.to_owned(), self.nodes.len() - 1);
        self.durable_names.insert(path.to_owned(), self.nodes.len() - 1);
    }

    pub(super) fn after(&self, model: CrashModel) -> Disk {
        let mut disk = self.clone();
        disk.operations.clear();
        disk.faults.clear();
        disk.heal();
        (disk.n_calls, disk.killed) = (0, false);
        if model == CrashModel::PowerCut {
            disk.names.clone_from(&disk.durable_names);
        }
        for node in &mut disk.nodes {
            match model {
                CrashModel::ProcessKilled => continue,
                CrashModel::PowerCutHalf => node.sync_half(),
                CrashModel::PowerCut => (),
            }
            *node = Node::durable(std::mem::take(&mut node.durable));
        }
        if model != CrashModel::ProcessKilled {
            disk.durable_names.clone_from(&disk.names);
        }
        disk
    }

    pub(super) fn heal(&mut self) {
        self.call_faults.clear();
        (self.full, self.read_only, self.offline) = (false, false, false);
    }
}

fn not_found(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("`{}` does not exist", path.display()))
}

impl Node {
    fn durable(bytes: Vec<u8>) -> Node {
        Node { clean_len: bytes.len(), content: bytes.clone(), durable: bytes, lost: Vec::new() }
    }

    pub(super) fn sync(&mut self) {
        self.sync_up_to(self.content.len());
    }

    pub(super) fn sync_half(&mut self) {
        self.sync_up_to(self.clean_len + (self.content.len() - self.clean_len) / 2);
    }

    fn sync_up_to(&mut self, len: usize) {
        self.durable = self.content[..len].to_owned();
        for range in &self.lost {
            self.durable[range.clone()].fill(0);
        }
        self.clean_len = len;
    }

    pub(super) fn fail_sync(&mut self) {
        self.lost.push(self.clean_len..self.content.len());
        self.clean_len = self.content.len();
    }

    pub(super) fn set_len(&mut self, len: usize) {
        self.content.resize(len, 0);
        self.clean_len = self.clean_len.min(len);
        for range in &mut self.lost {
            *range = range.start.min(len)..range.end.min(len);
        }
    }
}
