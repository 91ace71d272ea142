use super::*;
use crate::fixture::{World, trust_of, write_file};

#[test]
fn walk_stops_at_its_limit_and_says_so() {
    let world = World::new("//- yard/a/1\n//- yard/a/2\n//- yard/a/3\n//- yard/b/4\n//- yard/c");
    check(&world, WALK_ENTRIES_MAX, "a a/1 a/2 a/3 b b/4 c");
    check(&world, 4, "a a/1 a/2 a/3 b b/4 c");
    check(&world, 3, "a a/1 a/2 a/3 b c (cut)");
    check(&world, 0, "a b c (cut)");
}

#[test]
fn rules_beyond_the_limit_are_not_read_and_none_is_halved() {
    let world = World::new("//- yard/a/\n//- yard/target/");
    let bytes_max = usize::try_from(IGNORE_FILE_BYTES_MAX).unwrap();
    let comment = "#".repeat(bytes_max - "a\n\n/target".len());
    let rules = format!("a\n{comment}\n/targets\n");
    assert!(rules[..bytes_max].ends_with("/target"));
    write_file(&world.path("yard/.gitignore"), rules);
    check(&world, WALK_ENTRIES_MAX, ".gitignore target");
}

/// `entries_left` is what the walk may still look at once it has read the first folder.
#[track_caller]
fn check(world: &World, entries_left: usize, expected: &str) {
    let trust_of = trust_of();
    let cancel = CancellationToken::new();
    let folder = world.roots().open_folder(".").unwrap();
    let mut walk = Walk::new(folder, WALK_DEPTH_MAX, &cancel, &trust_of);
    walk.entries_left = entries_left;
    let mut paths: Vec<String> =
        walk.by_ref().map(|found| found.path.to_str().unwrap().to_owned()).collect();
    if walk.is_cut {
        paths.push("(cut)".to_owned());
    }
    assert_eq!(paths.join(" "), expected);
}
