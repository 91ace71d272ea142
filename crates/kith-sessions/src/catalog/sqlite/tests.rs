use std::fs;
use std::io;
use std::sync::Arc;

use kith_vocab::header::LOG_FORMAT_VERSION;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::catalog::{CHECKPOINT_BYTES_MAX, Passage};
use crate::disk::DiskFiles;
use crate::journal::Cursor;
use crate::line::{LineHash, LogHead};
use crate::samples::{NOW, event_id, header, notice, session_id};

#[tokio::test]
async fn a_row_counts_while_its_file_is_as_it_was() {
    let (folder, index, store) = house().await;
    for n in 1..=4 {
        store.create(&header(n), &[notice(1, "hi")]).unwrap();
    }
    let (known, changed, gone) = (row(&store, 1), row(&store, 2), row(&store, 3));
    index.put_rows(vec![changed, gone, known.clone()]).await.unwrap();
    fs::remove_file(store.path(session_id(3))).unwrap();
    let mut log = store.open(session_id(2), None, &clock(), &mut |_| ()).unwrap();
    log.append(&[notice(2, "again")]).unwrap();
    let expected = CatalogListing { rows: vec![known], unread: vec![session_id(2), session_id(4)] };
    assert_eq!(index.listing().await.unwrap(), expected);

    index.put_rows(vec![row(&store, 2)]).await.unwrap();
    drop(index);
    let index = opened(&folder);
    let listing = index.listing().await.unwrap();
    assert_eq!(listing.rows, [row(&store, 1), row(&store, 2)]);
    assert_eq!(listing.unread, [session_id(4)]);
    index.forget(session_id(1)).await.unwrap();
    assert_eq!(index.listing().await.unwrap().unread, [session_id(1), session_id(4)]);
}

#[tokio::test]
async fn a_file_of_the_same_size_and_another_time_is_read_again() {
    let (_folder, index, store) = house().await;
    store.create(&header(1), &[notice(1, "hi")]).unwrap();
    let mut row = row(&store, 1);
    row.stamp.modified_ns -= 1;
    index.put_rows(vec![row]).await.unwrap();
    assert_eq!(index.listing().await.unwrap().unread, [session_id(1)]);
}

#[tokio::test]
async fn a_session_that_cannot_be_read_has_a_row_too() {
    let (_folder, index, store) = house().await;
    store.create(&header(1), &[]).unwrap();
    let unreadable = CatalogRow {
        thread_id: None,
        agent_id: None,
        title: None,
        created_at: None,
        updated_at: None,
        leaf: None,
        cwd: None,
        ..row(&store, 1)
    };
    index.put_rows(vec![unreadable.clone()]).await.unwrap();
    assert_eq!(index.listing().await.unwrap().rows, [unreadable]);
}

#[tokio::test]
async fn a_checkpoint_is_found_by_the_code_that_made_it() {
    let (_folder, index, _) = house().await;
    assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None);
    index.put_checkpoint(session_id(1), checkpoint(b"old")).await.unwrap();
    index.put_checkpoint(session_id(1), checkpoint(b"state")).await.unwrap();
    let found = index.checkpoint(session_id(1), 7).await.unwrap();
    assert_eq!(found, Some(checkpoint(b"state")));
    assert_eq!(index.checkpoint(session_id(1), 8).await.unwrap(), None);
    assert_eq!(index.checkpoint(session_id(2), 7).await.unwrap(), None);
    index.forget(session_id(1)).await.unwrap();
    assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None);
}

#[tokio::test]
async fn a_checkpoint_that_was_changed_is_not_given() {
    for change in [
        "state = x'00'",
        "cursor = x'00'",
        "seq = seq + 1",
        "hash = '0000000000000000'",
        "hash = 'no hash'",
        "format_version = format_version + 1",
        "session_id = replace(session_id, '1', '2')",
    ] {
        let (folder, index, _) = house().await;
        index.put_checkpoint(session_id(1), checkpoint(b"state")).await.unwrap();
        drop(index);
        let other = Connection::open(path(&folder)).unwrap();
        other.execute(&format!("UPDATE checkpoints SET {change}"), []).unwrap();
        drop(other);
        let index = opened(&folder);
        assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None, "{change}");
    }
    assert_eq!(LOG_FORMAT_VERSION, 1);
}

