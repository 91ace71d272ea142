use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use kith_vocab::event::calls::Effect;
use kith_vocab::facts::{PathCallFacts, Zone};

use crate::fixture::World;

fn write(world: &World, path: &str, content: &str) -> String {
    let input = serde_json::json!({ "path": path, "content": content });
    world.call("write_file", &input.to_string())
}

#[test]
fn a_new_file_is_made_with_its_folders() {
    let world = World::new("");
    assert_eq!(write(&world, "a/b/c.txt", "one\ntwo\n"), "made a/b/c.txt: 2 lines, 8 bytes");
    assert_eq!(fs::read_to_string(world.path("yard/a/b/c.txt")).unwrap(), "one\ntwo\n");
    // Nothing is left of how it was written.
    assert_eq!(fs::read_dir(world.path("yard/a/b")).unwrap().count(), 1);
}

#[test]
fn an_existing_file_must_be_read_since_it_last_changed() {
    let world = World::new("//- yard/a.txt\nold\n");
    let refused = "error: `a.txt` exists, and you have not read it since it last changed: read_file \
                   first, or edit_file";
    assert_eq!(write(&world, "a.txt", "new\n"), refused);
    world.call("read_file", r#"{"path":"a.txt"}"#);
    let told = write(&world, "a.txt", "new\n");
    assert!(told.starts_with("replaced a.txt: 1 line, 4 bytes\n"), "{told}");
    assert!(told.contains("-old\n+new\n"), "{told}");
    // What it wrote itself, it knows; what another wrote, it does not.
    assert!(write(&world, "a.txt", "newer\n").starts_with("replaced"));
    fs::write(world.path("yard/a.txt"), "of another\n").unwrap();
    assert_eq!(write(&world, "a.txt", "newest\n"), refused);
    assert_eq!(fs::read_to_string(world.path("yard/a.txt")).unwrap(), "of another\n");
}

#[test]
fn a_file_keeps_its_mode_and_a_second_name_keeps_its_content() {
    let world = World::new("//- yard/run.sh\nold\n");
    let path = world.path("yard/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(&path, world.path("yard/twin")).unwrap();
    world.call("read_file", r#"{"path":"run.sh"}"#);
    assert!(write(&world, "run.sh", "new\n").starts_with("replaced"));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o750);
    assert_eq!(fs::read_to_string(world.path("yard/twin")).unwrap(), "old\n");
}

#[test]
fn nothing_is_written_outside_or_through_links_or_into_the_private_folder() {
    let world =
        World::new("//- yard/out -> <tmp>/out\n//- yard/gone -> <tmp>/out/new\n//- yard/p |");
    for path in
        ["../out/x", "out/x", "gone", "<tmp>/out/x", "/etc/x", ".kith/x", "a/../.kith/x", "p"]
    {
        let path = path.replace("<tmp>", world.tmp.to_str().unwrap());
        let told = write(&world, &path, "x");
        assert!(told.starts_with("error: "), "{path}: {told}");
    }
    assert_eq!(fs::read_dir(world.path("out")).unwrap().count(), 0);
    assert!(!world.path("yard/.kith").exists());
}

#[test]
fn the_self_is_known_by_path_and_through_links_present_or_absent() {
    let world = World::new("//- home/Agent.md\nx\n//- yard/mine -> <tmp>/home");
    for path in
        ["mine/Agent.md", "mine/SOUL.md", "<tmp>/home/memory/x.md", "AGENTS.md", ".git/config"]
    {
        let input = serde_json::json!({ "path": path, "content": "x" }).to_string();
        world.call(
            "read_file",
            &input.replace(r#","content":"x""#, "").replace(r#""content":"x","#, ""),
        );
        let plan = world.prepare("write_file", &input).unwrap();
        assert_eq!(plan.effects, [Effect::Oneself], "{path}");
        assert_eq!(plan.facts.read::<PathCallFacts>().unwrap().zone, Zone::Oneself, "{path}");
    }
    let plan = world.prepare("write_file", r#"{"path":"notes.md","content":"x"}"#).unwrap();
    assert_eq!(plan.effects, [Effect::Write]);
}

#[test]
fn a_file_that_changes_between_verdict_and_start_is_left_alone() {
    let world = World::new("//- yard/a.txt\nold\n");
    world.call("read_file", r#"{"path":"a.txt"}"#);
    let plan = world.prepare("write_file", r#"{"path":"a.txt","content":"new"}"#).unwrap();
    fs::write(world.path("yard/a.txt"), "of another\n").unwrap();
    world.call("read_file", r#"{"path":"a.txt"}"#);
    let told = world.run("write_file", plan).plain_text().to_string();
    assert!(told.contains("what it would act on is not what was judged"), "{told}");
    assert_eq!(fs::read_to_string(world.path("yard/a.txt")).unwrap(), "of another\n");
}

#[test]
fn a_repository_written_file_by_file_is_asked_about() {
    let world = World::new("//- yard/nest/HEAD\nref: refs/heads/x\n//- yard/nest/refs/x\n");
    for (path, effect) in [
        ("nest/config", Effect::Oneself),
        ("nest/objects/x", Effect::Oneself),
        ("nest/notes", Effect::Write),
        ("config", Effect::Write),
    ] {
        let input = serde_json::json!({ "path": path, "content": "x" }).to_string();
        assert_eq!(world.prepare("write_file", &input).unwrap().effects, [effect], "{path}");
    }
}
