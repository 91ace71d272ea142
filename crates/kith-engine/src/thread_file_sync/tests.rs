//! Whatever happens between a log and its thread file, the next turn puts it right.

use std::fmt::Write;
use std::sync::Arc;

use futures_util::FutureExt;
use kith_sessions::journal::FilesJournal;
use kith_sessions::log::SessionLog;
use kith_sessions::store::SessionStore;
use kith_testkit::clock::{FakeClock, START, numbered_id};
use kith_testkit::events::fixed_cases;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles, Written};
use kith_testkit::transcript::transcript;
use kith_vocab::event::{Body, Event};
use kith_vocab::files::FileSystem;
use kith_vocab::header::CloneOrigin;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::proptest;

use super::*;
use crate::fixture;

const DIR: &str = "/house/.kith";
const FILE: &str = "/house/.kith/threads/cli%3aroom%3atest.jsonl";

/// A house in memory whose sessions are written as transcripts.
struct House {
    files: MemoryFiles,
    store: SessionStore,
    threads: ThreadFileSync,
    sessions: Vec<Writing>,
}

/// A session whose log is written turn by turn.
struct Writing {
    id: SessionId,
    log: SessionLog,
    story: String,
    n_written: usize,
}

impl House {
    fn new() -> House {
        let files = MemoryFiles::new();
        let store = SessionStore::new(Arc::new(files.clone()), DIR.as_ref());
        let threads = threads(&files);
        House { files, store, threads, sessions: Vec::new() }
    }

    fn begin(&mut self, cloned_from: Option<CloneOrigin>) -> SessionId {
        let id = session_id(self.sessions.len() as u64);
        let mut header = fixture::header(id);
        header.cloned_from = cloned_from;
        let log = self.store.create(&header, &[]).unwrap();
        self.sessions.push(Writing { id, log, story: String::new(), n_written: 0 });
        id
    }

    /// Lives what the line says, and gives what somebody who watched saw of it.
    fn live(&mut self, session: usize, line: &str) -> Projection {
        let writing = &mut self.sessions[session];
        write!(writing.story, " | {line}").unwrap();
        let events = of_session(session, &writing.story);
        let new = &events[writing.n_written..];
        let thread_id = "cli:room:test".parse().unwrap();
        let mut seen = Projection::of_new_turns("main", &thread_id, writing.id);
        for event in new {
            seen.take(event);
        }
        if !new.is_empty() {
            writing.log.append(new).unwrap();
        }
        writing.n_written = events.len();
        seen
    }

    /// The process was killed, and another opens the house.
    fn restart(&mut self) {
        self.files = self.files.reboot(CrashModel::ProcessKilled);
        self.store = SessionStore::new(Arc::new(self.files.clone()), DIR.as_ref());
        self.threads = threads(&self.files);
        for writing in &mut self.sessions {
            let clock = FakeClock::new();
            writing.log = self.store.open(writing.id, None, &clock, &mut |_| ()).unwrap();
        }
    }

    fn turn(&mut self, session: usize, line: &str) {
        let seen = self.live(session, line);
        now(self.threads.catch_up(self.sessions[session].id, Some(&seen))).unwrap();
    }

    fn file(&self) -> Option<String> {
        self.files.contents(FILE).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// The file, in which the last line of a message counts, is what the logs say.
    #[track_caller]
    fn check(&self) {
        let ids: Vec<SessionId> = self.sessions.iter().map(|it| it.id).collect();
        let expected = lines(&now(self.threads.logs.messages(&ids)).unwrap());
        let held = self.threads.files.lines(FILE.as_ref()).unwrap();
        let held = held.map(|it| latest_lines(it).unwrap().concat()).unwrap_or_default();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(text(held), text(expected));
        assert!(now(self.threads.is_up_to_date(&key())).unwrap());
    }
}

fn key() -> ThreadKey {
    ThreadKey { agent_id: "main".to_owned(), thread_id: "cli:room:test".parse().unwrap() }
}

fn threads(files: &MemoryFiles) -> ThreadFileSync {
    let files: Arc<dyn FileSystem> = Arc::new(files.clone());
    let store = SessionStore::new(Arc::clone(&files), DIR.as_ref());
    let journal = Arc::new(FilesJournal::reader(store));
    ThreadFileSync::new(journal, ThreadFiles::new(files, DIR.as_ref()))
}

/// What the files answer, which they do at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files are read at once")
}

