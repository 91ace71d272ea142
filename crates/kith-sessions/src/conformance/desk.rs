//! What every desk does alike.

mod random;

use std::fmt::Debug;
use std::sync::Arc;

use kith_vocab::header::Audience;
use kith_vocab::ids::ThreadId;
use kith_vocab::ingress::{INGRESS_KEY_BYTES_MAX, IngressEvent, MESSAGE_BYTES_MAX};
use tempfile::TempDir;

use super::{outcome, same};
use crate::desk::{
    AcceptOutcome, CommandTime, Desk, ENVELOPE_BYTES_MAX, MemoryDesk, OPEN_ROWS_MAX, Repository,
    RowOutcome, RowStatus, RowTarget, SqliteDesk, TaintedContent, ThreadRow, Wakeup, WakeupReason,
};
use crate::line::{LineHash, LogHead};
use crate::samples::{NOW, said, session_id};
use crate::storage::StorageErrorKind;

const DEVICE: &str = "019a8a00-0000-7000-a000-000000000001";

const OUTCOMES: [RowOutcome; 6] = [
    RowOutcome::Done,
    RowOutcome::Cancelled,
    RowOutcome::Failed,
    RowOutcome::Bound,
    RowOutcome::Declined,
    RowOutcome::Removed,
];

struct Backend {
    name: &'static str,
    desk: Arc<dyn Desk>,
    _folder: Option<TempDir>,
}

impl Backend {
    async fn all() -> Vec<Backend> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        let sqlite = SqliteDesk::open(&path, DEVICE.to_owned()).await.unwrap();
        vec![
            Backend {
                name: "memory",
                desk: Arc::new(MemoryDesk::new(DEVICE).handle()),
                _folder: None,
            },
            Backend { name: "sqlite", desk: Arc::new(sqlite), _folder: Some(folder) },
        ]
    }

    /// Accepts a message for the session.
    async fn accept(&self, key: &str, session: u64) -> AcceptOutcome {
        self.deliver(&said(key, key), RowTarget::Session(session_id(session))).await.unwrap()
    }

    async fn deliver(
        &self,
        event: &IngressEvent,
        target: RowTarget,
    ) -> Result<AcceptOutcome, StorageErrorKind> {
        outcome(self.desk.accept(event, target, session_id(90), NOW).await)
    }

    async fn close(&self, key: &str, outcome: RowOutcome, session: u64) {
        let rows = vec![(key.to_owned(), outcome)];
        self.desk.close(rows, session_id(session), head(1), NOW + 1).await.unwrap();
    }

    async fn keys(&self, session: u64) -> Vec<String> {
        let rows = self.desk.open_rows(session_id(session)).await.unwrap();
        rows.into_iter().map(|row| row.key).collect()
    }
}

async fn on_each<T: PartialEq + Debug>(check: impl AsyncFn(&Backend) -> T) -> T {
    let mut seen = Vec::new();
    for backend in Backend::all().await {
        seen.push((backend.name, check(&backend).await));
    }
    same(seen)
}

fn head(seq: u64) -> LogHead {
    LogHead { seq, hash: LineHash::of(&seq.to_be_bytes()) }
}

fn thread() -> ThreadId {
    said("", "").thread_id
}

fn closed(session: u64, outcome: RowOutcome) -> RowStatus {
    RowStatus::Closed { session_id: session_id(session), outcome }
}

