//! The system calls that a sandboxed command may not make.
//!
//! Namespaces already decide what can be reached. The filter takes away what could undo them or
//! lead past them: other processes' memory, mounts, new namespaces, kernel keys, programs loaded
//! into the kernel, rings that make calls unseen, and address families that no network namespace
//! confines. And a file that another user starts must not run as the owner of this house: the bits
//! for that outlive the sandbox.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are refused with `EPERM` whatever their arguments.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
];

/// Calls that a program is told do not exist, because then it uses older ones, which are judged.
const ABSENT: &[libc::c_long] = &[
    // Its flags are in memory, which a filter cannot read; libraries fall back to `clone`.
    libc::SYS_clone3,
    // The same with the mode of a file that it makes; libraries fall back to `openat`.
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

const NAMESPACE_FLAGS: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME, which `libc` does not name on every platform.
];

/// Requests that type into a terminal.
const REFUSED_IOCTLS: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

/// The bits by which a program runs as the owner or the group of its file.
const OWNER_BITS: [libc::c_uint; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Calls that set the mode of a file, and which argument is the mode.
const MODE_CALLS: [(libc::c_long, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (452, 2), // fchmodat2, which `libc` does not name on every platform.
    (libc::SYS_mknodat, 2),
];

/// Calls that may make a file, with the arguments for flags and mode. The mode counts only with one of
/// [`MAKING_FLAGS`]; otherwise it may be anything.
const OPEN_CALLS: [(libc::c_long, u8, u8); 1] = [(libc::SYS_openat, 2, 3)];

const MAKING_FLAGS: [libc::c_int; 2] = [libc::O_CREAT, libc::O_TMPFILE];

/// Address families that a network namespace confines.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

static PROGRAMS: LazyLock<Result<[BpfProgram; 2], String>> =
    LazyLock::new(|| programs().map_err(|error| error.to_string()));

/// The programs to install, in this order. A supervisor that waits for its command has made them meanwhile.
pub(super) fn compiled_once() -> Result<&'static [BpfProgram; 2], String> {
    PROGRAMS.as_ref().map_err(String::clone)
}

fn programs() -> Result<[BpfProgram; 2], seccompiler::Error> {
    let eperm = u32::try_from(libc::EPERM).unwrap_or(1);
    let enosys = u32::try_from(libc::ENOSYS).unwrap_or(38);
    let mut refused: SyscallRules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for call in only_on_this_platform() {
        refused.insert(*call, Vec::new());
    }
    let clones: Result<Vec<SeccompRule>, seccompiler::BackendError> = NAMESPACE_FLAGS
        .iter()
        .map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            rule(0, Len::Qword, Op::MaskedEq(flag), flag)
        })
        .collect();
    refused.insert(libc::SYS_clone, clones?);
    let ioctls: Result<Vec<SeccompRule>, seccompiler::BackendError> =
        REFUSED_IOCTLS.iter().map(|request| rule(1, Len::Dword, Op::Eq, *request)).collect();
    refused.insert(libc::SYS_ioctl, ioctls?);
    let foreign: Result<Vec<SeccompCondition>, seccompiler::BackendError> = FAMILIES
        .iter()
        .map(|it| SeccompCondition::new(0, Len::Dword, Op::Ne, u64::from(it.unsigned_abs())))
        .collect();
    refused.insert(libc::SYS_socket, vec![SeccompRule::new(foreign?)?]);
    refused.extend(owner_bits()?);
    let absent: SyscallRules = ABSENT.iter().map(|call| (*call, Vec::new())).collect();
    let mut first = compiled(refused, eperm)?;
    first.splice(0..0, refuse_x32(eperm));
    Ok([first, compiled(absent, enosys)?])
}

/// Calls that would give a file one of [`OWNER_BITS`].
fn owner_bits() -> Result<SyscallRules, seccompiler::BackendError> {
    let has = |argument: u8, bits: u32| {
        let bits = u64::from(bits);
        SeccompCondition::new(argument, Len::Dword, Op::MaskedEq(bits), bits)
    };
    let mut rules = SyscallRules::new();
    for (call, mode) in MODE_CALLS.iter().chain(mode_calls_of_this_platform()) {
        let of_call = rules.entry(*call).or_default();
        for bit in OWNER_BITS {
            of_call.push(SeccompRule::new(vec![has(*mode, bit)?])?);
        }
    }
    for (call, flags, mode) in OPEN_CALLS.iter().chain(open_calls_of_this_platform()) {
        let of_call = rules.entry(*call).or_default();
        for bit in OWNER_BITS {
            for flag in MAKING_FLAGS {
                let conditions = vec![has(*flags, flag.unsigned_abs())?, has(*mode, bit)?];
                of_call.push(SeccompRule::new(conditions)?);
            }
        }
    }
    Ok(rules)
}

fn rule(
    argument: u8,
    length: Len,
    operator: Op,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, length, operator, value)?])
}

fn compiled(rules: SyscallRules, errno: u32) -> Result<BpfProgram, seccompiler::Error> {
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), architecture)?;
    Ok(filter.try_into()?)
}

/// On x86-64 every call has a second number for programs with short pointers, which a list of
/// numbers does not know. No program of today uses them.
fn refuse_x32(errno: u32) -> Vec<sock_filter> {
    const X32_BIT: u32 = 0x4000_0000;
    const RETURN_ERRNO: u32 = 0x0005_0000;
    if std::env::consts::ARCH != "x86_64" {
        return Vec::new();
    }
    vec![
        // A = number of the call; if A >= X32_BIT go on, else skip one; return errno.
        sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 },
        sock_filter { code: 0x35, jt: 0, jf: 1, k: X32_BIT },
        sock_filter { code: 0x06, jt: 0, jf: 0, k: RETURN_ERRNO | errno },
    ]
}

#[cfg(target_arch = "x86_64")]
fn only_on_this_platform() -> &'static [libc::c_long] {
    &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_kexec_file_load, libc::SYS_modify_ldt]
}

#[cfg(not(target_arch = "x86_64"))]
fn only_on_this_platform() -> &'static [libc::c_long] {
    &[]
}

#[cfg(target_arch = "x86_64")]
fn mode_calls_of_this_platform() -> &'static [(libc::c_long, u8)] {
    &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)]
}

#[cfg(not(target_arch = "x86_64"))]
fn mode_calls_of_this_platform() -> &'static [(libc::c_long, u8)] {
    &[]
}

#[cfg(target_arch = "x86_64")]
fn open_calls_of_this_platform() -> &'static [(libc::c_long, u8, u8)] {
    &[(libc::SYS_open, 1, 2)]
}

#[cfg(not(target_arch = "x86_64"))]
fn open_calls_of_this_platform() -> &'static [(libc::c_long, u8, u8)] {
    &[]
}
