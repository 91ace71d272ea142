//! What every journal does alike.

mod random;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_vocab::event::Event;
use kith_vocab::header::SessionHeader;
use kith_vocab::tool::SpillFile;
use tempfile::TempDir;

use super::{outcome, same};
use crate::blob::BLOB_BYTES_MAX;
use crate::damage::{Damage, DamageCode};
use crate::disk::DiskFiles;
use crate::journal::{Batch, Cursor, FilesJournal, Journal, NewBlob, OpenedSession};
use crate::line::{LineHash, LogHead};
use crate::read::Tail;
use crate::samples::{
    StillClock, event_id, every_type, header, long, notice, session_id, small_session, user,
};
use crate::storage::StorageErrorKind;
use crate::store::SessionStore;
use kith_testkit::files::MemoryFiles;
use kith_vocab::digest::sha256_hex;

struct Backend {
    name: &'static str,
    journal: Arc<dyn Journal>,
    /// The disk of a journal in files that is not on a real one.
    memory_disk: Option<MemoryFiles>,
    folder: TempDir,
}

/// Makes a journal for a `.kith` folder, and tells its disk if that is in memory.
type MakeJournal<'a> = &'a dyn Fn(&Path) -> (Arc<dyn Journal>, Option<MemoryFiles>);

impl Backend {
    fn all() -> Vec<Backend> {
        let backend = |name, make: MakeJournal<'_>| {
            let folder = tempfile::tempdir().unwrap();
            let (journal, memory_disk) = make(&folder.path().join(".kith"));
            Backend { name, journal, memory_disk, folder }
        };
        vec![
            backend("files on a memory disk", &|dir| {
                let files = MemoryFiles::default();
                let store = SessionStore::new(Arc::new(files.clone()), dir);
                (Arc::new(FilesJournal::new(store)), Some(files))
            }),
            backend("files on a real disk", &|dir| {
                let store = SessionStore::new(Arc::new(DiskFiles), dir);
                (Arc::new(FilesJournal::new(store)), None)
            }),
        ]
    }

    fn spill(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        match &self.memory_disk {
            Some(files) => files.write_raw(&path, bytes),
            None => std::fs::write(&path, bytes).unwrap(),
        }
        path
    }

    fn has(&self, path: &Path) -> bool {
        self.memory_disk.as_ref().map_or_else(|| path.exists(), |it| it.contents(path).is_some())
    }

    async fn append(&self, head: Option<LogHead>, events: &[Event]) -> Option<LogHead> {
        self.journal.append(session_id(1), head, events.to_vec().into()).await.unwrap()
    }

    async fn opened(&self) -> (OpenedSession, Vec<Event>) {
        let mut events = Vec::new();
        let opened = self.open(None, None, &mut events).await;
        (opened.unwrap().unwrap(), events)
    }

    async fn open(
        &self,
        head: Option<LogHead>,
        cursor: Option<&Cursor>,
        events: &mut Vec<Event>,
    ) -> Result<Option<OpenedSession>, StorageErrorKind> {
        let mut each = |event| events.push(event);
        let clock = StillClock::default();
        outcome(self.journal.open(session_id(1), head, cursor, &clock, &mut each).await)
    }

    async fn read(
        &self,
        head: Option<LogHead>,
        after_seq: u64,
    ) -> (Vec<u64>, Option<LogHead>, Tail) {
        let mut seqs = Vec::new();
        let mut each = |event: Event| seqs.push(event.seq);
        let reading = self.journal.read(session_id(1), head, after_seq, &mut each).await.unwrap();
        assert_eq!(reading.events, seqs.len() as u64, "{}", self.name);
        (seqs, reading.head, reading.tail)
    }
}

/// Runs the check on every backend, and gives what all of them saw.
async fn on_each<T: PartialEq + std::fmt::Debug>(check: impl AsyncFn(&Backend) -> T) -> T {
    let mut seen = Vec::new();
    for backend in Backend::all() {
        seen.push((backend.name, check(&backend).await));
    }
    same(seen)
}

