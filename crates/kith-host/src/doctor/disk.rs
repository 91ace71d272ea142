//! Checks the folder of the house and its disk.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kith_home::discovery::repository_root;
use kith_home::git::tracked_beneath;
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{Check, fail, ok, warn};
use crate::calls::house::Health;
use crate::error::quoted;
use crate::house::House;
use crate::words::size_in_words;

/// Free space below which the next long session may fill the disk.
const FREE_BYTES_FEW: u64 = 100 * 1024 * 1024;
/// Files whose sizes are added up.
const FILES_MEASURED_MAX: usize = 200_000;
/// Free space below which hardly a message fits.
const FREE_BYTES_MIN: u64 = 1024 * 1024;

pub(super) fn checks(house: &House) -> Vec<Check> {
    let mut checks = vec![self::house(house), modes(house)];
    checks.extend(tracked(house));
    checks.push(with_uses(disk(house), &house.kith_dir()));
    checks
}

fn house(house: &House) -> Check {
    let name = "house";
    let kith_dir = house.kith_dir();
    let inner = ["sessions", "blobs", "threads"].map(|name| kith_dir.join(name));
    for folder in [&house.dir, &kith_dir].into_iter().chain(&inner) {
        let shown = folder.display();
        match access(folder, Access::WRITE_OK | Access::EXEC_OK) {
            Err(Errno::ROFS) => {
                let detail = format!("`{shown}` is on a read-only disk");
                return fail(name, detail, "move the house to another disk");
            }
            Err(_) if folder.exists() => {
                let detail = format!("you may not write to `{shown}`");
                return fail(name, detail, permission_fix(folder, "u+rwx"));
            }
            // There is no `.kith` before the first word.
            Ok(()) | Err(_) => (),
        }
    }
    if house.kith_dir().exists() && !house.kith_dir().is_dir() {
        let detail = format!("`{}` is not a folder", house.kith_dir().display());
        return fail(name, detail, "move or delete that file");
    }
    let dir = house.dir.display();
    if house.cwd.starts_with(&house.dir) {
        return ok(name, format!("`{dir}`"));
    }
    ok(name, format!("`{dir}`, working in `{}`", house.cwd.display()))
}

/// The desk, if it is there and may not be read or written.
pub(super) fn refused_desk(house: &House) -> Option<Check> {
    let path = house.desk_path();
    match access(&path, Access::READ_OK | Access::WRITE_OK) {
        Err(Errno::ACCESS) if path.exists() => {
            let detail = format!("you may not read and write `{}`", path.display());
            Some(fail("desk", detail, permission_fix(&path, "u+rw")))
        }
        _ => None,
    }
}

/// What gives a person access: another mode if it is theirs, else another owner.
fn permission_fix(path: &Path, mode: &str) -> String {
    let owner = fs::metadata(path).map(|it| it.uid());
    match owner {
        Ok(uid) if uid != geteuid().as_raw() => {
            let path = quoted(path);
            format!("it belongs to user {uid}: use kith as that user, or `chown -R $USER {path}`")
        }
        _ => format!("`chmod {mode} {}`", quoted(path)),
    }
}

/// What people said is for its owner's eyes only.
fn modes(house: &House) -> Check {
    let name = "permissions";
    let kith_dir = house.kith_dir();
    let Ok(metadata) = fs::metadata(&kith_dir) else {
        return ok(name, "nothing is stored yet".to_owned());
    };
    if metadata.uid() != geteuid().as_raw() {
        let detail = format!("`{}` belongs to user {}", kith_dir.display(), metadata.uid());
        return warn(name, detail, "use kith as that user: sessions are for their owner only");
    }
    if metadata.mode() & 0o077 != 0 {
        let detail = format!("other users can read `{}`", kith_dir.display());
        return warn(name, detail, format!("`chmod 700 {}`", quoted(&kith_dir)));
    }
    let inner: [PathBuf; 2] = [kith_dir.join("sessions"), kith_dir.join("blobs")];
    let open = inner.iter().find(|it| fs::metadata(it).is_ok_and(|it| it.mode() & 0o077 != 0));
    match open {
        Some(path) => {
            let detail =
                format!("the permissions of `{}` are wider than kith set them", path.display());
            warn(name, detail, format!("`chmod 700 {}`", quoted(path)))
        }
        None => ok(name, "only you can read `.kith`".to_owned()),
    }
}

