use std::collections::BTreeMap;
use std::fs;

use kith_vocab::header::Audience;
use kith_vocab::ids::SessionId;
use kith_vocab::ingress::{INGRESS_KEY_BYTES_MAX, IngressEvent, MESSAGE_BYTES_MAX};
use tempfile::TempDir;

use super::*;
use crate::desk::{
    AcceptOutcome, ENVELOPE_BYTES_MAX, Inbox, Repository, RowOutcome, RowStatus, RowTarget,
    TaintRecords, ThreadRecords, ThreadRow, TrustRecords, WakeupRecords,
};
use crate::line::{LineHash, LogHead};
use crate::samples::{NOW, said, session_id};
use crate::storage::StorageErrorKind;

const DEVICE: &str = "019a8a00-0000-7000-a000-000000000001";

#[tokio::test]
async fn the_first_delivery_chooses_the_session_and_later_ones_find_it() {
    let (folder, desk) = desk().await;
    let first =
        desk.accept(&said("m-1", "hi"), RowTarget::Current, session_id(1), NOW).await.unwrap();
    assert_eq!(
        first,
        AcceptOutcome {
            first: true,
            session_id: session_id(1),
            status: RowStatus::Open { session_id: session_id(1) },
            event: said("m-1", "hi"),
            generation: 1,
            head: None,
        }
    );
    drop(desk);
    let desk = reopened(&folder).await;
    let again =
        desk.accept(&said("m-1", "hi"), RowTarget::New, session_id(2), NOW + 9).await.unwrap();
    assert_eq!(again, AcceptOutcome { first: false, ..first });
}

#[tokio::test]
async fn ten_thousand_deliveries_are_one_row() {
    let (folder, mut desk) = desk().await;
    let mut n_first = 0;
    for n in 0..10_000 {
        if n % 2_500 == 1 {
            drop(desk);
            desk = reopened(&folder).await;
        }
        let event = said("m-1", "hi");
        let accepted = desk.accept(&event, RowTarget::New, session_id(n), NOW).await.unwrap();
        n_first += u32::from(accepted.first);
        assert_eq!(accepted.session_id, session_id(0));
    }
    assert_eq!(n_first, 1);
    assert_eq!(desk.open_rows(session_id(0)).await.unwrap().len(), 1);
    assert_eq!(desk.sessions_with_open_rows().await.unwrap(), [session_id(0)]);
}

#[tokio::test]
async fn a_session_that_is_placed_is_its_threads_current_one_and_waiting_messages_stay() {
    let (folder, desk) = desk().await;
    let event = said("m-1", "hi");
    desk.accept(&event, RowTarget::Current, session_id(1), NOW).await.unwrap();
    let placed = ThreadRow {
        agent_id: event.agent_id.clone(),
        thread_id: event.thread_id.clone(),
        session_id: session_id(2),
        audience: event.audience,
        updated_at: NOW + 1,
    };
    let head = LogHead { seq: 3, hash: LineHash::of(b"line") };
    desk.place_session(placed.clone(), Some(head)).await.unwrap();
    drop(desk);
    let desk = reopened(&folder).await;
    assert_eq!(desk.threads().await.unwrap(), [placed]);
    assert_eq!(desk.head(session_id(2)).await.unwrap(), Some(head));
    assert_eq!(desk.open_rows(session_id(1)).await.unwrap().len(), 1);
    let next =
        desk.accept(&said("m-2", "on"), RowTarget::Current, session_id(3), NOW).await.unwrap();
    assert_eq!(next.session_id, session_id(2));
}

#[tokio::test]
async fn of_a_session_that_is_forgotten_the_keys_stay_and_the_words_go() {
    let (folder, desk) = desk().await;
    let words = "a secret nobody else says";
    desk.accept(&said("m-1", words), RowTarget::Current, session_id(1), NOW).await.unwrap();
    let other = session_id(2);
    desk.accept(&said("m-2", "kept"), RowTarget::New, other, NOW).await.unwrap();
    assert!(!desk.forget_session(session_id(1)).await.unwrap(), "it waits for its answer");
    let key_1 = said("m-1", "").key;
    desk.close(vec![(key_1, RowOutcome::Done)], session_id(1), head(3), NOW).await.unwrap();
    assert!(desk.forget_session(session_id(1)).await.unwrap());

    let bytes = fs::read(folder.path().join("state.db")).unwrap();
    assert!(!bytes.windows(words.len()).any(|it| it == words.as_bytes()));
    let again = desk.accept(&said("m-1", words), RowTarget::New, session_id(3), NOW).await.unwrap();
    let closed = RowStatus::Closed { session_id: session_id(1), outcome: RowOutcome::Done };
    assert_eq!((again.first, again.status), (false, closed));
    assert_eq!(desk.head(session_id(1)).await.unwrap(), None);
    let threads: Vec<SessionId> =
        desk.threads().await.unwrap().into_iter().map(|it| it.session_id).collect();
    assert!(!threads.contains(&session_id(1)), "{threads:?}");
}

