use std::fs;

use kith_vocab::event::messages::Trust;

use crate::fixture::World;

const WORLD: &str = "
//- yard/a.txt
needle
//- yard/.kith/sessions/s.jsonl
needle of a session
//- out/elsewhere.txt
needle of elsewhere
//- out/skills/tidy/SKILL.md
Sort them.
//- yard/only/
//- yard/private/";

#[test]
fn a_file_with_several_names_is_untrusted() {
    let world = world();
    assert_eq!(world.trust("read_file", r#"{"path":"a.txt"}"#), Trust::Owner);
    assert_eq!(world.trust("search_files", r#"{"pattern":"needle","path":"only"}"#), Trust::Owner);
    fs::hard_link(world.path("out/elsewhere.txt"), world.path("yard/only/b.txt")).unwrap();
    for (tool, input) in [
        ("read_file", r#"{"path":"only/b.txt"}"#),
        ("search_files", r#"{"pattern":"needle","path":"only/b.txt"}"#),
        ("search_files", r#"{"pattern":"needle","path":"only"}"#),
    ] {
        assert_eq!(world.trust(tool, input), Trust::Untrusted, "{tool} {input}");
        assert!(world.call(tool, input).contains("elsewhere"), "{tool} {input}");
    }
    assert_eq!(world.trust("skill", r#"{"name":"tidy"}"#), Trust::Owner);
    let skill = world.path("out/skills/tidy/SKILL.md");
    fs::hard_link(skill, world.path("out/second.md")).unwrap();
    assert_eq!(world.trust("skill", r#"{"name":"tidy"}"#), Trust::Untrusted);
}

#[test]
fn a_second_name_of_a_file_in_kith_is_not_read() {
    let world = world();
    let second = world.path("yard/private/h.jsonl");
    fs::hard_link(world.path("yard/.kith/sessions/s.jsonl"), second).unwrap();
    for (tool, input) in [
        ("read_file", r#"{"path":"private/h.jsonl"}"#),
        ("search_files", r#"{"pattern":"needle","path":"private/h.jsonl"}"#),
    ] {
        let said = world.call(tool, input);
        let told = "error: `private/h.jsonl` lies in `.kith`, which tools may not read";
        assert_eq!(said, told, "{tool}");
    }
    let said = world.call("search_files", r#"{"pattern":"needle","path":"private"}"#);
    assert!(!said.contains("session"), "{said}");
}

fn world() -> World {
    World::new(WORLD)
}
