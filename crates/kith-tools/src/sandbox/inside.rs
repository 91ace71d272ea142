//! The inside of a sandbox: its file system is built here, and its rights are given away.
//!
//! [`enter`] runs as the first process of new user, mount, PID, IPC, UTS and network namespaces. Nothing
//! of the outside is visible but what the view names; the root is an empty file system in memory. Then
//! a child gives up every capability, is confined by Landlock and a filter of system calls, and becomes
//! the command. When the command ends, so does the first process, and the kernel kills whatever else
//! was started.
//!
//! Order matters: mounts need capabilities, guards come after the mounts they cover, and nothing opens
//! files after Landlock.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use kith_home::placeholder::is_placeholder;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::lost_guards::{GuardWatch, MoveWatch};
use super::raw::add_mount_attributes;
use super::spec::{CommandSpec, GuardKind, MountKind, PathGuard, SandboxMount, SandboxView};
use super::{filter, loopback};

/// Where the outside is while the view is built.
const OLD_ROOT: &str = "/.old";
/// Where the layers of copies on write are made: over a folder of the outside that nothing is shown of,
/// so that both are gone with one call. That call waits for all processors.
const LAYERS: &str = "/.old/proc";
/// What covers masked files.
const EMPTY_FILE: &str = "/.empty";
/// Devices that every program may expect.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Bytes of each file system in memory.
const MEMORY_FILES: &str = "size=4g,mode=0755";
const TMP_FILES: &str = "size=4g,mode=1777";

/// Threads and processes of a command.
const SANDBOX_PROCESSES_MAX: u64 = 4096;
/// Bytes of a file that a command may write.
const SANDBOX_FILE_BYTES_MAX: u64 = 16 << 30;
/// Bytes of memory of one process, without what is only reserved.
const SANDBOX_MEMORY_BYTES_MAX: u64 = 16 << 30;
/// Seconds of processor time of one process.
const SANDBOX_CPU_SECS_MAX: u64 = 2 * 60 * 60;

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const NO_DEVICES: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// A step that failed, in words.
pub(super) struct SandboxFault(pub(super) String);

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> SandboxFault {
    move |error| SandboxFault(format!("{}: {error}", what.into()))
}

/// Takes this identity along into the new user namespace, and no other.
pub(super) fn map_identity(uid: u32, gid: u32) -> Result<(), SandboxFault> {
    let write = |path: &str, text: String| {
        fs::write(path, text).map_err(failed(format!("cannot write `{path}`")))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    // From here on no process of the sandbox may look into this one. Not before: of a process like
    // that nobody but root may write the maps.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| SandboxFault(format!("cannot hide the first process: {error}")))
}

/// Builds the view and makes it the root of everything.
pub(super) fn enter(view: &SandboxView) -> Result<GuardWatch, SandboxFault> {
    build_root().map_err(failed("cannot make a new root"))?;
    for mount in &view.mounts {
        let path = mount.path.display();
        place(mount).map_err(failed(format!("cannot show `{path}`")))?;
    }
    build_dev().map_err(failed("cannot make /dev"))?;
    mount_proc().map_err(failed("cannot make /proc"))?;
    let moves = MoveWatch::of(&view.guards);
    for guard in &view.guards {
        let path = guard.path.display();
        cover(guard).map_err(failed(format!("cannot protect `{path}`")))?;
    }
    close_root().map_err(failed("cannot leave the old root"))?;
    if !view.has_network {
        // Programs that talk to themselves expect it; a failure shows in them alone.
        loopback::bring_up().ok();
    }
    GuardWatch::new(view, moves)
}

fn build_root() -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)?;
    // Any folder does: the mount moves away from it with the pivot.
    let base = if Path::new("/tmp").is_dir() { "/tmp" } else { "/usr" };
    mount_memory(Path::new(base), MEMORY_FILES)?;
    let old = format!("{base}{OLD_ROOT}");
    make_folder(Path::new(&old))?;
    rustix::process::pivot_root(base, old)?;
    rustix::process::chdir("/")?;
    OpenOptions::new().write(true).create_new(true).mode(0o444).open(EMPTY_FILE)?;
    mount_memory(Path::new(LAYERS), MEMORY_FILES)
}

fn close_root() -> io::Result<()> {
    rustix::mount::unmount(OLD_ROOT, UnmountFlags::DETACH)?;
    fs::remove_dir(OLD_ROOT)?;
    fs::remove_file(EMPTY_FILE)?;
    add_mount_attributes(Path::new("/"), READ_ONLY | NO_DEVICES, 0)
}

