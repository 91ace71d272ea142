//! Shell text as data: what a command line would run, and what in it cannot be told.
//!
//! Nothing here does I/O or reads a clock. A script is read twice, by a real shell grammar and by a
//! strict reader of our own; where the two differ, or where the text holds more than a small set of
//! simple forms, that is recorded as an obstacle, and whoever judges the command asks a person.
//! Read in this order:
//!
//! - [`script`]: the segments of a script, its words, redirections and obstacles.
//! - [`parse`]: from text to a script.
//! - [`word`]: quotes and backslashes.
//! - `tokens`: the second reading.
//! - [`rough`]: commands that a text may hold, found without understanding it.
//! - [`programs`]: what programs do with their arguments.
//! - [`wrappers`]: programs that run the command given to them.
//! - [`risks`]: reasons not to run a command without asking.
//! - [`facts`]: what is recorded about a command, for the log and for the judge.
//! - [`gather`]: from a script to its facts.

mod bundles;
pub mod facts;
pub mod gather;
pub mod parse;
pub mod programs;
pub mod risks;
pub mod rough;
pub mod script;
mod tokens;
pub mod word;
pub mod wrappers;
