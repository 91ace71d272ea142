//! The port through which a tool searches what was said in other conversations.

use crate::clock::BoxFuture;
use crate::ids::SessionId;

pub trait SessionSearch: Send + Sync {
    /// The newest messages with all words of the query. An error is a sentence.
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<FoundMessage>, String>>;
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMessage {
    pub session_id: SessionId,
    /// As in RFC 3339.
    pub at: String,
    /// The part of it with the words.
    pub excerpt: String,
}
