//! What is private carries a mark, and the marks are looked for in every prompt.

use kith_vocab::header::Audience;
use kith_vocab::json::Json;

use crate::test_home::TestHome;

/// Each private place and the mark in it.
const PLACES: [(&str, &str); 13] = [
    ("MEMORY.md", "canary-memory"),
    ("memory/2026-11-15.md", "canary-today"),
    ("memory/2026-11-14.md", "canary-yesterday"),
    ("memory/2026-11-13.md", "canary-older"),
    ("memory/archive/2026.md", "canary-archive"),
    ("USER.md", "canary-user"),
    (".kith/memory/users/owner.md", "canary-owner"),
    (".kith/memory/users/telegram%3a42.md", "canary-other-user"),
    (".kith/memory/users/owner.md.bak", "canary-backup"),
    (".kith/sessions/x.jsonl", "canary-session"),
    (".kith/memory/project.md", "canary-project"),
    ("TOOLS.md", "canary-tools"),
    ("canary-folder/x", "canary-nested"),
];

#[test]
fn only_the_owner_is_told_what_is_the_owners() {
    check(
        Audience::Owner,
        "canary-memory canary-today canary-yesterday canary-user canary-owner canary-project \
         canary-tools canary-folder",
    );
    check(Audience::Shared, "canary-project canary-tools canary-folder");
    check(Audience::Peer, "");
}

#[test]
fn the_person_spoken_to_brings_their_own_file_and_nobody_elses() {
    let mut files = home();
    files.audience = Audience::Shared;
    files.user_id = Some("telegram:42");
    let found = marks(&files);
    assert_eq!(found, "canary-other-user canary-project canary-tools canary-folder");
    // A peer is told nothing of people, whatever a caller may say.
    files.audience = Audience::Peer;
    assert_eq!(marks(&files), "");
    // An id that would climb finds no file.
    files.audience = Audience::Shared;
    files.user_id = Some("../../../MEMORY");
    assert_eq!(marks(&files), "canary-project canary-tools canary-folder");
}

fn home() -> TestHome {
    let files = PLACES.map(|(path, mark)| format!("//- {path}\n- Name: {mark}\n"));
    TestHome::new(&format!("//- Agent.md\nx\n{}", files.concat()))
}

#[track_caller]
fn check(audience: Audience, expected: &str) {
    assert_eq!(marks(&home().seen_by(audience)), expected, "{audience:?}");
}

/// The marks anywhere in the snapshot: in the prompt, or in a source beside it.
fn marks(files: &TestHome) -> String {
    let snapshot = Json::of(&files.snapshot().snapshot);
    let marks = PLACES.iter().map(|&(_, mark)| mark).chain(["canary-folder"]);
    let found: Vec<&str> = marks.filter(|mark| snapshot.as_str().contains(mark)).collect();
    found.join(" ")
}
