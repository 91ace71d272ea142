//! One life of the host as people see it: whom they can reach, what they do, what they wait for.

use std::sync::Arc;

use kith_engine::command::{Command, CommandAction};
use kith_engine::engine::EngineError;
use kith_engine::feed::FeedItem;
use kith_engine::feed::{ResumeMode, ResumePoint};
use kith_testkit::clock::FakeClock;
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, SessionId};

use super::client::SimClient;
use super::journal::short;
use super::oracle::FollowerState;
use super::world::World;

/// By the clock of the simulation; longer than anything takes that comes to an end.
pub(crate) const PATIENCE_MS: u64 = 12 * 60 * 60 * 1000;

#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) world: Arc<World>,
    pub(crate) client: Arc<dyn SimClient>,
    pub(crate) clock: Arc<FakeClock>,
}

impl Scene {
    pub(crate) fn new_event_id(&self) -> EventId {
        EventId::from_uuid(self.clock.new_id())
    }

    pub(crate) fn new_session_id(&self) -> SessionId {
        SessionId::from_uuid(self.clock.new_id())
    }

    /// Waits for an answer that must come. `None` if it never does, which is a violation.
    pub(crate) async fn within<T>(&self, what: &str, work: impl Future<Output = T>) -> Option<T> {
        self.world.lock().oracle.n_asked += 1;
        let answer = tokio::select! {
            biased;
            answer = work => Some(answer),
            () = self.clock.sleep(PATIENCE_MS) => None,
        };
        let mut world = self.world.lock();
        world.oracle.n_asked -= 1;
        drop(world);
        if answer.is_none() {
            self.world.violate(format!("{what} was never answered"));
        }
        answer
    }

    /// Gives a command and waits for its answer.
    pub(crate) async fn command(&self, id: SessionId, action: CommandAction) {
        let command = Command {
            id: self.new_event_id(),
            client_id: "sim".to_owned(),
            user_id: "owner".to_owned(),
            action,
        };
        self.world.lock().oracle.commands.push((id, command.clone()));
        self.give(id, command).await;
    }

    pub(crate) async fn give(&self, id: SessionId, command: Command) {
        let what = format!("{} {:?}", short(id), name_of(&command.action));
        self.world.note(format!("command {what}"));
        let work = self.client.command(id, command);
        let Some(answer) = self.within(&what, work).await else { return };
        let mut world = self.world.lock();
        world.tally.commands += 1;
        match answer {
            Ok(answer) => {
                let confirmed = answer.event_id.map(|event_id| (id, event_id));
                world.oracle.confirmed.extend(confirmed);
                world.note(format!("done {what}"));
            }
            Err(error) => world.note(format!("refused {what}: {}", words(&error))),
        }
    }

    /// Follows a session from now on, in this life and the next ones.
    pub(crate) fn watch(&self, session_id: SessionId) {
        let mut world = self.world.lock();
        let point = ResumePoint::default();
        world.oracle.followers.push(FollowerState { session_id, point, is_over: false });
        let follower = world.oracle.followers.len() - 1;
        drop(world);
        self.start_follower(follower);
    }

    pub(crate) fn start_follower(&self, follower: usize) {
        let scene = self.clone();
        tokio::spawn(async move { scene.follow(follower).await });
    }

    async fn follow(&self, follower: usize) {
        loop {
            let (id, point) = {
                let world = self.world.lock();
                let state = &world.oracle.followers[follower];
                (state.session_id, state.point.clone())
            };
            let subscribed = self.client.subscribe(id, point.clone()).await;
            let Ok((mode, mut subscription)) = subscribed else {
                // A journal that could not be read is asked again.
                self.clock.sleep(1_000).await;
                continue;
            };
            if mode == ResumeMode::FullReload && !self.may_reload(follower, &point) {
                return;
            }
            let epoch = self.client.epoch();
            let n_items = self.world.draw(|chance| chance.magnitude(7));
            for _ in 0..n_items {
                let Ok(item) = subscription.next().await else { break };
                if !self.see(follower, &item) {
                    return;
                }
                let point = subscription.resume_point(&epoch);
                self.world.lock().oracle.followers[follower].point = point;
                if self.world.draw(|chance| chance.percent(10)) {
                    self.world.step().await;
                }
            }
            self.world.step().await;
        }
    }

    /// A follower must load anew only what was never there or was removed.
    fn may_reload(&self, follower: usize, point: &ResumePoint) -> bool {
        let mut world = self.world.lock();
        let state = &world.oracle.followers[follower];
        let id = state.session_id;
        let is_removed = world.oracle.removed.iter().any(|(removed, _)| *removed == id);
        if is_removed {
            world.oracle.followers[follower].is_over = true;
            return false;
        }
        drop(world);
        let seen = point.persistent_last_seq;
        if seen > 0 {
            let what = format!("follower {follower} of {id} has seen {seen} events and is told to");
            self.world.violate(format!("{what} load the session anew"));
        }
        seen == 0
    }

    /// False if there is nothing more to see.
    fn see(&self, follower: usize, item: &FeedItem) -> bool {
        let mut world = self.world.lock();
        match item {
            FeedItem::Event(event) => {
                world.tally.events_followed += 1;
                let wrong = world.oracle.show(follower, event).err();
                drop(world);
                if let Some(wrong) = wrong {
                    self.world.violate(wrong);
                    return false;
                }
            }
            FeedItem::Removed => {
                world.oracle.followers[follower].is_over = true;
                return false;
            }
            FeedItem::Moved { to } => {
                drop(world);
                self.world.violate(format!("follower {follower} is told to go on in {to}"));
                return false;
            }
            FeedItem::Delta(_) | FeedItem::Running(_) | FeedItem::Failed(_) => (),
        }
        true
    }
}

fn name_of(action: &CommandAction) -> &'static str {
    match action {
        CommandAction::Cancel { key: None } => "cancel",
        CommandAction::Cancel { key: Some(_) } => "cancel of a message",
        CommandAction::Branch { .. } => "branch",
        CommandAction::Retry { .. } => "retry",
        CommandAction::EditQueue { .. } => "queue edit",
        CommandAction::TakeNext => "queue go",
        CommandAction::Decide { .. } => "decide",
        CommandAction::Compact => "compact",
        CommandAction::Append(_) => "append",
    }
}

/// An error in a few words.
pub(crate) fn words(error: &EngineError) -> String {
    error.to_string().chars().take(90).collect()
}