fn small_batches() -> Vec<Batch> {
    small_session().into_iter().map(Batch::from).collect()
}

#[tokio::test]
async fn a_session_that_is_made_is_open_and_read_back_whole() {
    let seen = on_each(async |it| {
        let head = it.journal.create(&header(1), small_batches()).await.unwrap();
        let bytes = it.journal.open_bytes(session_id(1));
        let (opened, events) = it.opened().await;
        assert_eq!((opened.head, Some(opened.bytes)), (head, bytes));
        let header = it.journal.header(session_id(1)).await.unwrap();
        assert_eq!(opened.header, header);
        let list = it.journal.list().await.unwrap();
        let there = [
            it.journal.exists(session_id(1)).await.unwrap(),
            it.journal.exists(session_id(2)).await.unwrap(),
        ];
        (opened, events, list, there)
    })
    .await;
    let (opened, events, list, there) = seen;
    assert_eq!((opened.header, events), (header(1), small_session().concat()));
    assert_eq!((list, there), (vec![session_id(1)], [true, false]));
}

#[tokio::test]
async fn every_type_of_event_has_the_same_hash_everywhere() {
    let head = on_each(async |it| {
        let head = it.journal.create(&header(1), vec![Batch::default()]).await.unwrap();
        assert_eq!(head, None);
        let mut head = None;
        for event in every_type() {
            head = it.append(head, &[event]).await;
        }
        let (_, events) = it.opened().await;
        assert_eq!(events, every_type());
        head
    })
    .await;
    assert_eq!(head.map(|it| it.seq), Some(every_type().len() as u64));
}

#[tokio::test]
async fn an_append_with_another_head_is_refused_and_changes_nothing() {
    on_each(async |it| {
        let head = it.journal.create(&header(1), small_batches()).await.unwrap();
        let other = LogHead { seq: 7, hash: LineHash::of(b"another") };
        let earlier = LogHead { seq: 5, ..head.unwrap() };
        for expected in [None, Some(other), Some(earlier)] {
            let batch = vec![notice(8, "late")].into();
            let refused = it.journal.append(session_id(1), expected, batch).await;
            assert_eq!(outcome(refused), Err(StorageErrorKind::Fenced), "{}", it.name);
        }
        // It is still open, and as it was.
        let head = it.append(head, &[notice(8, "in time")]).await;
        let behind = vec![notice(9, "of a stalled writer")].into();
        let stalled = it.journal.append(session_id(1), None, behind).await;
        assert_eq!(outcome(stalled), Err(StorageErrorKind::Fenced));
        assert_eq!(it.read(None, 7).await, (vec![8], head, Tail::Clean));
        head
    })
    .await;
}

#[tokio::test]
async fn a_refused_event_is_named_and_closes_the_session() {
    on_each(async |it| {
        let head = it.journal.create(&header(1), small_batches()).await.unwrap();
        let batch = vec![notice(8, "good"), user(9, Some(1), "its parent is no message")];
        let refused = it.journal.append(session_id(1), head, batch.into()).await.unwrap_err();
        assert_eq!(refused.kind, StorageErrorKind::Refused);
        let message = &refused.message;
        assert!(message.contains("event 9") && message.contains("invalid_parent"), "{refused}");
        let closed = it.journal.append(session_id(1), head, vec![notice(8, "")].into()).await;
        assert_eq!(outcome(closed), Err(StorageErrorKind::MustReopen), "{}", it.name);
        assert_eq!(
            (it.journal.cursor(session_id(1)), it.journal.open_bytes(session_id(1))),
            (None, None)
        );
        let (opened, _) = it.opened().await;
        assert_eq!(opened.head, head);
        it.append(head, &[notice(8, "good")]).await
    })
    .await;
}

