//! A session file cut, flipped, zeroed, and written to a disk that fails.

use std::sync::Arc;

use kith_sessions::line::LogHead;
use kith_sessions::log::SessionLog;
use kith_sessions::read::Tail;
use kith_sessions::store::SessionStore;
use kith_testkit::clock::FakeClock;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};
use kith_vocab::event::Event;

use super::blobs::{BlobSpecimen, long_message};
use super::chance::Chance;
use super::house;
use super::specimen::{DIR, Found, Specimen, notice, session_id, specimen};
use super::table::Table;
use super::tally::{Tally, each};

const RANDOM_FLIPS: usize = 10_000;
const SECTOR_BYTES: usize = 512;
const PAGE_BYTES: usize = 4096;

pub(crate) fn run(seed: u64) -> (Table, bool) {
    let mut table = Table::new(
        "torture-log",
        &[
            "harm",
            "cases",
            "as it was",
            "torn, set aside",
            "named damage",
            "lost or altered",
            "panics",
        ],
    );
    let small = specimen(3);
    let large = specimen(600);
    let mut is_good = true;
    let mut put = |what: &str, tally: Tally| {
        is_good &= tally.altered + tally.panics == 0;
        let named: Vec<String> =
            tally.named.iter().map(|(code, n)| format!("{code} {n}")).collect();
        table.row([
            what.to_owned(),
            tally.n_cases.to_string(),
            tally.whole.to_string(),
            tally.torn.to_string(),
            if named.is_empty() { "0".to_owned() } else { named.join(", ") },
            tally.altered.to_string(),
            tally.panics.to_string(),
        ]);
        if let Some(first) = tally.first {
            println!("HARM {what}: {first}");
        }
    };
    put("cut at every byte of the last two batches, desk behind", cuts(&small, Desk::Behind));
    put("the same, desk knows the last event", cuts(&small, Desk::Knows));
    put("the same, opened for writing, repaired, appended to", repairs(&small));
    for (desk, words) in [(Desk::Behind, "desk behind"), (Desk::Knows, "desk knows")] {
        let [header, lines, newline] = flips(&small, desk);
        put(&format!("every bit of the header flipped, {words}"), header);
        put(&format!("every bit of every event flipped, {words}"), lines);
        put(&format!("every bit of the last newline flipped, {words}"), newline);
        put(&format!("zeroed sectors and pages, {words}"), zeroed(&small, desk));
        put(&format!("zeroed inside the last batch, {words}"), zeroed_in_last_batch(&small, desk));
        let n = RANDOM_FLIPS;
        put(&format!("{n} random flips of 1 to 8 bits, {words}"), random_flips(&large, desk, seed));
    }
    for (fault, words) in [
        (Fault::Full, "full disk at every operation"),
        (Fault::ShortWrite, "short write at every operation"),
        (Fault::FailSync, "failing sync at every sync"),
        (Fault::ReadOnly, "read-only disk at every operation"),
    ] {
        put(words, disk_fault(fault));
    }
    let blob = BlobSpecimen::new();
    put("every bit of a blob flipped", blob.flips());
    put("a blob cut at every byte, missing, or with zeroed pages", blob.cuts());
    table.note(format!(
        "seed {seed}; session of {} bytes in {} batches, random flips in one of {} bytes, blob of {} bytes",
        small.bytes.len(),
        small.n_batches(),
        large.bytes.len(),
        blob.bytes.len()
    ));
    (table, is_good)
}

/// What the desk has noted of the session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Desk {
    /// The head before the last two batches: a turn is running.
    Behind,
    /// The last event: the turn has ended.
    Knows,
}

impl Desk {
    fn head(self, specimen: &Specimen) -> Option<&LogHead> {
        match self {
            Desk::Behind => specimen.heads[specimen.n_batches() - 2].as_ref(),
            Desk::Knows => specimen.last_head(),
        }
    }
}

fn cuts(specimen: &Specimen, desk: Desk) -> Tally {
    let mut tally = Tally::default();
    let last = specimen.n_batches();
    for len in specimen.ends[last - 2]..=specimen.ends[last] {
        let cut = &specimen.bytes[..len];
        let n_whole = batches_in(specimen, len);
        let found = match desk {
            Desk::Knows => specimen.read(cut, desk.head(specimen)),
            Desk::Behind if !is_shorter(specimen, cut, n_whole) => {
                Found::Altered(format!("not the first {n_whole} batches"))
            }
            Desk::Behind if is_end(specimen, len) => Found::Whole,
            Desk::Behind => Found::Torn,
        };
        tally.add(found, || format!("cut at {len}"));
    }
    tally
}

