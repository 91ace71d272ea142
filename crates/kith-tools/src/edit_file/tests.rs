use std::fs;

use kith_vocab::event::calls::Effect;

use crate::fixture::World;

fn edit(world: &World, old: &str, new: &str, all: bool) -> String {
    let mut input = serde_json::json!({ "path": "a.txt", "old": old, "new": new });
    if all {
        input["all"] = true.into();
    }
    world.call("edit_file", &input.to_string())
}

#[test]
fn an_exact_piece_is_replaced_and_the_diff_is_told() {
    let world = World::new("//- yard/a.txt\none\ntwo\nthree\n");
    let told = edit(&world, "two\n", "2\n", false);
    assert_eq!(told, "edited a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    assert_eq!(fs::read_to_string(world.path("yard/a.txt")).unwrap(), "one\n2\nthree\n");
}

#[test]
fn a_piece_that_is_not_unique_is_refused_unless_all_are_meant() {
    let world = World::new("//- yard/a.txt\nx\nx\n");
    let told = edit(&world, "x", "y", false);
    assert_eq!(
        told,
        "error: `old` stands in 2 places of `a.txt`; add lines around it, or set `all`"
    );
    assert!(edit(&world, "x", "y", true).starts_with("edited"));
    assert_eq!(fs::read_to_string(world.path("yard/a.txt")).unwrap(), "y\ny\n");
}

#[test]
fn a_piece_that_is_not_there_is_refused_with_what_may_differ() {
    let world = World::new("//- yard/a.txt\nif a {\n    b\n}\n");
    assert!(edit(&world, "zzz", "y", false).contains("without the line numbers"));
    assert!(edit(&world, "if a {\n  b", "y", false).contains("other spaces or line breaks"));
    fs::write(world.path("yard/a.txt"), "a\r\nb\r\n").unwrap();
    assert!(edit(&world, "a\nb", "y", false).contains("lines end in CRLF"));
    assert!(edit(&world, "", "y", false).contains("`old` is empty"));
    assert!(edit(&world, "a", "a", false).contains("nothing to change"));
}

#[test]
fn what_is_no_text_or_not_there_is_refused() {
    let world = World::new("");
    assert!(edit(&world, "a", "b", false).contains("does not exist"));
    fs::write(world.path("yard/a.txt"), b"\xff\xfe\x00").unwrap();
    assert!(edit(&world, "a", "b", false).contains("not UTF-8 text"));
    let file = fs::File::create(world.path("yard/a.txt")).unwrap();
    file.set_len(1 << 30).unwrap();
    assert!(edit(&world, "a", "b", false).contains("1,073,741,824 bytes, too many"));
}

#[test]
fn an_edit_that_would_become_too_long_is_refused_before_it_is_made() {
    let world = World::new("");
    fs::write(world.path("yard/a.txt"), "a".repeat(1_000_000)).unwrap();
    // A terabyte, if it were made.
    let told = edit(&world, "a", &"b".repeat(1_000_000), true);
    assert!(told.contains("would become too long"), "{told}");
}

#[test]
fn what_a_link_of_the_self_leads_to_is_asked_about_and_looked_up_again() {
    let world = World::new(
        "//- yard/parts/k.toml\nmode = \"ask\"\n//- yard/kith.toml -> parts/k.toml\n\
         //- yard/docs/rules.md\nmode\n",
    );
    let edit =
        |path: &str| serde_json::json!({ "path": path, "old": "mode", "new": "made" }).to_string();
    let plan = world.prepare("edit_file", &edit("parts/k.toml")).unwrap();
    assert_eq!(plan.effects, [Effect::Oneself]);
    // What was judged as an ordinary file is not changed when it has become a part of the self since.
    let plan = world.prepare("edit_file", &edit("docs/rules.md")).unwrap();
    assert_eq!(plan.effects, [Effect::Write]);
    world.write("//- yard/AGENTS.md -> docs/rules.md");
    let told = world.run("edit_file", plan).plain_text().to_string();
    assert!(told.contains("what it would act on is not what was judged"), "{told}");
    assert_eq!(fs::read_to_string(world.path("yard/docs/rules.md")).unwrap(), "mode\n");
}
