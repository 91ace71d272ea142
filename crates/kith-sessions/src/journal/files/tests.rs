use std::io;
use std::path::Path;
use std::sync::atomic::AtomicUsize;

use kith_vocab::blocking::OthersWaiting;
use kith_vocab::digest::sha256_hex;
use kith_vocab::tool::SpillFile;

use super::*;
use crate::journal::NewBlob;
use crate::read::Tail;
use crate::samples::{StillClock, header, long, notice, session_id, small_session, user};
use crate::storage::StorageErrorKind;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};

const DIR: &str = "/house/.kith";
const OPERATIONS_MAX: usize = 24;

#[tokio::test]
async fn a_session_costs_one_sync_of_its_file_and_one_of_the_folder() {
    let hooked = MemoryFiles::default();
    let journal = journal(&hooked);
    let n_syncs = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let [of_files, of_folders] = n_syncs.clone();
    hooked.set_hook(move |operation, _| {
        match operation {
            "sync_data" => of_files.fetch_add(1, Ordering::Relaxed),
            "sync_dir" => of_folders.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        Ok(())
    });
    let batches = small_session().into_iter().map(Batch::from).collect();
    journal.create(&header(1), batches).await.unwrap();
    assert_eq!(n_syncs.map(|it| it.load(Ordering::Relaxed)), [1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn while_the_disk_is_waited_for_other_tasks_run() {
    let _others = OthersWaiting::new();
    let hooked = MemoryFiles::default();
    let journal = Arc::new(journal(&hooked));
    let batches = small_session().into_iter().map(Batch::from).collect();
    journal.create(&header(1), batches).await.unwrap();
    journal.close(session_id(1));
    // Every access to the disk takes until another task of the one worker has run.
    let (waiting, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = std::sync::mpsc::channel();
    let released = Mutex::new(released);
    hooked.set_hook(move |_, _| {
        waiting.send(()).map_err(io::Error::other)?;
        let wait = std::time::Duration::from_secs(10);
        released.lock().unwrap().recv_timeout(wait).map_err(io::Error::other)
    });
    tokio::spawn(async move {
        while asked.recv().await.is_some() {
            release.send(()).unwrap();
        }
    });
    // Each in a task of its own: one that has waited once is no longer on the worker.
    let on_the_worker = async |work: StorageFuture<'static, ()>| {
        tokio::spawn(work).await.unwrap().unwrap();
    };
    let it = || Arc::clone(&journal);
    let (list, header, read, open, append, remove) = (it(), it(), it(), it(), it(), it());
    let id = session_id(1);
    on_the_worker(Box::pin(async move { list.list().await.map(drop) })).await;
    on_the_worker(Box::pin(async move { header.header(id).await.map(drop) })).await;
    on_the_worker(Box::pin(async move { read.read(id, None, 0, &mut |_| ()).await.map(drop) }))
        .await;
    on_the_worker(Box::pin(async move {
        let clock = StillClock::default();
        open.open(id, None, None, &clock, &mut |_| ()).await.map(drop)
    }))
    .await;
    on_the_worker(Box::pin(async move {
        let head = append.cursor(id).map(|it| it.head);
        append.append(id, head, Batch::from(vec![notice(8, "more")])).await.map(drop)
    }))
    .await;
    on_the_worker(Box::pin(async move {
        remove.close(id);
        remove.remove(id).await.map(drop)
    }))
    .await;
}

#[tokio::test]
async fn after_a_failed_write_the_session_must_be_opened_again() {
    for fault in [Fault::Fail, Fault::ShortWrite, Fault::Torn] {
        for n in 0..OPERATIONS_MAX {
            let files = MemoryFiles::default();
            let journal = FilesJournal::new(store(files.clone()));
            let mut head = journal.create(&header(1), Vec::new()).await.unwrap();
            files.fail_at(n, fault);
            for seq in 1..=3 {
                let batch = || vec![notice(seq, &long('a'))].into();
                match journal.append(session_id(1), head, batch()).await {
                    Ok(next) => head = next,
                    Err(error) => {
                        assert!(files.has_failed(), "{error}");
                        let again = journal.append(session_id(1), head, batch()).await;
                        assert_eq!(again.unwrap_err().kind, StorageErrorKind::MustReopen);
                        let clock = StillClock::default();
                        let mut each = |_| ();
                        let opened = journal.open(session_id(1), head, None, &clock, &mut each);
                        let found = opened.await.unwrap().unwrap().head;
                        // It is as it was: what failed was cut off.
                        assert_eq!(found, head, "{fault:?} at {n}");
                        head = journal.append(session_id(1), head, batch()).await.unwrap();
                    }
                }
            }
            let after = store(files.after(CrashModel::PowerCut));
            let reading = after.read(session_id(1), head.as_ref(), &mut |_| ()).unwrap();
            assert_eq!((reading.tail, reading.events), (Tail::Clean, 3), "{fault:?} at {n}");
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_told_as_such() {
    let files = MemoryFiles::default();
    let journal = FilesJournal::new(store(files.clone()));
    journal.create(&header(1), Vec::new()).await.unwrap();
    files.fail_at(1, Fault::Torn);
    let error = journal.append(session_id(1), None, vec![notice(1, "")].into()).await.unwrap_err();
    assert!(error.is_full(), "{error:?}");
    assert!(error.message.starts_with("no space left on the disk"), "{error}");
    assert_eq!(error.causes, ["No space left on device (os error 28)"]);
}

#[tokio::test]
async fn a_reader_of_an_open_session_sees_only_what_is_durable() {
    let hooked = MemoryFiles::default();
    let journal = Arc::new(journal(&hooked));
    journal.create(&header(1), vec![vec![notice(1, "durable")].into()]).await.unwrap();
    let head = journal.cursor(session_id(1)).map(|it| it.head);
    let seen = Arc::new(Mutex::new(None));
    let (reader, noted) = (Arc::clone(&journal), Arc::clone(&seen));
    // The batch is written and not yet synced.
    hooked.set_hook(move |operation, _| {
        if operation == "sync_data" {
            let reading = reader.read_now(session_id(1), None, 0, &mut |_| ()).unwrap();
            let size = reader.size_now(session_id(1)).unwrap();
            *noted.lock().unwrap() = Some((reading.events, reading.tail, size));
        }
        Ok(())
    });
    let durable = journal.open_bytes(session_id(1)).unwrap();
    journal.append(session_id(1), head, vec![notice(2, "not yet")].into()).await.unwrap();
    assert_eq!(seen.lock().unwrap().take(), Some((1, Tail::Clean, durable)));
    hooked.remove_hook();
    let reading = journal.read(session_id(1), None, 1, &mut |_| ()).await.unwrap();
    assert_eq!((reading.events, reading.tail), (1, Tail::Clean));
}

#[tokio::test]
async fn what_a_dead_writer_left_is_synced_before_it_is_shown() {
    let files = MemoryFiles::default();
    let journal = FilesJournal::new(store(files.clone()));
    journal.create(&header(1), vec![vec![notice(1, "durable")].into()]).await.unwrap();
    let head = journal.cursor(session_id(1)).map(|it| it.head);
    // The batch is written; the process dies as it is synced.
    files.fail_at(2, Fault::Offline);
    journal.append(session_id(1), head, vec![notice(2, "left")].into()).await.unwrap_err();
    files.heal();
    let journal = FilesJournal::new(store(files.clone()));
    let reading = journal.read(session_id(1), None, 0, &mut |_| ()).await.unwrap();
    assert_eq!(reading.events, 2, "the test is to leave an unsynced event");
    let after = store(files.after(CrashModel::PowerCut));
    let reading = after.read(session_id(1), None, &mut |_| ()).unwrap();
    assert_eq!((reading.events, reading.tail), (2, Tail::Clean));
}

#[tokio::test]
async fn one_who_only_reads_writes_and_syncs_nothing() {
    let hooked = MemoryFiles::default();
    let writer = journal(&hooked);
    writer.create(&header(1), vec![vec![notice(1, "said")].into()]).await.unwrap();
    hooked.set_hook(|operation, _| match operation {
        "open_read" | "open_read_at" | "len" | "list" => Ok(()),
        _ => Err(io::Error::other(format!("{operation} by one who only reads"))),
    });
    let store = SessionStore::new(Arc::new(hooked.clone()), Path::new(DIR));
    let reader = FilesJournal::reader(store);
    let id = session_id(1);
    assert_eq!(reader.read(id, None, 0, &mut |_| ()).await.unwrap().events, 1);
    assert_eq!(reader.newest_seq(id).await.unwrap(), Some(1));
    assert_eq!(Some(reader.size(id).await.unwrap()), writer.open_bytes(id));
    let clock = StillClock::default();
    let refused = [
        reader.create(&header(2), Vec::new()).await.map(drop),
        reader.open(id, None, None, &clock, &mut |_| ()).await.map(drop),
        reader.repair(id, None, header(2), &clock).await.map(drop),
        reader.remove(id).await.map(drop),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error, reads_only());
    }
}

#[tokio::test]
async fn a_session_that_is_only_read_is_synced_once_until_it_grows() {
    let hooked = MemoryFiles::default();
    let (journal, id) = (journal(&hooked), session_id(1));
    journal.create(&header(1), vec![vec![notice(1, "said")].into()]).await.unwrap();
    journal.close(id);
    let n_syncs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_syncs);
    hooked.set_hook(move |operation, _| {
        counted.fetch_add(usize::from(operation == "sync_data"), Ordering::Relaxed);
        Ok(())
    });
    for _ in 0..3 {
        journal.read(id, None, 0, &mut |_| ()).await.unwrap();
        assert_eq!(journal.newest_seq(id).await.unwrap(), Some(1));
    }
    assert_eq!(n_syncs.load(Ordering::Relaxed), 1);
    let opened = journal.open(id, None, None, &StillClock::default(), &mut |_| ()).await.unwrap();
    let head = opened.unwrap().head;
    journal.append(id, head, vec![notice(2, "more")].into()).await.unwrap();
    journal.close(id);
    n_syncs.store(0, Ordering::Relaxed);
    journal.read(id, None, 0, &mut |_| ()).await.unwrap();
    assert_eq!(n_syncs.load(Ordering::Relaxed), 1, "it has grown");
}

#[tokio::test]
async fn a_log_that_another_program_changed_is_not_written_behind_its_back() {
    type Change = fn(&Path);
    let replaced: Change = |path| {
        let copy = path.with_extension("copy");
        std::fs::copy(path, &copy).unwrap();
        std::fs::rename(copy, path).unwrap();
    };
    let removed: Change = |path| std::fs::remove_file(path).unwrap();
    let cut: Change = |path| {
        let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 9).unwrap();
    };
    for change in [replaced, removed, cut] {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(Arc::new(crate::disk::DiskFiles), folder.path());
        let journal = FilesJournal::new(store.clone());
        let head = journal.create(&header(1), vec![vec![notice(1, "a")].into()]).await.unwrap();
        let append = journal.append(session_id(1), head, vec![notice(2, "b")].into());
        let head = append.await.unwrap();
        change(&store.path(session_id(1)));
        let error = journal.append(session_id(1), head, vec![notice(3, "c")].into()).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind, StorageErrorKind::MustReopen, "{error}");
        assert!(error.message.contains("another program"), "{error}");
    }
}

#[tokio::test]
async fn whoever_falls_behind_reads_only_the_newer_part_of_a_long_log() {
    let hooked = MemoryFiles::default();
    let journal = journal(&hooked);
    let mut head = journal.create(&header(1), Vec::new()).await.unwrap();
    let text = "said at some length ".repeat(500);
    for seq in 1..=202 {
        // Whether the last but one may stand there is known only from the beginning of the log.
        let parent = if seq == 201 { 2 } else { seq - 1 };
        let batch = vec![user(seq, (seq > 1).then_some(parent), &text)].into();
        head = journal.append(session_id(1), head, batch).await.unwrap();
    }
    let n_near = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_near);
    hooked.set_hook(move |operation, _| {
        if operation == "open_read_at" {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    let mut near = Vec::new();
    for after_seq in 0..=202 {
        let mut seqs = Vec::new();
        let mut each = |event: Event| seqs.push(event.seq);
        let reading = journal.read(session_id(1), head, after_seq, &mut each).await.unwrap();
        assert_eq!(seqs, (after_seq + 1..=202).collect::<Vec<_>>());
        let seen = (reading.events, reading.head, reading.tail);
        assert_eq!(seen, (202 - after_seq, head, Tail::Clean));
        if n_near.swap(0, Ordering::Relaxed) == 1 {
            near.push(after_seq);
        }
    }
    // The last four places are remembered, each a quarter of a megabyte behind the one before.
    assert_eq!((near.first(), near.len()), (Some(&104), 99), "{near:?}");
    journal.close(session_id(1));
    assert!(journal.slots().is_empty());
}

#[tokio::test]
async fn a_torn_end_is_set_aside_and_said() {
    let files = MemoryFiles::default();
    let store = store(files.clone());
    let journal = FilesJournal::new(store.clone());
    journal.create(&header(1), vec![vec![notice(1, "good")].into()]).await.unwrap();
    journal.close(session_id(1));
    let path = store.path(session_id(1));
    let bytes = files.contents(&path).unwrap();
    files.write_raw(&path, &[&bytes[..], b"{\"seq\":2,\"id"].concat());
    let mut types = Vec::new();
    let clock = StillClock::default();
    let mut each = |event: Event| types.push(event.body.type_name());
    let opened = journal.open(session_id(1), None, None, &clock, &mut each).await.unwrap().unwrap();
    assert_eq!((types, opened.head.unwrap().seq), (vec!["notice", "log_repaired"], 2));
}

#[tokio::test]
async fn a_panic_of_who_gets_the_events_leaves_the_session_closed() {
    let files = MemoryFiles::default();
    let journal = Arc::new(FilesJournal::new(store(files)));
    let head = journal.create(&header(1), vec![vec![notice(1, "")].into()]).await.unwrap();
    let opening = Arc::clone(&journal);
    let panicked = tokio::spawn(async move {
        let clock = StillClock::default();
        opening.open(session_id(1), None, None, &clock, &mut |_| panic!("on purpose")).await
    });
    assert!(panicked.await.unwrap_err().is_panic());
    let append = journal.append(session_id(1), head, vec![notice(2, "")].into()).await;
    assert_eq!(append.unwrap_err().kind, StorageErrorKind::MustReopen);
    let clock = StillClock::default();
    let opened = journal.open(session_id(1), None, None, &clock, &mut |_| ()).await.unwrap();
    assert_eq!(opened.unwrap().head, head);
}

#[tokio::test]
async fn places_of_closed_sessions_cost_nothing() {
    let journal = FilesJournal::new(store(MemoryFiles::default()));
    for n in 1..=9 {
        journal.create(&header(n), Vec::new()).await.unwrap();
        journal.close(session_id(n));
        assert!(journal.append(session_id(n), None, vec![notice(1, "")].into()).await.is_err());
    }
    assert!(journal.slots().is_empty());
}

#[tokio::test]
async fn an_output_on_another_disk_is_copied() {
    let hooked = MemoryFiles::default();
    let journal = journal(&hooked);
    journal.create(&header(1), Vec::new()).await.unwrap();
    let path = Path::new("/tmp/output").to_owned();
    let bytes = long('o').into_bytes();
    hooked.write_raw(&path, &bytes);
    let spill =
        SpillFile { path: path.clone(), sha256: sha256_hex(&bytes), bytes: bytes.len() as u64 };
    let other_disk = path.clone();
    hooked.set_hook(move |operation, path| {
        let crosses = operation == "rename" && path == other_disk;
        if crosses { Err(io::ErrorKind::CrossesDevices.into()) } else { Ok(()) }
    });
    let batch =
        Batch { events: vec![user(1, None, "")], blobs: vec![NewBlob::File(spill.clone())] };
    journal.append(session_id(1), None, batch).await.unwrap();
    assert_eq!(journal.read_blob(&spill.sha256).await.unwrap(), bytes);
    assert_eq!(hooked.contents(&path), None);
}

#[tokio::test]
async fn an_output_that_others_could_change_becomes_no_blob() {
    let folder = tempfile::tempdir().unwrap();
    let files = Arc::new(crate::disk::DiskFiles);
    let journal = FilesJournal::new(SessionStore::new(files, &folder.path().join(".kith")));
    let (path, link) = (folder.path().join("output"), folder.path().join("link"));
    std::fs::write(&path, "said").unwrap();
    let spill = SpillFile { path: link.clone(), sha256: sha256_hex(b"said"), bytes: 4 };
    let make: [&dyn Fn(); 2] = [&|| std::os::unix::fs::symlink(&path, &link).unwrap(), &|| {
        std::fs::hard_link(&path, &link).unwrap();
    }];
    for (n, make) in (1..).zip(make) {
        make();
        journal.create(&header(n), Vec::new()).await.unwrap();
        let blobs = vec![NewBlob::File(spill.clone())];
        let batch = Batch { events: vec![notice(1, "")], blobs };
        let error = journal.append(session_id(n), None, batch).await.unwrap_err();
        assert_eq!(error.kind, StorageErrorKind::Refused, "{error}");
        assert!(journal.read_blob(&spill.sha256).await.is_err());
        std::fs::remove_file(&link).unwrap();
    }
}

#[tokio::test]
async fn whatever_fails_whenever_an_output_is_there_with_the_line_that_names_it() {
    for fault in [Fault::Fail, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let files = MemoryFiles::default();
            let journal = FilesJournal::new(store(files.clone()));
            journal.create(&header(1), Vec::new()).await.unwrap();
            let bytes = long('o').into_bytes();
            let path = Path::new("/tmp/output").to_owned();
            files.write_raw(&path, &bytes);
            let sha256 = sha256_hex(&bytes);
            let spill = SpillFile { path, sha256: sha256.clone(), bytes: bytes.len() as u64 };
            files.fail_at(n, fault);
            let blobs = vec![NewBlob::File(spill)];
            let batch = Batch { events: vec![notice(1, "")], blobs };
            let appended = journal.append(session_id(1), None, batch.clone()).await.is_ok();
            for model in CrashModel::EACH {
                let store = store(files.after(model));
                let reading = store.read(session_id(1), None, &mut |_| ()).unwrap();
                assert!(!appended || reading.events == 1, "{fault:?} at {n}, {model:?}");
                if reading.events == 1 {
                    assert_eq!(store.read_blob(&sha256).unwrap(), bytes, "{fault:?} at {n}");
                }
            }
            if !appended {
                // Whoever tries again need not know how far it came.
                files.heal();
                let clock = StillClock::default();
                let mut each = |_| ();
                let opened = journal.open(session_id(1), None, None, &clock, &mut each).await;
                if opened.unwrap().unwrap().head.is_none() {
                    journal.append(session_id(1), None, batch).await.unwrap();
                }
                assert_eq!(journal.read_blob(&sha256).await.unwrap(), bytes, "{fault:?} at {n}");
            }
        }
    }
}

fn journal(hooked: &MemoryFiles) -> FilesJournal {
    FilesJournal::new(SessionStore::new(Arc::new(hooked.clone()), Path::new(DIR)))
}

fn store(files: MemoryFiles) -> SessionStore {
    SessionStore::new(Arc::new(files), Path::new(DIR))
}
