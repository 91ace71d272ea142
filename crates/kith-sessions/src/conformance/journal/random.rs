//! A journal to which anything is done at random shows after each step what a model of it expects.

use std::collections::{BTreeMap, BTreeSet};

use kith_vocab::digest::sha256_hex;
use kith_vocab::event::{Body, Event, SourceTag};
use kith_vocab::validate::validate;

use super::{Backend, on_each};
use crate::conformance::outcome;
use crate::conformance::random::Random;
use crate::damage::DamageCode;
use crate::journal::{Batch, Cursor, NewBlob, RemovedSession, RepairedSession};
use crate::line::{LineHash, LogHead};
use crate::read::Tail;
use crate::samples::{StillClock, event_id, header, long, notice, session_id, user};
use crate::storage::StorageErrorKind;

const N_SESSIONS: u64 = 3;
const STEPS: u64 = 60;
/// The session that repairs write to.
const COPY: u64 = 9;

/// What a journal must hold.
#[derive(Default)]
struct JournalModel {
    sessions: BTreeMap<u64, SessionModel>,
    /// Of a session that may have been removed since.
    cursors: BTreeMap<u64, Cursor>,
}

#[derive(Default)]
struct SessionModel {
    /// As the last acknowledgement told it.
    head: Option<LogHead>,
    /// Those that were acknowledged.
    events: Vec<Event>,
    /// The hashes of the long texts that they hold.
    blobs: BTreeSet<String>,
    is_open: bool,
    /// Whether the cursor is of this session and not of one that was removed.
    has_cursor: bool,
}

impl SessionModel {
    /// Whether the log may go on with these events.
    fn may_append(&self, batch: &[Event]) -> StepResult {
        let mut events = self.events.clone();
        let are_good = batch.iter().all(|event| {
            let is_parent = |id| events.iter().any(|it| it.id == id && it.is_tree());
            let is_good = event.seq == events.len() as u64 + 1
                && events.iter().all(|it| it.id != event.id)
                && event.parent_id.is_none_or(is_parent);
            events.push(event.clone());
            is_good
        });
        are_good.then_some(()).ok_or(StorageErrorKind::Refused)
    }

    fn append(&mut self, batch: Vec<Event>, head: Option<LogHead>) {
        for letter in ['a', 'b'] {
            let is_said = |it: &Event| serde_json::to_string(it).unwrap().contains(&long(letter));
            if batch.iter().any(is_said) {
                self.blobs.insert(sha256_hex(long(letter).as_bytes()));
            }
        }
        self.events.extend(batch);
        assert_eq!(head.map_or(0, |it| it.seq), self.events.len() as u64);
        self.head = head;
    }

    /// Whether a desk that knows this head takes the log for damaged.
    fn is_damaged(&self, head: Option<LogHead>) -> bool {
        head.is_some() && head != self.head
    }
}

impl JournalModel {
    fn head(&self, n: u64) -> Option<LogHead> {
        self.sessions.get(&n).and_then(|it| it.head)
    }

    /// What would go with a session whose log has this size.
    fn belongings(&self, n: u64, log_bytes: u64) -> RemovedSession {
        let others = self.sessions.iter().filter(|it| *it.0 != n);
        let kept: BTreeSet<_> = others.flat_map(|it| it.1.blobs.clone()).collect();
        let own = &self.sessions[&n].blobs;
        let blobs: Vec<_> = own.difference(&kept).map(|hash| format!("blobs/{hash}")).collect();
        let bytes = log_bytes + (blobs.len() * long('a').len()) as u64;
        let log = format!("sessions/{}.jsonl", session_id(n));
        RemovedSession { parts: [vec![log], blobs].concat(), bytes }
    }

    /// Everything that can be seen of the journal is as expected.
    async fn check(&self, backend: &Backend, done: &str) {
        let journal = &backend.journal;
        let place = |n| format!("{}: session {n} after {done}", backend.name);
        let ids: Vec<_> = self.sessions.keys().map(|&n| session_id(n)).collect();
        assert_eq!(journal.list().await.unwrap(), ids, "{}: {done}", backend.name);
        for n in 0..N_SESSIONS {
            let id = session_id(n);
            let mut events = Vec::new();
            let mut each = |event| events.push(event);
            let read = outcome(journal.read(id, None, 0, &mut each).await);
            let belongings = outcome(journal.belongings(id).await);
            let size = outcome(journal.size(id).await);
            assert_eq!(journal.exists(id).await.unwrap(), read.is_ok(), "{}", place(n));
            let Some(session) = self.sessions.get(&n) else {
                let absent = StorageErrorKind::NotFound;
                assert_eq!(read.unwrap_err(), absent, "{}", place(n));
                assert_eq!(belongings.unwrap_err(), absent, "{}", place(n));
                assert_eq!(size.unwrap_err(), absent, "{}", place(n));
                assert_eq!(journal.open_bytes(id), None, "{}", place(n));
                continue;
            };
            let (read, size) = (read.unwrap(), size.unwrap());
            assert_eq!((read.head, read.tail), (session.head, Tail::Clean), "{}", place(n));
            assert!(events == session.events, "{}: other events", place(n));
            assert_eq!(belongings.unwrap(), self.belongings(n, size), "{}", place(n));
            assert_eq!(journal.open_bytes(id), session.is_open.then_some(size), "{}", place(n));
            let cursor = journal.cursor(id).map(|it| it.head);
            assert_eq!(cursor, session.head.filter(|_| session.is_open), "{}", place(n));
        }
    }
}