fn mount_memory(path: &Path, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount("tmpfs", path, "tmpfs", flags, options.as_c_str())?)
}

/// The outside place of a path.
fn outside(path: &Path) -> PathBuf {
    Path::new(OLD_ROOT).join(path.strip_prefix("/").unwrap_or(path))
}

fn place(mount: &SandboxMount) -> io::Result<()> {
    let path = mount.path.as_path();
    match &mount.kind {
        MountKind::ReadOnly => bind(path, READ_ONLY | NO_DEVICES),
        MountKind::Writable => bind(path, NO_DEVICES),
        MountKind::CopyOnWrite => {
            copy_on_write(path).or_else(|_| bind(path, READ_ONLY | NO_DEVICES))
        }
        MountKind::Empty => {
            make_folder(path)?;
            mount_memory(path, if path.ends_with("tmp") { TMP_FILES } else { MEMORY_FILES })
        }
        MountKind::Link(target) => {
            make_folder(path.parent().unwrap_or(path))?;
            symlink(target, path)
        }
    }
}

fn bind(path: &Path, attributes: u64) -> io::Result<()> {
    let source = outside(path);
    make_place(path, fs::symlink_metadata(&source)?.is_dir())?;
    rustix::mount::mount_bind_recursive(&source, path)?;
    add_mount_attributes(path, attributes, libc::AT_RECURSIVE)
}

