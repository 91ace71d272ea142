use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::socket::socket_path;

#[test]
fn a_house_has_one_holder_at_a_time() {
    let (_house, kith_dir) = house();
    let first = HouseLock::take(&kith_dir, 7).unwrap();
    let error = HouseLock::take(&kith_dir, 8).unwrap_err();
    let pid = process::id();
    let socket = socket_path(&kith_dir).display().to_string();
    let holder = format!("(pid {pid} since 7)");
    assert!(error.to_string().ends_with(&holder), "{error}");
    drop(first);
    let _second = HouseLock::take(&kith_dir, 9).unwrap();
    assert_eq!(text(&kith_dir), format!("pid {pid} since 9 at {socket}\n"));
}

#[test]
fn a_lock_that_was_removed_or_replaced_is_lost() {
    let (_house, kith_dir) = house();
    let first = HouseLock::take(&kith_dir, 7).unwrap();
    first.check().unwrap();
    fs::remove_file(kith_dir.join(LOCK_NAME)).unwrap();
    assert!(matches!(first.check(), Err(LockError::Lost { .. })));
    let second = HouseLock::take(&kith_dir, 8).unwrap();
    assert!(matches!(first.check(), Err(LockError::Lost { .. })));
    second.check().unwrap();
}

#[test]
fn the_generation_is_kept_from_host_to_host() {
    let (_house, kith_dir) = house();
    let mut lock = HouseLock::take(&kith_dir, 7).unwrap();
    assert_eq!(lock.previous_generation(), None);
    for generation in [9, 10] {
        lock.set_generation(generation).unwrap();
        assert!(text(&kith_dir).ends_with(&format!(" generation {generation}\n")));
    }
    drop(lock);
    let lock = HouseLock::take(&kith_dir, 8).unwrap();
    assert_eq!(lock.previous_generation(), Some(10));
    drop(lock);
    // A host that accepted nothing says what the one before it said.
    let mut lock = HouseLock::take(&kith_dir, 9).unwrap();
    assert_eq!(lock.previous_generation(), Some(10));
    lock.set_generation(3).unwrap();
    assert_eq!(text(&kith_dir).lines().count(), 1, "{}", text(&kith_dir));
    drop(lock);
    for gone in ["removed", "emptied"] {
        match gone {
            "removed" => fs::remove_file(kith_dir.join(LOCK_NAME)).unwrap(),
            _ => fs::write(kith_dir.join(LOCK_NAME), "").unwrap(),
        }
        let lock = HouseLock::take(&kith_dir, 10).unwrap();
        assert_eq!(lock.previous_generation(), None, "{gone}");
    }
}

#[test]
fn the_text_of_any_host_is_understood() {
    check("pid 7 since 8", "pid 7 since 8", None, None);
    check("pid 7 since 8 at /a b/host.sock", "pid 7 since 8", Some("/a b/host.sock"), None);
    check(
        "pid 7 since 8 at /x/host.sock generation 4",
        "pid 7 since 8",
        Some("/x/host.sock"),
        Some(4),
    );
    let odd = "/look at that generation 5/host.sock";
    check(&format!("pid 7 since 8 at {odd}"), "pid 7 since 8", Some(odd), None);
    check(&format!("pid 7 since 8 at {odd} generation 6"), "pid 7 since 8", Some(odd), Some(6));
    check("pid 7 since 8 generation 6", "pid 7 since 8", None, Some(6));
    check("", "", None, None);
}

#[test]
fn a_client_learns_where_the_holder_listens() {
    let (_house, kith_dir) = house();
    assert_eq!(socket_path_of_holder(&kith_dir), None);
    let mut lock = HouseLock::take(&kith_dir, 7).unwrap();
    lock.set_generation(5).unwrap();
    assert_eq!(socket_path_of_holder(&kith_dir), Some(socket_path(&kith_dir)));
    let lock_path = kith_dir.join(LOCK_NAME);
    fs::write(&lock_path, "pid 1 since 2 at /run/other.sock generation 5\n").unwrap();
    assert_eq!(socket_path_of_holder(&kith_dir), Some("/run/other.sock".into()));
    fs::rename(&lock_path, kith_dir.join("elsewhere")).unwrap();
    symlink("elsewhere", &lock_path).unwrap();
    assert_eq!(socket_path_of_holder(&kith_dir), None, "not through a link");
}

#[test]
fn whoever_holds_a_house_keeps_it_out_of_git() {
    let (_house, kith_dir) = house();
    HouseLock::take(&kith_dir, 7).unwrap();
    assert_eq!(fs::read_to_string(kith_dir.join(".gitignore")).unwrap(), "*\n");
    fs::write(kith_dir.join(".gitignore"), "*\n!skills\n").unwrap();
    HouseLock::take(&kith_dir, 7).unwrap();
    assert_eq!(fs::read_to_string(kith_dir.join(".gitignore")).unwrap(), "*\n!skills\n");
}

#[test]
fn a_lock_that_is_not_our_own_file_is_refused_and_left_alone() {
    let (house, kith_dir) = house();
    fs::create_dir_all(&kith_dir).unwrap();
    let letter = house.path().join("letter");
    fs::write(&letter, "dear friend").unwrap();
    let lock_path = kith_dir.join(LOCK_NAME);
    let make: [(&str, &dyn Fn()); 4] = [
        ("is a symbolic link", &|| symlink(&letter, &lock_path).unwrap()),
        ("is a symbolic link", &|| symlink(house.path().join("nothing"), &lock_path).unwrap()),
        ("has a second name (a hard link)", &|| fs::hard_link(&letter, &lock_path).unwrap()),
        ("is not a regular file", &|| {
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &lock_path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                0,
            )
            .unwrap();
        }),
    ];
    for (problem, make) in make {
        make();
        let error = HouseLock::take(&kith_dir, 7).unwrap_err().to_string();
        let told = format!("host.lock` {problem}; check what it is, then remove it");
        assert!(error.ends_with(&told), "{error}");
        fs::remove_file(&lock_path).unwrap();
        assert_eq!(fs::read_to_string(&letter).unwrap(), "dear friend");
        assert!(!house.path().join("nothing").exists());
    }
    HouseLock::take(&kith_dir, 7).unwrap();
}

#[track_caller]
fn check(text: &str, holder: &str, socket: Option<&str>, generation: Option<u64>) {
    let expected =
        LockText { holder: holder.to_owned(), socket: socket.map(PathBuf::from), generation };
    for text in [text.to_owned(), format!("{text}\n"), format!("{text}\nrest of an older text\n")] {
        assert_eq!(LockText::parse(text.as_bytes()), expected, "{text}");
    }
    if !text.is_empty() {
        assert_eq!(expected.to_bytes(), format!("{text}\n").into_bytes());
    }
}

fn house() -> (TempDir, PathBuf) {
    let house = tempfile::tempdir().unwrap();
    let kith_dir = house.path().join(".kith");
    (house, kith_dir)
}

fn text(kith_dir: &Path) -> String {
    fs::read_to_string(kith_dir.join(LOCK_NAME)).unwrap()
}