#[tokio::test]
async fn a_thread_stays_in_its_session_until_told_otherwise() {
    let (_folder, desk) = desk().await;
    let mut sessions = Vec::new();
    let targets = [
        RowTarget::Current,
        RowTarget::Current,
        RowTarget::New,
        RowTarget::Current,
        RowTarget::Session(session_id(1)),
    ];
    for (n, target) in (1..).zip(targets) {
        let event = said(&format!("m-{n}"), "hi");
        let accepted = desk.accept(&event, target, session_id(n), NOW + n).await.unwrap();
        sessions.push(accepted.session_id);
    }
    assert_eq!(sessions, [1, 1, 3, 3, 1].map(session_id));
    let thread_id = said("", "").thread_id;
    let current = desk.current_session("ada", &thread_id).await.unwrap();
    assert_eq!(current, Some(session_id(1)));
    assert_eq!(desk.current_session("bob", &thread_id).await.unwrap(), None);
    let row = ThreadRow {
        agent_id: "ada".to_owned(),
        thread_id,
        session_id: session_id(1),
        audience: Audience::Shared,
        updated_at: NOW + 5,
    };
    assert_eq!(desk.threads().await.unwrap(), [row]);
}

#[tokio::test]
async fn a_turn_that_ended_closes_its_rows_and_no_others() {
    let (folder, desk) = desk().await;
    for (key, n) in [("m-1", 1), ("m-2", 1), ("m-3", 2)] {
        desk.accept(&said(key, key), RowTarget::Session(session_id(n)), session_id(9), NOW)
            .await
            .unwrap();
    }
    assert_eq!(keys(&desk, 1).await, ["m-1", "m-2"]);
    let closed =
        vec![("m-1".to_owned(), RowOutcome::Bound), ("unknown".to_owned(), RowOutcome::Cancelled)];
    desk.close(closed, session_id(1), head(5), NOW + 7).await.unwrap();
    drop(desk);
    let desk = reopened(&folder).await;
    assert_eq!(keys(&desk, 1).await, ["m-2"]);
    assert_eq!(desk.sessions_with_open_rows().await.unwrap(), [session_id(1), session_id(2)]);
    let again =
        desk.accept(&said("m-1", "m-1"), RowTarget::Current, session_id(9), NOW).await.unwrap();
    assert!(!again.status.is_open() && !again.first);
    let unknown = desk.row("unknown").await.unwrap();
    let cancelled = RowStatus::Closed { session_id: session_id(1), outcome: RowOutcome::Cancelled };
    assert_eq!(unknown, Some(cancelled));
    assert_eq!(desk.head(session_id(1)).await.unwrap(), Some(head(5)));
}

#[tokio::test]
async fn what_waits_for_a_replaced_session_waits_for_its_successor() {
    let (_folder, desk) = desk().await;
    for key in ["m-1", "m-2", "m-3"] {
        desk.accept(&said(key, key), RowTarget::Current, session_id(1), NOW).await.unwrap();
    }
    desk.close(done("m-1"), session_id(1), head(5), NOW).await.unwrap();
    let thread_id = said("", "").thread_id;
    let (sessions, held) = ((session_id(1), session_id(2)), vec!["m-3".to_owned()]);
    desk.replace_session("ada", &thread_id, sessions, held, NOW).await.unwrap();
    assert_eq!(desk.current_session("ada", &thread_id).await.unwrap(), Some(session_id(2)));
    assert_eq!((keys(&desk, 1).await.len(), keys(&desk, 2).await), (0, vec!["m-2".to_owned()]));
    // What ended in the old session stays there.
    for (key, outcome) in [("m-1", RowOutcome::Done), ("m-3", RowOutcome::Failed)] {
        let again =
            desk.accept(&said(key, key), RowTarget::Current, session_id(9), NOW).await.unwrap();
        assert_eq!(again.status, RowStatus::Closed { session_id: session_id(1), outcome });
    }
}

#[tokio::test]
async fn a_head_never_goes_back() {
    let (_folder, desk) = desk().await;
    assert_eq!(desk.head(session_id(1)).await.unwrap(), None);
    for (seq, expected) in [(5, 5), (3, 5), (5, 5), (8, 8)] {
        desk.close(Vec::new(), session_id(1), head(seq), NOW).await.unwrap();
        assert_eq!(desk.head(session_id(1)).await.unwrap(), Some(head(expected)));
    }
    desk.close(Vec::new(), session_id(0), head(1), NOW).await.unwrap();
    let expected = [(session_id(0), head(1)), (session_id(1), head(8))];
    assert_eq!(desk.heads().await.unwrap(), expected);
}

