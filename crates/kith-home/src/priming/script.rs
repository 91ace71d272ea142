//! The parts of a script, and the reasons why one is refused.
//!
//! Values are kept as JSON text: a script that is read and written again must not have rounded a
//! number on the way. What every script says (`kind`, `version`, the `type` of a call) is not kept
//! but written anew.

use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;

use super::record_type::RecordType;

/// A longer script is not read.
pub const SCRIPT_BYTES_MAX: usize = 16 * 1024 * 1024;
pub const RECORDS_MAX: usize = 10_000;
/// Of one front matter. Generous, because it may hold a question to a teammate.
pub const FRONT_MATTER_BYTES_MAX: usize = 1024 * 1024;
/// Keys, scalars, lists and maps of one front matter.
pub const FRONT_MATTER_NODES_MAX: usize = 10_000;
pub const FRONT_MATTER_DEPTH_MAX: usize = 32;
/// YAML wants a key to be found within 1024 characters, and an escaped character has ten.
pub const FIELD_NAME_CHARS_MAX: usize = 80;
/// The largest integer that every reader of JSON keeps exactly.
pub const GENSEQ_MAX: u64 = (1 << 53) - 1;

/// Further warnings about one script are dropped.
pub const WARNINGS_MAX: usize = 1000;

pub const SCRIPT_KIND: &str = "agent_priming_script";
pub const SCRIPT_VERSION: u64 = 3;

/// Equal scripts have equal texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Without `kind` and `version`. In the order of the file.
    pub front_matter: Vec<ScriptField>,
    pub records: Vec<PrimingRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptField {
    pub name: String,
    pub value: Json,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimingRecord {
    pub record_type: RecordType,
    /// In the order of the file, those we do not know included.
    pub fields: Vec<ScriptField>,
    /// Empty for types that have none.
    pub body: String,
    /// The line of its heading, from 1; 0 for a record that is not from a file.
    pub line: usize,
}

/// Something that is not wrong but is likely to be a mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Warning {
    pub line: usize,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    pub problem: ScriptProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptProblem {
    #[error("the script is longer than {SCRIPT_BYTES_MAX} bytes; split it")]
    TooLong,
    #[error("the line is not UTF-8 text; save the file as UTF-8")]
    NotUtf8,
    #[error("the script has more than {RECORDS_MAX} records; split it")]
    TooManyRecords,
    #[error("the script has no records; add a heading `### record <type>` and a fenced block")]
    NoRecords,

    #[error("the front matter that begins here is not closed; add a line `---`")]
    FrontMatterOpen,
    #[error(
        "the front matter is longer than {FRONT_MATTER_BYTES_MAX} bytes; move text into the body"
    )]
    FrontMatterTooLong,
    #[error("the front matter has more than {FRONT_MATTER_NODES_MAX} values")]
    FrontMatterTooWide,
    #[error("the front matter is nested more than {FRONT_MATTER_DEPTH_MAX} levels deep")]
    FrontMatterTooDeep,
    #[error("the front matter is not YAML: {reason}")]
    Yaml { reason: String },
    #[error("the front matter must be lines of `key: value`")]
    NotAMapping,
    /// Read as prose it would be lost, and with it a restriction that the author relies on.
    #[error("`{key}` is outside the front matter, which goes between two lines `---` at the top")]
    OutsideFrontMatter { key: &'static str },
    #[error("{what} are not allowed in front matter; write the value out")]
    YamlFeature { what: &'static str },
    #[error("duplicate key `{key}`")]
    DuplicateKey { key: String },
    #[error("the key `{key}` is blank or longer than {FIELD_NAME_CHARS_MAX} characters")]
    KeyForm { key: String },
    #[error("some YAML readers take `{text}` for a number; quote it, or write it as a JSON number")]
    OddNumber { text: String },

    #[error("`{found}` is not a record heading; write `{expected}`")]
    Heading { found: String, expected: String },
    #[error("unknown record type `{found}`; expected one of {}", RecordType::names())]
    UnknownType { found: String },
    #[error("`{record}` has no block; expected a fence (``` or ~~~) after its heading")]
    NoBlock { record: RecordType },
    #[error(
        "fence outside a record: each record has one block, and a block whose text contains \
         fences needs a longer fence around it"
    )]
    StrayFence,
    #[error("the block is not closed; expected a line that is exactly {fence}")]
    BlockOpen { fence: String },

    #[error("the block of a `func_call_record` must be one JSON object: {reason}")]
    CallJson { reason: String },
    #[error("`{record}` is missing `{field}`; expected {expected}")]
    MissingField { record: RecordType, field: &'static str, expected: String },
    #[error("`{found}` is not a key of `{record}`; did you mean `{field}`?")]
    MisspeltField { record: RecordType, field: &'static str, found: String },
    #[error("`{field}` must be {expected}, not {found}")]
    WrongField { field: String, expected: String, found: String },
    #[error("`type` is given by the heading; remove it from the block's front matter")]
    TypeInside,
    #[error("`{field}` is the text of the block; remove it from the front matter")]
    BodyInside { field: &'static str },
    #[error("`{record}` has no text; remove what follows its front matter")]
    BodyNotAllowed { record: RecordType },

    #[error("duplicate call id `{id}`, first used in line {first_line}")]
    DuplicateCall { id: String, first_line: usize },
    #[error("the result `{id}` has no call before it; expected a `func_call_record` with this id")]
    OrphanResult { id: String },
    #[error("the call `{id}` already has a result, in line {first_line}")]
    SecondResult { id: String, first_line: usize },
    #[error(
        "the result `{id}` names the tool `{found}`, but its call in line {call_line} names `{called}`"
    )]
    OtherTool { id: String, found: String, called: String, call_line: usize },
}

