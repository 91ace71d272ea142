//! Permission to spend, asked for before each request to a model.

use std::fmt;

use crate::clock::BoxFuture;
use crate::event::messages::Usage;
use crate::event::models::Reserved;
use crate::ids::{EventId, ThreadId};

/// Keeps spending under the caps of a house. A reservation counts until it is settled, so requests
/// that run side by side cannot pass a cap together: neither by what they may use, nor, but for one of
/// them, by what their models can use at all.
pub trait Budget: Send + Sync {
    /// Reserves what a request may use at most.
    fn reserve(&self, request: &SpendRequest<'_>) -> Result<(), SpendRefusal>;

    /// Replaces a reservation by what was used. One that is settled already stays so.
    fn settle(&self, request_id: EventId, settlement: Settlement);
}

/// What is known of what a request used, once it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Counted by the server, or estimated.
    Used(Usage),
    /// The server answered without counting: all of the reservation counts as used.
    Uncounted,
    /// Nobody knows: all of the reservation counts as used.
    Unknown,
}

/// A request that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct SpendRequest<'a> {
    pub request_id: EventId,
    pub thread_id: &'a ThreadId,
    pub provider: &'a str,
    pub model: &'a str,
    /// When it is made, in milliseconds.
    pub at: u64,
    pub most: Reserved,
    /// What it would use if its model read and wrote as much as it can. `None` if nobody knows how much
    /// that is.
    pub worst: Option<Reserved>,
}

/// Why a request is not made now.
pub enum SpendRefusal {
    CapReached(CapReached),
    /// Requests that are under way could use up what is left. The future ends when one of them is
    /// settled.
    Wait(BoxFuture<'static, ()>),
}

impl fmt::Debug for SpendRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpendRefusal::CapReached(reached) => reached.fmt(f),
            SpendRefusal::Wait(_) => f.write_str("Wait"),
        }
    }
}

/// Which cap a request could pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapReached {
    pub period: CapPeriod,
    pub cap: CapAmount,
    /// What was used and reserved before, in the unit of the cap.
    pub used: u64,
    /// What the request may use at most, in the same unit.
    pub most: u64,
}

/// What a cap counts together. All count per day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapPeriod {
    Day,
    ThreadDay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapAmount {
    Tokens(u64),
    CostMicros(u64),
}

/// Refuses nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBudget;

impl Budget for NoBudget {
    fn reserve(&self, _: &SpendRequest<'_>) -> Result<(), SpendRefusal> {
        Ok(())
    }

    fn settle(&self, _: EventId, _: Settlement) {}
}