fn session_id(n: u64) -> SessionId {
    SessionId::from_uuid(numbered_id(START, n))
}

/// The events of a transcript, with ids that no other session has.
fn of_session(session: usize, story: &str) -> Vec<Event> {
    let events = transcript(story).events;
    let other = |event: &Event| -> Event {
        let text = serde_json::to_string(event).unwrap();
        let text = text.replace("-7000-8000-", &format!("-7000-90{session:02}-"));
        let text = text.replace("70008000", &format!("700090{session:02}"));
        serde_json::from_str(&text).unwrap()
    };
    events.iter().map(other).collect()
}

/// A turn of its own for each number.
fn turn(n: usize, choice: u8) -> String {
    match choice % 8 {
        0 | 1 => format!("user: say {n} | model#m{n}: {n} | ended done"),
        2 => format!(
            "user: 做 {n} | model: ok, write_file=c{n} | hold c{n} | asked c{n} | allow c{n} \
             | start c{n} | done c{n} | note seen | model#m{n}: done | ended done"
        ),
        3 => format!(
            "user: do {n} | model#m{n}: ok, write_file=c{n} | hold c{n} | asked c{n} | deny c{n} \
             | refused c{n} no | ended done"
        ),
        4 => format!(
            "user#m{n}: fail {n} | asked model | failed network | notice gone | ended failed"
        ),
        5 => format!("title the {n}th"),
        6 => format!("user#m{n}: wait {n} | model: ok, write_file=w{n} | hold w{n} | asked w{n}"),
        _ => format!("user: a {n} | user: b {n} | model#m{n}: both | ended done | notice after"),
    }
}

#[test]
fn turns_are_appended_and_nothing_else_is_touched() {
    let mut house = House::new();
    house.begin(None);
    assert_eq!(house.file(), None);
    house.turn(0, "user: one | model: 1 | ended done");
    let before = house.file().unwrap();
    let n_operations = house.files.count();
    house.turn(0, "user: two | model: 2 | ended done");
    let after = house.file().unwrap();
    assert!(after.starts_with(&before) && after.lines().count() == 4, "{after}");
    // One write for the log with its sync, one for the file without.
    let operations = house.files.operations()[n_operations..].join("\n");
    assert_eq!(operations.matches(FILE).count(), 1, "{operations}");
    assert!(!operations.contains(&format!("sync {FILE}")), "{operations}");
    house.check();
}

#[test]
fn a_file_or_folder_that_is_gone_comes_back() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, &turn(1, 2));
    house.begin(None);
    house.turn(1, &turn(2, 0));
    let before = house.file().unwrap();
    house.files.remove(FILE.as_ref()).unwrap();
    house.turn(1, &turn(3, 0));
    assert!(house.file().unwrap().starts_with(&before));
    house.check();
}

#[test]
fn the_sessions_of_a_thread_follow_each_other() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, &turn(1, 0));
    house.begin(None);
    house.turn(1, &turn(2, 0));
    // The older one is spoken in again: its lines stay before those of the newer.
    house.turn(0, &turn(3, 0));
    house.check();
    let said: Vec<u64> = house
        .file()
        .unwrap()
        .lines()
        .map(|line| LineStamp::read(line.as_bytes()).unwrap().metadata.seq)
        .collect();
    assert_eq!(said, [1, 3, 4, 6, 1, 3]);
}

#[test]
fn a_branch_rewrites_the_file_to_the_new_path() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, &turn(1, 0));
    house.turn(0, &turn(2, 0));
    house.turn(0, "leaf m1");
    let file = house.file().unwrap();
    assert!(file.contains("say 1") && !file.contains("say 2"), "{file}");
    house.turn(0, "leaf root");
    assert_eq!(house.file(), None);
    house.turn(0, &turn(3, 0));
    house.check();
}

#[test]
fn a_copy_stands_for_the_session_it_was_repaired_from() {
    let mut house = House::new();
    let damaged = house.begin(None);
    house.turn(0, &turn(1, 0));
    let events = of_session(0, &house.sessions[0].story);
    let event_id = events[1].id;
    house.begin(Some(CloneOrigin { session_id: damaged, event_id }));
    house.turn(1, "cloned user: say 1 | cloned model: 1");
    house.turn(1, &turn(2, 0));
    house.check();
    assert_eq!(house.file().unwrap().matches("say 1").count(), 1);
}

