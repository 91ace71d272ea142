//! Runs a test as a user without privileges, also when root starts it.
//!
//! The superuser may read, write and enter everything, so under it a test about permissions has
//! nothing to see. Such a test starts itself again as `nobody`; any other user simply runs it.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

/// The user and group id of `nobody` on Linux.
pub const NOBODY: u32 = 65534;
/// Says to the second run where the program under test lies; see [`program`].
const PROGRAM: &str = "KITH_TEST_PROGRAM";
/// Makes two runs of one test at once keep out of each other's way.
const FOLDER: &str = "kith-as-nobody";

/// Runs `body`, which is all of the test with this full name, without privileges.
///
/// `program` is what it starts, if anything: it is copied to where `nobody` may start it.
pub fn unprivileged(test: &str, program: Option<&str>, body: impl FnOnce()) {
    if is_superuser() {
        run_as_nobody(test, program, &[]);
    } else {
        body();
    }
}

/// Starts the test with this full name once more, as `nobody` and with these variables. Only the
/// superuser can.
pub fn run_as_nobody(test: &str, program: Option<&str>, variables: &[(&str, &OsStr)]) {
    let place = Place::new(test);
    let mut command = Command::new(place.copy_of(&env::current_exe().expect("we lie somewhere")));
    if let Some(program) = program {
        command.env(PROGRAM, place.copy_of(Path::new(program)));
    }
    let output = command
        .args([test, "--exact", "--nocapture"])
        .envs(variables.iter().copied())
        .env("TMPDIR", &place.0)
        .current_dir(&place.0)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("a test can be started again");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "as `nobody`:\n{said}{complaint}");
    // A wrong name would run nothing, and nothing never fails.
    assert!(said.contains("test result: ok. 1 passed"), "no test is called `{test}`:\n{said}");
}

/// Says in the output of a test which part of it cannot run here.
pub fn not_run(why: &str) {
    // A test does not fail because nobody reads what it says.
    writeln!(std::io::stderr(), "not run: {why}").ok();
}

/// Where the program under test lies for this user.
pub fn program(built: &str) -> PathBuf {
    env::var_os(PROGRAM).map_or_else(|| built.into(), PathBuf::from)
}

pub fn is_superuser() -> bool {
    let place = Place::new("who-am-i");
    fs::metadata(&place.0).expect("a folder can be looked at").uid() == 0
}

/// A folder that `nobody` owns, if we may give it away. It is gone with this value.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        // Tests of one process may ask at the same time.
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (pid, n) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("{FOLDER}-{pid}-{n}-{}", test.replace("::", "-"));
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).expect("a folder can be made");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("a folder of ours can be opened");
        Place(path)
    }

    /// The folder of a program that was just built may be closed to others.
    fn copy_of(&self, program: &Path) -> PathBuf {
        chown(&self.0, Some(NOBODY), Some(NOBODY)).expect("the superuser may give a folder away");
        let copy = self.0.join(program.file_name().expect("a program has a name"));
        fs::copy(program, &copy).expect("a program can be copied");
        copy
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left behind is in the folder for such things.
        fs::remove_dir_all(&self.0).ok();
    }
}
