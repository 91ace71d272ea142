//! Journals to which the same is done at random look the same after each step.

use std::collections::{BTreeMap, BTreeSet};

use kith_vocab::event::Event;
use kith_vocab::ids::SessionId;

use super::{Backend, on_each};
use crate::conformance::outcome;
use crate::conformance::random::Random;
use crate::journal::{Batch, Cursor, Journal, NewBlob, RemovedSession};
use crate::line::{LineHash, LogHead};
use crate::read::Tail;
use crate::samples::{StillClock, event_id, header, long, notice, session_id, user};
use crate::storage::StorageErrorKind;

const N_SESSIONS: u64 = 3;
const STEPS: u64 = 60;

/// What the one who uses a journal remembers of it.
#[derive(Default)]
struct Memory {
    heads: BTreeMap<u64, Option<LogHead>>,
    cursors: BTreeMap<u64, Cursor>,
    /// The events of each session that were acknowledged.
    events: BTreeMap<u64, Vec<Event>>,
    open: BTreeSet<u64>,
}

impl Memory {
    fn note(&mut self, n: u64, head: Option<LogHead>, batches: &[Batch]) {
        self.heads.insert(n, head);
        let events = batches.iter().flat_map(|batch| batch.events.clone());
        self.events.entry(n).or_default().extend(events);
        self.open.insert(n);
    }
}

/// Everything that can be seen of a session.
#[derive(Debug, PartialEq)]
struct View {
    events: Vec<Event>,
    head: Option<LogHead>,
    tail: Tail,
    belongings: Option<RemovedSession>,
    open_bytes: Option<u64>,
    cursor: Option<LogHead>,
}

#[tokio::test]
async fn whatever_is_done_all_journals_look_the_same() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..8 {
        let seen = on_each(async |it| {
            let mut random = Random(seed);
            let mut memory = Memory::default();
            let clock = StillClock::default();
            let mut seen = Vec::new();
            for _ in 0..STEPS {
                let done = random_step(it, &mut random, &mut memory, &clock).await;
                let mut views = Vec::new();
                for n in 0..N_SESSIONS {
                    let view = view(&*it.journal, session_id(n)).await;
                    let is_open = view.as_ref().is_some_and(|it| it.open_bytes.is_some());
                    assert_eq!(is_open, memory.open.contains(&n), "{}: {done:?}", it.name);
                    let events = view.as_ref().map(|it| &it.events);
                    assert_eq!(events, memory.events.get(&n), "{}: {done:?}", it.name);
                    views.push(view);
                }
                seen.push((done, it.journal.list().await.unwrap(), views));
            }
            seen
        })
        .await;
        for ((step, result), ..) in seen {
            let kind = result.map_or_else(|kind| format!("{kind:?}"), |_| "done".to_owned());
            let kind = kind.split('(').next().unwrap_or_default().to_owned();
            outcomes.insert(format!("{step}: {kind}"));
        }
    }
    // What a step can come to, it came to.
    let expected = [
        "append: Fenced",
        "append: MustReopen",
        "append: Refused",
        "append: done",
        "close: done",
        "create: Exists",
        "create: Refused",
        "create: done",
        "open: Damaged",
        "open: NotFound",
        "open: done",
        "remove: InUse",
        "remove: NotFound",
        "remove: done",
        "repair: NotDamaged",
        "repair: NotFound",
        "repair: done",
    ];
    let missing: Vec<_> = expected.iter().filter(|it| !outcomes.contains(**it)).collect();
    assert!(missing.is_empty(), "{missing:?} of {outcomes:?}");
}

