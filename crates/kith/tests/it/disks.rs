//! A house on a disk that is full, and on one that is read-only.
//!
//! The disks are real ones of a few hundred kilobytes, mounted where only the test sees them. Where
//! the system lets nobody mount (some lend no namespaces to users), there is nothing to try; the
//! disk that fails on demand of `kith-sessions` stands in for it everywhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use kith_testkit::skipped;

use crate::house::{House, KITH};

/// Runs the lines of a script in a house on a disk of its own, and gives what it said.
///
/// `kith` prints what it is asked and how it ended; `$house` is where the disk is.
fn on_a_small_disk(test: &str, script: &str) -> Option<String> {
    let can_mount = Command::new("unshare").args(["-rm", "true"]).status();
    if !can_mount.is_ok_and(|status| status.success()) {
        skipped::note(test, "this system lets the user mount nothing (`unshare -rm`)");
        return None;
    }
    let house = House::empty();
    let dir = house.path("");
    let whole = format!(
        "set -eu; house='{}'; mount -t tmpfs -o size=600k tmpfs \"$house\"; cd \"$house\"\n\
         kith() {{ code=0; '{KITH}' \"$@\" 2>&1 || code=$?; echo \"= $code\"; }}\n\
         echo 'Be kind.' > Agent.md\n{script}",
        dir.display()
    );
    let file = house.path("../script");
    fs::write(&file, whole).unwrap();
    let output = Command::new("unshare")
        .args(["-rm", "sh"])
        .arg(&file)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir.join("../user"))
        .env("NO_COLOR", "1")
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Some(shown(&said, &dir))
}

fn shown(said: &str, dir: &Path) -> String {
    let house = dir.to_string_lossy();
    said.replace(house.trim_end_matches('/'), "[house]")
}

macro_rules! check_disk {
    ($test:literal, $script:expr, @$expected:literal) => {{
        let Some(said) = on_a_small_disk($test, $script) else { return };
        insta::with_settings!({ filters => $crate::FILTERS.to_vec() }, {
            insta::assert_snapshot!(said, @$expected);
        });
    }};
}

#[test]
fn a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room() {
    let script = "
kith ask 'say one' --model demo
dd if=/dev/zero of=filler bs=1k 2>/dev/null || true
kith ask 'say two' --model demo
kith session ls
kith session verify latest
rm filler
kith ask 'say three' --model demo
kith session verify latest
kith session show latest
";
    check_disk!("a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room", script, @"
    one
    = 0
    error: no space left on the disk for `[house]/.kith/state.db`
      cause: disk I/O error
      cause: Error code 4874: disk I/O error
    hint: free some disk space and send it again
    = 3
    [short]  [minute]  idle       cli:room:[cwd]  say one
    = 0
    OK: 7 events intact, 1 of 1 requests rebuilt byte for byte
    = 0
    three
    = 0
    OK: 12 events intact, 2 of 2 requests rebuilt byte for byte
    = 0
    owner:
      say one

    agent:
      one

    owner:
      say three

    agent:
      three
    = 0
    ");
}

#[test]
fn a_read_only_disk_is_named_and_can_be_read() {
    let script = "
kith ask 'say one' --model demo
mount -o remount,ro \"$house\"
kith ask 'say two' --model demo
kith session ls
kith session show latest
kith session verify latest
kith doctor | grep -A1 ^fail
";
    check_disk!("a_read_only_disk_is_named_and_can_be_read", script, @"
    one
    = 0
    error: cannot take the lock `[house]/.kith/host.lock`
      cause: Read-only file system (os error 30)
    hint: check that `.kith` is a writable folder
    = 3
    [short]  [minute]  idle       cli:room:[cwd]  say one
    = 0
    owner:
      say one

    agent:
      one
    = 0
    OK: 7 events intact, 1 of 1 requests rebuilt byte for byte
    = 0
    fail  house         `[house]` is on a read-only disk
                        -> move the house to another disk
    --
    fail  disk          read-only
                        -> move the house to another disk
    ");
}

/// SQLite maps a file that the disk may have no blocks for; whoever writes there is killed.
#[test]
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn a_full_disk_with_small_blocks_is_reported_and_ends_no_process() {
    let house = House::empty();
    let whole = format!(
        "set -u; cd '{}'; mkdir disk
dd if=/dev/zero of=image bs=1M count=6 2>/dev/null
mkfs.ext4 -q -m 0 -b 1024 -F image 2>/dev/null && mount -o loop image disk || exit 77
mkdir disk/house && cd disk/house && echo 'Be kind.' > Agent.md
'{KITH}' ask 'say one' --model demo
for left in $(seq 0 8 150); do
    rm -f ../filler; free=$(df --output=avail -k .. | tail -1)
    dd if=/dev/zero of=../filler bs=1k count=$((free - left)) 2>/dev/null
    '{KITH}' ask 'say two' --model demo --message-id m$left >/dev/null 2>../../said; code=$?
    case $code in 0|3) ;; *) echo \"with $left kB: $code\"; cat ../../said ;; esac
done
rm ../filler; '{KITH}' ask 'say three' --model demo
'{KITH}' doctor >/dev/null; echo \"doctor $?\"",
        house.path("").display()
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &whole])
        .env("HOME", house.path("../user"))
        .output();
    match output {
        Ok(output) if output.status.code() == Some(0) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(
                said,
                "one\nthree\ndoctor 0\n",
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        _ => eprintln!("skipped: only the superuser mounts a disk with small blocks"),
    }
}
