//! One host, many messages: the look that is kept must not hide a change.

use std::fs;

use kith_engine::state::State;
use kith_home::identity::ConfiguredIdentity;
use kith_testkit::transcript::transcript;
use kith_vocab::event::messages::InstructionSnapshotEvent;
use kith_vocab::header::{HeaderMeta, HeaderType, LOG_FORMAT_VERSION};
use tempfile::TempDir;

use super::*;
use crate::opening::assemble;

/// Long after any file of this test was written, as its disk counts time.
const VOICES: Voices<'_> = Voices { folders: &[], periods: &[] };
const NOW: u64 = 4_102_444_800_000;

struct Conversation {
    _dir: TempDir,
    house: House,
    member: Member,
    header: SessionHeader,
    state: State,
    looks: Looks,
}

impl Conversation {
    fn new() -> Conversation {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().canonicalize().unwrap();
        fs::write(dir.join("Agent.md"), "Be kind.\n").unwrap();
        let house = House { dir: dir.clone(), cwd: dir.clone(), user_home: None };
        let member = Member {
            id: "main".to_owned(),
            home: dir.clone(),
            skills: None,
            identity: ConfiguredIdentity::default(),
        };
        let assembled = assemble((&house, &member), &dir, Audience::Owner, NOW, VOICES).unwrap();
        let mut log = transcript("title x | user: hi");
        let snapshot = InstructionSnapshotEvent { snapshot: assembled.snapshot };
        log.events[0].body = Body::InstructionSnapshot(snapshot);
        let state = State::of(&log.events);
        let header = SessionHeader {
            v: LOG_FORMAT_VERSION,
            line_type: HeaderType::SessionHeader,
            session_id: "01a1e11b-9858-75e6-b081-4c1ec49881c0".parse().unwrap(),
            agent_id: "main".to_owned(),
            device_id: "device".to_owned(),
            created_at: NOW,
            thread_id: "cli:room:a".parse().unwrap(),
            audience: Audience::Owner,
            cwd: dir.display().to_string(),
            cloned_from: None,
            parent: None,
            meta: HeaderMeta::default(),
        };
        Conversation { _dir: folder, house, member, header, state, looks: Looks::default() }
    }

    /// How many things the next message would bring.
    fn n_news(&self) -> usize {
        let whose = (&self.house, &self.member, VOICES);
        self.looks.news(whose, &self.header, &self.state.knowledge(), NOW).len()
    }
}

#[test]
fn a_look_that_is_kept_hides_no_change() {
    let conversation = Conversation::new();
    let path = |name: &str| conversation.house.dir.join(name);
    assert_eq!([conversation.n_news(), conversation.n_news()], [0, 0]);
    fs::write(path("Agent.md"), "Be stern.\n").unwrap();
    assert_eq!([conversation.n_news(), conversation.n_news()], [1, 1]);
    fs::write(path("SOUL.md"), "Warm.\n").unwrap();
    assert_eq!([conversation.n_news(), conversation.n_news()], [2, 2]);
    fs::write(path("Agent.md"), "Be kind.\n").unwrap();
    fs::remove_file(path("SOUL.md")).unwrap();
    assert_eq!(conversation.n_news(), 0);
}

#[test]
fn a_kept_look_is_used_again_and_not_too_many_are_kept() {
    let mut conversation = Conversation::new();
    let look = |it: &Conversation| {
        let whose = (&it.house, &it.member, VOICES);
        it.looks.look(whose, &it.header, NOW).unwrap()
    };
    let first = look(&conversation);
    assert!(Arc::ptr_eq(&first, &look(&conversation)));
    for n in 0..=LOOKS_KEPT_MAX {
        conversation.header.cwd = format!("/nowhere/{n}");
        look(&conversation);
    }
    assert!(conversation.looks.0.lock().unwrap().len() <= LOOKS_KEPT_MAX);
}

#[test]
fn without_a_snapshot_there_is_nothing_to_compare_with() {
    let conversation = Conversation { state: State::default(), ..Conversation::new() };
    assert_eq!(conversation.n_news(), 0);
}
