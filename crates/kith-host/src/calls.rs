//! Every call there is, each with its answer, by the noun it is about.

pub mod agent;
pub mod approval;
pub mod cost;
pub mod daemon;
pub mod feed;
pub mod house;
pub mod log;
pub mod message;
pub mod models;
pub mod policy;
pub mod priming;
pub mod project;
pub mod queue;
pub mod session;
pub mod subscription;
pub mod thread;
pub mod tree;
pub mod trust;
pub mod why;

#[cfg(test)]
mod tests;