#[tokio::test]
async fn a_message_is_accepted_once() {
    on_each(async |it| {
        let first = it.deliver(&said("m-1", "hi"), RowTarget::Current).await.unwrap();
        let status = RowStatus::Open { session_id: session_id(90) };
        let expected = AcceptOutcome {
            first: true,
            session_id: session_id(90),
            status,
            event: said("m-1", "hi"),
            generation: 1,
            head: None,
        };
        assert_eq!(first, expected);
        // What is around a message may differ from one delivery to the next.
        let later = IngressEvent { ts: NOW + 5, ..said("m-1", "hi") };
        let again = it.deliver(&later, RowTarget::New).await.unwrap();
        assert_eq!(again, AcceptOutcome { first: false, ..expected });
        it.close("m-1", RowOutcome::Bound, 90).await;
        let again = it.deliver(&later, RowTarget::New).await.unwrap();
        assert_eq!((again.first, again.status), (false, closed(90, RowOutcome::Bound)));
        assert_eq!(again.event, later, "the row has lost its text");
        assert_eq!(it.desk.row("m-1").await.unwrap(), Some(again.status));
        assert_eq!(it.desk.row("m-2").await.unwrap(), None);
        it.desk.open_rows(session_id(90)).await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_key_stands_for_one_message() {
    on_each(async |it| {
        it.accept("m-1", 1).await;
        let original = said("m-1", "m-1");
        let others = [
            said("m-1", "something else"),
            IngressEvent { agent_id: "bob".to_owned(), ..original.clone() },
            IngressEvent { thread_id: "telegram:group:43".parse().unwrap(), ..original.clone() },
        ];
        for _ in ["open", "closed"] {
            for other in &others {
                let refused = it.deliver(other, RowTarget::Current).await;
                assert_eq!(refused, Err(StorageErrorKind::Conflict), "{}", it.name);
            }
            assert!(!it.deliver(&original, RowTarget::Current).await.unwrap().first);
            it.close("m-1", RowOutcome::Done, 1).await;
        }
        // A row that was entered from a log has no digest.
        it.close("m-2", RowOutcome::Failed, 3).await;
        let known = it.deliver(&said("m-2", "whatever"), RowTarget::New).await.unwrap();
        assert_eq!((known.first, known.status), (false, closed(3, RowOutcome::Failed)));
        it.desk.threads().await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn so_many_messages_may_wait_for_a_session() {
    on_each(async |it| {
        for n in 0..OPEN_ROWS_MAX {
            it.accept(&format!("m-{n}"), 1).await;
        }
        let refused = it.deliver(&said("more", ""), RowTarget::Session(session_id(1))).await;
        assert_eq!(refused, Err(StorageErrorKind::LimitReached), "{}", it.name);
        assert_eq!(it.desk.row("more").await.unwrap(), None);
        assert!(!it.accept("m-0", 1).await.first, "what was accepted stays accepted");
        it.accept("other", 2).await;
        it.close("m-7", RowOutcome::Done, 1).await;
        it.accept("more", 1).await.first
    })
    .await;
}

#[tokio::test]
async fn the_texts_that_wait_for_a_session_have_a_limit_together() {
    on_each(async |it| {
        let longest = "m".repeat(MESSAGE_BYTES_MAX);
        let target = RowTarget::Session(session_id(1));
        for key in ["m-1", "m-2"] {
            assert!(it.deliver(&said(key, &longest), target).await.is_ok(), "{}", it.name);
        }
        let refused = it.deliver(&said("m-3", "m"), target).await;
        assert_eq!(refused, Err(StorageErrorKind::LimitReached));
        assert!(it.deliver(&said("m-3", ""), target).await.is_ok());
        it.close("m-1", RowOutcome::Done, 1).await;
        assert!(it.deliver(&said("m-4", "m"), target).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn what_is_too_long_is_not_accepted() {
    on_each(async |it| {
        let long_key = "k".repeat(INGRESS_KEY_BYTES_MAX + 1);
        let mut named = said("m-1", "hi");
        named.author.display_name = "n".repeat(ENVELOPE_BYTES_MAX);
        let too_long = said("m-1", &"m".repeat(MESSAGE_BYTES_MAX + 1));
        let mut seen = Vec::new();
        for event in [said("", "hi"), said(&long_key, "hi"), named, too_long] {
            seen.push(it.deliver(&event, RowTarget::New).await.unwrap_err());
        }
        let (refused, limit) = (StorageErrorKind::Refused, StorageErrorKind::LimitReached);
        assert_eq!(seen, [refused.clone(), refused, limit.clone(), limit]);
        it.desk.generation().await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn closing_enters_what_is_not_known_and_changes_no_outcome() {
    on_each(async |it| {
        for key in ["m-1", "m-2"] {
            it.accept(key, 1).await;
        }
        it.accept("m-3", 2).await;
        assert_eq!(it.keys(1).await, ["m-1", "m-2"]);
        it.accept("m-0", 1).await;
        assert_eq!(it.keys(1).await, ["m-1", "m-2", "m-0"], "in the order of acceptance");
        let rows = OUTCOMES.map(|outcome| (format!("k-{outcome:?}"), outcome));
        it.desk.close(rows.to_vec(), session_id(1), head(4), NOW).await.unwrap();
        for (key, outcome) in rows {
            assert_eq!(it.desk.row(&key).await.unwrap(), Some(closed(1, outcome)));
        }
        it.close("m-1", RowOutcome::Done, 1).await;
        it.close("m-1", RowOutcome::Failed, 2).await;
        assert_eq!(it.desk.row("m-1").await.unwrap(), Some(closed(1, RowOutcome::Done)));
        let waiting = it.desk.sessions_with_open_rows().await.unwrap();
        assert_eq!(waiting, [session_id(1), session_id(2)]);
        it.close("m-2", RowOutcome::Done, 1).await;
        // The row that waits longest now is of the other session.
        assert_eq!(
            it.desk.sessions_with_open_rows().await.unwrap(),
            [session_id(2), session_id(1)]
        );
    })
    .await;
}

#[tokio::test]
async fn keys_that_are_old_enough_are_pruned() {
    on_each(async |it| {
        it.accept("open", 1).await;
        for (key, now) in [("old", NOW), ("new", NOW + 9)] {
            let rows = vec![(key.to_owned(), RowOutcome::Done)];
            it.desk.close(rows, session_id(1), head(1), now).await.unwrap();
        }
        it.desk.prune(NOW + 9).await.unwrap();
        let known = [
            it.desk.row("open").await.unwrap().is_some(),
            it.desk.row("old").await.unwrap().is_some(),
            it.desk.row("new").await.unwrap().is_some(),
        ];
        assert_eq!(known, [true, false, true]);
    })
    .await;
}

#[tokio::test]
async fn a_head_never_goes_back() {
    on_each(async |it| {
        assert_eq!(it.desk.head(session_id(1)).await.unwrap(), None);
        for (seq, expected) in [(5, 5), (3, 5), (5, 5), (8, 8)] {
            it.desk.close(Vec::new(), session_id(1), head(seq), NOW).await.unwrap();
            assert_eq!(it.desk.head(session_id(1)).await.unwrap(), Some(head(expected)));
        }
        let other = LogHead { hash: LineHash::of(b"another"), ..head(8) };
        it.desk.close(Vec::new(), session_id(1), other, NOW).await.unwrap();
        it.desk.close(Vec::new(), session_id(0), head(1), NOW).await.unwrap();
        let expected = [(session_id(0), head(1)), (session_id(1), head(8))];
        assert_eq!(it.desk.heads().await.unwrap(), expected);
    })
    .await;
}

#[tokio::test]
async fn a_thread_stays_in_its_session_until_told_otherwise() {
    on_each(async |it| {
        let targets = [RowTarget::Current, RowTarget::New, RowTarget::Session(session_id(1))];
        let mut sessions = Vec::new();
        for (n, target) in (1..).zip([targets[0], targets[0], targets[1], targets[0], targets[2]]) {
            let event = said(&format!("m-{n}"), "hi");
            let accepted = it.desk.accept(&event, target, session_id(n), NOW + n).await.unwrap();
            sessions.push(accepted.session_id);
        }
        assert_eq!(sessions, [1, 1, 3, 3, 1].map(session_id));
        let current = it.desk.current_session("ada", &thread()).await.unwrap();
        assert_eq!(current, Some(session_id(1)));
        assert_eq!(it.desk.current_session("bob", &thread()).await.unwrap(), None);
        it.desk.threads().await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn an_audience_only_narrows() {
    on_each(async |it| {
        assert_eq!(it.desk.thread_audience("ada", &thread()).await.unwrap(), None);
        let spoken = [
            (Audience::Owner, "m-1", Audience::Owner),
            (Audience::Shared, "m-2", Audience::Shared),
            (Audience::Owner, "m-3", Audience::Shared),
            (Audience::Peer, "m-4", Audience::Peer),
        ];
        for (audience, key, expected) in spoken {
            let event = IngressEvent { audience, ..said(key, "hi") };
            it.deliver(&event, RowTarget::Session(session_id(2))).await.unwrap();
            let known = it.desk.thread_audience("ada", &thread()).await.unwrap();
            assert_eq!(known, Some(expected), "{key}");
        }
        let row = ThreadRow {
            agent_id: "ada".to_owned(),
            thread_id: thread(),
            session_id: session_id(3),
            audience: Audience::Owner,
            updated_at: NOW - 1,
        };
        it.desk.place_session(row.clone(), Some(head(3))).await.unwrap();
        let expected = ThreadRow { audience: Audience::Peer, updated_at: NOW, ..row };
        assert_eq!(it.desk.threads().await.unwrap(), [expected]);
        assert_eq!(it.keys(2).await.len(), 4, "what waits goes on waiting");
        it.desk.heads().await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn what_waits_for_a_replaced_session_waits_for_its_successor() {
    on_each(async |it| {
        for key in ["m-1", "m-2", "m-3"] {
            it.accept(key, 1).await;
        }
        let elsewhere = IngressEvent { agent_id: "bob".to_owned(), ..said("b-1", "b-1") };
        it.deliver(&elsewhere, RowTarget::Session(session_id(1))).await.unwrap();
        it.close("m-1", RowOutcome::Done, 1).await;
        it.desk.set_wakeup(wakeup("w-1", Some(1), NOW)).await.unwrap();
        let held = vec!["m-3".to_owned(), "unknown".to_owned()];
        let sessions = (session_id(1), session_id(2));
        it.desk.replace_session("ada", &thread(), sessions, held, NOW).await.unwrap();
        let current = it.desk.current_session("ada", &thread()).await.unwrap();
        assert_eq!(current, Some(session_id(2)));
        assert_eq!((it.keys(1).await, it.keys(2).await), (vec!["b-1".into()], vec!["m-2".into()]));
        let expected = [
            ("m-1", closed(1, RowOutcome::Done)),
            ("m-3", closed(1, RowOutcome::Failed)),
            ("unknown", closed(1, RowOutcome::Failed)),
        ];
        for (key, status) in expected {
            assert_eq!(it.desk.row(key).await.unwrap(), Some(status), "{} {key}", it.name);
        }
        assert_eq!(it.desk.next_wakeup().await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn of_a_forgotten_session_only_the_keys_stay() {
    on_each(async |it| {
        it.accept("m-1", 1).await;
        it.desk.set_wakeup(wakeup("w-1", Some(1), NOW)).await.unwrap();
        it.desk.set_wakeup(wakeup("w-2", Some(2), NOW)).await.unwrap();
        assert!(!it.desk.forget_session(session_id(1)).await.unwrap(), "a message waits for it");
        assert_eq!(it.desk.threads().await.unwrap().len(), 1);
        it.close("m-1", RowOutcome::Done, 1).await;
        assert!(it.desk.forget_session(session_id(1)).await.unwrap());
        assert!(it.desk.forget_session(session_id(1)).await.unwrap());
        assert_eq!(it.desk.threads().await.unwrap(), []);
        assert_eq!(it.desk.heads().await.unwrap(), []);
        assert_eq!(it.desk.row("m-1").await.unwrap(), Some(closed(1, RowOutcome::Done)));
        it.desk.next_wakeup().await.unwrap().map(|it| it.key)
    })
    .await;
}

#[tokio::test]
async fn wakeups_come_in_the_order_of_their_time() {
    on_each(async |it| {
        assert_eq!(it.desk.next_wakeup().await.unwrap(), None);
        let room = Wakeup {
            session_id: None,
            agent_thread: Some(("ada".to_owned(), thread())),
            reason: WakeupReason::ApprovalExpiry,
            ..wakeup("w-1", None, NOW + 5)
        };
        for wakeup in
            [wakeup("w-3", Some(1), NOW + 9), room.clone(), wakeup("w-2", Some(1), NOW + 5)]
        {
            it.desk.set_wakeup(wakeup).await.unwrap();
        }
        assert_eq!(it.desk.next_wakeup().await.unwrap(), Some(room));
        it.desk.set_wakeup(wakeup("w-3", Some(1), NOW)).await.unwrap();
        let of_session = |it: &Wakeup| it.session_id == Some(session_id(1));
        let mut wakeups = it.desk.wakeups().await.unwrap();
        wakeups.retain(of_session);
        assert_eq!(wakeups, [wakeup("w-3", Some(1), NOW), wakeup("w-2", Some(1), NOW + 5)]);
        for key in ["w-3", "w-1", "unknown"] {
            it.desk.remove_wakeup(key).await.unwrap();
        }
        assert_eq!(it.desk.next_wakeup().await.unwrap(), Some(wakeup("w-2", Some(1), NOW + 5)));
    })
    .await;
}

#[tokio::test]
async fn a_trusted_repository_is_kept_until_it_is_taken_back() {
    on_each(async |it| {
        let repository = |path: &str, mark: &str| Repository {
            path: path.to_owned(),
            mark: mark.to_owned(),
            trusted_at: NOW,
        };
        for (path, mark) in [("/srv/b", "1:2"), ("/srv/a b", "3:-"), ("/srv/b", "4:5")] {
            it.desk.trust(repository(path, mark)).await.unwrap();
        }
        let both = [repository("/srv/a b", "3:-"), repository("/srv/b", "4:5")];
        assert_eq!(it.desk.repositories().await.unwrap(), both);
        assert!(it.desk.distrust("/srv/b").await.unwrap());
        assert!(!it.desk.distrust("/srv/b").await.unwrap());
        let refused = outcome(it.desk.trust(repository(&"x".repeat(5_000), "1:2")).await);
        assert_eq!(refused, Err(StorageErrorKind::LimitReached));
        it.desk.repositories().await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_tainted_content_is_kept_once() {
    on_each(async |it| {
        let content =
            |digit: &str, noted_at| TaintedContent { sha256: digit.repeat(64), bytes: 5, noted_at };
        for (digit, noted_at) in [("b", NOW), ("a", NOW + 1), ("b", NOW + 2)] {
            it.desk.note_tainted(content(digit, noted_at)).await.unwrap();
        }
        let refused = outcome(it.desk.note_tainted(content("x", NOW)).await);
        assert_eq!(refused, Err(StorageErrorKind::Refused));
        let all = it.desk.tainted_contents().await.unwrap();
        assert_eq!(all, [content("a", NOW + 1), content("b", NOW)]);
        all
    })
    .await;
}

#[tokio::test]
async fn the_time_of_a_command_is_noted_when_it_begins_and_when_it_ends() {
    on_each(async |it| {
        let time = |root: &str, began, ended| CommandTime { root: root.to_owned(), began, ended };
        let noted = [("/b", NOW, None), ("/a", NOW, None), ("/b", NOW, Some(NOW + 5))];
        for (root, began, ended) in noted {
            it.desk.note_command(time(root, began, ended)).await.unwrap();
        }
        let refused = outcome(it.desk.note_command(time("b", NOW, None)).await);
        assert_eq!(refused, Err(StorageErrorKind::Refused));
        let all = it.desk.command_times().await.unwrap();
        assert_eq!(all, [time("/a", NOW, None), time("/b", NOW, Some(NOW + 5))]);
        all
    })
    .await;
}

#[tokio::test]
async fn the_generation_rises_once_with_the_first_new_message() {
    on_each(async |it| {
        assert_eq!((it.desk.device_id(), it.desk.generation().await.unwrap()), (DEVICE, 0));
        it.close("m-1", RowOutcome::Done, 1).await;
        assert_eq!(it.deliver(&said("m-1", ""), RowTarget::New).await.unwrap().generation, 0);
        let generations =
            [it.accept("m-2", 1).await.generation, it.accept("m-3", 1).await.generation];
        assert_eq!(generations, [1, 1]);
        for (raised, found) in [(7, 7), (3, 7)] {
            it.desk.raise_generation(raised).await.unwrap();
            assert_eq!(it.accept(&format!("m-{raised}"), 1).await.generation, found);
        }
        it.desk.generation().await.unwrap()
    })
    .await;
}

fn wakeup(key: &str, session: Option<u64>, at: u64) -> Wakeup {
    Wakeup {
        key: key.to_owned(),
        session_id: session.map(session_id),
        agent_thread: None,
        at,
        reason: WakeupReason::ModelRetry,
    }
}
