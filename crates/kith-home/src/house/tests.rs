use crate::test_home::TestHome;

use super::*;

#[test]
fn the_nearest_marked_folder_is_the_house() {
    check("//- /user/a/kith.toml\n//- /user/a/b/c/x\n", "user/a/b/c", Some("user/a"));
    check("//- /user/a/.kith/state.db\n//- /user/a/b/x\n", "user/a/b", Some("user/a"));
    check("//- /user/a/kith.toml\n//- /user/a/b/kith.toml\n", "user/a/b", Some("user/a/b"));
}

#[test]
fn the_users_home_is_no_house_for_what_is_below() {
    check("//- /user/kith.toml\n//- /user/.kith/state.db\n//- /user/a/x\n", "user/a", None);
    check("//- /kith.toml\n//- /user/a/x\n", "user/a", None);
}

#[test]
fn the_users_home_is_never_a_house() {
    check("//- /user/AGENTS.md\n", "user", None);
    check("//- /user/kith.toml\n//- /user/Agent.md\n", "user", None);
}

#[test]
fn a_constitution_makes_only_the_folder_itself_one() {
    check("//- /user/a/Agent.md\n", "user/a", Some("user/a"));
    check("//- /user/a/Agent.md\n//- /user/a/b/x\n", "user/a/b", None);
    check("//- /user/a/kith.toml\n//- /user/a/b/Agent.md\n", "user/a/b", Some("user/a"));
}

#[test]
fn a_project_with_only_an_agents_md_is_no_agent() {
    check("//- /user/a/AGENTS.md\n", "user/a", None);
    check("//- /user/a/AGENTS.md\n//- /user/a/.git/HEAD\n", "user/a", None);
    check("//- /user/a/kith.toml\n//- /user/a/b/AGENTS.md\n", "user/a/b", Some("user/a"));
}

#[test]
fn outside_the_users_home_the_walk_stays_with_one_owner() {
    check("//- /srv/kith.toml\n//- /srv/a/x\n", "srv/a", Some("srv"));
}

#[test]
fn a_folder_everybody_can_write_to_ends_the_walk() {
    use std::os::unix::fs::PermissionsExt;
    let files = TestHome::new("//- /srv/kith.toml\n//- /srv/a/x\n");
    let open_to_all = fs::Permissions::from_mode(0o777);
    fs::set_permissions(files.root.join("srv"), open_to_all).unwrap();
    assert_eq!(find_house(&files.root.join("srv/a"), Some(&files.root.join("user"))), None);
    // But one may choose to stand in it.
    let house = find_house(&files.root.join("srv"), Some(&files.root.join("user")));
    assert_eq!(house, Some(files.root.join("srv")));
}

/// As daemons and containers have it: every folder lies beneath the user's home.
#[test]
fn the_walk_beneath_the_users_home_ends_at_folders_that_others_could_write() {
    use std::os::unix::fs::PermissionsExt;
    let files = TestHome::new("//- /tmp/kith.toml\n//- /tmp/a/x\n//- /tmp/b/kith.toml\n");
    let find = |cwd: &str| find_house(&files.root.join(cwd), Some(&files.root));
    assert_eq!(find("tmp/a"), Some(files.root.join("tmp")));
    let open_to_all = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(files.root.join("tmp"), open_to_all).unwrap();
    assert_eq!(find("tmp/a"), None);
    assert_eq!(find("tmp/b"), Some(files.root.join("tmp/b")));
}

#[test]
fn the_walk_never_goes_through_a_folder_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        // Nobody but root can give a folder away; `standing` is tested without it.
        return;
    }
    let files =
        TestHome::new("//- /user/a/kith.toml\n//- /user/a/b/x\n//- /srv/kith.toml\n//- /srv/a/x\n");
    let chown = |path: &str| {
        std::os::unix::fs::chown(files.root.join(path), Some(4242), None).unwrap();
    };
    let find = |cwd: &str| find_house(&files.root.join(cwd), Some(&files.root.join("user")));
    assert_eq!(find("user/a/b"), Some(files.root.join("user/a")));
    chown("user/a");
    assert_eq!(find("user/a/b"), None);
    // Nor where all of them are the same other user's.
    chown("srv");
    chown("srv/a");
    assert_eq!(find("srv/a"), None);
}

#[track_caller]
fn check(files: &str, cwd: &str, house: Option<&str>) {
    let files = TestHome::new(files);
    let found = find_house(&files.root.join(cwd), Some(&files.root.join("user")));
    assert_eq!(found, house.map(|it| files.root.join(it)));
}
