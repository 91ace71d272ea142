//! What the world outside the host knows of it, and what is checked while it happens.

use std::collections::{BTreeMap, BTreeSet};

use kith_engine::feed::{ResumePoint, ThreadKey};
use kith_host::caller::Caller;
use kith_host::calls::message::SendMessage;
use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::event::models::Purpose;
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId, LeafId, SessionId};
use kith_vocab::tool::ToolOutcome;

use super::command::SimCommand;
use super::world::fnv;

#[derive(Default)]
pub(crate) struct Oracle {
    /// Everything anybody tried to say, whether they know that it was accepted or not.
    pub(crate) sent: Vec<(Caller, SendMessage)>,
    /// The messages that were accepted.
    pub(crate) accepted: BTreeMap<String, SessionId>,
    pub(crate) commands: Vec<SimCommand>,
    /// Events that somebody was told of by a reply.
    pub(crate) confirmed: BTreeSet<(SessionId, EventId)>,
    pub(crate) sessions: BTreeMap<SessionId, SessionView>,
    /// The logs of sessions that were removed, as they were then.
    pub(crate) removed: Vec<(SessionId, Vec<Event>)>,
    /// Which of them are known to be gone, whatever has their name by now.
    pub(crate) gone: BTreeSet<usize>,
    /// Sessions that were damaged, each with all that was ever written to it.
    pub(crate) damaged: BTreeMap<SessionId, Vec<Event>>,
    pub(crate) runs: BTreeMap<CallId, ToolRun>,
    /// The model, and the hash of the body that it received.
    pub(crate) requests: Vec<(String, String)>,
    pub(crate) followers: Vec<FollowerState>,
    pub(crate) house_followers: Vec<HouseFollowerState>,
    /// How often something was written.
    pub(crate) n_changes: u64,
    /// What `host.lock` says.
    pub(crate) generation: u64,
    /// Whoever waits for the end of a turn.
    pub(crate) waiting: BTreeSet<(u64, WaitsFor)>,
    /// Other calls that were not answered yet.
    pub(crate) n_asked: u64,
    pub(crate) n_keys: u64,
}

/// A session as somebody sees it who missed nothing.
#[derive(Default)]
pub(crate) struct SessionView {
    pub(crate) thread: Option<ThreadKey>,
    /// When it was written to last: how often anything had been written by then.
    changed: u64,
    /// A digest of each event that is durable, in the order of the log.
    pub(crate) events: Vec<u64>,
    pub(crate) tree: Vec<EventId>,
    pub(crate) leaf: Option<EventId>,
    pub(crate) follow_ups: Vec<QueueItem>,
    pub(crate) steers: Vec<QueueItem>,
    /// A turn runs. One that was left open by a kill or a failure does not until it is gone on with.
    runs_turn: bool,
}

/// A run of a tool that changes the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolRun {
    pub(crate) n_effects: u32,
    pub(crate) n_runs: u32,
    pub(crate) returned: Option<ToolOutcome>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitsFor {
    Message(String),
    /// A turn of this session that is taken up again.
    Turn(SessionId),
}

/// Somebody who follows a session or a thread, from life to life.
#[derive(Clone, Debug)]
pub(crate) struct FollowerState {
    /// `None`: it follows one session.
    pub(crate) thread: Option<ThreadKey>,
    /// The session it is in, as far as it was told.
    pub(crate) session_id: Option<SessionId>,
    pub(crate) point: ResumePoint,
    /// It follows no more: the session was removed.
    pub(crate) is_over: bool,
}

/// Somebody who follows the house, for one life.
#[derive(Clone, Debug, Default)]
pub(crate) struct HouseFollowerState {
    /// What was written before is nothing it must be told of.
    pub(crate) since: u64,
    /// How much was written when it was last told of a thread.
    pub(crate) told: BTreeMap<ThreadKey, u64>,
}

impl SessionView {
    pub(crate) fn leaf_id(&self) -> LeafId {
        self.leaf.into()
    }

