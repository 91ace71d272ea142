//! A key that cannot be printed.
//!
//! It has neither `Debug` nor `Display` nor `Serialize`, so that no log line, error or dump can
//! hold it by accident; whoever needs the text must call for it by name, in this crate.

/// A vendor's key.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Spaces around a key come from copying it and are never part of it.
    pub fn new(text: impl AsRef<str>) -> Secret {
        Secret(text.as_ref().trim().to_owned())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}