#[test]
fn compacting_leaves_one_line_per_message() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, "user: go | model: ok, write_file=c1 | hold c1 | asked c1");
    let waiting = house.file().unwrap();
    house.turn(0, "allow c1 | start c1 | done c1 | model: done | ended done");
    house.files.write_raw(FILE, (waiting + &house.file().unwrap()).as_bytes());
    house.check();
    let made = now(house.threads.compact(&key())).unwrap();
    assert_eq!(made, RebuildSummary { threads: 1, messages: 2 });
    assert_eq!(house.file().unwrap().lines().count(), 2);
    house.check();
}

#[test]
fn rebuilding_takes_away_what_belongs_to_no_thread() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, &turn(1, 0));
    let before = house.file();
    let orphan = "/house/.kith/threads/web%3aroom%3agone.jsonl";
    house.files.write_raw(orphan, b"{}\n");
    house.files.write_raw(FILE, b"not a message\n");
    assert_eq!(
        now(house.threads.rebuild_all()).unwrap(),
        RebuildSummary { threads: 1, messages: 2 }
    );
    assert_eq!(house.file(), before);
    assert_eq!(house.files.contents(orphan), None);
}

proptest! {
    #![proptest_config(fixed_cases(80))]

    /// A process may die before, in or after any write of a thread file, or somebody may cut or
    /// delete it; the next turn of the session, or of a newer one, finds and mends it.
    #[test]
    fn the_last_lines_are_what_the_logs_say_after_any_crash(steps in vec(any::<[u8; 4]>(), 1..14)) {
        let mut house = House::new();
        house.begin(None);
        let mut at = 0;
        let mut is_behind = false;
        for (n, [choice, which, trouble, cut]) in steps.into_iter().enumerate() {
            let newest = house.sessions.len() - 1;
            match which % 6 {
                // What is behind in an older session is found when that is spoken in.
                0 if !is_behind || at == newest => {
                    house.begin(None);
                    at = newest + 1;
                }
                1 if !is_behind => at = usize::from(which) % (newest + 1),
                _ => (),
            }
            let labels: Vec<String> = house.sessions[at]
                .story
                .split(|ch: char| !ch.is_alphanumeric())
                .filter(|word| word.starts_with('m') && word[1..].parse::<u32>().is_ok())
                .map(str::to_owned)
                .collect();
            let line = match labels.get(usize::from(cut) % labels.len().max(1)) {
                Some(label) if choice % 9 == 8 => format!("leaf {label}"),
                _ => turn(n, choice),
            };
            let seen = house.live(at, &line);
            let id = house.sessions[at].id;
            is_behind = true;
            match trouble % 8 {
                // It died before it came to the file.
                0 => {
                    house.restart();
                    continue;
                }
                // It dies at the file, and another opens the house.
                1 | 2 => {
                    let written = Written::EACH[usize::from(cut) % 3];
                    house.files.plan(house.files.count() + 1, Fault::Kill { written });
                    let caught_up = now(house.threads.catch_up(id, Some(&seen)));
                    let is_killed = house.files.is_killed();
                    house.restart();
                    if is_killed {
                        continue;
                    }
                    caught_up.unwrap();
                }
                3 => {
                    now(house.threads.catch_up(id, Some(&seen))).unwrap();
                    if let Some(bytes) = house.files.contents(FILE) {
                        let len = bytes.len().saturating_sub(usize::from(cut));
                        house.files.write_raw(FILE, &bytes[..len]);
                        continue;
                    }
                }
                _ => now(house.threads.catch_up(id, Some(&seen))).unwrap(),
            }
            is_behind = false;
            house.check();
        }
    }
}

#[test]
fn what_cannot_be_written_is_an_error_and_is_made_up_for() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, &turn(1, 0));
    let seen = house.live(0, &turn(2, 0));
    house.files.plan(house.files.count() + 1, Fault::Full);
    let error = now(house.threads.catch_up(house.sessions[0].id, Some(&seen))).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write the thread file `{FILE}`"));
    house.files.heal();
    house.turn(0, &turn(3, 0));
    house.check();
}

#[test]
fn a_log_that_was_written_behind_its_back_is_read() {
    let mut house = House::new();
    house.begin(None);
    house.turn(0, &turn(1, 0));
    house.live(0, "title another | notice told");
    assert!(!now(house.threads.is_up_to_date(&key())).unwrap());
    now(house.threads.catch_up(house.sessions[0].id, None)).unwrap();
    house.check();
    let events = of_session(0, &house.sessions[0].story);
    assert!(matches!(events.last().unwrap().body, Body::Notice(_)));
}