    pub(crate) fn queue(&self, queue: Queue) -> &[QueueItem] {
        match queue {
            Queue::FollowUp => &self.follow_ups,
            Queue::Steer => &self.steers,
        }
    }

    fn read(&mut self, event: &Event) {
        if event.is_tree() {
            self.tree.push(event.id);
            self.leaf = Some(event.id);
        }
        if !event.is_lived() {
            return;
        }
        match &event.body {
            // A summary between two turns is no turn.
            Body::ModelRequested(it) if it.purpose == Purpose::Compact => (),
            Body::UserMessage(_)
            | Body::TurnStarted(_)
            | Body::ModelRequested(_)
            | Body::AssistantMessage(_)
            | Body::ToolStarted(_) => self.runs_turn = true,
            Body::TurnEnded(_) | Body::Resumed(_) => self.runs_turn = false,
            Body::LeafMoved(it) => (self.runs_turn, self.leaf) = (false, it.to),
            Body::QueueUpdate(it) => match it.queue {
                Queue::FollowUp => self.follow_ups.clone_from(&it.items),
                Queue::Steer => self.steers.clone_from(&it.items),
            },
            _ => (),
        }
    }
}

/// A digest of an event as the log holds it.
pub(crate) fn digest_of(event: &Event) -> u64 {
    fnv(0xcbf2_9ce4_8422_2325, &serde_json::to_vec(event).unwrap())
}

impl Oracle {
    pub(crate) fn begin_life(&mut self) {
        for view in self.sessions.values_mut() {
            view.runs_turn = false;
        }
        self.waiting.clear();
        self.house_followers.clear();
        self.n_asked = 0;
    }

    /// Events were made durable. Says what is wrong with them.
    pub(crate) fn append(
        &mut self,
        id: SessionId,
        thread: Option<&ThreadKey>,
        events: &[Event],
    ) -> Result<(), String> {
        let view = self.sessions.entry(id).or_default();
        if let Some(thread) = thread {
            view.thread = Some(thread.clone());
        }
        for event in events {
            let expected = view.events.len() as u64 + 1;
            if event.seq != expected {
                return Err(format!("session {id} has event {} after {}", event.seq, expected - 1));
            }
            view.events.push(digest_of(event));
            view.read(event);
        }
        self.n_changes += 1;
        view.changed = self.n_changes;
        let thread = view.thread.clone();
        if let Some(written) = self.damaged.get_mut(&id) {
            // A checkpoint stands for the part with the damage, so it goes on for a while.
            written.extend_from_slice(events);
        }
        let is_of_thread = |it: &SessionView| it.thread.is_some() && it.thread == thread;
        let with_turn = self.sessions.iter().filter(|(_, it)| it.runs_turn && is_of_thread(it));
        let with_turn: Vec<SessionId> = with_turn.map(|(id, _)| *id).collect();
        if with_turn.len() > 1 {
            return Err(format!("two turns of one thread are open: {with_turn:?}"));
        }
        Ok(())
    }

    /// The log as it was found when it was opened, from its beginning or after `n_skipped` events
    /// that a checkpoint stands for. It may hold more than anybody was told of, but not less. Says
    /// what is wrong with it.
    pub(crate) fn find(
        &mut self,
        id: SessionId,
        thread: &ThreadKey,
        n_skipped: usize,
        events: &[Event],
    ) -> Result<(), String> {
        let view = self.sessions.entry(id).or_default();
        view.thread = Some(thread.clone());
        if let Some(written) = self.damaged.get_mut(&id) {
            let n_old = written.len().saturating_sub(n_skipped);
            written.extend_from_slice(events.get(n_old..).unwrap_or_default());
        }
        let (n_known, n_found) = (view.events.len(), n_skipped + events.len());
        if n_found < n_known {
            return Err(format!("session {id} has {n_found} events, and {n_known} were told of"));
        }
        if n_skipped > n_known {
            return Err(format!(
                "session {id} is opened after {n_skipped} events, and {n_known} were told of"
            ));
        }
        for (place, event) in (n_skipped..).zip(events) {
            match view.events.get(place) {
                Some(known) if *known == digest_of(event) => (),
                Some(_) => {
                    let seq = place + 1;
                    return Err(format!("event {seq} of session {id} is another than was told of"));
                }
                None => {
                    view.events.push(digest_of(event));
                    view.read(event);
                }
            }
        }
        view.runs_turn = false;
        Ok(())
    }

