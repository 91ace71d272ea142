//! The caller: on whose behalf a call is made.
//!
//! Nothing below the router assumes the owner at a terminal: who speaks, from where and how far
//! they are trusted comes with every call. Over the socket a client names only itself; what it may
//! claim follows from the way it came.

use kith_vocab::event::messages::{Author, IngressRef, Trust};

use crate::error::{CallError, ErrorCode};
use crate::house::OWNER_ID;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub client_id: String,
    pub platform: String,
    pub account: String,
    pub user: Author,
    pub trust: Trust,
    /// Whether somebody is there who can be asked.
    pub attended: bool,
    /// The language that texts for this caller should have, if the caller said so.
    pub language: Option<String>,
}

/// The command line, as a client names itself.
pub const CLI: &str = "cli";
/// The platform of those who come over HTTP.
pub const WEB: &str = "web";
/// The account of everyone who works on this machine.
const LOCAL_ACCOUNT: &str = "local";

impl Caller {
    /// The owner of the house, by a client on this machine.
    pub fn owner(client_id: impl Into<String>) -> Caller {
        Caller {
            client_id: client_id.into(),
            platform: CLI.to_owned(),
            account: LOCAL_ACCOUNT.to_owned(),
            user: Author { user_id: OWNER_ID.to_owned(), display_name: OWNER_ID.to_owned() },
            trust: Trust::Owner,
            attended: true,
            language: None,
        }
    }

    #[must_use]
    pub fn unattended(self) -> Caller {
        Caller { attended: false, ..self }
    }

    #[must_use]
    pub fn speaking(self, language: Option<String>) -> Caller {
        Caller { language, ..self }
    }

    /// Refuses what only the owner of the house may do.
    pub fn require_owner(&self) -> Result<(), CallError> {
        if self.trust == Trust::Owner {
            return Ok(());
        }
        let message = "only the owner of the house can do this";
        Err(CallError::request(ErrorCode::AuthFailed, message))
    }

    /// The key under which a message of this caller is accepted once.
    pub fn message_key(&self, message_id: &str) -> String {
        format!("{}:{}:{message_id}", self.platform, self.account)
    }

    /// The platform's own names for a message of this caller.
    pub fn ingress(&self, message_id: String) -> IngressRef {
        IngressRef {
            platform: self.platform.clone(),
            account: self.account.clone(),
            message_id: message_id.clone(),
            correlation_id: message_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_named_by_where_it_came_from() {
        let owner = Caller::owner(CLI);
        assert_eq!(owner.message_key("m1"), "cli:local:m1");
        let other = Caller { platform: "web".to_owned(), account: "a".to_owned(), ..owner };
        assert_eq!(other.message_key("m1"), "web:a:m1");
        assert_eq!(other.ingress("m1".to_owned()).platform, "web");
    }

    #[test]
    fn the_owner_is_attended_unless_they_say_otherwise() {
        assert!(Caller::owner(CLI).attended);
        assert!(!Caller::owner(CLI).unattended().attended);
    }
}