impl ScriptField {
    pub fn new(name: impl Into<String>, value: Json) -> ScriptField {
        ScriptField { name: name.into(), value }
    }

    pub fn text(name: impl Into<String>, text: &str) -> ScriptField {
        ScriptField::new(name, Json::of(&text))
    }

    pub fn count(name: impl Into<String>, count: u64) -> ScriptField {
        ScriptField::new(name, Json::of(&count))
    }
}

impl Script {
    /// Trimmed; a blank one is none.
    pub fn title(&self) -> Option<String> {
        let title: String = self.get("title")?.read().ok()?;
        Some(title.trim().to_owned()).filter(|title| !title.is_empty())
    }

    /// The only agents that may use it; `None`: all may.
    pub fn applicable_member_ids(&self) -> Option<Vec<String>> {
        // The parser refuses anything but a list of names; an unreadable list allows no agent.
        self.get("applicableMemberIds").map(|ids| ids.read().unwrap_or_default())
    }

    /// How far its content may be trusted, if it says so.
    pub fn trust(&self) -> Option<Trust> {
        // One that cannot be read is the least: the key is only ever written to lower trust.
        self.get("trust").map(|trust| trust.read().unwrap_or(Trust::Untrusted))
    }

    pub fn applies_to(&self, agent_id: &str) -> bool {
        self.applicable_member_ids().is_none_or(|ids| ids.iter().any(|id| id == agent_id))
    }

    fn get(&self, name: &str) -> Option<&Json> {
        self.front_matter.iter().find(|field| field.name == name).map(|field| &field.value)
    }
}

impl PrimingRecord {
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    pub(crate) fn get_text(&self, name: &str) -> Option<String> {
        self.get(name)?.read().ok()
    }

    pub fn genseq(&self) -> Option<u64> {
        self.get("genseq")?.read().ok()
    }
}

impl ScriptError {
    pub(crate) fn new(line: usize, problem: ScriptProblem) -> ScriptError {
        ScriptError { line, problem }
    }
}

pub(crate) fn warn(warnings: &mut Vec<Warning>, line: usize, message: String) {
    if warnings.len() < WARNINGS_MAX {
        warnings.push(Warning { line, message });
    }
}

/// A piece of a script, shortened and escaped for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    let mut shown: String =
        text.trim().chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.trim().chars().count() > SHOWN_CHARS_MAX {
        shown.push('…');
    }
    // `escape_debug` is for Rust's quotes; ours are backticks.
    shown.replace("\\\"", "\"").replace("\\'", "'")
}
