//! The engine: from a message in the inbox to a turn that rests, by way of the log.
//!
//! Read in this order:
//!
//! - [`state`]: the state of a session, folded from its events (pure).
//! - [`step`]: what a session does next (pure).
//! - [`context`]: what the model is shown (pure).
//! - [`judge`]: whether a call may run (pure).
//! - [`session`]: a log and its state, kept in step.
//! - [`turn`]: turns each step into events or one effect.
//! - [`driver`]: the task that owns a session while it is active.
//! - [`command`], [`mailbox`]: what clients ask of a session, and how it reaches the driver.
//! - [`registry`], [`permits`]: which sessions have a driver; one open turn per thread.
//! - [`feed`]: delivers what happens to everyone who follows.
//! - [`observer`]: tells diagnostics what happened.
//! - [`engine`]: accepts messages, starts drivers.
//! - [`question`]: the question that a person is asked about a call.
//! - [`reply`]: what a reply to pending approvals says (pure).
//! - [`report`]: the outcome of a message.
//! - [`wakeups`]: times at which a session is looked at again.
//! - [`checkpoints`]: stored states of long logs, and the rows of session lists.
//! - [`failure`]: why a session could not go on.
//! - [`reading`]: reads a whole log into a state.
//! - [`passage`]: what of an event can be searched for.
//! - `turn_tracker`: where turns begin and end, read event by event (pure).
//! - [`survey`]: the whole tree, and where the conversation may go on from (pure).
//! - [`ui_message`]: the conversation as a screen reads it (pure).
//! - [`thread_logs`]: the sessions and messages of each thread, read from the logs.
//! - [`thread_file_sync`], [`thread_keeper`]: thread files, and the follower that keeps them up with the logs.
//! - `words`: what people are told in a conversation, in two languages.
//! - [`translation`]: sentences about failures, in Chinese.
//! - [`verify`]: every request of a log, built again and compared.

pub mod checkpoints;
pub mod command;
pub mod context;
pub mod driver;
pub mod engine;
pub mod failure;
pub mod feed;
pub mod judge;
mod ledger;
pub mod mailbox;
pub mod observer;
pub mod passage;
pub mod permits;
pub mod question;
pub mod reading;
pub mod registry;
pub mod replay;
pub mod reply;
pub mod report;
pub mod session;
pub mod spending;
pub mod state;
pub mod step;
pub mod survey;
pub mod thread_file_sync;
pub mod thread_keeper;
pub mod thread_logs;
pub mod translation;
pub mod turn;
mod turn_tracker;
pub mod ui_message;
pub mod verify;
pub mod wakeups;
pub mod why;
pub mod words;

#[cfg(test)]
mod fixture;
