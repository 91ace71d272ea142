//! How far the text of a result is trusted.
//!
//! A tool does not know whose files it reads. Its maker does, and is asked with the real path of
//! everything that goes into a text. What an untrusted folder holds may have been written to
//! mislead, and one line of it makes the whole result untrusted.

use std::path::Path;
use std::sync::Arc;

use kith_vocab::event::messages::Trust;
use kith_vocab::tool::Refusal;

/// The trust of what lies at a real path: of a file's text, of the names in a folder.
pub type TrustOf = Arc<dyn Fn(&Path) -> Trust + Send + Sync>;

/// A text for the model, and how far it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuotedText {
    pub(crate) text: String,
    pub(crate) trust: Trust,
}

/// The lowest trust of all that was looked at.
pub(crate) struct LowestTrust<'a> {
    trust_of: &'a TrustOf,
    lowest: Trust,
}

impl<'a> LowestTrust<'a> {
    pub(crate) fn new(trust_of: &'a TrustOf) -> LowestTrust<'a> {
        LowestTrust { trust_of, lowest: Trust::Owner }
    }

    pub(crate) fn add(&mut self, path: &Path) {
        // Nothing is lower, and a walk looks at many folders.
        if self.lowest < Trust::Untrusted {
            self.lowest = self.lowest.max((self.trust_of)(path));
        }
    }

    /// What was looked at may come from anywhere.
    pub(crate) fn distrust(&mut self) {
        self.lowest = Trust::Untrusted;
    }

    pub(crate) fn lowest(&self) -> Trust {
        self.lowest
    }
}

/// What came of reading something that has this trust.
pub(crate) fn quoted(read: Result<String, String>, trust: Trust) -> Result<QuotedText, Refusal> {
    match read {
        Ok(text) => Ok(QuotedText { text, trust }),
        Err(text) => Err(Refusal { text, trust }),
    }
}

/// A refusal that repeats nothing but the call itself and names of our own.
pub(crate) fn own_refusal(text: String) -> Refusal {
    Refusal { text, trust: Trust::Owner }
}

#[cfg(test)]
mod tests;
