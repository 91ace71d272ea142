//! What must hold when everything has come to its end.

use std::collections::{BTreeMap, BTreeSet};

use kith_engine::report::{MessageEnd, RowReader};
use kith_engine::state::State;
use kith_engine::state::compaction::Compaction;
use kith_sessions::desk::{Inbox, RowStatus};
use kith_vocab::event::messages::Outcome;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId, SessionId};
use kith_vocab::tool::ToolOutcome;

use super::house::{House, now};
use super::oracle::{Oracle, digest_of};
use super::proofs::{check_flips, check_proof};
use super::world::World;

type Checked = Result<(), String>;

/// Every log there is or was, with the facts that checks need of all of them.
#[derive(Default)]
struct Logs {
    all: Vec<(SessionId, Vec<Event>)>,
    /// In which logs each key stands as a message, a steer or a notice.
    said: BTreeMap<String, Vec<SessionId>>,
    queued: BTreeSet<String>,
    started: BTreeSet<CallId>,
    /// Calls and messages that stood in a part that cannot be read any more.
    lost: BTreeSet<CallId>,
    lost_keys: BTreeSet<String>,
    results: BTreeMap<CallId, Vec<Outcome>>,
    /// Requests by model and hash of the body.
    requests: BTreeMap<(String, String), u64>,
}

pub(crate) fn check_all(house: &House, world: &World) {
    let checked = read_logs(house, world).and_then(|logs| {
        let mut guard = world.lock();
        let state = &mut *guard;
        for (id, events) in &logs.all {
            for event in events {
                state.observe(&digest_of(event).to_le_bytes());
            }
            check_log(*id, events)?;
            check_proof(*id, events, &mut state.tally)?;
            // One whose messages only a lost desk knew may have been removed before its turn went on.
            let is_removed = state.oracle.removed.iter().any(|(removed, _)| removed == id);
            let is_damaged = state.oracle.damaged.contains_key(id);
            if !is_removed && !is_damaged && State::of(events).turn.is_some() {
                return Err(format!("a turn of session {id} has not ended"));
            }
        }
        let oracle = &state.oracle;
        check_published(house, oracle)?;
        check_messages(house, &logs, oracle)?;
        check_calls(&logs, oracle)?;
        check_requests(&logs, oracle)?;
        drop(guard);
        let all = house.sessions().into_iter().filter(|id| house.log(*id).is_ok());
        all.into_iter().try_for_each(|id| check_flips(house, world, id))
    });
    if let Err(wrong) = checked {
        world.violate(wrong);
    }
}

fn read_logs(house: &House, world: &World) -> Result<Logs, String> {
    let mut logs = Logs::default();
    let (removed, gone, damaged) = {
        let oracle = &world.lock().oracle;
        (oracle.removed.clone(), oracle.gone.clone(), oracle.damaged.clone())
    };
    for id in house.sessions() {
        let is_damaged = damaged.contains_key(&id);
        logs.add(id, if is_damaged { house.readable(id) } else { house.log(id)? });
    }
    for (id, events) in &damaged {
        let n_left = house.readable(*id).len();
        logs.add_lost(events.get(n_left..).unwrap_or_default());
        // A kill may have left a whole batch behind the damage of which nobody was told. What it
        // says is not said again, and its author is told that no more comes of it.
        logs.lost_keys.extend(house.keys_behind_damage(*id));
    }
    for (place, (id, events)) in removed.into_iter().enumerate() {
        // A kill may have come before the removal came to its end; then it is there still. And what
        // is said to a session that was removed makes another of its name.
        let first = events.first().map(|event| event.id);
        let is_there = |(there, log): &(SessionId, Vec<Event>)| {
            *there == id && log.first().map(|event| event.id) == first
        };
        if gone.contains(&place) || !logs.all.iter().any(is_there) {
            logs.add(id, events);
        }
    }
    Ok(logs)
}

