//! Commands: given once, and sometimes again under their id.

use std::future::Future;

use kith_host::call::Follower;
use kith_host::calls::feed::TurnItem;
use kith_host::calls::message::{CancelTurn, RetryTurn};
use kith_host::calls::queue::{EditQueue, TakeNext};
use kith_host::calls::session::CompactSession;
use kith_host::calls::tree::{BranchSession, CloneSession};
use kith_host::error::CallError;
use kith_vocab::clock::Clock;
use kith_vocab::ids::{EventId, SessionId};
use tokio_util::sync::CancellationToken;

use super::client::words;
use super::journal::short;
use super::oracle::WaitsFor;
use super::scene::Scene;

#[derive(Clone, Debug)]
pub(crate) enum SimCommand {
    Cancel(SessionId, CancelTurn),
    Retry(SessionId, RetryTurn),
    Branch(SessionId, BranchSession),
    Clone(SessionId, CloneSession),
    EditQueue(SessionId, EditQueue),
    TakeNext(SessionId, TakeNext),
    Compact(SessionId, CompactSession),
}

impl SimCommand {
    fn name(&self) -> String {
        let (id, what) = match self {
            SimCommand::Cancel(id, _) => (id, "cancel"),
            SimCommand::Retry(id, _) => (id, "retry"),
            SimCommand::Branch(id, _) => (id, "branch"),
            SimCommand::Clone(id, _) => (id, "clone"),
            SimCommand::EditQueue(id, _) => (id, "queue edit"),
            SimCommand::TakeNext(id, _) => (id, "queue go"),
            SimCommand::Compact(id, _) => (id, "compact"),
        };
        format!("{} {what}", short(*id))
    }
}

impl Scene {
    pub(crate) async fn take_next(&self, id: SessionId) {
        let call = TakeNext { session: id.to_string(), take_id: self.new_event_id() };
        self.command(SimCommand::TakeNext(id, call)).await;
    }

    /// Gives a command and waits for its answer, and remembers that it was given.
    pub(crate) async fn command(&self, command: SimCommand) {
        self.world.lock().oracle.commands.push(command.clone());
        self.give(command).await;
    }

    pub(crate) async fn give(&self, command: SimCommand) {
        let what = command.name();
        self.world.note(format!("command {what}"));
        match command {
            SimCommand::Cancel(id, call) => {
                let event_id = call.cancel_id;
                let done = async {
                    let cancelled = self.client.call(call).await?;
                    Ok(cancelled.was_running.then_some(event_id))
                };
                self.finish(id, &what, done).await;
            }
            SimCommand::Branch(id, call) => {
                let done = async { self.client.call(call).await.map(|_| None) };
                if self.finish(id, &what, done).await {
                    self.world.lock().tally.branches += 1;
                }
            }
            SimCommand::Clone(id, call) => {
                let done = async { self.client.call(call).await.map(|_| None) };
                if self.finish(id, &what, done).await {
                    self.world.lock().tally.clones += 1;
                }
            }
            SimCommand::EditQueue(id, call) => {
                let event_id = call.edit_id;
                let done = async { self.client.call(call).await.map(|_| Some(event_id)) };
                self.finish(id, &what, done).await;
            }
            SimCommand::TakeNext(id, call) => {
                let event_id = call.take_id;
                let done = async {
                    let taken = self.client.call(call).await?;
                    Ok(taken.has_begun.then_some(event_id))
                };
                self.finish(id, &what, done).await;
            }
            SimCommand::Retry(id, call) => self.retry(id, call),
            SimCommand::Compact(id, call) => self.compact(id, call),
        }
    }

    /// True if the command was obeyed. An event that it answers with must stay.
    async fn finish(
        &self,
        id: SessionId,
        what: &str,
        work: impl Future<Output = Result<Option<EventId>, CallError>>,
    ) -> bool {
        let Some(answer) = self.within(what, work).await else { return false };
        let mut world = self.world.lock();
        world.tally.commands += 1;
        match &answer {
            Ok(event_id) => {
                world.oracle.confirmed.extend(event_id.map(|event_id| (id, event_id)));
                world.note(format!("done {what}"));
            }
            Err(error) => world.note(format!("refused {what}: {}", words(error))),
        }
        answer.is_ok()
    }

    /// The answer comes when the turn has ended, so nobody stands and waits for it.
    fn retry(&self, id: SessionId, call: RetryTurn) {
        let scene = self.clone();
        self.world.spawn(async move {
            let what = format!("{} retry", short(id));
            let follower = Follower::<TurnItem>::none();
            let work = scene.client.ask(call, follower);
            let answer = scene.waiting(WaitsFor::Turn(id), work).await;
            let mut world = scene.world.lock();
            world.tally.commands += 1;
            match answer {
                Ok(reply) => world.note(format!("{what} came to {:?}", reply.answer.end)),
                Err(error) => world.note(format!("{what} refused: {}", words(&error))),
            }
        });
    }

    /// The answer comes when the summary is written, so nobody stands and waits for it. Its author
    /// may stop it before.
    fn compact(&self, id: SessionId, call: CompactSession) {
        let stops_after =
            self.world.draw(|chance| chance.percent(15).then(|| chance.magnitude(10)));
        let scene = self.clone();
        self.world.spawn(async move {
            let what = format!("{} compact", short(id));
            let cancel = CancellationToken::new();
            let follower = Follower::<TurnItem>::new(|_, _| Ok(()), cancel.clone());
            let work = scene.client.ask(call, follower);
            let stopping = async {
                let Some(ms) = stops_after else { return std::future::pending().await };
                scene.clock.sleep(ms).await;
                cancel.cancel();
                std::future::pending().await
            };
            let work = async {
                tokio::select! {
                    biased;
                    answer = work => answer,
                    never = stopping => never,
                }
            };
            let answer = scene.waiting(WaitsFor::Turn(id), work).await;
            let mut world = scene.world.lock();
            world.tally.commands += 1;
            match answer {
                Ok(_) => world.note(format!("done {what}")),
                Err(error) => world.note(format!("refused {what}: {}", words(&error))),
            }
        });
    }
}
