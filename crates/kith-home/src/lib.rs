//! An agent's home: Markdown in, the frozen instructions of a session out.
//!
//! Any file of a home may be missing, huge, binary or not a file at all. What cannot be used is left
//! out and reported; if that would change who the agent is, the session does not begin.
//! Read in this order:
//!
//! - [`error`]: why a home cannot be used.
//! - [`beneath`]: files beneath a folder that no link can lead out of.
//! - [`house`]: which folder one host works in.
//! - [`discovery`]: the repository around a folder, and the folders whose instructions count.
//! - [`constitution`]: what `Agent.md` says about approvals.
//! - [`protected`]: the names of what is protected.
//! - [`protected_paths`]: where they lead, through links and by what git is told to run.
//! - [`placeholder`]: what stands for protected paths that do not exist while a sandbox runs.
//! - [`zones`]: which paths are the agent itself, which are keys, which are the project.
//! - [`trust`]: which folders speak with the owner's voice.
//! - [`tainted_period`]: when commands ran that may have written what strangers said.
//! - [`identity`]: its name plate, from settings and IDENTITY.md.
//! - [`time_zone`]: time zones by name, and the one of this machine.
//! - [`line_diff`]: the lines by which two texts differ.
//! - [`user`]: what USER.md says that programs need.
//! - [`prompt_file`]: one prompt file, read with a limit on everything.
//! - [`platform`]: the machine as the model is told of it.
//! - [`snapshot`]: the six sections of a session's instructions.
//! - [`reminders`]: what has changed since a session was given them.
//! - [`priming`]: histories that a conversation may begin with.
//! - [`skills`]: instructions that are loaded when they are needed.
//! - [`init`]: a home that is good on the first day.

pub mod beneath;
pub mod constitution;
pub mod discovery;
pub mod error;
pub mod git;
pub mod house;
pub mod identity;
pub mod init;
pub mod line_diff;
pub mod placeholder;
pub mod platform;
pub mod priming;
pub mod prompt_file;
pub mod protected;
pub mod protected_paths;
pub mod reminders;
pub mod skills;
pub mod snapshot;
pub mod tainted_period;
pub mod time_zone;
pub mod trust;
pub mod user;
pub mod zones;

mod fields;
mod markdown;
pub mod ownership;
mod rendering;

#[cfg(test)]
mod test_home;
