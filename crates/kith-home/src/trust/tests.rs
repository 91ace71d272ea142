use crate::test_home::{NOW_MS, TestHome};

use super::*;

#[test]
fn trust_reaches_down_to_where_another_repository_begins() {
    check_reach("/r", "/r", "/r", true);
    check_reach("/r", "/r/a/b", "/r", true);
    check_reach("/r/a", "/r/a/b", "/r", true);
    check_reach("/r/a", "/r", "/r", false);
    check_reach("/r/a", "/r/b", "/r", false);
    check_reach("/r", "/r/clone", "/r/clone", false);
    check_reach("/r", "/rest", "/rest", false);
    check_reach("/", "/r", "/r", false);
}

#[test]
fn what_was_remembered_is_told_of_what_lies_below_and_can_be_taken_back() {
    let files = TestHome::new("//- Agent.md\nx\n//- a/b/x\n");
    let user = files.root.join("user");
    assert_eq!(trusted_folders(&user, &files.home), []);
    assert!(!user.join(".kith").exists(), "reading makes nothing");
    record_trust(&user, &files.home, NOW_MS).unwrap();
    let expected = FolderTrust { folder: files.home.clone(), since_ms: NOW_MS };
    assert_eq!(trusted_folders(&user, &files.home), std::slice::from_ref(&expected));
    assert_eq!(trusted_folders(&user, &files.home.join("a/b")), [expected]);
    assert_eq!(trusted_folders(&user, &user), []);
    record_trust(&user, &files.home, NOW_MS + 1).unwrap();
    assert_eq!(trusted_folders(&user, &files.home)[0].since_ms, NOW_MS + 1);
    assert_eq!(fs::read_dir(user.join(".kith/houses")).unwrap().count(), 1);
    assert!(remove_trust(&user, &files.home).unwrap());
    assert!(!remove_trust(&user, &files.home).unwrap());
    assert_eq!(trusted_folders(&user, &files.home), []);
}

#[test]
fn another_folder_under_a_trusted_name_is_not_trusted() {
    let files = TestHome::new("//- /srv/clone/AGENTS.md\nmine\n");
    let (user, clone) = (files.root.join("user"), files.root.join("srv/clone"));
    record_trust(&user, &clone, NOW_MS).unwrap();
    let before = folder_fingerprint(&clone).unwrap();
    // Kept elsewhere, so that its number cannot be given to the next one.
    fs::rename(&clone, files.root.join("srv/old")).unwrap();
    fs::create_dir(&clone).unwrap();
    assert_ne!(folder_fingerprint(&clone).unwrap(), before);
    assert_eq!(trusted_folders(&user, &clone), []);
    // Nor does trust go along with a folder that moved.
    assert_eq!(trusted_folders(&user, &files.root.join("srv/old")), []);
}

#[test]
fn changing_what_is_in_a_folder_leaves_it_the_same() {
    let files = TestHome::new("//- Agent.md\nx\n");
    let before = folder_fingerprint(&files.home).unwrap();
    fs::write(files.home.join("new.md"), "x").unwrap();
    fs::remove_file(files.home.join("Agent.md")).unwrap();
    assert_eq!(folder_fingerprint(&files.home).unwrap(), before);
}

#[test]
fn a_record_that_is_damaged_says_nothing() {
    let files = TestHome::new("//- Agent.md\nx\n");
    let user = files.root.join("user");
    record_trust(&user, &files.home, NOW_MS).unwrap();
    let path = record_path(&user, &files.home);
    let whole = fs::read_to_string(&path).unwrap();
    let longer = format!("{}{whole}", " ".repeat(70_000));
    for text in ["", "{}", "null", &whole[..whole.len() / 2], &longer] {
        fs::write(&path, text).unwrap();
        assert_eq!(trusted_folders(&user, &files.home), [], "{text}");
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(trusted_folders(&user, &files.home).len(), 1);
}

#[test]
fn a_record_that_others_could_have_written_says_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let files = TestHome::new("//- Agent.md\nx\n");
    let user = files.root.join("user");
    record_trust(&user, &files.home, NOW_MS).unwrap();
    let path = record_path(&user, &files.home);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(trusted_folders(&user, &files.home), []);
}

#[test]
fn the_users_home_is_no_strangers_repository() {
    let files = TestHome::new("//- Agent.md\nx\n//- /user/.git/HEAD\n//- /user/r/.git/HEAD\n");
    let user = files.root.join("user");
    assert_eq!(repository_of(&files.home, Some(&user)), None);
    assert_eq!(repository_of(&files.home, None), Some(user.clone()));
    assert_eq!(repository_of(&user.join("r"), Some(&user)), Some(user.join("r")));
}

#[test]
fn what_stands_in_the_way_of_remembering_is_named() {
    let files = TestHome::new("//- Agent.md\nx\n//- /user/.kith/houses\nno folder\n");
    let error = record_trust(&files.root.join("user"), &files.home, NOW_MS).unwrap_err();
    let message = files.portable(&error.to_string());
    assert!(message.starts_with("cannot write file `/user/.kith/houses/"), "{message}");
}

#[track_caller]
fn check_reach(trusted: &str, folder: &str, repository: &str, expected: bool) {
    let actual = covers(&[trusted.into()], folder.as_ref(), repository.as_ref());
    assert_eq!(actual, expected, "{trusted} {folder}");
}
