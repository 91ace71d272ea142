//! Thread files for the AI SDK itself to judge: `cargo xtask test` hands them to node.
//!
//! They are written beside the build, so a run of the tests always leaves those of this code.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "the test writes files for another program to read"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use kith_engine::feed::ThreadKey;
use kith_engine::thread_file_sync::ThreadFileSync;
use kith_engine::ui_message::{Projection, UiMessage, project};
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::FilesJournal;
use kith_sessions::store::SessionStore;
use kith_sessions::thread_file::ThreadFiles;
use kith_testkit::clock::{START, numbered_id};
use kith_testkit::events::log_of;
use kith_testkit::samples::sample_events;
use kith_testkit::transcript::transcript;
use kith_vocab::event::Event;
use kith_vocab::header::{
    Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, Priming, SessionHeader,
};
use kith_vocab::ids::{SessionId, ThreadId};

/// Logs in any order; those of which nothing is shown are left out.
const GENERATED_LOGS: u64 = 600;
const EVENTS_MAX: u64 = 60;

/// What really happens, each told turn by turn as a host would.
const STORIES: [(&str, &[&str]); 9] = [
    (
        "plain",
        &["user: hello | model: hi | ended done", "user: 你好 | model: 你好，世界 | ended done"],
    ),
    (
        "granted",
        &[
            "user: go | model: ok, write_file=c1 | hold c1 | asked c1",
            "allow c1 | start c1 | done c1 written | asked model | model: done | ended done",
        ],
    ),
    (
        "denied",
        &[
            "user: go | model: ok, write_file=c1, read_file=c2 | hold c1 | free c2 | asked c1 | done c2 text",
            "deny c1 | refused c1 no | model: I see | ended done",
        ],
    ),
    (
        "expired",
        &[
            "user: go | model: ok, write_file=c1 | hold c1 | asked c1",
            "expired c1 | refused c1 too late | model: well | ended done",
        ],
    ),
    ("answered", &["user: go | model: ok, write_file=c1 | hold c1 | asked c1", "allow c1"]),
    (
        "refused",
        &[
            "user: go | model: ok, write_file=c1 | forbid c1 | refused c1 never | model: then not | ended done",
        ],
    ),
    (
        "failed",
        &[
            "user: go | asked model | failed network retry | asked model | failed network | notice gone | ended failed",
            "user: again | model: ok, exec_shell(?)=c1 | fail c1 not JSON | model/max_tokens: cut | ended bound",
        ],
    ),
    (
        "stopped",
        &[
            "user: go | model: ok, write_file=c1 | free c1 | start c1 | resumed | interrupted c1 | cancel | ended cancelled",
            "user: go on | note the date is another | steer to the left | model: yes | ended done | title a walk",
        ],
    ),
    (
        "branched",
        &[
            "user: a | model#m1: b | ended done",
            "user: c | model: d | ended done",
            "leaf m1 | user: e | model: f | ended done",
        ],
    ),
];

/// Turns to make lives of; `N` is a number of their own.
const TURNS: [&str; 10] = [
    "user: say N | model: N | ended done",
    "user: 做 N | model: 好, read_file=cN, list_files=dN | free cN | free dN | done cN 内容 | done dN | model: 完成 | ended done",
    "user: do N | model: ok, write_file=cN | hold cN | asked cN | allow cN | start cN | done cN | note seen | model: yes | ended done",
    "user: do N | model: ok, write_file=cN | hold cN | asked cN | allow cN | start cN | fail cN no room | model: no | ended done",
    "user: do N | model: ok, write_file=cN | hold cN | asked cN | deny cN | refused cN no | ended done",
    "user: do N | model: ok, write_file=cN | hold cN | asked cN | expired cN | refused cN late | ended done",
    "user: do N | model: ok, write_file=cN | hold cN | asked cN | deny cN | cancelled cN stopped | ended cancelled",
    "user: a N | user: b N | asked model | failed status retry | asked model | model: both | ended done | notice after",
    "user: fail N | asked model | failed network | notice gone | ended failed",
    "user: long N | model: LONG | ended done | title the Nth",
];
/// How a life may stand in the middle of a turn.
const ENDS: [&str; 4] = [
    "user: wait N | model: ok, write_file=cN | hold cN | asked cN",
    "user: wait N | model: ok, write_file=cN | hold cN | asked cN | allow cN",
    "user: wait N | model: ok, write_file=cN | hold cN | asked cN | deny cN",
    "user: wait N | model: ok, write_file=cN | free cN | start cN",
];
const LIVES: usize = 80;

