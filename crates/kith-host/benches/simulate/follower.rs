//! Those who follow a session, a thread or the house, by subscriptions that break off and go on.

use kith_engine::feed::{ResumeMode, ResumePoint, ThreadKey};
use kith_host::call::{Delivery, Follower, Payload};
use kith_host::calls::feed::TurnItem;
use kith_host::calls::subscription::{
    FollowHouse, Subscribe, SubscribedTo, SubscriptionEndReason, SubscriptionItem, ThreadChanges,
};
use kith_host::error::{CallError, ErrorCode};
use kith_vocab::clock::Clock;
use kith_vocab::ids::SessionId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::journal::short;
use super::oracle::{FollowerState, HouseFollowerState};
use super::scene::Scene;

/// What a follower makes of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    GoOn,
    /// There is nothing more to see.
    Over,
}

impl Scene {
    /// Follows a session from now on, in this life and the next ones.
    pub(crate) fn watch(&self, session_id: SessionId) {
        self.add_follower(None, Some(session_id));
    }

    /// Follows a thread, whichever session it is in.
    pub(crate) fn watch_thread(&self, thread: ThreadKey) {
        self.add_follower(Some(thread), None);
    }

    fn add_follower(&self, thread: Option<ThreadKey>, session_id: Option<SessionId>) {
        let mut world = self.world.lock();
        let point = ResumePoint::default();
        world.oracle.followers.push(FollowerState { thread, session_id, point, is_over: false });
        let follower = world.oracle.followers.len() - 1;
        drop(world);
        self.start_follower(follower);
    }

    pub(crate) fn start_follower(&self, follower: usize) {
        let scene = self.clone();
        self.world.spawn(async move { scene.follow(follower).await });
    }

    async fn follow(&self, follower: usize) {
        loop {
            let Some(call) = self.subscription(follower) else { return };
            let (items_follower, mut items) = self.connect();
            let cancel = items_follower.cancel.clone();
            let client = self.client.clone();
            let answer = self.world.spawn(async move { client.ask(call, items_follower).await });
            let n_items = self.world.draw(|chance| 3 + chance.magnitude(7));
            let mut seen = Seen::GoOn;
            for _ in 0..n_items {
                let Some(item) = items.recv().await else { break };
                seen = self.see(follower, &item);
                if seen != Seen::GoOn {
                    break;
                }
                if self.world.draw(|chance| chance.percent(10)) {
                    self.world.step().await;
                }
            }
            cancel.cancel();
            drop(items);
            if seen == Seen::Over {
                return;
            }
            match answer.await {
                Ok(Ok(end)) if end.reason == SubscriptionEndReason::HostEnded => return,
                Ok(Err(error)) if !self.may_go_on(follower, &error) => return,
                Ok(Err(_)) => self.clock.sleep(1_000).await,
                _ => self.world.step().await,
            }
        }
    }

    /// A connection that holds so many items that were not taken yet. Whoever takes none is let go.
    fn connect<I: Payload>(&self) -> (Follower<I>, mpsc::Receiver<I>) {
        let room = self.world.draw(|chance| 8 + chance.index(60));
        let (sender, receiver) = mpsc::channel(room);
        let cancel = CancellationToken::new();
        let is_gone = cancel.clone();
        let take = move |item, delivery| {
            if sender.try_send(item).is_err() && delivery == Delivery::Certain {
                is_gone.cancel();
            }
            Ok::<(), CallError>(())
        };
        (Follower::new(take, cancel), receiver)
    }

    fn subscription(&self, follower: usize) -> Option<Subscribe> {
        let world = self.world.lock();
        let state = &world.oracle.followers[follower];
        let to = match (&state.thread, state.session_id) {
            (Some(thread), _) => {
                let ThreadKey { agent_id, thread_id } = thread.clone();
                SubscribedTo::Thread { agent_id, thread_id }
            }
            (None, Some(id)) => SubscribedTo::Session(id.to_string()),
            (None, None) => return None,
        };
        Some(Subscribe { to, from: state.point.clone() })
    }

    /// Whether a follower tries again after a refusal: not if its session was removed.
    fn may_go_on(&self, follower: usize, error: &CallError) -> bool {
        if error.code != ErrorCode::SessionNotFound {
            return true;
        }
        let mut world = self.world.lock();
        let state = &world.oracle.followers[follower];
        let id = state.session_id.filter(|_| state.thread.is_none());
        let is_removed =
            id.is_some_and(|id| world.oracle.removed.iter().any(|(removed, _)| *removed == id));
        world.oracle.followers[follower].is_over = is_removed;
        !is_removed
    }

    fn see(&self, follower: usize, item: &SubscriptionItem) -> Seen {
        match item {
            SubscriptionItem::Started { .. } => self.begin(follower, item),
            SubscriptionItem::Turn(item) => self.see_turn(follower, item),
            SubscriptionItem::Failed(_) => Seen::GoOn,
            SubscriptionItem::Moved(to) => {
                let to = *to;
                let mut world = self.world.lock();
                world.note(format!("follower {follower} moves to {}", short(to)));
                let state = &world.oracle.followers[follower];
                let (is_of_thread, from) = (state.thread.is_some(), state.session_id);
                let is_damaged = from.is_some_and(|it| world.oracle.damaged.contains_key(&it));
                if !is_of_thread && !is_damaged {
                    drop(world);
                    self.world.violate(format!("follower {follower} is told to go on in {to}"));
                    return Seen::Over;
                }
                let state = &mut world.oracle.followers[follower];
                state.session_id = Some(to);
                item.advance(&mut state.point);
                Seen::GoOn
            }
            SubscriptionItem::Removed => {
                let mut world = self.world.lock();
                let state = &mut world.oracle.followers[follower];
                state.is_over = state.thread.is_none();
                if state.is_over {
                    return Seen::Over;
                }
                (state.session_id, state.point) = (None, ResumePoint::default());
                Seen::GoOn
            }
        }
    }

