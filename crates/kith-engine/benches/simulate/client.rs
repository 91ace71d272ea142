//! How people reach the host. The simulation knows no other way, so that it can be put in front of
//! whatever stands between them and the engine.

use std::sync::Arc;

use kith_engine::command::{Command, CommandAnswer};
use kith_engine::engine::{BranchCommand, ClonedSession, Engine, EngineError, RowFollower};
use kith_engine::feed::{ResumeMode, ResumePoint, Subscription};
use kith_sessions::desk::{Accepted, Target};
use kith_vocab::clock::BoxFuture;
use kith_vocab::ids::{LeafId, SessionId};
use kith_vocab::ingress::IngressEvent;

use super::world::World;

pub(crate) type Reply<'a, T> = BoxFuture<'a, Result<T, EngineError>>;

pub(crate) trait SimClient: Send + Sync {
    /// Says something, and returns when it is accepted.
    fn send<'a>(&'a self, event: &'a IngressEvent, target: Target) -> Reply<'a, Accepted>;

    /// Says something, and returns with the way to wait for what comes of it.
    fn ask<'a>(
        &'a self,
        event: &'a IngressEvent,
        target: Target,
    ) -> Reply<'a, (Accepted, RowFollower)>;

    fn command(&self, id: SessionId, command: Command) -> Reply<'_, CommandAnswer>;

    fn branch(&self, id: SessionId, place: LeafId, command: BranchCommand) -> Reply<'_, LeafId>;

    fn clone_session(
        &self,
        source: SessionId,
        at: Option<LeafId>,
        id: SessionId,
    ) -> Reply<'_, ClonedSession>;

    fn remove(&self, id: SessionId) -> Reply<'_, ()>;

    fn subscribe(&self, id: SessionId, point: ResumePoint)
    -> Reply<'_, (ResumeMode, Subscription)>;

    /// The name of this life of the host.
    fn epoch(&self) -> String;
}

/// Straight to the engine.
pub(crate) struct EngineClient {
    pub(crate) engine: Engine,
    /// A second engine that drives the same sessions: one of the seeded bugs.
    pub(crate) double: Option<Engine>,
    pub(crate) world: Arc<World>,
}

impl EngineClient {
    fn wake(&self, id: SessionId) {
        if let Some(double) = &self.double {
            double.wake(id);
        }
        self.engine.wake(id);
    }

    async fn accept(&self, event: &IngressEvent, target: Target) -> Result<Accepted, EngineError> {
        let accepted = self.engine.accept(event, target).await?;
        // A host notes it when it has accepted its first message.
        self.world.live().await;
        let mut world = self.world.lock();
        world.oracle.generation = accepted.generation;
        if accepted.status.is_open() {
            world.oracle.accepted.insert(event.key.clone(), accepted.session_id);
        }
        if accepted.first {
            world.tally.messages += 1;
        } else {
            world.tally.redeliveries += 1;
        }
        drop(world);
        Ok(accepted)
    }
}

impl SimClient for EngineClient {
    fn send<'a>(&'a self, event: &'a IngressEvent, target: Target) -> Reply<'a, Accepted> {
        Box::pin(async move {
            let accepted = self.accept(event, target).await?;
            if accepted.status.is_open() {
                self.wake(accepted.session_id);
            }
            Ok(accepted)
        })
    }

    fn ask<'a>(
        &'a self,
        event: &'a IngressEvent,
        target: Target,
    ) -> Reply<'a, (Accepted, RowFollower)> {
        Box::pin(async move {
            let accepted = self.accept(event, target).await?;
            let follower = self.engine.follow_row(&accepted).await;
            // Whether or not its author can follow it, it is accepted.
            if accepted.status.is_open() {
                self.wake(accepted.session_id);
            }
            Ok((accepted, follower?))
        })
    }

    fn command(&self, id: SessionId, command: Command) -> Reply<'_, CommandAnswer> {
        Box::pin(self.engine.command(id, command))
    }

    fn branch(&self, id: SessionId, place: LeafId, command: BranchCommand) -> Reply<'_, LeafId> {
        Box::pin(self.engine.branch(id, place, command))
    }

    fn clone_session(
        &self,
        source: SessionId,
        at: Option<LeafId>,
        id: SessionId,
    ) -> Reply<'_, ClonedSession> {
        Box::pin(self.engine.clone_session(source, at, id))
    }

    fn remove(&self, id: SessionId) -> Reply<'_, ()> {
        Box::pin(async move { self.engine.remove(id).await.map(drop) })
    }

    fn subscribe(
        &self,
        id: SessionId,
        point: ResumePoint,
    ) -> Reply<'_, (ResumeMode, Subscription)> {
        Box::pin(async move { self.engine.subscribe(id, &point).await })
    }

    fn epoch(&self) -> String {
        self.engine.feed().epoch().to_owned()
    }
}
