use super::*;
use crate::fixture::World;

#[test]
fn listings_are_sorted_bounded_and_say_what_things_are() {
    let world = World::new("//- yard/b/\n//- yard/a\n//- yard/c -> a\n//- yard/d |");
    let folder = Folder::open(&world.path("yard")).unwrap();
    let listed = folder.entries(4).unwrap();
    let kinds: Vec<_> =
        listed.entries.iter().map(|it| (it.name.to_str().unwrap(), it.kind)).collect();
    let expected = [
        ("a", EntryKind::File),
        ("b", EntryKind::Folder),
        ("c", EntryKind::Link),
        ("d", EntryKind::Other),
    ];
    assert_eq!(kinds, expected);
    assert!(!listed.is_cut);
    assert!(folder.entries(3).unwrap().is_cut);
}

#[test]
fn what_stands_for_an_absent_file_while_a_sandbox_runs_is_not_listed() {
    use kith_home::placeholder::{Placeholder, StandIn};
    let world = World::new("//- yard/a");
    let held = Placeholder::hold(&world.path("yard/SOUL.md"), StandIn::Folder).unwrap();
    let listed = Folder::open(&world.path("yard")).unwrap().entries(4).unwrap();
    assert_eq!(listed.entries.len(), 1);
    drop(held);
}