#[tokio::test]
async fn whatever_is_done_a_journal_shows_what_its_model_expects() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..8 {
        let seen = on_each(async |it| {
            let mut random = Random(seed);
            let mut model = JournalModel::default();
            let mut seen = Vec::new();
            for _ in 0..STEPS {
                let (step, result) = random_step(it, &mut random, &mut model).await;
                let kind = result.map_or_else(|kind| format!("{kind:?}"), |()| "done".to_owned());
                let kind = kind.split('(').next().unwrap_or_default();
                let done = format!("{step}: {kind}");
                model.check(it, &done).await;
                seen.push(done);
            }
            seen
        })
        .await;
        outcomes.extend(seen);
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

/// What came of a step, which is what the model expects.
type StepResult = Result<(), StorageErrorKind>;

async fn random_step(
    backend: &Backend,
    random: &mut Random,
    model: &mut JournalModel,
) -> (&'static str, StepResult) {
    let n = random.below(N_SESSIONS);
    match random.below(12) {
        0 | 1 => ("create", random_create(backend, random, model, n).await),
        2..7 => ("append", random_append(backend, random, model, n).await),
        7 | 8 => ("open", random_open(backend, random, model, n).await),
        9 => {
            close(backend, model, n);
            ("close", Ok(()))
        }
        10 => ("repair", random_repair(backend, random, model, n).await),
        _ => ("remove", remove(backend, model, n).await),
    }
}

async fn random_create(
    backend: &Backend,
    random: &mut Random,
    model: &mut JournalModel,
    n: u64,
) -> StepResult {
    let (mut seq, n_batches) = (1, random.below(3));
    let batches: Vec<Batch> = (0..n_batches).map(|_| random_batch(random, &mut seq)).collect();
    let events: Vec<Event> = batches.iter().flat_map(|it| it.events.clone()).collect();
    let mut session = SessionModel { is_open: true, ..SessionModel::default() };
    let expected = match model.sessions.get(&n) {
        Some(_) => Err(StorageErrorKind::Exists),
        None => session.may_append(&events),
    };
    let created = outcome(backend.journal.create(&header(n), batches).await);
    assert_eq!(created.clone().map(drop), expected, "{}", backend.name);
    if let Ok(head) = created {
        session.append(events, head);
        model.sessions.insert(n, session);
    }
    expected
}

async fn random_append(
    backend: &Backend,
    random: &mut Random,
    model: &mut JournalModel,
    n: u64,
) -> StepResult {
    let known = model.head(n);
    let mut seq = known.map_or(0, |head| head.seq) + 1;
    let batch = random_batch(random, &mut seq);
    let (events, expected_head) = (batch.events.clone(), random_head(random, known));
    let appended = outcome(backend.journal.append(session_id(n), expected_head, batch).await);
    let mut session = model.sessions.get_mut(&n).filter(|it| it.is_open);
    let expected = match &session {
        None => Err(StorageErrorKind::MustReopen),
        Some(_) if expected_head != known => Err(StorageErrorKind::Fenced),
        Some(session) => session.may_append(&events),
    };
    assert_eq!(appended.clone().map(drop), expected, "{}", backend.name);
    match (&mut session, appended) {
        (Some(session), Ok(head)) => session.append(events, head),
        (Some(session), Err(StorageErrorKind::Refused)) => session.is_open = false,
        _ => (),
    }
    expected
}

fn close(backend: &Backend, model: &mut JournalModel, n: u64) {
    let cursor = backend.journal.cursor(session_id(n));
    backend.journal.close(session_id(n));
    if let Some(session) = model.sessions.get_mut(&n) {
        session.is_open = false;
        session.has_cursor |= cursor.is_some();
    }
    model.cursors.extend(cursor.map(|cursor| (n, cursor)));
}

async fn random_repair(
    backend: &Backend,
    random: &mut Random,
    model: &mut JournalModel,
    n: u64,
) -> StepResult {
    let (head, clock) = (random_head(random, model.head(n)), StillClock::default());
    let repaired = backend.journal.repair(session_id(n), head, header(COPY), &clock).await;
    let repaired = outcome(repaired);
    let refusal = match model.sessions.get(&n) {
        None => StorageErrorKind::NotFound,
        Some(session) if session.is_damaged(head) => {
            check_copy(backend, session, head, repaired.unwrap()).await;
            return Ok(());
        }
        Some(_) => StorageErrorKind::NotDamaged,
    };
    assert_eq!(repaired, Err(refusal.clone()), "{}", backend.name);
    Err(refusal)
}

async fn remove(backend: &Backend, model: &mut JournalModel, n: u64) -> StepResult {
    let size = outcome(backend.journal.size(session_id(n)).await);
    let removed = outcome(backend.journal.remove(session_id(n)).await);
    let expected = match model.sessions.get(&n) {
        None => Err(StorageErrorKind::NotFound),
        Some(session) if session.is_open => Err(StorageErrorKind::InUse),
        Some(_) => Ok(model.belongings(n, size.unwrap())),
    };
    assert_eq!(removed, expected, "{}", backend.name);
    if removed.is_ok() {
        model.sessions.remove(&n);
    }
    removed.map(drop)
}

async fn random_open(
    backend: &Backend,
    random: &mut Random,
    model: &mut JournalModel,
    n: u64,
) -> StepResult {
    let known = model.head(n);
    let head = if random.one_in(2) { None } else { random_head(random, known) };
    let cursor = model.cursors.get(&n).filter(|_| random.one_in(2));
    let mut events = Vec::new();
    let (clock, mut each) = (StillClock::default(), |event| events.push(event));
    let opened =
        outcome(backend.journal.open(session_id(n), head, cursor, &clock, &mut each).await);
    let Some(session) = model.sessions.get_mut(&n) else {
        assert_eq!(opened, Err(StorageErrorKind::NotFound), "{}", backend.name);
        return opened.map(drop);
    };
    session.is_open = matches!(opened, Ok(Some(_)));
    match (&opened, cursor) {
        (Ok(Some(opened)), _) => {
            assert!(!session.is_damaged(head), "{}", backend.name);
            assert_eq!((&opened.header, opened.head), (&header(n), known), "{}", backend.name);
            let after = cursor.map_or(0, |it| it.head.seq);
            let expected = session.events.iter().filter(|it| it.seq > after);
            assert!(events.iter().eq(expected), "{}: other events", backend.name);
        }
        // Of another session, or the damage lies before it.
        (Ok(None), Some(_)) => {
            assert!(!session.has_cursor || session.is_damaged(head), "{}", backend.name);
        }
        (Err(StorageErrorKind::Damaged(_)), _) => {
            assert!(session.is_damaged(head), "{}", backend.name);
        }
        _ => panic!("{}: {opened:?}", backend.name),
    }
    opened.map(drop)
}

/// The copy holds what was intact, and a reminder if the end of the log is lost. Removes it.
async fn check_copy(
    backend: &Backend,
    session: &SessionModel,
    head: Option<LogHead>,
    repaired: RepairedSession,
) {
    let mut copied = Vec::new();
    let mut each = |event| copied.push(event);
    let reading = backend.journal.read(session_id(COPY), None, 0, &mut each).await.unwrap();
    assert_eq!((reading.tail, reading.head), (Tail::Clean, repaired.head), "{}", backend.name);
    let mut expected: Vec<Event> = Vec::new();
    for event in &session.events {
        let seq = expected.len() as u64 + 1;
        let event = Event { seq, source_tag: Some(SourceTag::Clone), ..event.clone() };
        expected.extend(validate(&event).is_ok().then_some(event));
    }
    let is_cut = head.is_some_and(|it| it.seq > session.events.len() as u64);
    let reminder = (is_cut && !expected.is_empty()).then(|| copied.pop().unwrap());
    assert!(copied == expected, "{}: other events", backend.name);
    if let Some(reminder) = &reminder {
        assert!(matches!(reminder.body, Body::HarnessItem(_)), "{}: {reminder:?}", backend.name);
        assert_eq!(reminder.parent_id, expected.last().map(|it| it.id), "{}", backend.name);
    }
    // The header is a line as well.
    let n_lines = session.events.len() + 1;
    let (lost_from_line, code) = if is_cut {
        (n_lines + 1, DamageCode::LostTail)
    } else {
        (n_lines, DamageCode::BrokenChain)
    };
    let n_events = (expected.len() + usize::from(reminder.is_some())) as u64;
    let (session_id, head, keys) = (session_id(COPY), reading.head, Vec::new());
    let expected = RepairedSession { session_id, n_events, lost_from_line, code, head, keys };
    assert_eq!(repaired, expected, "{}", backend.name);
    backend.journal.remove(session_id).await.unwrap();
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
