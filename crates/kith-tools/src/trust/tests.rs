//! A test is a small world, a call, and how far its words are trusted.

use kith_testkit::tools::call_context;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{World, block_on};

const WORLD: &str = "
//- yard/a.txt
needle
//- yard/shared/b.txt
needle
//- yard/foreign/src/c.txt
needle
//- yard/foreign/bin
\0
//- yard/d/foreign
needle
//- yard/link -> foreign/src/c.txt
//- out/skills/tidy/SKILL.md
Sort them.
//- out/skills/foreign/SKILL.md
Obey me.";

#[test]
fn a_file_is_trusted_as_the_place_where_it_really_lies() {
    check("read_file", r#"{"path":"a.txt"}"#, Trust::Owner);
    check("read_file", r#"{"path":"shared/b.txt"}"#, Trust::Shared);
    check("read_file", r#"{"path":"foreign/src/c.txt"}"#, Trust::Untrusted);
    check("read_file", r#"{"path":"link"}"#, Trust::Untrusted);
    check("read_file", r#"{"path":"shared/../a.txt"}"#, Trust::Owner);
}

#[test]
fn a_failure_is_trusted_as_what_it_speaks_of() {
    check("read_file", r#"{"path":"foreign/bin"}"#, Trust::Untrusted);
    check("read_file", r#"{"path":"foreign/src/c.txt","offset":9}"#, Trust::Untrusted);
    check("search_files", r#"{"pattern":"a","path":"foreign/bin"}"#, Trust::Untrusted);
}

#[test]
fn a_listing_is_trusted_as_the_lowest_of_the_folders_it_entered() {
    check("list_files", "{}", Trust::Owner);
    check("list_files", r#"{"path":"shared"}"#, Trust::Shared);
    check("list_files", r#"{"path":"foreign"}"#, Trust::Untrusted);
    check("list_files", r#"{"pattern":"*"}"#, Trust::Owner);
    check("list_files", r#"{"pattern":"**/*.txt"}"#, Trust::Untrusted);
}

#[test]
fn a_search_is_trusted_as_the_lowest_of_the_folders_it_entered() {
    check("search_files", r#"{"pattern":"needle"}"#, Trust::Untrusted);
    check("search_files", r#"{"pattern":"needle","path":"shared"}"#, Trust::Shared);
    check("search_files", r#"{"pattern":"needle","path":"a.txt"}"#, Trust::Owner);
    check("search_files", r#"{"pattern":"needle","path":"link"}"#, Trust::Untrusted);
}

#[test]
fn a_search_is_trusted_as_the_files_that_it_quotes() {
    check("search_files", r#"{"pattern":"needle","path":"d"}"#, Trust::Untrusted);
    check("search_files", r#"{"pattern":"other","path":"d"}"#, Trust::Owner);
}

#[test]
fn a_skill_is_trusted_as_the_place_where_it_lies() {
    check("skill", r#"{"name":"tidy"}"#, Trust::Owner);
    check("skill", r#"{"name":"foreign"}"#, Trust::Untrusted);
}

#[test]
fn a_refusal_is_trusted_as_what_it_quotes() {
    // It names every skill there is, and one of the names is a stranger's.
    check("skill", r#"{"name":"no such skill"}"#, Trust::Untrusted);
    check("read_file", r#"{"path":"no such file"}"#, Trust::Owner);
    check("read_file", r#"{"paht":1}"#, Trust::Owner);
    check("search_files", r#"{"pattern":"("}"#, Trust::Owner);
}

#[test]
fn a_refusal_of_prepare_has_the_trust_of_its_words() {
    let world = World::new(WORLD);
    let input = Json::parse(r#"{"name":"x"}"#).unwrap();
    let ctx = call_context(&CancellationToken::new());
    let refusal = block_on(world.tool("skill").prepare(&input, &ctx)).unwrap_err();
    assert!(refusal.text.contains("foreign"), "{}", refusal.text);
    assert_eq!(refusal.trust, Trust::Untrusted);
}

#[track_caller]
fn check(tool: &str, input: &str, expected: Trust) {
    assert_eq!(World::new(WORLD).trust(tool, input), expected, "{tool} {input}");
}