#[tokio::test]
async fn what_is_too_long_is_refused_at_the_door() {
    let (_folder, desk) = desk().await;
    let longest = "k".repeat(INGRESS_KEY_BYTES_MAX);
    check_accept(&desk, &said(&longest, "hi"), "taken").await;
    check_accept(&desk, &said(&format!("{longest}k"), "hi"), "the message's key has 513 bytes")
        .await;
    check_accept(&desk, &said("", "hi"), "the message's key has 0 bytes").await;
    let longest = "m".repeat(MESSAGE_BYTES_MAX);
    check_accept(&desk, &said("m-1", &longest), "taken").await;
    check_accept(&desk, &said("m-2", &format!("{longest}m")), "the message has 8388609 bytes")
        .await;
    let mut named = said("m-3", "hi");
    named.author.display_name = "n".repeat(ENVELOPE_BYTES_MAX);
    check_accept(&desk, &named, "the names around the message").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    assert!(SqliteDesk::open_read_only(&path(&folder)).await.unwrap().is_none());
    assert_eq!(listing(&folder), BTreeMap::new());

    // Closed by its host: there is no log.
    let desk = reopened(&folder).await;
    desk.accept(&said("m-1", "hi"), RowTarget::New, session_id(1), NOW).await.unwrap();
    drop(desk);
    let before = listing(&folder);
    assert_eq!(before.len(), 1);
    check_reads_one(&folder).await;
    assert_eq!(listing(&folder), before);

    // With its host: the log holds what was accepted last.
    let desk = reopened(&folder).await;
    desk.accept(&said("m-2", "hi"), RowTarget::New, session_id(2), NOW).await.unwrap();
    let names: Vec<String> = listing(&folder).into_keys().collect();
    let reader = SqliteDesk::open_read_only(&path(&folder)).await.unwrap().unwrap();
    assert_eq!(reader.sessions_with_open_rows().await.unwrap(), [session_id(1), session_id(2)]);
    drop(reader);
    assert_eq!(listing(&folder).into_keys().collect::<Vec<_>>(), names);

    // Left by a host that was killed.
    let left = tempfile::tempdir().unwrap();
    for (name, bytes) in listing(&folder) {
        fs::write(left.path().join(name), bytes).unwrap();
    }
    let names: Vec<String> = listing(&left).into_keys().collect();
    assert_eq!(names, ["state.db", "state.db-shm", "state.db-wal"]);
    let reader = SqliteDesk::open_read_only(&path(&left)).await.unwrap().unwrap();
    assert_eq!(reader.sessions_with_open_rows().await.unwrap(), [session_id(1), session_id(2)]);
    drop(reader);
    assert_eq!(listing(&left).into_keys().collect::<Vec<_>>(), names);

    // And without the index of its log.
    fs::remove_file(left.path().join("state.db-shm")).unwrap();
    let before = listing(&left);
    let error = SqliteDesk::open_read_only(&path(&left)).await.unwrap_err();
    assert!(matches!(error, DeskError::NeedsRecovery { .. }), "{error}");
    assert_eq!(listing(&left), before);
    // A host that is just opening it makes the index.
    let left_path = path(&left);
    let reader = tokio::spawn(async move { SqliteDesk::open_read_only(&left_path).await });
    let desk = reopened(&left).await;
    let reader = reader.await.unwrap().unwrap().unwrap();
    assert_eq!(reader.sessions_with_open_rows().await.unwrap(), [session_id(1), session_id(2)]);
    assert_eq!(desk.sessions_with_open_rows().await.unwrap(), [session_id(1), session_id(2)]);
}

#[tokio::test]
async fn a_path_may_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("100% of? #my 家");
    let desk = SqliteDesk::open(&odd.join("state.db"), DEVICE.to_owned()).await.unwrap();
    drop(desk);
    let desk = SqliteDesk::open_read_only(&odd.join("state.db")).await.unwrap().unwrap();
    assert_eq!(desk.device_id(), DEVICE);
}

#[tokio::test]
async fn the_device_keeps_its_first_id() {
    let (folder, desk) = desk().await;
    assert_eq!(desk.device_id(), DEVICE);
    drop(desk);
    let desk = SqliteDesk::open(&path(&folder), "another".to_owned()).await.unwrap();
    assert_eq!(desk.device_id(), DEVICE);
}

#[tokio::test]
async fn a_disk_that_refuses_is_told_in_words() {
    let (folder, desk) = desk().await;
    desk.read(|desk| desk.execute_batch("PRAGMA max_page_count = 1")).await.unwrap();
    let long = said("m-1", &"x".repeat(100_000));
    let error = desk.accept(&long, RowTarget::New, session_id(1), NOW).await.unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::Full, "{error}");
    assert!(error.to_string().starts_with("no space left on the disk for `"), "{error}");
    desk.read(|desk| desk.execute_batch("PRAGMA max_page_count = 1000000")).await.unwrap();
    let accepted = desk.accept(&long, RowTarget::New, session_id(1), NOW).await.unwrap();
    assert!(accepted.first);
    drop(desk);

    let reader = SqliteDesk::open_read_only(&path(&folder)).await.unwrap().unwrap();
    let refused = reader.accept(&said("m-2", "hi"), RowTarget::New, session_id(1), NOW).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::ReadOnly, "{error}");
}

