//! The engine: from a message in the inbox to a turn that rests, by way of the log.
//!
//! Read in this order:
//!
//! - [`state`]: what the events so far amount to (pure).
//! - [`step`]: what a session does next (pure).
//! - [`context`]: what the model is shown (pure).
//! - [`reading`]: a whole log, read into no more than it amounts to.
//! - [`session`]: a log and its state, kept in step.
//! - [`shelf`]: where a session is put away.
//! - [`passage`]: what of an event can be searched for.
//! - [`turn`]: the loop that performs the steps.
//! - [`lane`]: one turn at a time per thread, each message once.
//! - [`survey`]: the whole tree, and where the conversation may go on from (pure).
//! - [`ui_message`]: the conversation as a screen reads it (pure).
//! - [`threads`]: thread files, kept up with the logs.
//! - [`verify`]: every request of a log, built again and compared.

pub mod context;
pub mod lane;
pub mod passage;
pub mod reading;
pub mod session;
pub mod shelf;
pub mod state;
pub mod step;
pub mod survey;
pub mod threads;
pub mod turn;
pub mod ui_message;
pub mod verify;

#[cfg(test)]
mod fixture;