impl Logs {
    /// What stood in a part of a log that cannot be read any more. What was said there may be said
    /// again, for nobody can know of it; what was done there was done.
    fn add_lost(&mut self, events: &[Event]) {
        for event in events.iter().filter(|event| event.is_lived()) {
            self.lost_keys.extend(event.ingress_key.clone());
            match &event.body {
                Body::QueueUpdate(it) => {
                    self.queued.extend(it.items.iter().filter_map(|it| it.ingress_key.clone()));
                }
                Body::ToolStarted(it) => {
                    self.started.insert(it.call_id);
                    self.lost.insert(it.call_id);
                }
                Body::ToolResult(it) => {
                    self.lost.insert(it.call_id);
                }
                Body::ModelRequested(it) => {
                    let request = (it.model.clone(), it.body_sha256.clone());
                    *self.requests.entry(request).or_default() += 1;
                }
                _ => (),
            }
        }
    }

    fn add(&mut self, id: SessionId, events: Vec<Event>) {
        for event in events.iter().filter(|event| event.is_lived()) {
            match (&event.body, &event.ingress_key) {
                (Body::QueueUpdate(it), _) => {
                    self.queued.extend(it.items.iter().filter_map(|it| it.ingress_key.clone()));
                }
                (_, Some(key)) => self.said.entry(key.clone()).or_default().push(id),
                (Body::ToolStarted(it), None) => {
                    self.started.insert(it.call_id);
                }
                (Body::ToolResult(it), None) => {
                    self.results.entry(it.call_id).or_default().push(it.outcome);
                }
                (Body::ModelRequested(it), None) => {
                    let request = (it.model.clone(), it.body_sha256.clone());
                    *self.requests.entry(request).or_default() += 1;
                }
                _ => (),
            }
        }
        self.all.push((id, events));
    }
}

/// Whether the log that tells of the call was removed, with whatever was open in it.
fn is_removed(call_id: CallId, oracle: &Oracle) -> bool {
    let tells =
        |event: &Event| matches!(&event.body, Body::ToolStarted(it) if it.call_id == call_id);
    oracle.removed.iter().any(|(_, events)| events.iter().any(tells))
}

/// Whether the log that tells of the call can be read no further, with whatever was open in it.
fn is_cut(call_id: CallId, logs: &Logs, oracle: &Oracle) -> bool {
    let tells =
        |event: &Event| matches!(&event.body, Body::ToolStarted(it) if it.call_id == call_id);
    let mut damaged = logs.all.iter().filter(|(id, _)| oracle.damaged.contains_key(id));
    logs.lost.contains(&call_id) || damaged.any(|(_, events)| events.iter().any(tells))
}

/// One log by itself.
fn check_log(id: SessionId, events: &[Event]) -> Checked {
    let (mut state, mut ids) = (State::default(), BTreeSet::<EventId>::new());
    for (event, seq) in events.iter().zip(1..) {
        if event.seq != seq {
            return Err(format!("event {seq} of session {id} has the number {}", event.seq));
        }
        if !ids.insert(event.id) {
            return Err(format!("the id of event {seq} of session {id} stands twice"));
        }
        check_model(id, &state, event)?;
        state.fold(event);
    }
    Ok(())
}

/// A model is asked only in a turn, or for a summary, that names it.
fn check_model(id: SessionId, state: &State, event: &Event) -> Checked {
    let Body::ModelRequested(requested) = &event.body else { return Ok(()) };
    if !event.is_lived() {
        return Ok(());
    }
    let wanted = match &state.compaction {
        Compaction::Requested(wanted) => wanted.models.as_slice(),
        _ => &[],
    };
    let named = state.turn.iter().flat_map(|turn| &turn.models).chain(wanted);
    if named.into_iter().any(|it| it.model == requested.model) {
        return Ok(());
    }
    Err(format!("{} was asked in a turn of {id} that does not name it", requested.model))
}

/// Nothing that anybody was told of is missing.
fn check_published(house: &House, oracle: &Oracle) -> Checked {
    for (id, view) in &oracle.sessions {
        if view.events.is_empty() || oracle.damaged.contains_key(id) {
            continue;
        }
        let events = house.log(*id)?;
        let digests: Vec<u64> = events.iter().map(digest_of).collect();
        if !digests.starts_with(&view.events) {
            let (found, told) = (digests.len(), view.events.len());
            return Err(format!("session {id} holds {found} events, and {told} were told of"));
        }
        let ids: BTreeSet<EventId> = events.iter().map(|event| event.id).collect();
        let confirmed = oracle.confirmed.iter().filter(|(session, _)| session == id);
        for (_, event_id) in confirmed {
            if !ids.contains(event_id) {
                return Err(format!("event {event_id} of {id} was confirmed and is missing"));
            }
        }
    }
    Ok(())
}

