//! A record as JSON: how a script is shown to programs, and how a record is kept in a log.

use kith_vocab::json::{Json, JsonMembers};

use super::check::record_fields;
use super::record_type::{BodyRule, RecordType};
use super::script::{PrimingRecord, Script, ScriptError};
use super::yaml::YamlEntry;

/// Deeper than any JSON that is read; what is deeper stays on its line.
const PRETTY_LEVELS_MAX: usize = 128;

/// The key of the number that replay gave to a record's generation. It comes before `type`, where a
/// script cannot put a key.
const GENERATION: &str = "generation";

/// Whether the JSON form of a record includes the text of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyText {
    Included,
    LeftOut,
}

impl Script {
    /// `{title?, applicableMemberIds?, records: […]}`.
    pub fn to_json(&self) -> Json {
        let records: Vec<Json> = self.records.iter().map(PrimingRecord::to_json).collect();
        let mut fields = Vec::new();
        if let Some(title) = self.title() {
            fields.push(("title", Json::of(&title)));
        }
        if let Some(ids) = self.applicable_member_ids() {
            fields.push(("applicableMemberIds", Json::of(&ids)));
        }
        fields.push(("records", Json::of(&records)));
        object(fields.iter().map(|(name, value)| (*name, value)))
    }
}

impl PrimingRecord {
    /// `{type, …fields as in the file, the text in its field}`.
    pub fn to_json(&self) -> Json {
        to_json(self, None, BodyText::Included)
    }

    /// The record that a `primed_record` of a log holds.
    pub fn from_json(json: &Json) -> Option<PrimingRecord> {
        from_json(json)?.ok()
    }
}

pub(crate) fn to_json(record: &PrimingRecord, generation: Option<u64>, body: BodyText) -> Json {
    let record_type = Json::of(&record.record_type.name());
    let text = match record.record_type.body() {
        BodyRule::Text(name) if body == BodyText::Included => Some((name, Json::of(&record.body))),
        _ => None,
    };
    // A script may have a key of that name, and keys must not repeat.
    let generation = generation.filter(|_| record.get(GENERATION).is_none());
    let generation = generation.map(|generation| Json::of(&generation));
    let generation = generation.iter().map(|number| (GENERATION, number));
    let fields = record.fields.iter().map(|field| (field.name.as_str(), &field.value));
    let text = text.iter().map(|(name, text)| (*name, text));
    object(generation.chain([("type", &record_type)]).chain(fields).chain(text))
}

/// Reads what [`to_json`] wrote. `None` for an object that is not a record.
pub(crate) fn from_json(json: &Json) -> Option<Result<PrimingRecord, ScriptError>> {
    let mut entries = entries_of(json)?.into_iter();
    let (mut first, mut record_type) = entries.next()?;
    if first == GENERATION {
        (first, record_type) = entries.next()?;
    }
    let record_type = RecordType::from_name(&record_type.read::<String>().ok()?)?;
    if first != "type" {
        return None;
    }
    let mut body = String::new();
    let mut rest = Vec::new();
    for (name, value) in entries {
        match record_type.body() {
            BodyRule::Text(field) if name == field => body = value.read().ok()?,
            _ => rest.push(YamlEntry { name, value, line: 0 }),
        }
    }
    let fields = record_fields(record_type, 0, rest, &mut Vec::new());
    Some(fields.map(|fields| PrimingRecord { record_type, fields, body, line: 0 }))
}

/// The members of an object in their order, repeated keys included; `None` for any other JSON.
pub(crate) fn entries_of(json: &Json) -> Option<Vec<(String, Json)>> {
    // Most values are none; the reader's error for them is costly and not looked at.
    if !json.is_object() {
        return None;
    }
    json.read::<JsonMembers<Json>>().ok().map(|members| members.0)
}

/// JSON on several lines, each level indented by two spaces, tokens as they were written.
pub(crate) fn pretty(fields: &[(&str, &Json)]) -> String {
    let mut out = String::new();
    write_members(&mut out, fields.iter().copied(), 0);
    out
}

fn write_pretty(out: &mut String, json: &Json, level: usize) {
    if level > PRETTY_LEVELS_MAX {
        out.push_str(json.as_str());
        return;
    }
    if let Some(entries) = entries_of(json) {
        write_members(out, entries.iter().map(|(name, value)| (name.as_str(), value)), level);
        return;
    }
    if !json.as_str().starts_with('[') {
        out.push_str(json.as_str());
        return;
    }
    let items: Vec<Json> = json.read().unwrap_or_default();
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        new_line(out, index, level + 1);
        write_pretty(out, item, level + 1);
    }
    close(out, ']', items.len(), level);
}

fn write_members<'a>(
    out: &mut String,
    members: impl Iterator<Item = (&'a str, &'a Json)>,
    level: usize,
) {
    out.push('{');
    let mut n_members = 0;
    for (name, value) in members {
        new_line(out, n_members, level + 1);
        out.push_str(Json::of(&name).as_str());
        out.push_str(": ");
        write_pretty(out, value, level + 1);
        n_members += 1;
    }
    close(out, '}', n_members, level);
}

fn new_line(out: &mut String, index: usize, level: usize) {
    out.push_str(if index == 0 { "\n" } else { ",\n" });
    out.push_str(&"  ".repeat(level));
}

fn close(out: &mut String, bracket: char, n_inside: usize, level: usize) {
    if n_inside > 0 {
        out.push('\n');
        out.push_str(&"  ".repeat(level));
    }
    out.push(bracket);
}

/// An object of members that keep their bytes.
pub(crate) fn object<'a>(members: impl Iterator<Item = (&'a str, &'a Json)>) -> Json {
    struct Object<'a>(Vec<(&'a str, &'a Json)>);
    impl serde::Serialize for Object<'_> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().copied())
        }
    }
    Json::of(&Object(members.collect()))
}
