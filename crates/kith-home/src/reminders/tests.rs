//! A home that changes under a session, and what its model is told.

use std::fs;

use insta::assert_snapshot;
use kith_vocab::event::messages::Visibility;
use kith_vocab::header::Audience;

use super::*;
use crate::test_home::{NOW_MS, TestHome};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A session: what it was given, and what it has heard since.
struct Session {
    files: TestHome,
    frozen: InstructionSnapshot,
    heard: Vec<HarnessItem>,
    now_ms: u64,
}

impl Session {
    fn new(files: TestHome) -> Session {
        let frozen = files.snapshot().snapshot;
        Session { files, frozen, heard: Vec::new(), now_ms: NOW_MS }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.files.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.files.home.join(path)).unwrap();
    }

    /// What the next message brings, as it would stand in the log.
    fn hear(&mut self) -> Vec<HarnessItem> {
        let data = |kind| {
            let of_kind = self.heard.iter().filter(move |it| it.kind == kind);
            of_kind.filter_map(|it| it.data.as_ref())
        };
        let dates = data(HarnessKind::DateChange);
        let heard = KnownFacts::of(dates, data(HarnessKind::RuntimeNotice));
        let news = reminders(&self.frozen, &heard, &self.files.look(self.now_ms), self.now_ms);
        self.heard.extend(news.clone());
        news
    }

    /// The texts of it.
    fn told(&mut self) -> String {
        let texts: Vec<String> = self.hear().into_iter().map(|it| it.content.into()).collect();
        self.files.portable(&texts.join("\n---\n"))
    }
}

fn session(files: &str) -> Session {
    Session::new(TestHome::new(files))
}

#[test]
fn nothing_changed_nothing_told() {
    let mut session = session("//- Agent.md\nBe kind.\n//- MEMORY.md\nx\n//- SOUL.md\n<!-- -->\n");
    assert_eq!(session.told(), "");
    // Touched, and written again with the same text.
    session.write("Agent.md", "Be kind.\n");
    assert_eq!(session.told(), "");
}

