//! How a turn begins, and what it works with.

use std::sync::Arc;

use kith_vocab::blocking::{blocking, briefly};
use kith_vocab::event::Body;
use kith_vocab::ids::EventId;

use super::SessionDriver;
use crate::failure::SessionFailure;
use crate::turn::{self, NewTurn, TurnContext};

impl SessionDriver {
    /// Setup and models of the open turn.
    pub(super) fn context(&mut self) -> Result<Arc<TurnContext>, SessionFailure> {
        if let Some(ctx) = &self.ctx {
            return Ok(Arc::clone(ctx));
        }
        let header = self.session.header();
        let setup = briefly(|| self.engine.setup.turn(header))
            .map_err(|error| SessionFailure::Setup { reason: error.reason() })?;
        let ctx = Arc::new(TurnContext {
            setup,
            models: Arc::clone(&self.engine.models),
            desk: Arc::clone(&self.engine.desk),
            clock: Arc::clone(&self.engine.clock),
        });
        self.ctx = Some(Arc::clone(&ctx));
        Ok(ctx)
    }

    /// Begins the turn of a message.
    pub(super) fn begin_turn(&mut self, new: NewTurn) -> Result<(), SessionFailure> {
        // Settings, first events and news are files that are looked at one after another: the worker's
        // place is handed on once for all of them.
        briefly(|| self.begin_turn_here(new))
    }

    fn begin_turn_here(&mut self, new: NewTurn) -> Result<(), SessionFailure> {
        // Settings count from the next turn on.
        self.ctx = None;
        let ctx = self.context()?;
        let engine = Arc::clone(&self.engine);
        self.add_first_events()?;
        turn::begin_turn(&mut self.session, new, &ctx.setup, &*ctx.models, |session| {
            let knowledge = session.state().knowledge();
            engine.setup.news(session.header(), &knowledge, session.now())
        });
        Ok(())
    }

    pub(super) fn take_follow_up(&mut self) -> Result<(), SessionFailure> {
        self.take_follow_up_as(None).map(drop)
    }

    /// Begins the turn of the first item that is queued. False if there is none.
    pub(super) fn take_follow_up_as(
        &mut self,
        id: Option<EventId>,
    ) -> Result<bool, SessionFailure> {
        let state = self.session.state();
        // A steer that no turn is left to take comes first.
        let item = state.steers.first().or_else(|| state.follow_ups.first()).cloned();
        let Some(item) = item else { return Ok(false) };
        self.begin_turn(NewTurn::from(item).with_id(id))?;
        Ok(true)
    }

    /// A session that is new, or was repaired or imported, gets what every request needs.
    pub(super) fn add_first_events(&mut self) -> Result<(), SessionFailure> {
        if self.session.state().snapshot.is_some() {
            return Ok(());
        }
        let bodies = blocking(|| self.engine.setup.first_events(self.session.header()))
            .map_err(|error| SessionFailure::Setup { reason: error.reason() })?;
        for body in bodies {
            // What it was given of it stays as it is.
            let is_there =
                matches!(body, Body::ToolsetSnapshot(_)) && self.session.state().toolset.is_some();
            if !is_there {
                self.session.stage(body);
            }
        }
        Ok(())
    }
}
