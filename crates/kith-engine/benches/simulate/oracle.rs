//! What the world outside the host knows of it, and what is checked while it happens.

use std::collections::{BTreeMap, BTreeSet};

use kith_engine::command::Command;
use kith_engine::feed::ResumePoint;
use kith_sessions::desk::Target;
use kith_vocab::event::control::{Queue, QueueItem};
use kith_vocab::event::{Body, Event};
use kith_vocab::ids::{CallId, EventId, LeafId, SessionId, ThreadId};
use kith_vocab::ingress::IngressEvent;
use kith_vocab::tool::ToolOutcome;

use super::world::fnv;

#[derive(Default)]
pub(crate) struct Oracle {
    /// Everything anybody tried to say, whether they know that it was accepted or not.
    pub(crate) sent: Vec<(IngressEvent, Target)>,
    /// The messages whose authors were told that they were accepted.
    pub(crate) accepted: BTreeMap<String, SessionId>,
    pub(crate) commands: Vec<(SessionId, Command)>,
    /// Events that somebody was told of by a reply.
    pub(crate) confirmed: BTreeSet<(SessionId, EventId)>,
    pub(crate) sessions: BTreeMap<SessionId, SessionView>,
    /// The logs of sessions that were removed, as they were then.
    pub(crate) removed: Vec<(SessionId, Vec<Event>)>,
    pub(crate) runs: BTreeMap<CallId, ToolRun>,
    /// The model, and the hash of the body that it received.
    pub(crate) requests: Vec<(String, String)>,
    pub(crate) followers: Vec<FollowerState>,
    /// What `host.lock` says.
    pub(crate) generation: u64,
    /// Authors who wait for what comes of their message.
    pub(crate) waiting: BTreeSet<(u64, String)>,
    /// Commands that were not answered yet.
    pub(crate) n_asked: u64,
    pub(crate) n_keys: u64,
}

/// A session as somebody sees it who missed nothing.
#[derive(Default)]
pub(crate) struct SessionView {
    pub(crate) thread: Option<ThreadId>,
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

/// Somebody who follows a session, from life to life.
#[derive(Clone, Debug)]
pub(crate) struct FollowerState {
    pub(crate) session_id: SessionId,
    pub(crate) point: ResumePoint,
    /// It follows no more: the session was removed.
    pub(crate) is_over: bool,
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
        self.n_asked = 0;
    }

    /// Events were made durable. Says what is wrong with them.
    pub(crate) fn append(
        &mut self,
        id: SessionId,
        thread: Option<&ThreadId>,
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
        let thread = view.thread.clone();
        let is_of_thread = |it: &SessionView| it.thread.is_some() && it.thread == thread;
        let with_turn = self.sessions.iter().filter(|(_, it)| it.runs_turn && is_of_thread(it));
        let with_turn: Vec<SessionId> = with_turn.map(|(id, _)| *id).collect();
        if with_turn.len() > 1 {
            return Err(format!("two turns of one thread are open: {with_turn:?}"));
        }
        Ok(())
    }

    /// The log as it was found when it was opened. It may hold more than anybody was told of, but
    /// not less. Says what is wrong with it.
    pub(crate) fn find(
        &mut self,
        id: SessionId,
        thread: &ThreadId,
        events: &[Event],
    ) -> Result<(), String> {
        let view = self.sessions.entry(id).or_default();
        view.thread = Some(thread.clone());
        let n_known = view.events.len();
        if events.len() < n_known {
            return Err(format!(
                "session {id} has {} events, and {n_known} were told of",
                events.len()
            ));
        }
        if let Some(place) = (0..n_known).find(|&it| view.events[it] != digest_of(&events[it])) {
            return Err(format!("event {} of session {id} is another than was told of", place + 1));
        }
        for event in &events[n_known..] {
            view.events.push(digest_of(event));
            view.read(event);
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
        self.sessions.remove(&id);
        self.confirmed.retain(|(session, _)| *session != id);
        self.removed.push((id, events));
    }

    /// A follower was shown an event. Says what is wrong with it.
    pub(crate) fn show(&mut self, follower: usize, event: &Event) -> Result<(), String> {
        let state = &mut self.followers[follower];
        let (id, last) = (state.session_id, state.point.persistent_last_seq);
        if event.seq != last + 1 {
            let seq = event.seq;
            return Err(format!("follower {follower} of {id} saw event {seq} after {last}"));
        }
        state.point.persistent_last_seq = event.seq;
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

    /// Those who follow a session and have not seen all of it, in words.
    pub(crate) fn followers_behind(&self) -> Vec<String> {
        let mut behind = Vec::new();
        for (number, follower) in self.followers.iter().enumerate() {
            let id = follower.session_id;
            let Some(view) = self.sessions.get(&id).filter(|_| !follower.is_over) else { continue };
            let (seen, there) = (follower.point.persistent_last_seq, view.events.len() as u64);
            if seen < there {
                behind.push(format!("follower {number} of {id} has seen {seen} of {there} events"));
            }
        }
        behind
    }
}