#[tokio::test]
async fn what_is_no_desk_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(path(&folder), "a letter to a friend, and long enough to be read").unwrap();
    check_open(&folder, "is not a SQLite database").await;

    fs::remove_file(path(&folder)).unwrap();
    sql(&folder, "CREATE TABLE songs (name TEXT)");
    check_open(&folder, "is a database of another program").await;

    fs::remove_file(path(&folder)).unwrap();
    drop(reopened(&folder).await);
    sql(&folder, "PRAGMA user_version = 9");
    check_open(&folder, "has version 9, but this kith knows versions up to 6; use a newer kith")
        .await;
}

#[tokio::test]
async fn a_desk_of_the_first_version_is_read_as_it_is_and_brought_up_by_who_writes() {
    let folder = tempfile::tempdir().unwrap();
    let facts = format!("INSERT INTO facts (name, value) VALUES ('deviceId', '{DEVICE}');");
    sql(&folder, &format!("{} {facts} PRAGMA user_version = 1;", schema::MIGRATIONS[0]));
    sql(
        &folder,
        "INSERT INTO threads VALUES ('ada', 'telegram:group:42',
            '019a8a00-0000-7000-a000-000000000007', 'shared', 5);",
    );
    let before = listing(&folder);
    let reader = SqliteDesk::open_read_only(&path(&folder)).await.unwrap().unwrap();
    assert_eq!(reader.device_id(), DEVICE);
    assert_eq!(reader.threads().await.unwrap().len(), 1);
    assert_eq!(reader.repositories().await.unwrap(), []);
    assert_eq!(reader.tainted_contents().await.unwrap(), []);
    assert_eq!(reader.command_times().await.unwrap(), []);
    drop(reader);
    assert_eq!(listing(&folder), before);

    let desk = reopened(&folder).await;
    desk.trust(repository("/srv/a", "1:2")).await.unwrap();
    assert_eq!((desk.threads().await.unwrap().len(), desk.device_id()), (1, DEVICE));
    drop(desk);
    let reader = SqliteDesk::open_read_only(&path(&folder)).await.unwrap().unwrap();
    assert_eq!(reader.repositories().await.unwrap(), [repository("/srv/a", "1:2")]);
}

#[tokio::test]
async fn a_desk_of_the_second_version_keeps_what_waits_and_loses_the_text_of_what_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    second_version(&folder);
    let before = listing(&folder);
    let open = RowStatus::Open { session_id: session_id(7) };
    let closed = RowStatus::Closed { session_id: session_id(7), outcome: RowOutcome::Done };

    let reader = SqliteDesk::open_read_only(&path(&folder)).await.unwrap().unwrap();
    assert_eq!(reader.row("m-1").await.unwrap(), Some(closed));
    assert_eq!(reader.row("m-2").await.unwrap(), Some(open));
    assert_eq!(keys(&reader, 7).await, ["m-2"]);
    assert_eq!(reader.next_wakeup().await.unwrap(), None);
    assert_eq!(reader.generation().await.unwrap(), 0);
    assert_eq!(reader.repositories().await.unwrap(), [repository("/srv/a", "1:2")]);
    drop(reader);
    assert_eq!(listing(&folder), before, "reading changes nothing");

    let desk = reopened(&folder).await;
    assert_eq!(desk.row("m-1").await.unwrap(), Some(closed));
    let rows = desk.open_rows(session_id(7)).await.unwrap();
    assert_eq!(rows[0].event, said("m-2", "still to be answered"));
    // Old rows have no digest: whatever has their key is their message.
    for key in ["m-1", "m-2"] {
        let event = said(key, "other words");
        let again = desk.accept(&event, RowTarget::New, session_id(9), NOW).await.unwrap();
        assert_eq!((again.first, again.session_id), (false, session_id(7)));
    }
    let next = desk.accept(&said("m-3", ""), RowTarget::Current, session_id(9), NOW).await.unwrap();
    assert_eq!((next.session_id, next.generation), (session_id(7), 1));
    assert_eq!(keys(&desk, 7).await, ["m-2", "m-3"]);
    drop(desk);
    assert!(!holds(&folder, "said long ago") && holds(&folder, "still to be answered"));
}

