//! Priming scripts: a conversation's history, written down in Markdown before it begins.
//!
//! A script is a file that people edit and machines replay, so it is read strictly: what cannot be
//! understood is refused with its line, and what is understood comes out again byte for byte.
//! Read in this order:
//!
//! - [`slug`]: names of scripts, and why a name can never leave the folder.
//! - [`script`]: what a script is made of, and why one is refused.
//! - [`record_type`]: the fourteen kinds of record with their fields.
//! - [`parse`]: text in, a script out.
//! - [`export`]: a script in, its one text out.
//! - [`replay`]: a script as events of a new session.
//! - [`history`]: the events of a session as a script.
//! - [`store`]: the folder of scripts.
//! - [`recent`]: which scripts an agent used last.

pub mod export;
pub mod history;
pub mod parse;
pub mod recent;
pub mod record_type;
pub mod replay;
pub mod script;
pub mod slug;
pub mod store;

mod check;
mod form;
mod heading;
pub(crate) mod yaml;
