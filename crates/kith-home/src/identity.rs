//! What IDENTITY.md says: how the agent presents itself.
//!
//! It is a name plate for people and pages, no persona: that is SOUL.md. The first source that
//! gives a name wins; without one the agent is called [`DEFAULT_NAME`].

use std::path::Path;

use crate::error::HomeError;
use crate::fields::{fields, last_of};
use crate::prompt_file;

pub const DEFAULT_NAME: &str = "Assistant";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: Option<String>,
    pub role: Option<String>,
    pub goal: Option<String>,
    pub voice: Option<String>,
    pub emoji: Option<String>,
    /// `type` or `creature`.
    pub kind: Option<String>,
    /// `style` or `vibe`.
    pub style: Option<String>,
    pub avatar: Option<String>,
    pub source: IdentitySource,
}

/// Where the name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    IdentityFile,
    Default,
}

impl IdentitySource {
    /// The word for it in answers of the program.
    pub fn as_str(self) -> &'static str {
        match self {
            IdentitySource::IdentityFile => "IDENTITY.md",
            IdentitySource::Default => "default",
        }
    }
}

impl Identity {
    /// The identity in the text of an IDENTITY.md; no text is an empty one.
    pub fn of(text: &str) -> Identity {
        let fields = fields(text);
        let value = |labels: &[&str]| last_of(&fields, labels);
        let name = value(&["name"]);
        let source =
            if name.is_some() { IdentitySource::IdentityFile } else { IdentitySource::Default };
        Identity {
            name,
            role: value(&["role"]),
            goal: value(&["goal", "目标"]),
            voice: value(&["voice", "声音"]),
            emoji: value(&["emoji"]),
            kind: value(&["type", "creature"]),
            style: value(&["style", "vibe"]),
            avatar: value(&["avatar"]),
            source,
        }
    }

    /// The identity of the agent that lives here.
    pub fn read(home: &Path) -> Result<Identity, HomeError> {
        Ok(Identity::of(&prompt_file::read_text(&home.join("IDENTITY.md"))?))
    }

    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_NAME)
    }
}

#[cfg(test)]
mod tests;