/// Tells what was done and what came of it.
async fn random_step(
    backend: &Backend,
    random: &mut Random,
    memory: &mut Memory,
    clock: &StillClock,
) -> (&'static str, Result<Option<LogHead>, StorageErrorKind>) {
    let journal = &backend.journal;
    let n = random.below(N_SESSIONS);
    let id = session_id(n);
    let known = memory.heads.get(&n).copied().flatten();
    match random.below(12) {
        0 | 1 => {
            let mut seq = 1;
            let n_batches = random.below(3);
            let batches: Vec<Batch> =
                (0..n_batches).map(|_| random_batch(random, &mut seq)).collect();
            let is_there = memory.events.contains_key(&n);
            let made = outcome(journal.create(&header(n), batches.clone()).await);
            assert_eq!(is_there, made == Err(StorageErrorKind::Exists), "{}", backend.name);
            if let Ok(head) = made {
                memory.note(n, head, &batches);
            }
            ("create", made)
        }
        2..7 => {
            let mut seq = known.map_or(0, |head| head.seq) + 1;
            let batch = random_batch(random, &mut seq);
            let expected = random_head(random, known);
            let was_open = memory.open.contains(&n);
            let appended = outcome(journal.append(id, expected, batch.clone()).await);
            match &appended {
                Ok(head) => memory.note(n, *head, &[batch]),
                Err(StorageErrorKind::Fenced) => (),
                Err(_) => _ = memory.open.remove(&n),
            }
            let is_refused = |kind| appended.as_ref().is_err_and(|it| *it == kind);
            assert_eq!(is_refused(StorageErrorKind::MustReopen), !was_open, "{}", backend.name);
            let is_behind = was_open && expected != known;
            assert_eq!(is_refused(StorageErrorKind::Fenced), is_behind, "{}", backend.name);
            ("append", appended)
        }
        7 | 8 => {
            let head = if random.one_in(2) { None } else { random_head(random, known) };
            let cursor = memory.cursors.get(&n).filter(|_| random.one_in(2));
            let opened = outcome(journal.open(id, head, cursor, clock, &mut |_| ()).await);
            memory.open.remove(&n);
            if let Ok(Some(session)) = &opened {
                assert_eq!(session.head, known, "{}", backend.name);
                memory.open.insert(n);
            }
            ("open", opened.map(|it| it.and_then(|it| it.head)))
        }
        9 => {
            memory.cursors.extend(journal.cursor(id).map(|cursor| (n, cursor)));
            journal.close(id);
            memory.open.remove(&n);
            ("close", Ok(None))
        }
        10 => {
            let repaired = journal.repair(id, random_head(random, known), header(9), clock).await;
            journal.remove(session_id(9)).await.ok();
            ("repair", outcome(repaired).map(|it| it.head))
        }
        _ => {
            let removed = outcome(journal.remove(id).await);
            let is_open = memory.open.contains(&n);
            assert_eq!(is_open, removed == Err(StorageErrorKind::InUse), "{}", backend.name);
            if removed.is_ok() {
                memory.heads.remove(&n);
                memory.events.remove(&n);
            }
            ("remove", removed.map(|_| None))
        }
    }
}

/// The head that is known, most of the time.
fn random_head(random: &mut Random, known: Option<LogHead>) -> Option<LogHead> {
    match (random.below(8), known) {
        (0, _) => None,
        (1, Some(head)) => Some(LogHead { seq: head.seq + 1, ..head }),
        (2, Some(head)) => Some(LogHead { hash: LineHash::of(b"another"), ..head }),
        _ => known,
    }
}

/// One to three events, most of the time good ones.
fn random_batch(random: &mut Random, seq: &mut u64) -> Batch {
    let mut events = Vec::new();
    for _ in 0..=random.below(3) {
        let text = match random.below(8) {
            0 => long('a'),
            1 => long('b'),
            _ => "short".to_owned(),
        };
        let parent = (*seq > 1).then(|| 1 + random.below(*seq - 1));
        let mut event = match random.below(3) {
            0 => notice(*seq, &text),
            // Its parent may be a notice, which is refused.
            1 if random.one_in(6) => user(*seq, parent, &text),
            _ => user(*seq, None, &text),
        };
        if random.one_in(20) {
            event.id = event_id(1);
        }
        events.push(event);
        *seq += if random.one_in(20) { 2 } else { 1 };
    }
    let blobs =
        if random.one_in(4) { vec![NewBlob::Bytes(b"output".to_vec())] } else { Vec::new() };
    Batch { events, blobs }
}

async fn view(journal: &dyn Journal, id: SessionId) -> Option<View> {
    let mut events = Vec::new();
    let mut each = |event| events.push(event);
    let reading = journal.read(id, None, 0, &mut each).await.ok()?;
    Some(View {
        events,
        head: reading.head,
        tail: reading.tail,
        belongings: journal.belongings(id).await.ok(),
        open_bytes: journal.open_bytes(id),
        cursor: journal.cursor(id).map(|it| it.head),
    })
}