#[tokio::test]
async fn a_refused_session_is_not_made() {
    on_each(async |it| {
        let batches = vec![vec![notice(1, "")].into(), vec![notice(3, "")].into()];
        let refused = it.journal.create(&header(1), batches).await.unwrap_err();
        assert_eq!(refused.kind, StorageErrorKind::Refused);
        let message = &refused.message;
        assert!(message.contains("event 3") && message.contains("non_monotonic_seq"), "{refused}");
        let newer = SessionHeader { v: 9, ..header(1) };
        let refused = outcome(it.journal.create(&newer, Vec::new()).await);
        assert_eq!(refused, Err(StorageErrorKind::Refused));
        assert_eq!(it.journal.list().await.unwrap(), []);
        it.journal.create(&header(1), small_batches()).await.unwrap();
        let again = outcome(it.journal.create(&header(1), Vec::new()).await);
        assert_eq!(again, Err(StorageErrorKind::Exists), "{}", it.name);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    on_each(async |it| {
        let (journal, id) = (&it.journal, session_id(1));
        let absent = StorageErrorKind::NotFound;
        assert_eq!(it.open(None, None, &mut Vec::new()).await, Err(absent.clone()));
        assert_eq!(outcome(journal.header(id).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.read(id, None, 0, &mut |_| ()).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.find(id, event_id(1)).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.newest_seq(id).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.size(id).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.belongings(id).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.remove(id).await).unwrap_err(), absent);
        assert_eq!(outcome(journal.read_blob(&sha256_hex(b"x")).await).unwrap_err(), absent);
        let append = journal.append(id, None, vec![notice(1, "")].into()).await;
        assert_eq!(outcome(append), Err(StorageErrorKind::MustReopen));
        journal.close(id);
        assert_eq!(journal.cursor(id), None);
    })
    .await;
}

#[tokio::test]
async fn a_session_tells_its_size_and_its_newest_event_without_being_read() {
    let seen = on_each(async |it| {
        let (journal, id) = (&it.journal, session_id(1));
        let mut head = journal.create(&header(1), Vec::new()).await.unwrap();
        let mut told = vec![(journal.newest_seq(id).await.unwrap(), journal.open_bytes(id))];
        for seq in 1..=2 {
            head = it.append(head, &[notice(seq, "said")]).await;
            let size = Some(journal.size(id).await.unwrap());
            assert_eq!(journal.open_bytes(id), size, "{}", it.name);
            told.push((journal.newest_seq(id).await.unwrap(), size));
        }
        journal.close(id);
        told.push((journal.newest_seq(id).await.unwrap(), journal.size(id).await.ok()));
        told
    })
    .await;
    let seqs: Vec<Option<u64>> = seen.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [None, Some(1), Some(2), Some(2)]);
    assert!(seen[0].1 < seen[1].1 && seen[1].1 < seen[2].1 && seen[2] == seen[3], "{seen:?}");
}

#[tokio::test]
async fn a_cursor_saves_reading_what_stands_before_it() {
    on_each(async |it| {
        let mut cursors = Vec::new();
        let mut head = it.journal.create(&header(1), Vec::new()).await.unwrap();
        assert_eq!(it.journal.cursor(session_id(1)), None);
        for batch in small_session() {
            head = it.append(head, &batch).await;
            cursors.push(it.journal.cursor(session_id(1)).unwrap());
        }
        let mut seen = Vec::new();
        for cursor in &cursors {
            let mut events = Vec::new();
            let opened = it.open(head, Some(cursor), &mut events).await.unwrap().unwrap();
            assert_eq!(
                (opened.head, Some(opened.bytes)),
                (head, it.journal.open_bytes(session_id(1)))
            );
            seen.push(events.len());
        }
        assert_eq!(seen, [6, 3, 2, 0]);
        let first = &cursors[0];
        let misfits = [
            Cursor { bytes: b"of another journal".to_vec(), ..first.clone() },
            Cursor { bytes: Vec::new(), ..first.clone() },
            Cursor { head: cursors[1].head, ..first.clone() },
            Cursor { head: LogHead { hash: LineHash::of(b"x"), ..first.head }, ..first.clone() },
        ];
        for (n, misfit) in misfits.iter().enumerate() {
            let opened = it.open(None, Some(misfit), &mut Vec::new()).await;
            assert_eq!(opened, Ok(None), "{} {n}", it.name);
            assert_eq!(it.journal.open_bytes(session_id(1)), None);
        }
        let denied = LogHead { hash: LineHash::of(b"x"), ..first.head };
        assert_eq!(it.open(Some(denied), Some(first), &mut Vec::new()).await, Ok(None));
    })
    .await;
}

#[tokio::test]
async fn a_session_is_opened_again_while_it_is_open() {
    on_each(async |it| {
        let head = it.journal.create(&header(1), small_batches()).await.unwrap();
        let (opened, events) = it.opened().await;
        assert_eq!((opened.head, events.len()), (head, 7));
        // Whoever gets the events may ask about the session meanwhile.
        let mut each = |_| {
            let known = (it.journal.cursor(session_id(1)), it.journal.open_bytes(session_id(1)));
            assert_eq!(known, (None, None), "{}", it.name);
        };
        let clock = StillClock::default();
        it.journal.open(session_id(1), None, None, &clock, &mut each).await.unwrap();
        it.append(head, &[notice(8, "on")]).await
    })
    .await;
}

#[tokio::test]
async fn what_was_acknowledged_and_is_missing_is_damage() {
    on_each(async |it| {
        let head = it.journal.create(&header(1), small_batches()).await.unwrap().unwrap();
        let beyond = LogHead { seq: 9, ..head };
        let damage = |line, code, detail: &str| Damage { line, code, detail: detail.to_owned() };
        let lost = damage(
            9,
            DamageCode::LostTail,
            "events up to 9 were acknowledged, but only 7 can be read",
        );
        let mut events = Vec::new();
        let refused = it.open(Some(beyond), None, &mut events).await;
        assert_eq!(refused, Err(StorageErrorKind::Damaged(lost.clone())), "{}", it.name);
        let all = vec![1, 2, 3, 4, 5, 6, 7];
        assert_eq!(it.read(Some(beyond), 0).await, (all, Some(head), Tail::Damaged(lost)));
        let closed = it.journal.append(session_id(1), Some(head), vec![notice(8, "")].into()).await;
        assert_eq!(outcome(closed), Err(StorageErrorKind::MustReopen));

        let other = LogHead { seq: 3, hash: LineHash::of(b"another") };
        let Err(StorageErrorKind::Damaged(broken)) =
            it.open(Some(other), None, &mut Vec::new()).await
        else {
            panic!("{}: it was opened", it.name)
        };
        assert_eq!((broken.line, broken.code), (4, DamageCode::BrokenChain));
        // The line takes its batch with it.
        let (seqs, good_head, tail) = it.read(Some(other), 0).await;
        assert_eq!((seqs, tail), (vec![1], Tail::Damaged(broken.clone())));
        (broken, good_head)
    })
    .await;
}

#[tokio::test]
async fn a_damaged_session_is_copied_as_far_as_it_can_be_read() {
    let seen = on_each(async |it| {
        let head = it.journal.create(&header(1), small_batches()).await.unwrap().unwrap();
        let branch = r#"{"type":"leaf_moved","to":"019a8a00-0000-7000-8000-000000000002","reason":"branch"}"#;
        let moved = crate::samples::event(8, None, branch);
        let head = it.append(Some(head), &[moved]).await.unwrap();
        let clock = StillClock::default();
        let whole = it.journal.repair(session_id(1), Some(head), header(2), &clock).await;
        assert_eq!(outcome(whole), Err(StorageErrorKind::NotDamaged), "{}", it.name);
        let beyond = Some(LogHead { seq: 20, ..head });
        let elsewhere = SessionHeader { agent_id: "bob".to_owned(), ..header(2) };
        let refused = it.journal.repair(session_id(1), beyond, elsewhere, &clock).await;
        assert_eq!(outcome(refused), Err(StorageErrorKind::Refused));
        let repaired = it.journal.repair(session_id(1), beyond, header(2), &clock).await.unwrap();
        assert_eq!(it.journal.open_bytes(session_id(2)), None, "it is not open");
        let mut events = Vec::new();
        let mut each = |event| events.push(event);
        let reading =
            it.journal.read(session_id(2), repaired.head, 0, &mut each).await.unwrap();
        assert_eq!((reading.tail, reading.head), (Tail::Clean, repaired.head));
        (repaired, reading.header, events)
    })
    .await;
    let (repaired, header, events) = seen;
    assert_eq!((repaired.n_events, events.len()), (4, 4));
    assert_eq!((repaired.lost_from_line, repaired.code), (10, DamageCode::LostTail));
    assert_eq!(header.cloned_from.unwrap().event_id, event_id(7));
}

#[tokio::test]
async fn blobs_are_kept_with_the_batch_that_names_them() {
    on_each(async |it| {
        let output = b"all that the tool said".to_vec();
        let (sha256, whole) = (sha256_hex(&output), long('s').into_bytes());
        let path = it.spill("output", &whole);
        let spill =
            SpillFile { path: path.clone(), sha256: sha256_hex(&whole), bytes: whole.len() as u64 };
        let blobs = vec![NewBlob::Bytes(output.clone()), NewBlob::File(spill.clone())];
        let events = vec![notice(1, &long('t'))];
        let none = Batch { events: Vec::new(), blobs: blobs.clone() };
        assert_eq!(it.journal.create(&header(1), vec![none]).await.unwrap(), None);
        assert!(it.journal.read_blob(&sha256).await.is_err(), "an empty batch is not written");
        assert!(!it.journal.has_blob(&sha256) && !it.journal.has_blob("."));
        let head = it.journal.append(session_id(1), None, Batch { events, blobs }).await.unwrap();
        let text = long('t').into_bytes();
        for bytes in [&output, &whole, &text] {
            assert_eq!(&it.journal.read_blob(&sha256_hex(bytes)).await.unwrap(), bytes);
            assert!(it.journal.has_blob(&sha256_hex(bytes)));
        }
        assert!(!it.has(&path), "{}: it was moved", it.name);

        // The same output once more.
        let again = it.spill("again", &whole);
        let spill = SpillFile { path: again.clone(), ..spill };
        let batch = Batch { events: vec![notice(2, "")], blobs: vec![NewBlob::File(spill)] };
        let head = it.journal.append(session_id(1), head, batch).await.unwrap();
        assert!(!it.has(&again));
        head
    })
    .await;
}

#[tokio::test]
async fn blobs_of_a_waiting_message_are_put_alone_and_held() {
    on_each(async |it| {
        let text = long('h');
        let (bytes, sha256) = (text.clone().into_bytes(), sha256_hex(text.as_bytes()));
        it.journal.put_blobs(vec![NewBlob::Bytes(bytes.clone())]).await.unwrap();
        assert_eq!(it.journal.read_blob(&sha256).await.unwrap(), bytes);
        for is_held in [true, false] {
            let hold = is_held.then(|| it.journal.hold_blobs(vec![sha256.clone()]));
            it.journal.create(&header(1), vec![vec![user(1, None, &text)].into()]).await.unwrap();
            it.journal.close(session_id(1));
            it.journal.remove(session_id(1)).await.unwrap();
            assert_eq!(it.journal.has_blob(&sha256), is_held, "{}", it.name);
            drop(hold);
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_that_is_not_as_announced_becomes_no_blob() {
    on_each(async |it| {
        let head = it.journal.create(&header(1), Vec::new()).await.unwrap();
        let path = it.spill("output", b"said");
        let right = SpillFile { path: path.clone(), sha256: sha256_hex(b"said"), bytes: 4 };
        let wrong = [
            (SpillFile { bytes: 5, ..right.clone() }, StorageErrorKind::Refused),
            (SpillFile { sha256: sha256_hex(b"sad!"), ..right.clone() }, StorageErrorKind::Refused),
            (SpillFile { bytes: BLOB_BYTES_MAX + 1, ..right }, StorageErrorKind::LimitReached),
        ];
        for (spill, expected) in wrong {
            let batch = Batch { events: vec![notice(1, "")], blobs: vec![NewBlob::File(spill)] };
            let refused = it.journal.append(session_id(1), head, batch).await;
            assert_eq!(outcome(refused), Err(expected), "{}", it.name);
            assert!(it.has(&path));
            let (opened, _) = it.opened().await;
            assert_eq!(opened.head, head, "nothing was written");
        }
    })
    .await;
}

#[tokio::test]
async fn what_only_a_session_names_goes_with_it() {
    let removed = on_each(async |it| {
        let (own, shared) = (long('a'), long('b'));
        let first = vec![user(1, None, &own), user(2, Some(1), &shared)];
        it.journal.create(&header(1), vec![first.into()]).await.unwrap();
        it.journal.create(&header(2), vec![vec![user(1, None, &shared)].into()]).await.unwrap();
        let open = outcome(it.journal.remove(session_id(1)).await);
        assert_eq!(open, Err(StorageErrorKind::InUse), "{}", it.name);
        it.journal.close(session_id(1));
        let belongings = it.journal.belongings(session_id(1)).await.unwrap();
        let removed = it.journal.remove(session_id(1)).await.unwrap();
        assert_eq!(removed, belongings);
        assert_eq!(it.journal.list().await.unwrap(), [session_id(2)]);
        assert!(it.journal.read_blob(&sha256_hex(own.as_bytes())).await.is_err());
        let mut events = Vec::new();
        let mut each = |event| events.push(event);
        let clock = StillClock::default();
        it.journal.open(session_id(2), None, None, &clock, &mut each).await.unwrap();
        assert_eq!(events, [user(1, None, &shared)]);
        removed
    })
    .await;
    let own = sha256_hex(long('a').as_bytes());
    assert_eq!(
        removed.parts,
        [format!("sessions/{}.jsonl", session_id(1)), format!("blobs/{own}")]
    );
}

#[tokio::test]
async fn a_long_history_is_copied_in_batches_of_its_own() {
    on_each(async |it| {
        let events: Vec<Event> =
            (1..=300).map(|seq| user(seq, (seq > 1).then_some(seq - 1), "said")).collect();
        let head = it
            .journal
            .create(&header(1), events.iter().cloned().map(|it| vec![it].into()).collect())
            .await
            .unwrap();
        // An event far back is known as a parent, and its id is not taken twice.
        let head = it.append(head, &[user(301, Some(2), "a branch")]).await;
        let twin = Event { id: event_id(3), ..notice(302, "twin") };
        let refused = it.journal.append(session_id(1), head, vec![twin].into()).await.unwrap_err();
        assert!(refused.message.contains("duplicate_event_id"), "{refused}");
        assert_eq!(
            it.journal.find(session_id(1), event_id(3)).await.unwrap(),
            Some(events[2].clone())
        );
        assert_eq!(it.journal.find(session_id(1), event_id(999)).await.unwrap(), None);
        head
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_written_side_by_side() {
    for backend in Backend::all() {
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=8 {
            let journal = Arc::clone(&backend.journal);
            tasks.spawn(async move {
                let mut head = journal.create(&header(n), Vec::new()).await.unwrap();
                for seq in 1..=20 {
                    let batch = vec![notice(seq, "said")].into();
                    head = journal.append(session_id(n), head, batch).await.unwrap();
                    let mut seqs = 0;
                    let mut each = |event: Event| seqs = event.seq;
                    let reading = journal.read(session_id(n), head, 0, &mut each).await.unwrap();
                    assert_eq!((reading.tail, seqs), (Tail::Clean, seq));
                }
                let mut n_events = 0;
                let mut each = |_| n_events += 1;
                let clock = StillClock::default();
                journal.open(session_id(n), head, None, &clock, &mut each).await.unwrap();
                journal.close(session_id(n));
                assert_eq!(n_events, 20);
            });
        }
        tasks.join_all().await;
        assert_eq!(backend.journal.list().await.unwrap().len(), 8);
    }
}