#[tokio::test]
async fn a_state_that_is_too_large_is_not_kept() {
    let (_folder, index, _) = house().await;
    index.put_checkpoint(session_id(1), checkpoint(b"state")).await.unwrap();
    let large = checkpoint(&vec![0; CHECKPOINT_BYTES_MAX]);
    index.put_checkpoint(session_id(1), large).await.unwrap();
    assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_not_an_index_is_thrown_away() {
    let foreign = |path: &Path, sql: &str| {
        let other = Connection::open(path).unwrap();
        other.execute_batch(sql).unwrap();
    };
    for what in ["text", "half", "foreign", "other version", "zeros", "stray log"] {
        let (folder, index, _) = house().await;
        index.put_checkpoint(session_id(1), checkpoint(b"state")).await.unwrap();
        drop(index);
        let path = path(&folder);
        let bytes = fs::read(&path).unwrap();
        match what {
            "text" => fs::write(&path, "hello, I am a file of some length".repeat(99)).unwrap(),
            "half" => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
            "zeros" => fs::write(&path, vec![0; 9000]).unwrap(),
            "other version" => foreign(&path, "PRAGMA user_version = 99"),
            "stray log" => {
                fs::write(&path, "not a database").unwrap();
                fs::write(folder.path().join("index.db-wal"), "x").unwrap();
            }
            _ => {
                fs::remove_file(&path).unwrap();
                foreign(&path, "CREATE TABLE notes (text); PRAGMA user_version = 1");
            }
        }
        let index = opened(&folder);
        // Damage may show only when it is met; whoever meets it is the last.
        index.checkpoint(session_id(1), 7).await.ok();
        index.put_checkpoint(session_id(1), checkpoint(b"new")).await.unwrap();
        let found = index.checkpoint(session_id(1), 7).await.unwrap();
        assert_eq!(found, Some(checkpoint(b"new")), "{what}");
        assert_eq!(index.listing().await.unwrap(), CatalogListing::default(), "{what}");
    }
}

#[tokio::test]
async fn damage_that_is_met_later_is_thrown_away_too() {
    let (folder, index, _) = house().await;
    for n in 0..200 {
        index.put_checkpoint(session_id(n), checkpoint(&[7; 4000])).await.unwrap();
    }
    drop(index);
    write_back(&folder);
    let mut bytes = fs::read(path(&folder)).unwrap();
    bytes[4096..].fill(0x55);
    fs::write(path(&folder), bytes).unwrap();
    let index = opened(&folder);
    let error = index.checkpoint(session_id(1), 7).await.unwrap_err();
    assert!(error.message.ends_with("failed"), "{error}");
    assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None);
    index.put_checkpoint(session_id(1), checkpoint(b"new")).await.unwrap();
    drop(index);
    let index = opened(&folder);
    let found = index.checkpoint(session_id(1), 7).await.unwrap();
    assert_eq!(found, Some(checkpoint(b"new")));
}

/// Writes the log of the index into its file.
fn write_back(folder: &TempDir) {
    let index = Connection::open(path(folder)).unwrap();
    index.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

#[tokio::test]
async fn the_log_of_an_index_that_was_removed_is_not_taken_for_the_next() {
    let (folder, index, _) = house().await;
    index.put_checkpoint(session_id(1), checkpoint(b"old")).await.unwrap();
    drop(index);
    let log = crate::database::beside(&path(&folder), "-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0, "it stays when the index is closed");
    let again = opened(&folder);
    assert_eq!(again.checkpoint(session_id(1), 7).await.unwrap(), Some(checkpoint(b"old")));
    drop(again);
    fs::remove_file(path(&folder)).unwrap();
    let index = opened(&folder);
    assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None);
    index.put_checkpoint(session_id(1), checkpoint(b"new")).await.unwrap();
    drop(index);
    write_back(&folder);
    let found = opened(&folder).checkpoint(session_id(1), 7).await.unwrap();
    assert_eq!(found, Some(checkpoint(b"new")));
}

#[tokio::test]
async fn reading_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder);
    check_unknown(&folder).await;
    fs::write(path(&folder), "not a database, but long enough to be one".repeat(99)).unwrap();
    check_unknown(&folder).await;
    fs::write(path(&folder), "").unwrap();
    check_unknown(&folder).await;
    assert_eq!(names(&folder), ["index.db"]);

    let host = opened(&folder);
    store.create(&header(1), &[]).unwrap();
    host.put_rows(vec![row(&store, 1)]).await.unwrap();
    let before = names(&folder);
    let reader = read_only(&folder);
    assert_eq!(reader.listing().await.unwrap().rows, [row(&store, 1)]);
    assert!(reader.forget(session_id(1)).await.is_err());
    drop(reader);
    assert_eq!(names(&folder), before);
    drop(host);
    let before = names(&folder);
    let reader = read_only(&folder);
    assert_eq!(reader.listing().await.unwrap().rows, [row(&store, 1)]);
    drop(reader);
    assert_eq!(names(&folder), before);
}