/// What was said must not be published with the repository that the house lies in. Skills in
/// `.kith/skills` are meant to be shared.
fn tracked(house: &House) -> Option<Check> {
    let kith_dir = house.kith_dir();
    let root = repository_root(&house.dir)?;
    let skills = kith_dir.strip_prefix(&root).ok()?.join("skills");
    let mut names = tracked_beneath(&root, &kith_dir).into_iter();
    let name =
        names.find(|it| !Path::new(it).starts_with(&skills) && !it.ends_with("/.gitignore"))?;
    let detail =
        format!("git tracks `{name}` in `{}`, which holds private conversations", root.display());
    let fix = format!("`git -C {} rm -r --cached {}`", quoted(&root), quoted(&kith_dir));
    Some(fail("git", detail, fix))
}

/// The check with what the house keeps, by folder, and how much room it takes; the largest first.
fn with_uses(check: Check, kith_dir: &Path) -> Check {
    let mut sizes = Vec::new();
    let mut n_left = FILES_MEASURED_MAX;
    let mut others = 0;
    // There is no `.kith` before the first word.
    let Ok(entries) = fs::read_dir(kith_dir) else { return check };
    for entry in entries.flatten() {
        let n_bytes = bytes_of(&entry.path(), &mut n_left);
        if entry.path().is_dir() {
            sizes.push((n_bytes, format!(".kith/{}", entry.file_name().to_string_lossy())));
        } else {
            others += n_bytes;
        }
    }
    sizes.push((others, "other files of .kith".to_owned()));
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let total: u64 = sizes.iter().map(|(n_bytes, _)| n_bytes).sum();
    let mut facts: Vec<String> =
        sizes.iter().map(|(n, name)| format!("{name}: {}", size_in_words(*n))).collect();
    if n_left == 0 {
        facts.push(format!("only {FILES_MEASURED_MAX} files were measured"));
    }
    // What is wrong with the disk is told alone.
    if check.state == Health::Fail {
        return Check { facts, ..check };
    }
    let detail = format!("{}; `.kith` takes {}", check.detail, size_in_words(total));
    Check { detail, facts, ..check }
}

/// Bytes of a file, or of all files in a folder. Links are not followed.
fn bytes_of(path: &Path, n_left: &mut usize) -> u64 {
    let mut total: u64 = 0;
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if *n_left == 0 {
            break;
        }
        *n_left -= 1;
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            waiting.extend(entries.map(|entry| entry.path()));
        } else {
            total = total.saturating_add(metadata.len());
        }
    }
    total
}

fn disk(house: &House) -> Check {
    let name = "disk";
    let stat = match statvfs(&house.dir) {
        Ok(stat) => stat,
        Err(source) => {
            return warn(name, format!("cannot be checked: {source}"), "check the disk");
        }
    };
    if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return fail(name, "read-only".to_owned(), "move the house to another disk");
    }
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let room = format!("{} free", size_in_words(free));
    if free < FREE_BYTES_MIN {
        return fail(name, room, "free some disk space");
    }
    if let Some(kind) = network_kind(house) {
        let detail =
            format!("{room}; on a network disk ({kind}), where locks and syncs may be unreliable");
        return warn(
            name,
            detail,
            "keep the house on a local disk, or use it from one machine only",
        );
    }
    if free < FREE_BYTES_FEW {
        return warn(name, room, "free some disk space");
    }
    ok(name, room)
}

#[cfg(target_os = "linux")]
fn network_kind(house: &House) -> Option<&'static str> {
    let magic = rustix::fs::statfs(&house.dir).ok()?.f_type;
    // On some machines it is a signed number, sign and all.
    let magic = u64::try_from(i128::from(magic) & 0xffff_ffff).unwrap_or_default();
    kind_of(magic)
}

#[cfg(not(target_os = "linux"))]
fn network_kind(_: &House) -> Option<&'static str> {
    None
}

/// File systems that are served by others, by the number that Linux gives them.
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "other systems have no such number")
)]
pub(super) fn kind_of(magic: u64) -> Option<&'static str> {
    match magic {
        0x6969 => Some("nfs"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("smb"),
        0x6573_5546 => Some("fuse"),
        0x0102_1997 => Some("9p"),
        0x5346_414f => Some("afs"),
        0x00c3_6400 => Some("ceph"),
        0x7375_7245 => Some("coda"),
        0x0bd0_0bd0 => Some("lustre"),
        _ => None,
    }
}
