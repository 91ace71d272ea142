//! A script in, its one text out.
//!
//! Equal scripts give equal bytes, and the text parses to the script it came from, whatever its
//! bodies hold. So a saved script can be kept under version control and compared.

use kith_vocab::json::Json;

use super::form::pretty;
use super::record_type::BodyRule;
use super::script::{PrimingRecord, SCRIPT_KIND, SCRIPT_VERSION, Script, ScriptField};
use super::yaml;

/// Enough for any text with code in it.
const FENCE_BACKTICKS: usize = 6;

pub fn export(script: &Script) -> String {
    let mut front_matter =
        vec![ScriptField::text("kind", SCRIPT_KIND), ScriptField::count("version", SCRIPT_VERSION)];
    front_matter.extend(script.front_matter.iter().cloned());
    let mut text = format!("---\n{}---\n", yaml::write(&front_matter));
    for record in &script.records {
        text.push_str("\n### record ");
        text.push_str(record.record_type.name());
        text.push_str("\n\n");
        match record.record_type.body() {
            BodyRule::Json => push_call(&mut text, record),
            BodyRule::Text(_) | BodyRule::Nothing => push_markdown(&mut text, record),
        }
    }
    text
}

fn push_call(text: &mut String, record: &PrimingRecord) {
    let record_type = Json::of(&record.record_type.name());
    let mut members = vec![("type", &record_type)];
    members.extend(record.fields.iter().map(|field| (field.name.as_str(), &field.value)));
    text.push_str("```json\n");
    text.push_str(&pretty(&members));
    text.push_str("\n```\n");
}

fn push_markdown(text: &mut String, record: &PrimingRecord) {
    let fence = "`".repeat(fence_len(&record.body));
    text.push_str(&fence);
    text.push_str("markdown\n---\n");
    text.push_str(&yaml::write(&record.fields));
    text.push_str("---\n");
    if !record.body.is_empty() {
        text.push('\n');
        text.push_str(&record.body);
        text.push('\n');
    }
    text.push_str(&fence);
    text.push('\n');
}

/// Longer than every line of backticks that could close the block, also in readers of Markdown
/// that let a longer fence close a shorter one.
fn fence_len(body: &str) -> usize {
    let is_fence = |line: &&str| !line.is_empty() && line.bytes().all(|byte| byte == b'`');
    let longest = body.split('\n').map(str::trim).filter(is_fence).map(str::len).max();
    longest.map_or(FENCE_BACKTICKS, |len| FENCE_BACKTICKS.max(len + 1))
}

#[cfg(test)]
mod tests;
