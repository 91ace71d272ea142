//! When settings are read again, and what holds while they cannot be.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use kith_home::trust::{record_trust, remove_trust};
use tempfile::TempDir;

use super::*;

struct WatchedHouse {
    _dir: TempDir,
    root: PathBuf,
    house: House,
}

impl WatchedHouse {
    fn new(settings: &str) -> WatchedHouse {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("house")).unwrap();
        fs::create_dir_all(root.join("user/.kith")).unwrap();
        let (cwd, user_home) = (root.join("house"), Some(root.join("user")));
        let house = House { dir: cwd.clone(), cwd, user_home };
        let files = WatchedHouse { _dir: dir, root, house };
        files.write("house/kith.toml", settings);
        files
    }

    /// Writes the file as if it had been done a while ago.
    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::write(&path, text).unwrap();
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    }
}

fn steps(settings: &Settings) -> u32 {
    settings.limits.steps
}

#[test]
fn settings_that_are_asked_for_often_are_read_once_a_second() {
    let files = WatchedHouse::new("[limits]\nsteps = 3\n");
    let watch = SettingsWatch::open(&files.house).unwrap();
    let looked_at = watch.kept().looked_at;
    files.write("house/kith.toml", "[limits]\nsteps = 4\n");
    assert_eq!(steps(&watch.recent_at(looked_at + RECENT_MS - 1)), 3);
    assert_eq!(steps(&watch.recent_at(looked_at + RECENT_MS)), 4);
    files.write("house/kith.toml", "[limits]\nsteps = 5\n");
    assert_eq!(steps(&watch.newest()), 5);
    assert_eq!(steps(&watch.recent_at(looked_at)), 5, "what somebody looked at meanwhile counts");
}

#[test]
fn a_changed_file_counts_at_once_and_the_nearer_still_wins() {
    let files = WatchedHouse::new("[limits]\nsteps = 3\n");
    let watch = SettingsWatch::open(&files.house).unwrap();
    assert_eq!(steps(&watch.current().unwrap()), 3);
    files.write("house/kith.toml", "[limits]\nsteps = 4\n");
    assert_eq!(steps(&watch.last_good()), 3, "nobody looked yet");
    assert_eq!(steps(&watch.current().unwrap()), 4);
    assert_eq!(steps(&watch.last_good()), 4);
    files.write("user/.kith/config.toml", "[limits]\nsteps = 5\nrepeats = 2\n");
    let settings = watch.current().unwrap();
    assert_eq!((steps(&settings), settings.limits.repeats), (4, 2));
    fs::remove_file(files.root.join("house/kith.toml")).unwrap();
    assert_eq!(steps(&watch.current().unwrap()), 5);
}

#[test]
fn an_unchanged_file_is_not_read_again() {
    let files = WatchedHouse::new("[limits]\nsteps = 3\n");
    let seen = || {
        let mut seen = Sources::of(&files.house);
        // The file was made just now; a second one of its age could still be another.
        assert!(!seen.is_settled);
        seen.is_settled = true;
        seen
    };
    assert!(seen() == seen());
    let before = seen();
    files.write("house/kith.toml", "[limits]\nsteps = 4\n");
    assert!(seen() != before, "same size and time of change, another change of the entry");
}

#[test]
fn while_a_changed_file_cannot_be_read_the_last_good_settings_stay() {
    let files = WatchedHouse::new("[limits]\nsteps = 3\n");
    let watch = SettingsWatch::open(&files.house).unwrap();
    files.write("house/kith.toml", "[limits]\nstep = 4\n");
    for _ in 0..2 {
        let report = watch.current().unwrap_err();
        assert_eq!(report.line, Some(2));
        assert!(report.message().contains("kith.toml` line 2: unknown key `step`"));
        assert_eq!((steps(&watch.last_good()), steps(&watch.newest())), (3, 3));
    }
    files.write("house/kith.toml", "[limits]\nsteps = 4\n");
    assert_eq!(steps(&watch.current().unwrap()), 4);
}

#[test]
fn withdrawn_trust_counts_at_once() {
    let files = WatchedHouse::new("[limits]\nsteps = 3\n");
    fs::create_dir_all(files.house.dir.join(".git")).unwrap();
    let user_home = files.house.real_user_home().unwrap();
    record_trust(&user_home, &files.house.dir, 1).unwrap();
    let watch = SettingsWatch::open(&files.house).unwrap();
    assert_eq!(steps(&watch.current().unwrap()), 3);
    remove_trust(&user_home, &files.house.dir).unwrap();
    assert_eq!(watch.current().unwrap_err().code, "untrusted");
    assert_eq!(steps(&watch.last_good()), 3);
}
