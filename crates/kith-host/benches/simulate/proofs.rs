//! Every log proves itself: its requests are rebuilt, its decisions are replayed, and a byte that is
//! changed in it is named with its line.

use std::collections::BTreeSet;
use std::sync::Arc;

use kith_engine::replay::Replayer;
use kith_engine::verify::Verifier;
use kith_sessions::desk::ThreadRecords;
use kith_sessions::line::LogHead;
use kith_sessions::log::LogError;
use kith_sessions::read::Tail;
use kith_sessions::store::SessionStore;
use kith_testkit::files::{CrashModel, MemoryFiles};
use kith_vocab::event::messages::{HarnessKind, Origin};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::SessionId;

use super::chance::Chance;
use super::house::{House, now};
use super::settings;
use super::tally::Tally;
use super::world::World;

type Checked = Result<(), String>;

/// Bytes that are flipped in each log.
const FLIPS: usize = 4;
/// In one log of so many, each byte is flipped.
const EVERY_BYTE_OF: u64 = 400;
/// Reading a log again for each of its bytes takes the square of its length.
const EVERY_BYTE_LEN_MAX: usize = 8 * 1024;

/// Rebuilds the requests of a log and replays what was decided in it.
pub(crate) fn check_proof(id: SessionId, events: &[Event], tally: &mut Tally) -> Checked {
    let (mut verifier, mut replayer) = (Verifier::default(), Replayer::default());
    for event in events {
        verifier.read(event);
        replayer.read(event);
    }
    if let Some(difference) = &replayer.difference {
        return Err(format!("session {id} is not replayed: {difference:?}"));
    }
    if let Some(mismatch) = verifier.mismatches.first() {
        return Err(format!("a request of session {id} is not rebuilt: {mismatch:?}"));
    }
    if !verifier.other_renderer.is_empty() {
        return Err(format!("a request of session {id} has another renderer"));
    }
    tally.proven_sessions += 1;
    tally.proven_requests += verifier.n_requests;
    tally.replayed += replayer.n_compared;
    count(events, tally);
    Ok(())
}

/// Counts what a log tells of, so that a simulation in which something never happens shows.
fn count(events: &[Event], tally: &mut Tally) {
    let mut clients = BTreeSet::new();
    for event in events.iter().filter(|event| event.is_lived()) {
        match &event.body {
            Body::UserMessage(it) => {
                clients.insert(&event.client_id);
                tally.follow_ups += u64::from(it.queue_item_id.is_some());
            }
            Body::HarnessItem(it) => {
                let is_steer = it.item.kind == HarnessKind::Steer && it.item.origin == Origin::User;
                tally.steers += u64::from(is_steer);
                if is_steer {
                    clients.insert(&event.client_id);
                }
            }
            Body::CancelRequested(_) => tally.cancels += 1,
            Body::ModelFailed(_) => tally.failures += 1,
            Body::Compact(_) => tally.compactions += 1,
            Body::LeafMoved(_) => tally.moves += 1,
            Body::Resumed(_) => tally.resumes += 1,
            _ => (),
        }
    }
    tally.shared_sessions += u64::from(clients.len() > 1);
}

/// Flips bytes of a log, one at a time, and reads it as `kith session verify` does.
pub(crate) fn check_flips(house: &House, world: &World, id: SessionId) -> Checked {
    let path = house.store().path(id);
    let Some(bytes) = house.files.contents(&path) else { return Ok(()) };
    let head = now(house.desk.head(id));
    // A log whose end the desk does not know may end anywhere behind what it knows.
    let n_known = head.as_ref().map_or(0, |head| known_len(&bytes, head));
    if n_known == 0 {
        return Ok(());
    }
    let mut guard = world.lock();
    let every_byte = n_known <= EVERY_BYTE_LEN_MAX && guard.chance.below(EVERY_BYTE_OF) == 0;
    let flips: Vec<(usize, u8)> = if every_byte {
        (0..n_known).map(|place| (place, any_flip(&mut guard.chance))).collect()
    } else {
        (0..FLIPS).map(|_| (guard.chance.index(n_known), any_flip(&mut guard.chance))).collect()
    };
    guard.tally.flips += flips.len() as u64;
    guard.tally.flipped_whole += u64::from(every_byte);
    drop(guard);
    let files = house.files.after(CrashModel::ProcessKilled);
    for (place, flip) in flips {
        let mut flipped = bytes.clone();
        flipped[place] ^= flip;
        files.write_raw(&path, &flipped);
        let line = bytes[..place].split(|byte| *byte == b'\n').count();
        let named = named_line(&files, id, head.as_ref())?;
        if named != Some(line) {
            return Err(format!("byte {place} of {id}, in line {line}, names {named:?}"));
        }
    }
    Ok(())
}

fn any_flip(chance: &mut Chance) -> u8 {
    1 << chance.below(8)
}

/// The bytes of the lines that the desk knows to be written.
fn known_len(bytes: &[u8], head: &LogHead) -> usize {
    let n_lines = usize::try_from(head.seq).unwrap_or_default() + 1;
    bytes.split_inclusive(|byte| *byte == b'\n').take(n_lines).map(<[u8]>::len).sum()
}

/// The line that the damage is found in.
fn named_line(
    files: &MemoryFiles,
    id: SessionId,
    head: Option<&LogHead>,
) -> Result<Option<usize>, String> {
    let store = SessionStore::new(Arc::new(files.clone()), &settings::house().kith_dir());
    match store.read(id, head, &mut |_| ()) {
        Ok(reading) => Ok(match reading.tail {
            Tail::Damaged(damage) => Some(damage.line),
            Tail::Clean | Tail::Torn { .. } => None,
        }),
        Err(LogError::Damaged { damage, .. }) => Ok(Some(damage.line)),
        Err(error) => Err(format!("session {id} cannot be read: {error}")),
    }
}
