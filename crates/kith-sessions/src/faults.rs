//! Files in memory that fail when told to and forget what was not synced.

mod hooked;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use kith_vocab::files::{AppendFile, FileSystem};

pub(crate) use hooked::HookedFiles;

/// What the operation with the chosen number does instead of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing but an error.
    Fail,
    /// A write takes half of its bytes; anything else fails.
    Short,
    /// A write takes half of its bytes and fails; anything else fails.
    Torn,
    /// From here on everything fails.
    Dead,
}

/// What a power cut leaves of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    Nothing,
    Half,
    All,
}

#[derive(Clone, Default)]
pub(crate) struct FaultyFiles(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    nodes: Vec<Node>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    folders: BTreeSet<PathBuf>,
    n_operations: usize,
    fault: Option<(usize, Fault)>,
}

#[derive(Clone, Default)]
struct Node {
    bytes: Vec<u8>,
    durable: Vec<u8>,
}

struct Handle {
    disk: FaultyFiles,
    node: usize,
}

impl FaultyFiles {
    /// Lets the n-th operation from now on, counted from 0, go wrong.
    pub(crate) fn fail_at(&self, n: usize, fault: Fault) {
        let mut disk = self.disk();
        disk.fault = Some((disk.n_operations + n, fault));
    }

    pub(crate) fn heal(&self) {
        self.disk().fault = None;
    }

    /// Whether the fault that was set has happened.
    pub(crate) fn has_failed(&self) -> bool {
        let disk = self.disk();
        disk.fault.is_some_and(|(at, _)| at < disk.n_operations)
    }

    /// The disk as it is found after a power cut.
    pub(crate) fn after_power_cut(&self, leaves: Leaves) -> FaultyFiles {
        let disk = self.disk();
        let left = |node: &Node| {
            let bytes = match leaves {
                Leaves::All => node.bytes.clone(),
                Leaves::Half if node.bytes.len() > node.durable.len() => {
                    let middle = usize::midpoint(node.durable.len(), node.bytes.len());
                    node.bytes[..middle].to_vec()
                }
                Leaves::Half | Leaves::Nothing => node.durable.clone(),
            };
            Node { durable: bytes.clone(), bytes }
        };
        let names = if leaves == Leaves::Nothing { &disk.durable_names } else { &disk.names };
        FaultyFiles(Arc::new(Mutex::new(Disk {
            nodes: disk.nodes.iter().map(left).collect(),
            names: names.clone(),
            durable_names: names.clone(),
            folders: disk.folders.clone(),
            n_operations: 0,
            fault: None,
        })))
    }

    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        let mut disk = self.disk();
        let node = disk.nodes.len();
        disk.nodes.push(Node { bytes: bytes.to_vec(), durable: bytes.to_vec() });
        disk.names.insert(path.to_owned(), node);
        disk.durable_names.insert(path.to_owned(), node);
    }

    pub(crate) fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let disk = self.disk();
        disk.names.get(path).map(|&node| disk.nodes[node].bytes.clone())
    }

    /// How many operations there have been.
    pub(crate) fn n_operations(&self) -> usize {
        self.disk().n_operations
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.disk().names.keys().cloned().collect()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap()
    }

    /// Counts an operation; the fault it is to suffer, if any.
    fn begin(&self) -> Option<Fault> {
        let mut disk = self.disk();
        let n = disk.n_operations;
        disk.n_operations += 1;
        match disk.fault {
            Some((at, fault)) if at == n || (fault == Fault::Dead && at < n) => Some(fault),
            _ => None,
        }
    }

    fn step(&self) -> io::Result<MutexGuard<'_, Disk>> {
        match self.begin() {
            Some(_) => Err(io::Error::other("told to fail")),
            None => Ok(self.disk()),
        }
    }
}

impl Disk {
    fn node(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for FaultyFiles {
    fn open_read(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let disk = self.step()?;
        let node = disk.node(path)?;
        Ok(Box::new(Cursor::new(disk.nodes[node].bytes.clone())))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let node = self.step()?.node(path)?;
        Ok(Box::new(Handle { disk: self.clone(), node }))
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut disk = self.step()?;
        if disk.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !disk.folders.contains(path.parent().unwrap()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let node = disk.nodes.len();
        disk.nodes.push(Node::default());
        disk.names.insert(path.to_owned(), node);
        Ok(Box::new(Handle { disk: self.clone(), node }))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let disk = self.step()?;
        let node = disk.node(path)?;
        Ok(disk.nodes[node].bytes.len() as u64)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.step()?;
        let node = disk.node(from)?;
        disk.names.remove(from);
        disk.names.insert(to.to_owned(), node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.step()?;
        disk.node(path)?;
        disk.names.remove(path);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.step()?.folders.insert(path.to_owned());
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut disk = self.step()?;
        let is_inside = |name: &Path| name.parent() == Some(path);
        disk.durable_names.retain(|name, _| !is_inside(name));
        let inside: Vec<_> = disk.names.iter().map(|(name, &node)| (name.clone(), node)).collect();
        disk.durable_names.extend(inside.into_iter().filter(|(name, _)| is_inside(name)));
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let disk = self.step()?;
        Ok(disk.names.keys().filter(|it| it.parent() == Some(path)).cloned().collect())
    }
}

impl AppendFile for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fault = self.disk.begin();
        let taken = match fault {
            None => bytes.len(),
            Some(Fault::Short | Fault::Torn) => bytes.len() / 2,
            Some(Fault::Fail | Fault::Dead) => 0,
        };
        self.disk.disk().nodes[self.node].bytes.extend_from_slice(&bytes[..taken]);
        match fault {
            None | Some(Fault::Short) => Ok(taken),
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync_data(&mut self) -> io::Result<()> {
        let mut disk = self.disk.step()?;
        let node = &mut disk.nodes[self.node];
        node.durable = node.bytes.clone();
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let mut disk = self.disk.step()?;
        disk.nodes[self.node].bytes.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }
}
