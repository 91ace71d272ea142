//! The client: makes calls to a house, wherever they are answered.
//!
//! A call that only reads is answered in this process from the files, without the lock and without
//! making anything. Every other one goes to the host, and so does every one if the program wants
//! the host's view.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::call::{Access, Call, Delivery, Follow, Follower, Payload, Reply};
use crate::caller::Caller;
use crate::connection::HostConnection;
use crate::error::CallError;
use crate::house::House;
use crate::read_side::ReadSide;
use crate::routes;

pub use crate::calls::message::ModelName;

/// Who answers calls that only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsFrom {
    /// This process, from the files.
    Files,
    Host,
}

pub struct Client {
    house: House,
    caller: Caller,
    reads_from: ReadsFrom,
    connection: HostConnection,
}

impl Client {
    pub fn new(house: House, caller: Caller, reads_from: ReadsFrom) -> Client {
        let connection = HostConnection::new(house.clone(), caller.clone());
        Client { house, caller, reads_from, connection }
    }

    /// If the host is ever in this process, it resumes turns that an earlier one left unfinished, and
    /// says what became of each.
    #[must_use]
    pub fn resuming(mut self, notes: mpsc::UnboundedSender<String>) -> Client {
        self.connection = self.connection.resuming(notes);
        self
    }

    pub async fn call<C: Call>(&self, call: C) -> Reply<C::Answer> {
        self.ask(call, Follower::<()>::none()).await
    }

    /// Gives every item to `take` before it returns the answer.
    pub async fn follow<C: Follow>(
        &self,
        call: C,
        take: impl Fn(C::Item) + Send + Sync + 'static,
        cancel: CancellationToken,
    ) -> Reply<C::Answer> {
        let follower = Follower::new(
            move |item, _: Delivery| {
                take(item);
                Ok(())
            },
            cancel,
        );
        self.ask(call, follower).await
    }

    async fn ask<C: Call, I: Payload>(&self, call: C, follower: Follower<I>) -> Reply<C::Answer> {
        if C::ACCESS == Access::Write || self.reads_from == ReadsFrom::Host {
            return self.connection.ask(call, follower).await;
        }
        let side = match self.connection.started().await {
            Some(host) => Arc::clone(host.reads()),
            None => Arc::new(ReadSide::open(self.house.clone()).await),
        };
        routes::reads().answer(&side, self.caller.clone(), call, follower).await
    }

    /// Becomes the host unless the house has one elsewhere; whether it is in this process now.
    pub async fn is_host(&self) -> Result<bool, CallError> {
        self.connection.is_here().await
    }

    /// Leaves the house. If the host is here, it stays until the turns it accepted rest.
    pub async fn leave(self, stop: impl Future<Output = ()>, on_long_wait: impl FnOnce()) {
        self.connection.leave(stop, on_long_wait).await;
    }
}