/// A desk as the second version wrote it, with a closed and an open row.
fn second_version(folder: &TempDir) {
    let [first, second, ..] = schema::MIGRATIONS;
    let facts = format!("INSERT INTO facts (name, value) VALUES ('deviceId', '{DEVICE}');");
    sql(folder, &format!("{first} {second} {facts} PRAGMA user_version = 2;"));
    let connection = Connection::open(path(folder)).unwrap();
    let texts = [("m-1", "said long ago", Some(6)), ("m-2", "still to be answered", None)];
    for (key, text, closed_at) in texts {
        // As it was written before events had models and a running behaviour.
        let event = serde_json::to_string(&said(key, text)).unwrap();
        assert!(!event.contains("models") && !event.contains("runningBehavior"));
        connection
            .execute(
                "INSERT INTO inbox
                    (key, agent_id, thread_id, session_id, event, accepted_at, closed_at)
                 VALUES (?1, 'ada', 'telegram:group:42', ?2, ?3, 5, ?4)",
                rusqlite::params![key, session_id(7).to_string(), event, closed_at],
            )
            .unwrap();
    }
    connection
        .execute_batch(&format!(
            "INSERT INTO threads VALUES ('ada', 'telegram:group:42', '{}', 'shared', 5);
             INSERT INTO repositories VALUES ('/srv/a', '1:2', {NOW});",
            session_id(7)
        ))
        .unwrap();
}

#[tokio::test]
async fn a_closed_row_leaves_no_words_behind() {
    let (folder, desk) = desk().await;
    let secrets = ["a short secret", &format!("a long secret {}", "x".repeat(20_000))];
    for (key, text) in ["m-1", "m-2"].into_iter().zip(secrets) {
        desk.accept(&said(key, text), RowTarget::Current, session_id(1), NOW).await.unwrap();
    }
    desk.close(done("m-1"), session_id(1), head(1), NOW).await.unwrap();
    desk.close(done("m-2"), session_id(1), head(2), NOW).await.unwrap();
    assert!(holds(&folder, "a short secret"), "the log of the desk has it still");
    assert!(desk.forget_session(session_id(1)).await.unwrap());
    for text in ["a short secret", "a long secret", "xxxxxxxx", "Ada"] {
        assert!(!holds(&folder, text), "{text}");
    }
}

#[tokio::test]
async fn whoever_reads_meanwhile_keeps_words_from_being_wiped_and_that_is_told() {
    let (folder, desk) = desk().await;
    desk.read(|desk| desk.busy_timeout(std::time::Duration::ZERO)).await.unwrap();
    desk.accept(&said("m-1", "a secret"), RowTarget::Current, session_id(1), NOW).await.unwrap();
    let reader = Connection::open(path(&folder)).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM inbox").unwrap();
    desk.close(done("m-1"), session_id(1), head(1), NOW).await.unwrap();
    let error = desk.forget_session(session_id(1)).await.unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::Busy, "{error}");
    assert_eq!(desk.threads().await.unwrap(), [], "it is forgotten all the same");
    drop(reader);
    assert!(desk.forget_session(session_id(1)).await.unwrap());
    assert!(!holds(&folder, "a secret"));
}

#[tokio::test]
async fn each_host_that_accepts_something_raises_the_generation() {
    let (folder, desk) = desk().await;
    let mut desk = Some(desk);
    for (n, key, expected) in [(1, "m-1", 1), (2, "m-1", 1), (3, "m-2", 2), (4, "m-3", 3)] {
        drop(desk.take());
        let host = reopened(&folder).await;
        let event = said(key, "hi");
        let accepted = host.accept(&event, RowTarget::Current, session_id(1), NOW).await.unwrap();
        assert_eq!(accepted.generation, expected, "host {n}");
        assert_eq!(host.generation().await.unwrap(), expected, "host {n}");
    }
}

/// Whether the bytes of any file of the desk hold the text.
fn holds(folder: &TempDir, text: &str) -> bool {
    let is_in = |bytes: &Vec<u8>| bytes.windows(text.len()).any(|it| it == text.as_bytes());
    listing(folder).values().any(is_in)
}

#[tokio::test]
async fn a_trusted_repository_is_kept_until_it_is_taken_back() {
    let (folder, desk) = desk().await;
    assert_eq!(desk.repositories().await.unwrap(), []);
    for (path, mark) in [("/srv/b", "1:2"), ("/srv/a b", "3:-"), ("/srv/b", "4:5")] {
        desk.trust(repository(path, mark)).await.unwrap();
    }
    drop(desk);
    let desk = reopened(&folder).await;
    let both = [repository("/srv/a b", "3:-"), repository("/srv/b", "4:5")];
    assert_eq!(desk.repositories().await.unwrap(), both);
    assert!(desk.distrust("/srv/b").await.unwrap());
    assert!(!desk.distrust("/srv/b").await.unwrap());
    assert_eq!(desk.repositories().await.unwrap(), both[..1]);
}

#[tokio::test]
async fn there_is_an_end_to_what_can_be_trusted() {
    let (_folder, desk) = desk().await;
    let error = desk.trust(repository(&"x".repeat(5_000), "1:2")).await.unwrap_err();
    assert!(error.to_string().starts_with("the path of the repository has 5003 bytes"), "{error}");
    desk.read(|desk| {
        desk.execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
             INSERT INTO repositories SELECT '/r/' || i, '1:2', 0 FROM n",
        )
    })
    .await
    .unwrap();
    let error = desk.trust(repository("/srv/a", "1:2")).await.unwrap_err();
    assert!(error.to_string().starts_with("10000 repositories are already trusted"), "{error}");
    desk.trust(repository("/r/1", "3:4")).await.unwrap();
}