    /// Nobody writes to the session until it is opened again.
    pub(crate) fn rest(&mut self, id: SessionId) {
        if let Some(view) = self.sessions.get_mut(&id) {
            view.runs_turn = false;
        }
    }

    /// The session is about to be removed.
    pub(crate) fn remove(&mut self, id: SessionId, events: Vec<Event>) {
        // One that could not be placed is removed before anybody was told of it.
        self.sessions.remove(&id);
        self.confirmed.retain(|(session, _)| *session != id);
        // Of one that was damaged not all can be read.
        let events = self.damaged.get(&id).cloned().unwrap_or(events);
        self.removed.push((id, events));
    }

    /// There is no such session just now, so every removal of it has come to its end.
    pub(crate) fn is_gone(&mut self, id: SessionId) {
        let removals = self.removed.iter().enumerate().filter(|(_, (removed, _))| *removed == id);
        self.gone.extend(removals.map(|(place, _)| place));
        self.damaged.remove(&id);
    }

    /// A follower was shown an event. Says what is wrong with it.
    pub(crate) fn show(&mut self, follower: usize, event: &Event) -> Result<(), String> {
        let state = &mut self.followers[follower];
        let last = state.point.persistent_last_seq;
        let Some(id) = state.session_id else {
            return Err(format!("follower {follower} sees an event of no session"));
        };
        if event.seq != last + 1 {
            let seq = event.seq;
            return Err(format!("follower {follower} of {id} saw event {seq} after {last}"));
        }
        state.point.persistent_last_seq = event.seq;
        let is_known = self.sessions.contains_key(&id);
        if !is_known && self.removed.iter().any(|(removed, _)| *removed == id) {
            // It was on its way to the follower when its session was removed.
            return Ok(());
        }
        let view = self.sessions.entry(id).or_default();
        let place = usize::try_from(last).unwrap_or(usize::MAX);
        if place == view.events.len() {
            // An earlier life wrote it and died before it told anybody. It was synced before it was
            // shown, and so it counts from here on.
            view.events.push(digest_of(event));
            view.read(event);
            view.runs_turn = false;
        }
        if view.events.get(place) != Some(&digest_of(event)) {
            let seq = event.seq;
            return Err(format!(
                "follower {follower} saw an event {seq} of {id} that is not there"
            ));
        }
        Ok(())
    }

    /// Those who follow and have not seen all there is, in words. `current` says in which session a
    /// thread is.
    pub(crate) fn followers_behind(
        &self,
        current: impl Fn(&ThreadKey) -> Option<SessionId>,
    ) -> Vec<String> {
        let mut behind = Vec::new();
        for (number, follower) in self.followers.iter().enumerate().filter(|(_, it)| !it.is_over) {
            let expected = match &follower.thread {
                None => follower.session_id,
                Some(thread) => current(thread).filter(|id| self.sessions.contains_key(id)),
            };
            let Some(id) = expected.filter(|id| !self.damaged.contains_key(id)) else { continue };
            let Some(view) = self.sessions.get(&id) else { continue };
            if follower.session_id != expected {
                behind.push(format!("follower {number} is not told that its thread is in {id}"));
                continue;
            }
            let (seen, there) = (follower.point.persistent_last_seq, view.events.len() as u64);
            if seen < there {
                behind.push(format!("follower {number} of {id} has seen {seen} of {there} events"));
            }
        }
        for (number, follower) in self.house_followers.iter().enumerate() {
            for SessionView { thread, changed, .. } in self.sessions.values() {
                let Some(thread) = thread else { continue };
                let told = follower.told.get(thread).copied().unwrap_or_default();
                if *changed > follower.since && told < *changed {
                    let thread = &thread.thread_id;
                    behind.push(format!("house follower {number} is not told of {thread}"));
                }
            }
        }
        behind
    }
}