/// Each message that was accepted is answered once, or given up with a reason.
fn check_messages(house: &House, logs: &Logs, oracle: &Oracle) -> Checked {
    for (key, sessions) in &logs.said {
        if sessions.len() > 1 {
            return Err(format!("{key} was said {} times: {sessions:?}", sessions.len()));
        }
    }
    for key in oracle.accepted.keys() {
        let said = logs.said.get(key).and_then(|sessions| sessions.first());
        let is_lost = logs.lost_keys.contains(key);
        if said.is_none() && !logs.queued.contains(key) && !is_lost {
            return Err(format!("{key} was accepted and stands in no log"));
        }
        match now(house.desk.row(key)) {
            Some(RowStatus::Closed { .. }) => (),
            status => return Err(format!("the row of {key} is {status:?}")),
        }
        let Some(id) = said else { continue };
        let is_removed = oracle.removed.iter().any(|(removed, _)| removed == id);
        if is_removed || oracle.damaged.contains_key(id) {
            continue;
        }
        let of_session = logs.all.iter().filter(|(there, _)| there == id);
        let is_said = |events: &[Event]| {
            events.iter().any(|event| event.ingress_key.as_ref() == Some(key) && event.is_lived())
        };
        for (_, events) in of_session.filter(|(_, events)| is_said(events)) {
            check_end(key, *id, events, oracle)?;
        }
    }
    Ok(())
}

fn check_end(key: &str, id: SessionId, events: &[Event], oracle: &Oracle) -> Checked {
    let view = oracle.sessions.get(&id);
    let Some(thread) = view.and_then(|view| view.thread.as_ref()) else { return Ok(()) };
    let mut reader = RowReader::new(id, &thread.thread_id, key);
    for event in events {
        reader.read(event);
    }
    match reader.settled().map(|report| report.end) {
        Some(
            MessageEnd::Done
            | MessageEnd::Cancelled
            | MessageEnd::Failed
            | MessageEnd::Bound(_)
            | MessageEnd::Removed
            | MessageEnd::Declined(_),
        ) => Ok(()),
        end => Err(format!("{key} came to {end:?}")),
    }
}

/// No side effect twice, and none that the log does not tell of.
fn check_calls(logs: &Logs, oracle: &Oracle) -> Checked {
    for (call_id, run) in &oracle.runs {
        if run.n_runs > 1 || run.n_effects > 1 {
            return Err(format!("call {call_id} ran {} times", run.n_runs));
        }
        if !logs.started.contains(call_id) {
            return Err(format!("call {call_id} ran, and no log says that it started"));
        }
        let outcomes = logs.results.get(call_id).map_or(&[][..], Vec::as_slice);
        let fits = match outcomes {
            [Outcome::Done] => run.returned == Some(ToolOutcome::Done),
            [Outcome::Failed | Outcome::Cancelled] => run.returned == Some(ToolOutcome::Failed),
            [Outcome::Interrupted] => true,
            [] => is_removed(*call_id, oracle) || is_cut(*call_id, logs, oracle),
            _ => false,
        };
        if !fits {
            return Err(format!("call {call_id} came to {run:?}, and its log says {outcomes:?}"));
        }
    }
    for (call_id, outcomes) in &logs.results {
        if outcomes.len() != 1 {
            return Err(format!("call {call_id} has {} results", outcomes.len()));
        }
    }
    Ok(())
}

/// Every request that a model received stands in a log, before it was sent.
fn check_requests(logs: &Logs, oracle: &Oracle) -> Checked {
    let mut received: BTreeMap<&(String, String), u64> = BTreeMap::new();
    for request in &oracle.requests {
        *received.entry(request).or_default() += 1;
    }
    for (request, n_received) in received {
        let n_logged = logs.requests.get(request).copied().unwrap_or_default();
        if n_received > n_logged {
            let (model, sha256) = request;
            return Err(format!(
                "{model} received {n_received} requests {sha256}, and {n_logged} are in the logs"
            ));
        }
    }
    Ok(())
}
