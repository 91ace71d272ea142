use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::{Error, ffi};
use tempfile::TempDir;

use super::*;

#[tokio::test]
async fn work_that_the_disk_spoils_is_done_again() {
    let (_folder, worker) = worker();
    for (n_failures, expected) in [(0, Ok(1)), (1, Ok(2)), (2, Ok(3)), (3, Err(3))] {
        let tries = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&tries);
        let read =
            move |_: &mut Connection| fail_first(&counted, n_failures, ffi::SQLITE_IOERR_READ);
        check(worker.read(read).await, &tries, expected);
        let tries = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&tries);
        let write = move |file: &Connection| {
            file.execute("INSERT INTO numbers VALUES (1)", [])?;
            fail_first(&counted, n_failures, ffi::SQLITE_CORRUPT)
        };
        check(worker.change(Durability::Synced, write).await, &tries, expected);
    }
    // What was undone is not there twice, and what failed is not there.
    assert_eq!(n_rows(&worker).await, 3);
}

#[tokio::test]
async fn a_change_that_is_undone_makes_nothing_durable_and_is_no_commit() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE numbers (n INTEGER)").unwrap();
    let database = Arc::new(MemoryDatabase::new(connection).unwrap());
    let worker = Worker::Here(Arc::clone(&database));
    let insert = |file: &Connection| file.execute("INSERT INTO numbers VALUES (1)", []);
    worker.change(Durability::Eventual, insert).await.unwrap().unwrap();
    for durability in [Durability::Eventual, Durability::Synced] {
        let undone = move |file: &Connection| insert(file).and(Err::<(), _>(Error::InvalidQuery));
        worker.change(durability, undone).await.unwrap().unwrap_err();
        assert_eq!(database.n_unsynced(), 1, "{durability:?}");
    }
    let left = database.crash(0).unwrap();
    let n_rows: i64 = left.query_row("SELECT count(*) FROM numbers", [], |row| row.get(0)).unwrap();
    assert_eq!(n_rows, 0);
}

#[tokio::test]
async fn what_the_disk_is_not_to_blame_for_is_done_once() {
    let (_folder, worker) = worker();
    for code in [ffi::SQLITE_FULL, ffi::SQLITE_READONLY, ffi::SQLITE_BUSY, ffi::SQLITE_CONSTRAINT] {
        let tries = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&tries);
        let write = move |_: &Connection| fail_first(&counted, 1, code);
        check(worker.change(Durability::Synced, write).await, &tries, Err(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_changes_that_are_committed_together_one_that_the_disk_spoils_fails_alone() {
    let (folder, worker) = worker();
    let worker = Arc::new(worker);
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (begun, is_held) = oneshot::channel::<()>();
    let first = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move {
            worker
                .run(move |_| {
                    begun.send(()).unwrap();
                    held.recv().unwrap();
                })
                .await
        }
    });
    is_held.await.unwrap();
    let n_before = n_commits(&folder);
    let insert = |n: i64, n_failures: u32| {
        let tries = Arc::new(AtomicU32::new(0));
        move |file: &Connection| {
            file.execute("INSERT INTO numbers VALUES (?1)", [n])?;
            fail_first(&tries, n_failures, ffi::SQLITE_IOERR_WRITE)
        }
    };
    // They wait while the connection is in use, and are made in one commit.
    let mut answers = Vec::new();
    for (n, n_failures) in [(1, 0), (2, 1), (3, 9), (4, 0)] {
        let answer = worker.begin_change(Durability::Synced, insert(n, n_failures)).await;
        answers.push(answer.unwrap());
    }
    release.send(()).unwrap();
    first.await.unwrap().unwrap();
    let mut made = Vec::new();
    for answer in answers {
        made.push(answer.await.unwrap().is_ok());
    }
    assert_eq!(made, [true, true, false, true]);
    assert_eq!(n_commits(&folder) - n_before, 1);
    assert_eq!(n_rows(&worker).await, 3);
}

fn fail_first(tries: &AtomicU32, n_failures: u32, code: i32) -> rusqlite::Result<()> {
    let n_before = tries.fetch_add(1, Ordering::Relaxed);
    if n_before >= n_failures {
        return Ok(());
    }
    Err(Error::SqliteFailure(ffi::Error::new(code), None))
}

#[track_caller]
fn check(
    answer: Result<rusqlite::Result<()>, WorkerStopped>,
    tries: &AtomicU32,
    expected: Result<u32, u32>,
) {
    let n_tries = tries.load(Ordering::Relaxed);
    assert_eq!(answer.unwrap().map(|()| n_tries).map_err(|_| n_tries), expected);
}

async fn n_rows(worker: &Worker) -> i64 {
    let count = |file: &mut Connection| {
        file.query_row("SELECT count(*) FROM numbers", [], |row| row.get(0)).unwrap()
    };
    worker.run(count).await.unwrap()
}

/// How often the file was changed, which its head counts.
fn n_commits(folder: &TempDir) -> u32 {
    let bytes = fs::read(folder.path().join("file.db")).unwrap();
    u32::from_be_bytes(bytes[24..28].try_into().unwrap())
}

fn worker() -> (TempDir, Worker) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file.db");
    make_file(&path).unwrap();
    let open = move || {
        let connection = connect(&path)?;
        connection.execute_batch("CREATE TABLE numbers (n INTEGER)")?;
        Ok::<_, Error>(Some((connection, ())))
    };
    match Worker::open(open) {
        Ok(Some((worker, ()))) => (folder, worker),
        _ => panic!("the file could not be opened"),
    }
}

#[test]
fn a_reader_waits_until_the_host_has_filled_the_index() {
    let mut n_tries = 0;
    let read = || {
        n_tries += 1;
        let recovering = ffi::Error::new(ffi::SQLITE_READONLY_RECOVERY);
        if n_tries < 3 { Err(Error::SqliteFailure(recovering, None)) } else { Ok(7) }
    };
    assert_eq!(while_recovering(read), Ok(7));
    assert_eq!(n_tries, 3);
}
