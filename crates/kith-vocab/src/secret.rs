//! Secrets: a type that cannot be printed, and the filter that keeps their values from leaving.
//!
//! A secret has neither `Debug` nor `Display` nor `Serialize`, so that no log line, error or dump can
//! hold it by accident; the text must be asked for by name, and only kith-providers may.
//! - [`filter`]: removes known secrets from what leaves the house.
//! - `encodings`: the forms in which a secret may stand in a text.
//! - `automaton`: finds all of these forms in one pass.

mod automaton;
mod encodings;
pub mod filter;

/// A key, a token or a password.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Spaces around a key come from copying it and are never part of it.
    pub fn new(text: impl AsRef<str>) -> Secret {
        Secret(text.as_ref().trim().to_owned())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
