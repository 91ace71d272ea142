//! Who does the work, and that none is left.

use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::*;
use crate::database::Worker;

fn worker() -> Worker {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE numbers (n INTEGER)").unwrap();
    Worker::Callers(Arc::new(ConnectionQueue::new(connection)))
}

fn count(file: &mut Connection) -> rusqlite::Result<i64> {
    file.query_row("SELECT count(*) FROM numbers", [], |row| row.get(0))
}

fn insert(file: &Connection) -> rusqlite::Result<usize> {
    file.execute("INSERT INTO numbers VALUES (1)", [])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whoever_asks_is_answered_however_many_ask_at_once() {
    let worker = Arc::new(worker());
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..400 {
        let worker = Arc::clone(&worker);
        tasks.spawn(async move {
            if n % 3 == 0 {
                worker.begin_change(Durability::Eventual, insert).await.unwrap();
            } else {
                worker.change(Durability::Synced, insert).await.unwrap().unwrap();
            }
            worker.read(count).await.unwrap().unwrap()
        });
    }
    while let Some(counted) = tasks.join_next().await {
        assert!(counted.unwrap() > 0, "what was asked for before is done before");
    }
    assert_eq!(worker.read(count).await.unwrap().unwrap(), 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_panics_closes_the_file_and_whoever_waits_is_told() {
    let worker = worker();
    assert!(worker.run(|_| -> () { panic!("on purpose") }).await.is_err());
    assert!(worker.read(count).await.is_err());
    assert!(worker.change(Durability::Synced, insert).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_answer_nobody_waits_for_is_made_behind_work_that_takes_long() {
    let worker = Arc::new(worker());
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (begun, is_held) = oneshot::channel::<()>();
    let long = tokio::spawn({
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
    // It returns at once, though the connection is in use.
    drop(worker.begin_change(Durability::Eventual, insert).await.unwrap());
    release.send(()).unwrap();
    long.await.unwrap().unwrap();
    assert_eq!(worker.read(count).await.unwrap().unwrap(), 1);
}
