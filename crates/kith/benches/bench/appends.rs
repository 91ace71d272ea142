//! Durable appends of many sessions at once, beside raw `fdatasync` of as many files.

use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_vocab::clock::Clock;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{EventId, SessionId};

use super::Ground;
use super::figure::{Figure, median, per_second};
use super::house::{WallClock, header};
use super::step::RawFile;

const SESSIONS: usize = 64;
const APPENDS: u64 = 40;
const REPETITIONS: usize = 5;
const TEXT_BYTES: usize = 700;

pub(crate) fn measure(ground: &Ground) -> Vec<Figure> {
    let (mut ours, mut raw, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..REPETITIONS {
        let dir = ground.dir.join(format!("appends-{n}"));
        let n_appends = SESSIONS as u64 * APPENDS;
        let pace = per_second(n_appends, logs(&dir));
        let raw_pace = per_second(n_appends, files(&dir));
        ours.push(pace);
        raw.push(raw_pace);
        ratios.push(pace / raw_pace);
    }
    let ratio = median(ratios);
    vec![
        Figure::new(
            "durable appends per second, 64 sessions at once",
            format!("{:.0}", median(ours)),
        )
        .against(format!("{:.0} raw `fdatasync` of 64 files", median(raw)), ratio)
        .goal("at least 0.6x", ratio >= 0.6),
    ]
}

fn logs(dir: &Path) -> Duration {
    let store = SessionStore::new(Arc::new(DiskFiles), &dir.join(".kith"));
    let work = (0..SESSIONS).map(|_| {
        let id = SessionId::from_uuid(WallClock.new_id());
        let log = store.create(&header(id, "cli:room:a"), &[notice(1)]);
        let mut log = log.expect("a session can be made");
        move || {
            for _ in 0..APPENDS {
                let event = notice(log.next_seq());
                log.append(&[event]).expect("a batch is taken");
            }
        }
    });
    at_once(work.collect())
}

fn files(dir: &Path) -> Duration {
    let line_bytes = TEXT_BYTES + 250;
    let work = (0..SESSIONS).map(|n| {
        let mut file = RawFile::new(&dir.join(format!("raw-{n}")));
        move || {
            for _ in 0..APPENDS {
                file.append(line_bytes);
            }
        }
    });
    at_once(work.collect())
}

/// How long all of it takes when it begins together.
fn at_once<F: FnOnce() + Send>(work: Vec<F>) -> Duration {
    let barrier = Barrier::new(work.len() + 1);
    std::thread::scope(|scope| {
        for one in work {
            scope.spawn(|| {
                barrier.wait();
                one();
            });
        }
        barrier.wait();
        Instant::now()
    })
    .elapsed()
}

fn notice(seq: u64) -> Event {
    let notice = Notice { text: "x".repeat(TEXT_BYTES).into(), level: Level::Info, about: None };
    Event {
        seq,
        id: EventId::from_uuid(WallClock.new_id()),
        ts: WallClock.now(),
        client_id: "bench".to_owned(),
        ingress_key: None,
        parent_id: None,
        source_tag: None,
        body: Body::Notice(notice),
    }
}
