//! Both ways of opening must refuse the same things: one of them is used where the other is not
//! to be had.

use super::*;
use crate::fixture::World;

const WORLD: &str = "
//- yard/a/b/c.txt
text
//- yard/file -> a/b/c.txt
//- yard/folder -> a
//- yard/absolute -> <tmp>/yard/a
//- out/secret.txt
secret
//- yard/leak -> ../out";

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
fn listings_are_sorted_bounded_and_say_what_things_are() {
    let world = World::new("//- yard/b/\n//- yard/a\n//- yard/c -> a\n//- yard/d |");
    let folder = Folder::open(&world.path("yard")).unwrap();
    let listed = folder.entries(4).unwrap();
    let kinds: Vec<_> =
        listed.entries.iter().map(|it| (it.name.to_str().unwrap(), it.kind)).collect();
    let expected = [("a", Kind::File), ("b", Kind::Folder), ("c", Kind::Link), ("d", Kind::Other)];
    assert_eq!(kinds, expected);
    assert!(!listed.is_cut);
    assert!(folder.entries(3).unwrap().is_cut);
}

#[track_caller]
fn check(path: &str, expected: &str) {
    let world = World::new(WORLD);
    let folder = Folder::open(&world.path("yard")).unwrap();
    for opened in [folder.open_beneath(Path::new(path)), folder.open_part_by_part(Path::new(path))]
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
