//! Both ways of opening must refuse the same things: one of them is used where the kernel does not
//! offer the other.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn what_lies_beneath_opens() {
    check("", "opened");
    check("a", "opened");
    check("a/b/c.txt", "opened");
    check("a/missing", "NOENT");
    check("a/b/c.txt/d", "NOTDIR");
}

#[test]
fn links_are_refused_wherever_they_stand() {
    check("file", "refused");
    check("folder/b/c.txt", "refused");
    check("absolute/b/c.txt", "refused");
    check("leak/secret.txt", "refused");
}

#[test]
fn nothing_leads_upward() {
    check("../out/secret.txt", "refused");
    check("a/../../out/secret.txt", "refused");
    check("/etc/passwd", "refused");
}

#[test]
fn a_link_is_followed_as_long_as_it_stays_in_the_folder() {
    let world = world();
    let yard = world.path().join("yard");
    assert!(open(&yard, Path::new("file")).is_ok());
    assert!(open(&yard, Path::new("folder/b/c.txt")).is_ok());
    for outside in ["leak/secret.txt", "../out/secret.txt"] {
        assert!(is_outside(&open(&yard, Path::new(outside)).unwrap_err()));
    }
}

fn world() -> tempfile::TempDir {
    let world = tempfile::tempdir().unwrap();
    let (yard, out) = (world.path().join("yard"), world.path().join("out"));
    fs::create_dir_all(yard.join("a/b")).unwrap();
    fs::write(yard.join("a/b/c.txt"), "text").unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("secret.txt"), "secret").unwrap();
    symlink("a/b/c.txt", yard.join("file")).unwrap();
    symlink("a", yard.join("folder")).unwrap();
    symlink(yard.join("a"), yard.join("absolute")).unwrap();
    symlink("../out", yard.join("leak")).unwrap();
    world
}

#[track_caller]
fn check(path: &str, expected: &str) {
    let world = world();
    let yard = File::open(world.path().join("yard")).unwrap();
    for opened in
        [open_beneath(&yard, Path::new(path)), open_part_by_part(yard.as_fd(), Path::new(path))]
    {
        let actual = match opened.map_err(|error| Errno::from_io_error(&error).unwrap()) {
            Ok(_) => "opened",
            Err(Errno::NOENT) => "NOENT",
            Err(Errno::NOTDIR) if !path.contains("folder") && expected == "NOTDIR" => "NOTDIR",
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => "refused",
            Err(errno) => panic!("{path}: {errno}"),
        };
        assert_eq!(actual, expected, "{path}");
    }
}