/// Shows a folder so that changes stay in memory.
fn copy_on_write(path: &Path) -> io::Result<()> {
    let lower = outside(path);
    let name = lower.to_str().filter(|it| !it.contains([':', ',', '\\']));
    let (Some(name), true) = (name, lower.is_dir()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let layer =
        (0..u32::MAX).map(|n| Path::new(LAYERS).join(n.to_string())).find(|it| !it.exists());
    let layer = layer.ok_or(ErrorKind::AlreadyExists)?;
    let (upper, work) = (layer.join("upper"), layer.join("work"));
    make_folder(&upper)?;
    make_folder(&work)?;
    make_folder(path)?;
    let options = format!(
        "lowerdir={name},upperdir={},workdir={},userxattr",
        upper.display(),
        work.display()
    );
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(rustix::mount::mount("overlay", path, "overlay", flags, options.as_c_str())?)
}

fn build_dev() -> io::Result<()> {
    let dev = Path::new("/dev");
    make_folder(dev)?;
    mount_memory(dev, MEMORY_FILES)?;
    for name in DEVICES {
        let path = dev.join(name);
        if !fs::metadata(outside(&path)).is_ok_and(|it| it.file_type().is_char_device()) {
            continue;
        }
        make_place(&path, false)?;
        rustix::mount::mount_bind(outside(&path), &path)?;
    }
    for (name, target) in
        [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        symlink(target, dev.join(name))?;
    }
    let shared = dev.join("shm");
    make_folder(&shared)?;
    mount_memory(&shared, TMP_FILES)?;
    let terminals = dev.join("pts");
    make_folder(&terminals)?;
    let options = c"newinstance,ptmxmode=0666,mode=620";
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    // Without it, only programs that open terminals of their own fail.
    if rustix::mount::mount("devpts", &terminals, "devpts", flags, options).is_ok() {
        symlink("pts/ptmx", dev.join("ptmx"))?;
    }
    add_mount_attributes(dev, READ_ONLY, 0)
}

/// `/proc` shows the processes of the sandbox alone. It is read-only because root, even without any
/// capability, could otherwise change settings of the kernel through it.
fn mount_proc() -> io::Result<()> {
    make_folder(Path::new("/proc"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    // In a container that hides parts of its own /proc, only the part about processes may be mounted.
    let whole = rustix::mount::mount("proc", "/proc", "proc", flags, None);
    whole.or_else(|_| rustix::mount::mount("proc", "/proc", "proc", flags, c"subset=pid"))?;
    Ok(())
}

fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Makes sure that something of the right kind is there to mount on.
fn make_place(path: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return make_folder(path);
    }
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    make_folder(path.parent().unwrap_or(path))?;
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path).map(drop)
}

fn cover(guard: &PathGuard) -> io::Result<()> {
    let path = guard.path.as_path();
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        // A place where nothing can be created needs no cover.
        Err(error) if !guard.is_writable_place && is_absent(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.is_file() && metadata.nlink() > 1 && guard.is_writable_place {
        let reason =
            "it has a second name (hard link), by which it could be changed; remove that one";
        return Err(io::Error::new(ErrorKind::PermissionDenied, reason));
    }
    match guard.kind {
        GuardKind::Pinned => return Ok(rustix::mount::mount_bind_recursive(path, path)?),
        // It is empty as it is.
        _ if is_placeholder(&metadata) => rustix::mount::mount_bind(path, path)?,
        GuardKind::Masked if metadata.is_dir() => {
            mount_memory(path, "size=0,nr_inodes=1,mode=0555")?;
        }
        GuardKind::Masked => put_on(EMPTY_FILE, path)?,
        // The link itself, so that it leads where it did; what it ends at has a guard of its own.
        GuardKind::ReadOnly if metadata.is_symlink() => put_on(path, path)?,
        GuardKind::ReadOnly => rustix::mount::mount_bind_recursive(path, path)?,
    }
    add_mount_attributes(path, READ_ONLY | NO_DEVICES, libc::AT_RECURSIVE)
}

/// Mounts a file or link on another one. Neither is followed if it is a link.
fn put_on(source: impl AsRef<Path>, path: &Path) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let tree = rustix::mount::open_tree(CWD, source.as_ref(), flags)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(rustix::mount::move_mount(tree, "", CWD, path, flags)?)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Gives up every right, and becomes the command. Returns only if that failed.
pub(super) fn become_command(spec: &CommandSpec) -> SandboxFault {
    let failure =
        |what: &str, error: &dyn std::fmt::Display| SandboxFault(format!("{what}: {error}"));
    if let Err(error) = rustix::process::setsid() {
        return failure("cannot make a session", &error);
    }
    if let Some(view) = &spec.view {
        if let Err(error) = limit_resources() {
            return failure("cannot limit what the command may use", &error);
        }
        if let Err(error) = confine_files(view) {
            return failure("Landlock refused the rules", &error);
        }
        if let Err(error) = give_up_capabilities() {
            return failure("cannot give up capabilities", &error);
        }
        if let Err(error) = install_filter() {
            return failure("cannot install the filter of system calls", &error);
        }
    }
    let Some((program, arguments)) = spec.argv.split_first() else {
        return SandboxFault("there is no command".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().current_dir(&spec.cwd);
    command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
    SandboxFault(format!("cannot start `{program}`: {}", command.exec()))
}

fn limit_resources() -> io::Result<()> {
    for (resource, limit) in [
        (Resource::Core, 0),
        (Resource::Nproc, SANDBOX_PROCESSES_MAX),
        (Resource::Fsize, SANDBOX_FILE_BYTES_MAX),
        (Resource::Data, SANDBOX_MEMORY_BYTES_MAX),
        (Resource::Cpu, SANDBOX_CPU_SECS_MAX),
    ] {
        let now = rustix::process::getrlimit(resource);
        // What is stricter already stays so.
        let lower = |bound: Option<u64>| Some(bound.map_or(limit, |bound| bound.min(limit)));
        let new = Rlimit { current: lower(now.current), maximum: lower(now.maximum) };
        rustix::process::setrlimit(resource, new)?;
    }
    Ok(())
}

/// A second wall with the same plan as the mounts: writing only where the view says so.
fn confine_files(view: &SandboxView) -> Result<(), Box<dyn std::error::Error>> {
    let abi = ABI::V6;
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?;
    let mut ruleset =
        ruleset.add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(abi)))?;
    let own = ["/dev"].into_iter().map(Path::new);
    let named = view
        .mounts
        .iter()
        .filter(|it| !matches!(it.kind, MountKind::ReadOnly | MountKind::Link(_)));
    for path in own.chain(named.map(|it| it.path.as_path())) {
        let is_folder = fs::metadata(path)?.is_dir();
        let access = if is_folder { AccessFs::from_all(abi) } else { AccessFs::from_file(abi) };
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, access))?;
    }
    ruleset.restrict_self()?;
    Ok(())
}

/// No program that is started from here on gets a capability. What this process has, it keeps.
pub(super) fn bound_capabilities() -> io::Result<()> {
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => (),
            // The first number that the kernel does not know.
            Err(Errno::INVAL) if bit > 0 => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// From here on not even `setuid` programs give anything back.
pub(super) fn give_up_capabilities() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

fn install_filter() -> Result<(), String> {
    let programs = filter::compiled_once()?;
    let mut installed = programs.iter().map(|program| seccompiler::apply_filter(program));
    installed.try_for_each(|it| it.map_err(|error| error.to_string()))
}
