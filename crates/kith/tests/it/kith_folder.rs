//! A malicious `.kith` folder, as an archive may bring it.

use std::fs;
use std::os::unix::fs::{chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use kith_testkit::another_user::{NOBODY, is_superuser, not_run};

use crate::check;
use crate::house::House;

/// A house where something was said, and one of its texts is a blob.
fn lived_in() -> House {
    let house = House::new();
    let long = "x".repeat(70_000);
    house.kith_with_input(&["--model", "demo", "ask", "-"], format!("say {long}")).succeeded();
    house
}

fn blob(house: &House) -> PathBuf {
    let mut entries = fs::read_dir(house.path(".kith/blobs")).unwrap();
    entries.next().unwrap().unwrap().path()
}

/// Where a file of the user lies that no command may touch.
fn letter(house: &House) -> PathBuf {
    house.path("../user/letter")
}

#[test]
fn a_link_at_the_lock_is_refused_and_the_file_behind_it_stays() {
    let house = House::new();
    fs::write(letter(&house), "ssh-ed25519 AAAAC3 me@laptop").unwrap();
    fs::create_dir(house.path(".kith")).unwrap();
    symlink("../../user/letter", house.path(".kith/host.lock")).unwrap();
    check!(house.kith(&["--model", "demo", "ask", "hello"]), @"
    exit 1
    --- stderr
    error: `[house]/.kith/host.lock` is a symbolic link; check what it is, then remove it
    ");
    assert_eq!(fs::read_to_string(letter(&house)).unwrap(), "ssh-ed25519 AAAAC3 me@laptop");
}

#[test]
fn nothing_in_the_kith_folder_is_opened_through_a_link() {
    for name in ["", "state.db", "state.db-wal", "state.db-shm", "sessions", "blobs", "blob"] {
        let ran = replaced(&lived_in(), name, &|to, from| symlink(to, from).unwrap());
        assert!(
            ran.contains("is a symbolic link; check what it is, then remove it"),
            "{name}: {ran}"
        );
    }
    // What is derived is not needed; it is not opened either.
    for name in ["index.db", "threads", "session"] {
        replaced(&lived_in(), name, &|to, from| symlink(to, from).unwrap());
    }
}

#[test]
fn a_second_name_of_a_file_in_the_kith_folder_is_refused() {
    let hard_link = |to: &Path, from: &Path| fs::hard_link(to, from).unwrap();
    for name in ["state.db", "host.lock", "session", "blob"] {
        let ran = replaced(&lived_in(), name, &hard_link);
        assert!(ran.contains("has a second name (a hard link)"), "{name}: {ran}");
    }
    replaced(&lived_in(), "index.db", &hard_link);
}

#[test]
fn a_pipe_in_the_kith_folder_is_refused_and_not_waited_for() {
    let pipe = |_: &Path, from: &Path| {
        assert!(Command::new("mkfifo").arg(from).status().unwrap().success());
    };
    for name in ["state.db", "state.db-wal", "host.lock", "blob"] {
        let ran = replaced(&lived_in(), name, &pipe);
        assert!(ran.contains("is not a regular file"), "{name}: {ran}");
    }
    for name in ["index.db", "session"] {
        replaced(&lived_in(), name, &pipe);
    }
}

#[test]
fn a_file_of_another_user_in_the_kith_folder_is_refused() {
    if !is_superuser() {
        not_run("only the superuser can give a file away");
        return;
    }
    let give_away = |to: &Path, from: &Path| {
        fs::copy(to, from).unwrap();
        chown(from, Some(NOBODY), None).unwrap();
    };
    for name in ["state.db", "host.lock", "session", "blob"] {
        let ran = replaced(&lived_in(), name, &give_away);
        assert!(ran.contains("belongs to another user"), "{name}: {ran}");
    }
}

/// Moves a file or folder of `.kith` out of it, puts something in its place with `put(moved, place)`,
/// and runs every command that looks there. What they said; none hangs, and nothing that was moved
/// is changed.
#[track_caller]
fn replaced(house: &House, name: &str, put: &dyn Fn(&Path, &Path)) -> String {
    let place = match name {
        "session" => house.session_file(),
        "blob" => blob(house),
        "" => house.path(".kith"),
        name => house.path(".kith").join(name),
    };
    let moved = letter(house);
    if place.exists() {
        fs::rename(&place, &moved).unwrap();
    } else {
        fs::write(&moved, "dear friend").unwrap();
    }
    put(&moved, &place);
    let before = contents(&moved);
    let mut said = String::new();
    for args in [
        &["session", "ls"][..],
        &["session", "show", "latest"],
        &["session", "verify", "latest"],
        &["doctor"],
        &["thread", "ls"],
        &["backup", "../copy"],
        &["--model", "demo", "ask", "say more"],
        &["--model", "demo", "ask", "--new", "say more"],
    ] {
        let ran = house.kith_bounded(args);
        assert_ne!(ran.code, 124, "{name}: `{args:?}` hangs");
        assert_ne!(ran.code, 70, "{name}: `{args:?}`\n{}", ran.shown());
        said.push_str(&ran.shown());
    }
    assert_eq!(contents(&moved), before, "{name}\n{said}");
    said
}

/// The names and bytes of a file, or of all that lies in a folder.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if !path.is_dir() {
        return vec![(path.to_owned(), fs::read(path).unwrap())];
    }
    let mut inner: Vec<PathBuf> =
        fs::read_dir(path).unwrap().map(|it| it.unwrap().path()).collect();
    inner.sort();
    inner.iter().flat_map(|path| contents(path)).collect()
}