#[test]
fn a_changed_file_is_told_once_per_content_with_what_differs() {
    let mut session = session("//- Agent.md\none\ntwo\nthree\n");
    session.write("Agent.md", "one\n2\nthree\n");
    assert_snapshot!(session.told(), @r"
    The file `/user/luna/Agent.md` has changed. The new text holds from now on; it differs from your instructions in this:
    @@ -1,3 +1,3 @@
     one
    -two
    +2
     three
    ");
    assert_eq!(session.told(), "");
    session.write("Agent.md", "one\n2\n3\n");
    // Always against the instructions, which the model sees, not against what was there between.
    assert_snapshot!(session.told(), @r"
    The file `/user/luna/Agent.md` has changed. The new text holds from now on; it differs from your instructions in this:
    @@ -1,3 +1,3 @@
     one
    -two
    -three
    +2
    +3
    ");
    session.write("Agent.md", "one\ntwo\nthree\n");
    assert_snapshot!(session.told(), @"The file `/user/luna/Agent.md` is again as your instructions have it.");
    assert_eq!(session.told(), "");
}

#[test]
fn the_data_says_which_file_and_which_text() {
    let mut session = session("//- Agent.md\nx\n//- TOOLS.md\ny\n");
    session.write("TOOLS.md", "z\n");
    let notice = session.hear().remove(0);
    let path = session.files.home.join("TOOLS.md");
    let sha256 = kith_vocab::digest::sha256_hex(b"z\n");
    assert_eq!(
        notice.data.unwrap().as_str(),
        format!("{{\"path\":\"{}\",\"sha256\":\"{sha256}\"}}", path.display())
    );
    assert_eq!((notice.origin, notice.visibility), (Origin::System, Visibility::Compact));
    session.remove("TOOLS.md");
    let gone = session.hear().remove(0);
    assert!(gone.data.unwrap().as_str().ends_with("\"sha256\":null}"));
}

#[test]
fn files_that_appear_and_vanish_are_told() {
    let mut session = session("//- Agent.md\nx\n//- SOUL.md\nwarm\n");
    session.write("MEMORY.md", "likes tea\n");
    session.remove("SOUL.md");
    session.remove("Agent.md");
    assert_snapshot!(session.told(), @r"
    The file `/user/luna/Agent.md` is gone or empty now. What you were told of it no longer holds.
    ---
    The file `/user/luna/SOUL.md` is gone or empty now. What you were told of it no longer holds.
    ---
    The file `/user/luna/MEMORY.md` is not part of your instructions yet. It holds from now on:
    @@ -0,0 +1 @@
    +likes tea
    ");
    session.remove("MEMORY.md");
    session.write("SOUL.md", "warm\n");
    assert_snapshot!(session.told(), @r"
    The file `/user/luna/SOUL.md` is again as your instructions have it.
    ---
    The file `/user/luna/MEMORY.md` is gone or empty now. What you were told of it no longer holds.
    ");
    assert_eq!(session.told(), "");
}

#[test]
fn the_project_chain_is_watched() {
    let mut session = Session::new(
        TestHome::new("//- Agent.md\nx\n//- /user/a/AGENTS.md\nfar\n//- /user/a/b/note\n")
            .at("user/a/b"),
    );
    session.write("../a/AGENTS.md", "farther\n");
    session.write("../a/b/AGENTS.md", "near\n");
    session.write("../a/b/c/AGENTS.md", "below\n");
    let told = session.told();
    assert!(told.contains("-far\n+farther") && told.contains("+near"), "{told}");
    assert!(!told.contains("below"), "{told}");
}

#[test]
fn a_folder_that_is_gone_stops_nothing() {
    let mut session =
        Session::new(TestHome::new("//- Agent.md\nx\n//- /srv/a/AGENTS.md\nnear\n").at("srv/a"));
    fs::remove_dir_all(&session.files.cwd).unwrap();
    session.now_ms += DAY_MS;
    assert_snapshot!(session.told(), @r"
    The date has changed: today is Monday, 16 November 2026 (Europe/Berlin).
    ---
    The file `/srv/a/AGENTS.md` is gone or empty now. What you were told of it no longer holds.
    ");
}

#[test]
fn a_file_that_cannot_be_read_is_told_and_stops_nothing() {
    use std::os::unix::fs::symlink;
    let mut session = session("//- Agent.md\nx\n//- SOUL.md\nwarm\n");
    session.remove("SOUL.md");
    symlink("SOUL.md", session.files.home.join("SOUL.md")).unwrap();
    assert_snapshot!(session.told(), @"The file `/user/luna/SOUL.md` can no longer be used: it is unreadable, not a file, or not safe to trust. What your instructions have of it may be out of date.");
    assert_eq!(session.told(), "");
    session.remove("SOUL.md");
    assert_snapshot!(session.told(), @"The file `/user/luna/SOUL.md` is gone or empty now. What you were told of it no longer holds.");
}

#[test]
fn the_date_is_told_when_it_changes_in_the_users_zone() {
    let mut session = session("//- Agent.md\nx\n");
    // 22:59:59 in Berlin; an hour and a second later it is the next day.
    session.now_ms += 60 * 60 * 1000;
    assert_eq!(session.told(), "");
    session.now_ms += 1000;
    let reminder = session.hear().remove(0);
    assert_snapshot!(reminder.content, @"The date has changed: today is Monday, 16 November 2026 (Europe/Berlin).");
    assert_eq!(reminder.data.unwrap().as_str(), r#"{"date":"2026-11-16"}"#);
    assert_eq!(
        (reminder.kind, reminder.visibility),
        (HarnessKind::DateChange, Visibility::Compact)
    );
    assert_eq!(session.told(), "");
    session.now_ms += 3 * DAY_MS;
    assert_snapshot!(session.told(), @"The date has changed: today is Thursday, 19 November 2026 (Europe/Berlin).");
    // A clock that was put right, too.
    session.now_ms = NOW_MS;
    assert_snapshot!(session.told(), @"The date has changed: today is Sunday, 15 November 2026 (Europe/Berlin).");
}

#[test]
fn a_snapshot_without_facts_began_when_it_was_frozen() {
    let mut session = session("//- Agent.md\nx\n");
    for section in &mut session.frozen.sections {
        section.data = None;
    }
    assert_eq!(session.told(), "");
    session.now_ms += DAY_MS;
    assert!(session.told().contains("Monday, 16 November 2026"));
}

#[test]
fn a_note_whose_day_has_passed_is_not_missed() {
    let mut session =
        session("//- Agent.md\nx\n//- memory/2026-11-14.md\nold\n//- memory/2026-11-15.md\nnew\n");
    session.write("memory/2026-11-15.md", "new\nnewer\n");
    session.now_ms += DAY_MS;
    session.write("memory/2026-11-16.md", "newest\n");
    assert_snapshot!(session.told(), @r"
    The date has changed: today is Monday, 16 November 2026 (Europe/Berlin).
    ---
    The file `/user/luna/memory/2026-11-15.md` has changed. The new text holds from now on; it differs from your instructions in this:
    @@ -1 +1,2 @@
     new
    +newer
    ---
    The file `/user/luna/memory/2026-11-16.md` is not part of your instructions yet. It holds from now on:
    @@ -0,0 +1 @@
    +newest
    ");
    session.now_ms += 7 * DAY_MS;
    assert_snapshot!(session.told(), @"The date has changed: today is Monday, 23 November 2026 (Europe/Berlin).");
}

#[test]
fn too_much_at_once_is_cut_and_said() {
    let mut session = session("//- Agent.md\nx\n");
    for name in ["AGENTS.md", "SOUL.md", "USER.md", "IDENTITY.md", "TOOLS.md", "MEMORY.md"] {
        session.write(name, &"a long line of text that says little\n".repeat(1_500));
    }
    let told = session.told();
    assert!(told.len() < NEWS_BYTES_MAX + 4_000, "{}", told.len());
    assert_eq!(told.matches("more lines of the difference are left out; read `").count(), 6);
    for name in ["AGENTS.md", "SOUL.md", "USER.md", "IDENTITY.md", "TOOLS.md", "MEMORY.md"] {
        session.write(name, &"x".repeat(60_000));
    }
    let told = session.told();
    assert!(told.len() < NEWS_BYTES_MAX + 4_000, "{}", told.len());
    assert!(told.contains("the rest of this line"), "{told}");
    assert!(told.contains("too much changed at once; read `/user/luna/"), "{told}");
}

/// Words that stand only where an audience may not look.
const PRIVATE: &str = "\
//- Agent.md
Be kind.
//- USER.md
- Name: canary-user
- Timezone: Europe/Berlin
- Preferred language: Chinese
//- MEMORY.md
canary-memory
//- memory/2026-11-15.md
canary-note
//- memory/2026-11-14.md
canary-yesterday
//- .kith/memory/users/u2.md
canary-other
//- TOOLS.md
bait-tools
";

#[test]
fn an_audience_is_never_told_what_its_prompt_may_not_hold() {
    for audience in [Audience::Shared, Audience::Peer] {
        let mut session = Session::new(TestHome::new(PRIVATE).seen_by(audience));
        let prompt = session.frozen.system_prompt();
        let mut shown = Vec::new();
        for (path, text) in [
            (
                "USER.md",
                "- Name: canary-two\n- Timezone: Europe/Berlin\n- Preferred language: Chinese\n",
            ),
            ("MEMORY.md", "canary-two\n"),
            ("memory/2026-11-15.md", "canary-two\n"),
            ("memory/2026-11-14.md", "canary-two\n"),
            (".kith/memory/users/u2.md", "canary-two\n"),
        ] {
            session.write(path, text);
            assert_eq!(session.told(), "", "{path} for {audience:?}");
        }
        session.write("TOOLS.md", "bait-two\n");
        let told = session.told();
        assert_eq!(told.contains("bait-two"), audience == Audience::Shared, "{told}");
        shown.push(told);
        session.write("USER.md", "- Name: canary-three\n- Timezone: Asia/Tokyo\n");
        shown.push(session.told());
        for path in ["USER.md", "MEMORY.md", "memory/2026-11-15.md", "TOOLS.md"] {
            session.remove(path);
            shown.push(session.told());
        }
        let shown = shown.join("\n");
        for text in [&prompt, &shown] {
            assert!(!text.contains("canary"), "{text}");
            assert!(audience == Audience::Shared || !text.contains("bait"), "{text}");
        }
        assert!(!shown.contains("MEMORY.md") && !shown.contains("2026-11-15.md"), "{shown}");
        assert!(audience == Audience::Shared || !shown.contains("TOOLS.md"), "{shown}");
        // The public fields are told, and that is all.
        assert!(
            shown.contains(
                "-Timezone: Europe/Berlin\n-Preferred language: zh\n+Timezone: Asia/Tokyo"
            ),
            "{shown}"
        );
    }
}

#[test]
fn a_peer_is_told_no_path() {
    let mut session = Session::new(TestHome::new("//- Agent.md\nx\n").seen_by(Audience::Peer));
    session.write("Agent.md", "y\n");
    assert!(session.told().starts_with("The file `Agent.md` has changed."));
}

#[test]
fn a_look_is_taken_again_only_when_something_may_have_changed() {
    let session = session("//- Agent.md\nx\n//- SOUL.md\nwarm\n");
    // Long after the files were written, as the disk counts.
    let later = u64::MAX / 1_000_000;
    let now = later - later % DAY_MS;
    let look = || session.files.look(now);
    let taken = look();
    assert!(taken.is_current(now + 1000));
    assert!(!taken.is_current(now + DAY_MS));
    // A file that was just written may change again without showing it.
    assert!(!session.files.look(1).is_current(1));

    session.write("Agent.md", "xy\n");
    assert!(!taken.is_current(now));
    let taken = look();
    session.write("TOOLS.md", "new\n");
    assert!(!taken.is_current(now));
    let taken = look();
    session.remove("SOUL.md");
    assert!(!taken.is_current(now));
    let taken = look();
    fs::create_dir(session.files.home.join(".git")).unwrap();
    assert!(!taken.is_current(now));
    assert!(look().is_current(now));
}