/// Whether exactly the first batches are read, and nothing is called damage.
fn is_shorter(specimen: &Specimen, cut: &[u8], n_batches: usize) -> bool {
    let (_, store) = disk_with(cut);
    let mut events = Vec::new();
    let head = Desk::Behind.head(specimen);
    let reading = store.read(session_id(), head, &mut |event| events.push(event));
    let is_good = reading.is_ok_and(|it| !matches!(it.tail, Tail::Damaged(_)));
    is_good && events == specimen.events[..specimen.n_events[n_batches]]
}

/// How many batches a file of this length holds. The last newline may be missing.
fn batches_in(specimen: &Specimen, len: usize) -> usize {
    specimen.ends.iter().filter(|&&end| end <= len + 1).count() - 1
}

fn is_end(specimen: &Specimen, len: usize) -> bool {
    specimen.ends.iter().any(|&end| end == len || end == len + 1)
}

/// Opens each cut for writing: the torn bytes are kept beside, and the session goes on.
fn repairs(specimen: &Specimen) -> Tally {
    let mut tally = Tally::default();
    let last = specimen.n_batches();
    for len in specimen.ends[last - 2]..=specimen.ends[last] {
        let cut = &specimen.bytes[..len];
        let n_whole = batches_in(specimen, len);
        let (files, store) = disk_with(cut);
        // The ids of the samples are counted from 1.
        let clock = FakeClock::starting_at_id(1 << 52);
        let what = || format!("cut at {len}");
        let opened = store.open(session_id(), None, &clock, &mut |_| ());
        let mut log = match opened {
            Ok(log) => log,
            Err(error) => {
                tally.n_cases += 1;
                tally.fail(format!("{}: {error}", what()));
                continue;
            }
        };
        let before = log.next_seq();
        if let Err(error) = log.append(&[notice(before, "goes on")]) {
            tally.fail(format!("{}: {error}", what()));
        }
        let mut events = Vec::new();
        let reading =
            store.read(session_id(), log.head().as_ref(), &mut |event| events.push(event));
        let kept = &specimen.events[..specimen.n_events[n_whole]];
        let is_good = reading.is_ok_and(|it| it.tail == Tail::Clean) && events.starts_with(kept);
        let torn = &cut[specimen.ends[n_whole].min(len)..];
        let is_kept = torn.is_empty()
            || files.paths().iter().any(|path| {
                path.to_string_lossy().contains(".torn-")
                    && files.contents(path).is_some_and(|it| it == torn)
            });
        let found = match (is_good && is_kept, torn.is_empty()) {
            (true, true) => Found::Whole,
            (true, false) => Found::Torn,
            (false, _) => Found::Altered("the repaired session differs".to_owned()),
        };
        tally.add(found, what);
    }
    tally
}

/// Of the header, of the events, and of the newline at the very end.
fn flips(specimen: &Specimen, desk: Desk) -> [Tally; 3] {
    let (header, all) = (specimen.ends[0], specimen.bytes.len());
    [0..header, header..all - 1, all - 1..all].map(|part| {
        each(part.len(), |n, tally| {
            let mut bytes = specimen.bytes.clone();
            let at = part.start + n;
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                let found = specimen.read(&bytes, desk.head(specimen));
                tally.add(found, || format!("bit {bit} of byte {at}"));
                bytes[at] ^= 1 << bit;
            }
        })
    })
}

fn random_flips(specimen: &Specimen, desk: Desk, seed: u64) -> Tally {
    each(RANDOM_FLIPS, |n, tally| {
        let mut chance = Chance::of(seed, n as u64);
        let mut bytes = specimen.bytes.clone();
        for _ in 0..=chance.below(8) {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
        }
        tally.add(specimen.read(&bytes, desk.head(specimen)), || format!("case {n}"));
    })
}

fn zeroed(specimen: &Specimen, desk: Desk) -> Tally {
    let mut tally = Tally::default();
    for size in [SECTOR_BYTES, PAGE_BYTES] {
        for from in (0..specimen.bytes.len()).step_by(size) {
            let to = specimen.bytes.len().min(from + size);
            let found = read_zeroed(specimen, desk, from, to);
            tally.add(found, || format!("zeros from {from} to {to}"));
        }
    }
    tally
}