#[cfg(unix)]
#[tokio::test]
async fn the_index_is_its_owners_only() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, _index, _) = house().await;
    let mode = fs::metadata(path(&folder)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

fn checkpoint(state: &[u8]) -> Checkpoint {
    let head = LogHead { seq: 5, hash: LineHash::of(b"a line") };
    let cursor = Cursor { head, bytes: b"a place".to_vec() };
    Checkpoint { cursor, fold_version: 7, state: state.to_vec() }
}

fn row(store: &SessionStore, n: u64) -> CatalogRow {
    CatalogRow {
        session_id: session_id(n),
        thread_id: Some("cli:room:main".parse().unwrap()),
        agent_id: Some("ada".to_owned()),
        title: Some("Notes".to_owned()),
        created_at: Some(NOW),
        updated_at: Some(NOW + 1),
        events: 1,
        leaf: Some(event_id(1)),
        cwd: Some("/src".to_owned()),
        state: "idle".to_owned(),
        stamp: store.stat(session_id(n)).unwrap(),
    }
}

fn clock() -> crate::samples::StillClock {
    crate::samples::StillClock::default()
}

fn path(folder: &TempDir) -> PathBuf {
    folder.path().join("index.db")
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).filter(|it| it != "sessions").collect();
    names.sort_unstable();
    names
}

async fn house() -> (TempDir, SqliteCatalog, SessionStore) {
    let folder = tempfile::tempdir().unwrap();
    let index = opened(&folder);
    // It is made when it is first asked something.
    assert!(!path(&folder).exists());
    index.search_coverage().await.unwrap();
    let store = store(&folder);
    (folder, index, store)
}

fn store(folder: &TempDir) -> SessionStore {
    SessionStore::new(Arc::new(DiskFiles), folder.path())
}

fn opened(folder: &TempDir) -> SqliteCatalog {
    SqliteCatalog::new(&path(folder), store(folder))
}

fn read_only(folder: &TempDir) -> SqliteCatalog {
    SqliteCatalog::read_only(&path(folder), store(folder))
}

/// Whoever asks an index that is none is told that nothing is known.
async fn check_unknown(folder: &TempDir) {
    let index = read_only(folder);
    assert_eq!(index.listing().await.unwrap(), CatalogListing::default());
    assert_eq!(index.checkpoint(session_id(1), 7).await.unwrap(), None);
    assert_eq!(index.search_coverage().await.unwrap(), BTreeMap::new());
}

#[tokio::test]
async fn what_was_said_is_found_by_its_words_until_its_session_is_forgotten() {
    let (folder, index, _store) = house().await;
    let at = |seq| SearchCoverage { seq, log_bytes: seq * 100 };
    let said = |n, text: &str| Passage { event_id: event_id(n), text: text.to_owned() };
    let first = vec![said(1, "今天北京天气很好"), said(2, "The garden plan")];
    let update = |session, after, now, passages| SearchUpdate {
        session_id: session_id(session),
        after: at(after),
        now: at(now),
        passages,
    };
    let updates = vec![
        update(1, 0, 2, first.clone()),
        update(2, 0, 3, vec![said(3, "gardens")]),
        // Read again by somebody who did not know. It is left out, and the others are put.
        update(1, 0, 2, first),
        update(1, 2, 5, vec![said(5, "天气")]),
    ];
    index.put_passages(updates).await.unwrap();
    drop(index);
    let index = read_only(&folder);
    let find = async |words: &str| index.find(&Query::parse(words).unwrap()).await.unwrap();
    let hit = |session, event| (session_id(session), event_id(event));
    assert_eq!(find("天气").await, [hit(1, 5), hit(1, 1)]);
    assert_eq!(find("GARDEN").await, [hit(2, 3), hit(1, 2)]);
    assert_eq!(find("garden plan").await, [hit(1, 2)]);
    assert_eq!(find("\"OR NEAR(").await, []);
    let expected = [(session_id(1), at(5)), (session_id(2), at(3))];
    assert_eq!(index.search_coverage().await.unwrap(), expected.into());

    drop(index);
    let index = opened(&folder);
    index.forget(session_id(1)).await.unwrap();
    let query = Query::parse("garden").unwrap();
    assert_eq!(index.find(&query).await.unwrap(), [hit(2, 3)]);
    assert_eq!(index.search_coverage().await.unwrap(), [(session_id(2), at(3))].into());
}
