//! The agent's name, role and the like, from settings and IDENTITY.md.
//!
//! The persona is not part of it: that is SOUL.md. Each field comes from the first source that has
//! it: the user's settings for every agent, the house's settings for this one, IDENTITY.md. Without
//! any name the agent is called [`DEFAULT_NAME`].

use std::path::Path;

use crate::error::HomeError;
use crate::fields::{VALUE_CHARS_MAX, fields, last_of};
use crate::prompt_file;
use crate::rendering::one_line;

pub const DEFAULT_NAME: &str = "Assistant";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub fields: IdentityFields,
    pub source: IdentitySource,
}

/// The fields that one source gives. Any of them may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityFields {
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
}

/// The fields that the settings give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredIdentity {
    /// About every agent of the user.
    pub global: IdentityFields,
    /// About this one.
    pub agent: IdentityFields,
}

/// Where the name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    GlobalSettings,
    AgentSettings,
    IdentityFile,
    Default,
}

impl IdentitySource {
    /// The word for it in answers of the program.
    pub fn as_str(self) -> &'static str {
        match self {
            IdentitySource::GlobalSettings => "~/.kith/config.toml",
            IdentitySource::AgentSettings => "kith.toml",
            IdentitySource::IdentityFile => "IDENTITY.md",
            IdentitySource::Default => "default",
        }
    }
}

impl IdentityFields {
    /// The fields in the text of an IDENTITY.md.
    fn of(text: &str) -> IdentityFields {
        let fields = fields(text);
        let value = |labels: &[&str]| last_of(&fields, labels);
        IdentityFields {
            name: value(&["name", "名字", "姓名", "名称", "名"]),
            role: value(&["role", "角色", "身份", "职责"]),
            goal: value(&["goal", "goals", "目标"]),
            voice: value(&["voice", "声音", "语气"]),
            emoji: value(&["emoji", "表情", "表情符号"]),
            kind: value(&["type", "creature", "类型", "种类"]),
            style: value(&["style", "vibe", "风格"]),
            avatar: value(&["avatar", "头像"]),
        }
    }
}

impl Identity {
    /// The identity that settings and the text of an IDENTITY.md amount to; no text is an empty
    /// one.
    pub fn resolve(configured: &ConfiguredIdentity, text: &str) -> Identity {
        let file = IdentityFields::of(text);
        let layers = [
            (&configured.global, IdentitySource::GlobalSettings),
            (&configured.agent, IdentitySource::AgentSettings),
            (&file, IdentitySource::IdentityFile),
        ];
        let first = |field: fn(&IdentityFields) -> &Option<String>| {
            let values = layers.iter().filter_map(|(layer, _)| field(layer).as_deref());
            // Settings get the same treatment as a file: each value becomes one line of the prompt.
            let mut lines = values.map(|value| one_line(value.trim(), VALUE_CHARS_MAX));
            lines.find(|line| !line.is_empty())
        };
        let names = layers
            .iter()
            .find(|(layer, _)| layer.name.as_deref().is_some_and(|name| !name.trim().is_empty()));
        Identity {
            fields: IdentityFields {
                name: first(|it| &it.name),
                role: first(|it| &it.role),
                goal: first(|it| &it.goal),
                voice: first(|it| &it.voice),
                emoji: first(|it| &it.emoji),
                kind: first(|it| &it.kind),
                style: first(|it| &it.style),
                avatar: first(|it| &it.avatar),
            },
            source: names.map_or(IdentitySource::Default, |&(_, source)| source),
        }
    }

    /// The identity of the agent that lives here.
    pub fn read(configured: &ConfiguredIdentity, home: &Path) -> Result<Identity, HomeError> {
        let text = prompt_file::read_text(&home.join("IDENTITY.md"))?;
        Ok(Identity::resolve(configured, &text))
    }

    pub fn display_name(&self) -> &str {
        self.fields.name.as_deref().unwrap_or(DEFAULT_NAME)
    }
}

#[cfg(test)]
mod tests;