#[tokio::test]
async fn the_desk_knows_who_could_read_a_thread() {
    let (_folder, desk) = desk().await;
    let thread_id = said("", "").thread_id;
    assert_eq!(desk.thread_audience("ada", &thread_id).await.unwrap(), None);
    desk.accept(&said("m-1", "hi"), RowTarget::Current, session_id(1), NOW).await.unwrap();
    let audience = desk.thread_audience("ada", &thread_id).await.unwrap();
    assert_eq!(audience, Some(Audience::Shared));
}

#[tokio::test]
async fn an_audience_on_the_desk_only_narrows() {
    let (_folder, desk) = desk().await;
    let spoken = [
        (Audience::Owner, "m-1", Audience::Owner),
        (Audience::Shared, "m-2", Audience::Shared),
        (Audience::Owner, "m-3", Audience::Shared),
        (Audience::Peer, "m-4", Audience::Peer),
        (Audience::Shared, "m-5", Audience::Peer),
    ];
    for (audience, key, expected) in spoken {
        let event = IngressEvent { audience, ..said(key, "hi") };
        let target = RowTarget::Session(session_id(2));
        desk.accept(&event, target, session_id(1), NOW).await.unwrap();
        assert_eq!(desk.threads().await.unwrap()[0].audience, expected, "{key}");
    }
    let IngressEvent { agent_id, thread_id, .. } = said("m-6", "hi");
    let (session_id, audience) = (session_id(3), Audience::Owner);
    let row = ThreadRow { agent_id, thread_id, session_id, audience, updated_at: NOW };
    desk.place_session(row, None).await.unwrap();
    assert_eq!(desk.threads().await.unwrap()[0].audience, Audience::Peer);
}