/// Turns as they come, told as one line.
fn life(n: usize) -> String {
    let turn = |template: &str, place: usize| {
        let long = "long 长 ".repeat(2000);
        template.replace("LONG", &long).replace('N', &place.to_string())
    };
    let turns = (0..n % 6).map(|place| turn(TURNS[(n * 7 + place * 3) % TURNS.len()], place));
    let end = turn(ENDS[n % ENDS.len()], 9);
    turns.chain([end]).collect::<Vec<_>>().join(" | ")
}

#[test]
fn thread_files_are_written_for_the_ai_sdk_to_judge() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui-messages");
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    let mut n_files = 0;
    let mut write = |name: String, messages: &[UiMessage]| {
        if !messages.is_empty() {
            fs::write(folder.join(name), serde_json::to_vec(messages).unwrap()).unwrap();
            n_files += 1;
        }
    };
    for n in 0..GENERATED_LOGS {
        write(format!("generated-{n}.json"), &project(&header(n), generated(n)));
    }
    for n in 0..LIVES {
        let events = transcript(&life(n)).events;
        write(format!("life-{n}.json"), &project(&header(n as u64), events));
    }
    write("samples.json".to_owned(), &project(&header(0), sample_events()));
    write("primed.json".to_owned(), &project(&primed(), transcript(PRIMED).events));
    for (name, turns) in STORIES {
        fs::copy(told(name, turns), folder.join(format!("{name}.jsonl"))).unwrap();
        n_files += 1;
    }
    assert!(n_files > 400, "only {n_files} files");
}

const PRIMED: &str = "primed user: hi | primed model: there, read_file=c1 | primed done c1 x \
                      | primed note seen | user: go on | model: yes | ended done";

/// The log that a number stands for.
fn generated(n: u64) -> Vec<Event> {
    let mut random = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        // Steele and Vigna's step: good enough to make logs unlike each other.
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (mixed >> 31)
    };
    let n_events = next() % EVENTS_MAX;
    log_of(&(0..n_events).map(|_| next().to_le_bytes()).collect::<Vec<_>>())
}

/// The thread file of a story, written turn by turn.
fn told(name: &str, turns: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui-messages-houses").join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    let store = SessionStore::new(Arc::new(DiskFiles), &dir);
    let files = ThreadFiles::new(Arc::new(DiskFiles), &dir);
    let threads = ThreadFileSync::new(Arc::new(FilesJournal::reader(store.clone())), files.clone());
    let header = header(0);
    let mut log = store.create(&header, &[]).unwrap();
    let mut n_written = 0;
    for n_turns in 1..=turns.len() {
        let events = transcript(&turns[..n_turns].join(" | ")).events;
        let new = &events[n_written..];
        log.append(new).unwrap();
        n_written = events.len();
        let mut seen =
            Projection::of_new_turns(&header.agent_id, &header.thread_id, header.session_id);
        for event in new {
            seen.take(event);
        }
        now(threads.catch_up(header.session_id, Some(&seen))).unwrap();
    }
    assert!(now(threads.is_up_to_date(&ThreadKey::of(&header))).unwrap(), "{name}");
    files.path(&header.agent_id, &header.thread_id)
}

/// What the files answer, which they do at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files are read at once")
}

fn primed() -> SessionHeader {
    let mut header = header(0);
    header.meta.priming = Some(Priming { script_refs: Vec::new(), show_in_ui: true });
    header
}

fn header(n: u64) -> SessionHeader {
    let thread_id: ThreadId = "web:room:test".parse().unwrap();
    SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: SessionId::from_uuid(numbered_id(START, n)),
        agent_id: "main".to_owned(),
        device_id: "test".to_owned(),
        created_at: START,
        thread_id,
        audience: Audience::Owner,
        cwd: "/work".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    }
}