/// Every run of sectors that a crash may leave unwritten in the middle of the last write.
fn zeroed_in_last_batch(specimen: &Specimen, desk: Desk) -> Tally {
    let mut tally = Tally::default();
    let last = specimen.n_batches();
    let (begin, end) = (specimen.ends[last - 1], specimen.ends[last]);
    let sectors: Vec<usize> =
        (begin.next_multiple_of(SECTOR_BYTES)..=end).step_by(SECTOR_BYTES).collect();
    for (n, &from) in sectors.iter().enumerate() {
        for &to in &sectors[n + 1..] {
            let found = read_zeroed(specimen, desk, from, to);
            tally.add(found, || format!("zeros from {from} to {to}"));
        }
    }
    tally
}

fn read_zeroed(specimen: &Specimen, desk: Desk, from: usize, to: usize) -> Found {
    let mut bytes = specimen.bytes.clone();
    bytes[from..to].fill(0);
    specimen.read(&bytes, desk.head(specimen))
}

fn disk_with(bytes: &[u8]) -> (MemoryFiles, SessionStore) {
    let files = MemoryFiles::new();
    let store = SessionStore::new(Arc::new(files.clone()), DIR.as_ref());
    files.write_raw(store.path(session_id()), bytes);
    (files, store)
}

/// Writes a session in three lives with the fault at each operation; what was acknowledged must be
/// there after a crash of either kind, whole batches only.
fn disk_fault(fault: Fault) -> Tally {
    let mut tally = Tally::default();
    let undisturbed = Writing::new();
    undisturbed.write();
    for at in 1..=undisturbed.files.count() {
        let writing = Writing::new();
        writing.files.plan(at, fault);
        let acknowledged = writing.write();
        writing.files.heal();
        let more = writing.write();
        let acknowledged = if more.len() > acknowledged.len() { more } else { acknowledged };
        for crash in CrashModel::EACH {
            let found = writing.found_after(crash, &acknowledged);
            tally.add(found, || format!("{fault:?} at operation {at}, then {crash:?}"));
        }
    }
    tally
}

struct Writing {
    files: MemoryFiles,
    store: SessionStore,
    clock: FakeClock,
}

impl Writing {
    fn new() -> Writing {
        let files = MemoryFiles::new();
        let store = SessionStore::new(Arc::new(files.clone()), DIR.as_ref());
        Writing { files, store, clock: FakeClock::new() }
    }

    /// Three times: opens or makes the session, and appends three batches of two. Returns what was
    /// acknowledged, in order.
    fn write(&self) -> Vec<Event> {
        let mut acknowledged: Vec<Event> = Vec::new();
        for _ in 0..3 {
            let mut found = Vec::new();
            let Some(mut log) = self.open(&mut found) else { continue };
            acknowledged = found;
            for _ in 0..3 {
                let seq = log.next_seq();
                // The long one has its text in a blob, which must be on the disk before it.
                let batch = [notice(seq, "first"), long_message(seq + 1)];
                if log.append(&batch).is_ok() {
                    acknowledged.extend(batch);
                }
            }
        }
        acknowledged
    }

    fn open(&self, found: &mut Vec<Event>) -> Option<SessionLog> {
        let id = session_id();
        // What opening gives counts only if it succeeds, so a failure means nothing was promised.
        if self.store.exists(id).ok()? {
            let each = &mut |event: Event| found.push(event);
            return self.store.open(id, None, &self.clock, each).ok();
        }
        let first = notice(1, "begins");
        let log = self
            .store
            .create(&house::header(id, "cli:room:torture"), std::slice::from_ref(&first))
            .ok()?;
        found.push(first);
        Some(log)
    }

    fn found_after(&self, crash: CrashModel, acknowledged: &[Event]) -> Found {
        let store = SessionStore::new(Arc::new(self.files.reboot(crash)), DIR.as_ref());
        let mut events: Vec<Event> = Vec::new();
        let reading = store.read(session_id(), None, &mut |event| events.push(event));
        match reading.map(|it| it.tail) {
            _ if !events.starts_with(acknowledged) => {
                Found::Altered(format!("{} of {}", events.len(), acknowledged.len()))
            }
            Ok(Tail::Clean) => Found::Whole,
            Ok(Tail::Torn { .. }) => Found::Torn,
            Ok(Tail::Damaged(damage)) => Found::Altered(damage.to_string()),
            Err(_) if acknowledged.is_empty() => Found::Whole,
            Err(error) => Found::Altered(error.to_string()),
        }
    }
}