#[cfg(unix)]
#[tokio::test]
async fn the_desk_belongs_to_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, _desk) = desk().await;
    for name in listing(&folder).into_keys() {
        let mode = fs::metadata(folder.path().join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn what_is_promised_is_synced_and_what_the_log_says_already_need_not_be() {
    let (_folder, desk) = desk().await;
    let synchronous =
        || desk.read(|desk| desk.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0)));
    let (full, normal): (i64, i64) = (2, 1);
    desk.accept(&said("m-1", "hi"), RowTarget::Current, session_id(1), NOW).await.unwrap();
    assert_eq!(synchronous().await.unwrap(), full);
    desk.close(done("m-1"), session_id(1), head(5), NOW).await.unwrap();
    assert_eq!(synchronous().await.unwrap(), normal);
    desk.accept(&said("m-2", "hi"), RowTarget::Current, session_id(1), NOW).await.unwrap();
    assert_eq!(synchronous().await.unwrap(), full);
    let mode: String = desk
        .read(|desk| desk.query_row("PRAGMA journal_mode", [], |row| row.get(0)))
        .await
        .unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_wait_share_a_commit_and_fail_alone() {
    let (_folder, desk) = desk().await;
    let counted =
        || desk.read(|desk| desk.query_row("SELECT count(*) FROM inbox", [], |row| row.get(0)));
    // The connection is kept busy until all are waiting, so that they are one group.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (begun, is_busy) = tokio::sync::oneshot::channel::<()>();
    let busy_desk = desk.clone();
    let busy = tokio::spawn(async move {
        let wait = move |_: &mut Connection| {
            begun.send(()).ok();
            held.recv().ok();
        };
        busy_desk.0.worker.run(wait).await.unwrap();
    });
    is_busy.await.unwrap();
    let keys: Vec<String> = (0..50).map(|n| format!("m-{n}")).collect();
    let accepted = futures(&desk, &keys);
    let failing = desk.change(|desk| {
        desk.execute("INSERT INTO facts (name, value) VALUES ('deviceId', 'other')", [])
    });
    let all = async {
        let go = async {
            tokio::task::yield_now().await;
            release.send(()).unwrap();
        };
        tokio::join!(busy, accepted, failing, go)
    };
    let (_, accepted, failed, ()) = all.await;
    assert!(accepted.iter().all(|it| it.as_ref().unwrap().first));
    assert!(failed.is_err());
    let n_rows: i64 = counted().await.unwrap();
    assert_eq!(n_rows, 50);
}

async fn futures(desk: &SqliteDesk, keys: &[String]) -> Vec<Result<AcceptOutcome, StorageError>> {
    let mut waiting = tokio::task::JoinSet::new();
    for key in keys {
        let (desk, key) = (desk.clone(), key.clone());
        waiting.spawn(async move {
            desk.accept(&said(&key, "hi"), RowTarget::Current, session_id(1), NOW).await
        });
    }
    waiting.join_all().await
}

async fn desk() -> (TempDir, SqliteDesk) {
    let folder = tempfile::tempdir().unwrap();
    let desk = reopened(&folder).await;
    (folder, desk)
}

async fn reopened(folder: &TempDir) -> SqliteDesk {
    SqliteDesk::open(&path(folder), DEVICE.to_owned()).await.unwrap()
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("state.db")
}

fn listing(folder: &TempDir) -> BTreeMap<String, Vec<u8>> {
    let name_and_bytes = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    fs::read_dir(folder.path()).unwrap().map(|entry| name_and_bytes(entry.unwrap())).collect()
}

fn sql(folder: &TempDir, statements: &str) {
    Connection::open(path(folder)).unwrap().execute_batch(statements).unwrap();
}

fn done(key: &str) -> Vec<(String, RowOutcome)> {
    vec![(key.to_owned(), RowOutcome::Done)]
}

fn repository(path: &str, mark: &str) -> Repository {
    Repository { path: path.to_owned(), mark: mark.to_owned(), trusted_at: NOW }
}

fn head(seq: u64) -> LogHead {
    LogHead { seq, hash: LineHash::of(&seq.to_be_bytes()) }
}

async fn keys(desk: &SqliteDesk, session: u64) -> Vec<String> {
    let rows = desk.open_rows(session_id(session)).await.unwrap();
    rows.into_iter().map(|row| row.key).collect()
}

async fn check_accept(desk: &SqliteDesk, event: &IngressEvent, expected: &str) {
    let outcome = desk.accept(event, RowTarget::Current, session_id(1), NOW).await;
    let actual = outcome.map_or_else(|error| error.to_string(), |_| "taken".to_owned());
    assert!(actual.starts_with(expected), "{actual}");
}

async fn check_open(folder: &TempDir, expected: &str) {
    let error = SqliteDesk::open(&path(folder), DEVICE.to_owned()).await.unwrap_err();
    assert!(error.to_string().ends_with(expected), "{error}");
    let error = SqliteDesk::open_read_only(&path(folder)).await.unwrap_err();
    assert!(error.to_string().ends_with(expected), "{error}");
}

async fn check_reads_one(folder: &TempDir) {
    let desk = SqliteDesk::open_read_only(&path(folder)).await.unwrap().unwrap();
    assert_eq!(desk.device_id(), DEVICE);
    assert_eq!(desk.sessions_with_open_rows().await.unwrap(), [session_id(1)]);
}

#[tokio::test]
async fn a_read_that_failed_once_is_a_failure_of_the_disk_and_not_damage() {
    let corrupt = || {
        let failure = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        Ok(Err(rusqlite::Error::SqliteFailure(failure, None)))
    };
    let (folder, desk) = desk().await;
    let error = desk.answer::<()>(corrupt()).await.unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::Unavailable, "the file is whole: {error}");
    assert!(error.to_string().starts_with("the disk that holds `"), "{error}");

    desk.read(|desk| desk.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")).await.unwrap();
    drop(desk);
    let mut bytes = fs::read(path(&folder)).unwrap();
    bytes[4096..8192].fill(0xAA);
    fs::write(path(&folder), bytes).unwrap();
    let desk = reopened(&folder).await;
    let error = desk.answer::<()>(corrupt()).await.unwrap_err();
    assert_eq!(error.kind, StorageErrorKind::DamagedDesk, "{error}");
}

#[tokio::test]
async fn whatever_is_damaged_so_that_it_cannot_be_used_is_found_by_reading_all_of_it() {
    let (folder, desk) = desk().await;
    for n in 0..40 {
        let event = said(&format!("m-{n}"), &"words ".repeat(100));
        desk.accept(&event, RowTarget::New, session_id(n), NOW).await.unwrap();
        let head = LogHead { seq: 7, hash: LineHash::of(b"line") };
        let rows = vec![(event.key, RowOutcome::Done)];
        if n % 2 == 0 {
            desk.close(rows, session_id(n), head, NOW).await.unwrap();
        }
    }
    desk.trust(repository("/srv/a", "1:2")).await.unwrap();
    desk.read(|desk| desk.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")).await.unwrap();
    drop(desk);
    let whole = fs::read(path(&folder)).unwrap();
    let n_pages = whole.len() / 4096;
    let (mut n_unusable, mut n_found) = (0, 0);
    for page in 0..n_pages {
        for damage in 0..6 {
            let mut bytes = whole.clone();
            let at = page * 4096;
            match damage {
                0 => bytes[at..at + 4096].fill(0),
                1 => bytes.copy_within(
                    ((page + 1) % n_pages) * 4096..((page + 1) % n_pages) * 4096 + 4096,
                    at,
                ),
                2 => bytes[at + 100 * usize::from(page == 0)] ^= 0xFF,
                3 => bytes[at + 4090] ^= 0x40,
                4 => bytes[at + 3000..at + 3040].fill(b'#'),
                _ => bytes.truncate(at),
            }
            fs::write(path(&folder), &bytes).unwrap();
            let is_ok = match SqliteDesk::open_read_only(&path(&folder)).await {
                Ok(Some(desk)) => matches!(desk.problem().await, Ok(None)),
                Ok(None) | Err(_) => false,
            };
            fs::write(path(&folder), &bytes).unwrap();
            let can_be_used = is_usable(&folder).await;
            for suffix in ["-wal", "-shm"] {
                fs::remove_file(format!("{}{suffix}", path(&folder).display())).ok();
            }
            n_unusable += u32::from(!can_be_used);
            n_found += u32::from(!is_ok);
            assert!(can_be_used || !is_ok, "damage {damage} of page {page} is not found");
        }
    }
    assert!(n_unusable > 10 && n_found > n_unusable, "{n_unusable} {n_found}");
}

/// Whether a host could work with the desk.
async fn is_usable(folder: &TempDir) -> bool {
    let used = async {
        let desk = SqliteDesk::open(&path(folder), DEVICE.to_owned()).await?;
        for n in 0..41 {
            let event = said(&format!("m-{n}"), &"words ".repeat(100));
            desk.accept(&event, RowTarget::Current, session_id(n), NOW).await?;
            desk.open_rows(session_id(n)).await?;
            desk.head(session_id(n)).await?;
        }
        desk.threads().await?;
        desk.heads().await?;
        desk.repositories().await?;
        desk.next_wakeup().await?;
        desk.sessions_with_open_rows().await
    };
    used.await.is_ok()
}

#[tokio::test]
async fn a_row_that_does_not_hold_what_was_accepted_is_closed_as_failed_and_the_others_go_on() {
    for (spoilt, expected) in [
        (
            "event = replace(event, 'wire ten', 'wire two')",
            "the row of message `m-1` differs from the message that was accepted, so it will not be sent to the model",
        ),
        (
            "event = replace(event, '\"owner\"', '\"0wner\"')",
            "the row of message `m-1` cannot be read: unknown variant `0wner`",
        ),
        (
            "event = replace(event, '\"key\":\"m-1\"', '\"key\":\"m-9\"')",
            "the row of message `m-1` differs from the message",
        ),
        ("digest = 'other'", "the row of message `m-1` differs from the message"),
        ("accepted_at = -1", "the row of message `m-1` cannot be read: -1 is out of range"),
    ] {
        let (folder, desk) = desk().await;
        let accept = |key, text, n| {
            let (desk, event) = (desk.clone(), said(key, text));
            async move {
                desk.accept(&event, RowTarget::Session(session_id(n)), session_id(n), NOW).await
            }
        };
        accept("m-1", "wire ten dollars", 1).await.unwrap();
        accept("m-2", "hi", 2).await.unwrap();
        accept("m-3", "and then?", 1).await.unwrap();
        assert_eq!(desk.problem().await.unwrap(), None);
        let spoil = format!("UPDATE inbox SET {spoilt} WHERE key = 'm-1'");
        desk.read(move |desk| desk.execute(&spoil, [])).await.unwrap();
        let problem = desk.problem().await.unwrap().unwrap();
        assert!(problem.starts_with(expected), "{problem}");
        // Whoever only reads leaves it as it is.
        let reader = SqliteDesk::open_read_only(&path(&folder)).await.unwrap().unwrap();
        assert_eq!(keys(&reader, 1).await, ["m-3"]);
        assert_eq!(reader.problem().await.unwrap(), Some(problem));
        assert_eq!(keys(&desk, 1).await, ["m-3"]);
        let failed = RowStatus::Closed { session_id: session_id(1), outcome: RowOutcome::Failed };
        assert_eq!(desk.row("m-1").await.unwrap(), Some(failed));
        assert_eq!(desk.problem().await.unwrap(), None);
        // It is not taken in a second time.
        let again = accept("m-1", "wire ten dollars", 3).await.unwrap();
        assert_eq!((again.first, again.status), (false, failed));
        desk.close(done("m-3"), session_id(1), head(7), NOW).await.unwrap();
        assert_eq!(desk.sessions_with_open_rows().await.unwrap(), [session_id(2)]);
        assert!(desk.forget_session(session_id(1)).await.unwrap());
        drop((desk, reader));
        assert_eq!(reopened(&folder).await.row("m-1").await.unwrap(), Some(failed));
    }
}

#[tokio::test]
async fn a_message_whose_row_is_spoilt_is_told_to_have_failed_when_it_is_sent_again() {
    let (_folder, desk) = desk().await;
    let event = said("m-1", "wire ten dollars");
    desk.accept(&event, RowTarget::Current, session_id(1), NOW).await.unwrap();
    let spoil = |desk: &mut Connection| desk.execute("UPDATE inbox SET event = '{}'", []);
    desk.read(spoil).await.unwrap();
    let again = desk.accept(&event, RowTarget::Current, session_id(2), NOW).await.unwrap();
    let failed = RowStatus::Closed { session_id: session_id(1), outcome: RowOutcome::Failed };
    assert_eq!((again.first, again.status, again.event), (false, failed, event));
    assert_eq!(desk.problem().await.unwrap(), None);
}