    fn begin(&self, follower: usize, item: &SubscriptionItem) -> Seen {
        let SubscriptionItem::Started { mode, session_id, after_seq, .. } = item else {
            return Seen::GoOn;
        };
        let mut world = self.world.lock();
        match mode {
            ResumeMode::StreamResume => world.tally.stream_resumes += 1,
            ResumeMode::PersistentFallback => world.tally.fallbacks += 1,
            ResumeMode::FullReload => world.tally.reloads += 1,
        }
        let state = &mut world.oracle.followers[follower];
        // The thread may have gone on elsewhere: of the new session nothing was seen.
        let is_same = state.session_id == *session_id;
        let seen = if is_same { state.point.persistent_last_seq } else { 0 };
        item.advance(&mut state.point);
        state.session_id = *session_id;
        if *after_seq == seen && (*mode != ResumeMode::FullReload || seen == 0) {
            return Seen::GoOn;
        }
        let is_damaged = session_id.is_some_and(|it| world.oracle.damaged.contains_key(&it));
        if is_damaged && *mode == ResumeMode::FullReload {
            return Seen::GoOn;
        }
        let is_removed =
            world.oracle.removed.iter().any(|(removed, _)| Some(*removed) == *session_id);
        if is_removed {
            // It was made again, or is about to go.
            world.oracle.followers[follower].is_over = true;
            return Seen::Over;
        }
        drop(world);
        let what = format!("follower {follower} of {session_id:?} has seen {seen} events and");
        self.world.violate(format!("{what} begins after {after_seq}, {mode:?}"));
        Seen::Over
    }

    fn see_turn(&self, follower: usize, item: &TurnItem) -> Seen {
        let mut world = self.world.lock();
        let stream_seq = match item {
            TurnItem::Event(event) => {
                world.tally.events_followed += 1;
                let wrong = world.oracle.show(follower, event).err();
                drop(world);
                if let Some(wrong) = wrong {
                    self.world.violate(wrong);
                    return Seen::Over;
                }
                return Seen::GoOn;
            }
            TurnItem::Delta(delta) => delta.stream_seq,
            TurnItem::Running(parts) => parts.iter().map(|it| it.stream_seq).max().unwrap_or(0),
            TurnItem::Note(_) => return Seen::GoOn,
        };
        let point = &mut world.oracle.followers[follower].point;
        let last = point.stream_last_seq.unwrap_or_default();
        let is_running = matches!(item, TurnItem::Running(_));
        if stream_seq <= last && !is_running {
            drop(world);
            self.world.violate(format!("follower {follower} saw delta {stream_seq} after {last}"));
            return Seen::Over;
        }
        point.stream_last_seq = Some(stream_seq.max(last));
        Seen::GoOn
    }

    /// Follows the house for the rest of this life.
    pub(crate) fn follow_house(&self) {
        let scene = self.clone();
        self.world.spawn(async move {
            let follower = {
                let mut world = scene.world.lock();
                world.oracle.house_followers.push(HouseFollowerState::default());
                world.oracle.house_followers.len() - 1
            };
            loop {
                scene.follow_house_once(follower).await;
                scene.world.step().await;
            }
        });
    }

    async fn follow_house_once(&self, follower: usize) {
        // Nobody promises anything before it is there.
        self.world.lock().oracle.house_followers[follower].since = u64::MAX;
        let (items_follower, mut items) = self.connect::<ThreadChanges>();
        let cancel = items_follower.cancel.clone();
        let client = self.client.clone();
        self.world
            .spawn(async move { client.ask(FollowHouse { resumes: false }, items_follower).await });
        self.clock.sleep(1).await;
        {
            let mut world = self.world.lock();
            let since = world.oracle.n_changes;
            world.oracle.house_followers[follower].since = since;
        }
        let n_items = self.world.draw(|chance| 3 + chance.magnitude(7));
        for _ in 0..n_items {
            let Some(changes) = items.recv().await else { break };
            self.see_changes(follower, changes);
            if self.world.draw(|chance| chance.percent(10)) {
                self.world.step().await;
            }
        }
        cancel.cancel();
    }

    fn see_changes(&self, follower: usize, changes: ThreadChanges) {
        let mut guard = self.world.lock();
        let oracle = &mut guard.oracle;
        let (n_changes, state) = (oracle.n_changes, &mut oracle.house_followers[follower]);
        if changes.some_missed {
            // It looks at all threads.
            state.since = n_changes;
        }
        for changed in changes.threads {
            let thread = ThreadKey { agent_id: changed.agent_id, thread_id: changed.thread_id };
            state.told.insert(thread, n_changes);
        }
    }
}
