//! `skill`: the instructions of a skill, and where its files lie.
//!
//! A `SKILL.md` comes whole, because half an instruction is another instruction. One that does not
//! fit into a result comes as far as whole lines fit, and says how to read on.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use kith_vocab::event::control::SkillEntry;
use kith_vocab::json::Json;
use kith_vocab::tool::{CallPlan, Refusal, TOOL_OUTPUT_BYTES_MAX};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call::{self, FileReader};
use crate::display;
use crate::roots::{OpenedFile, Roots};
use crate::trust::{LowestTrust, QuotedText, TrustOf, own_refusal, quoted};

const NAME: &str = "skill";

/// What is beyond this in a `SKILL.md` is not read.
pub const SKILL_BYTES_MAX: u64 = 1024 * 1024;
/// Header and footer without names and paths.
const REMARKS_BYTES_MAX: usize = 384;
/// Maximum number of names listed in the answer to an unknown one.
const NAMES_SHOWN_MAX: usize = 50;
/// Maximum number of characters compared between names.
const NAME_CHARS_MAX: usize = 64;
/// Letters that may differ between a name and the one that was meant.
const TYPOS_MAX: usize = 3;

/// The skills there are now. Asked at each call: a skill may come or go while a session lasts.
pub type ListSkills = Arc<dyn Fn() -> Vec<SkillEntry> + Send + Sync>;

/// The folders of the skills must be among the roots.
pub(crate) struct Skill {
    pub(crate) roots: Arc<Roots>,
    pub(crate) skills: ListSkills,
    pub(crate) trust_of: TrustOf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    name: String,
}

impl FileReader for Skill {
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str = "Load a skill: its SKILL.md and its folder.";
    const INPUT_SCHEMA: &'static str = r#"{
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"]
}"#;

    type Target = (SkillEntry, OpenedFile);

    fn open(&self, json: &Json) -> Result<(Self::Target, CallPlan), Refusal> {
        let input: SkillInput = call::read_input(NAME, json).map_err(own_refusal)?;
        let skills = (self.skills)();
        let Some(entry) = skills.iter().find(|it| it.name == input.name) else {
            // The text lists the names of all skills, and each was chosen by the skill's author.
            let mut trust = LowestTrust::new(&self.trust_of);
            for skill in &skills {
                trust.add(Path::new(&skill.path));
            }
            let text = unknown(&input.name, &skills);
            return Err(Refusal { text, trust: trust.lowest() });
        };
        let file = self.roots.open_file(&entry.path).map_err(|text| {
            // It may quote the path, which the skill's author chose.
            Refusal { text, trust: (self.trust_of)(Path::new(&entry.path)) }
        })?;
        let summary = format!("{NAME} {}", display::name(&entry.name));
        let prepared = call::prepared_read(NAME, &self.roots, (json, &input), &file.real, summary);
        Ok(((entry.clone(), file), prepared))
    }

    fn is_short(_: &Self::Target) -> bool {
        true
    }

    fn read(
        &self,
        (entry, file): Self::Target,
        _stop: &CancellationToken,
    ) -> Result<QuotedText, Refusal> {
        let trust = file.trust(&self.trust_of);
        quoted(read(&entry, file), trust)
    }
}

fn read(entry: &SkillEntry, opened: OpenedFile) -> Result<String, String> {
    let name = display::name(&entry.name);
    let mut bytes = Vec::new();
    let read: io::Result<usize> = opened.file.take(SKILL_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the skill `{name}` cannot be read: {error}"))?;
    let path = opened.real.to_string_lossy();
    let base = opened.real.parent().map(Path::to_string_lossy).unwrap_or_default();
    let mut text = format!(
        "Skill `{name}`. Its folder is `{}`; paths in it are relative to that folder.\n\n",
        display::line(&base)
    );
    let is_cut = bytes.len() as u64 > SKILL_BYTES_MAX;
    let content = String::from_utf8_lossy(&bytes);
    let room = TOOL_OUTPUT_BYTES_MAX.saturating_sub(text.len() + path.len() + REMARKS_BYTES_MAX);
    if content.len() <= room {
        text.push_str(&content);
        return Ok(text);
    }
    let (mut n_shown, mut n_bytes) = (0_u64, 0);
    for line in content.split_inclusive('\n') {
        if n_bytes + line.len() > room {
            break;
        }
        n_bytes += line.len();
        n_shown += 1;
    }
    text.push_str(&content[..n_bytes]);
    let at_least = if is_cut { "at least " } else { "" };
    let n_more = content.lines().count() as u64 - n_shown;
    // Writing to a string cannot fail.
    write!(
        text,
        "\n… {at_least}{}; before you follow this skill, read them: read_file `{}`, offset {}",
        display::count(n_more, "more line", "more lines"),
        display::line(&path),
        n_shown + 1
    )
    .unwrap_or_default();
    Ok(text)
}

fn unknown(name: &str, skills: &[SkillEntry]) -> String {
    let asked = display::name(name);
    if skills.is_empty() {
        return format!("there is no skill `{asked}`; there are no skills at all");
    }
    let near = skills.iter().map(|it| (distance(name, &it.name), &it.name)).min();
    let meant = match near {
        Some((steps, near)) if steps <= TYPOS_MAX => {
            format!("; did you mean `{}`?", display::name(near))
        }
        _ => String::new(),
    };
    let names = skills.iter().take(NAMES_SHOWN_MAX).map(|it| display::name(&it.name));
    let names: Vec<String> = names.collect();
    let more = match skills.len().saturating_sub(NAMES_SHOWN_MAX) {
        0 => String::new(),
        n_more => format!(" and {n_more} more"),
    };
    format!("there is no skill `{asked}`{meant} (there are: {}{more})", names.join(", "))
}

/// The edit distance of two names, ignoring case. Bounded, because the time grows with the product of
/// both lengths.
fn distance(a: &str, b: &str) -> usize {
    let letters =
        |text: &str| -> String { text.to_lowercase().chars().take(NAME_CHARS_MAX).collect() };
    strsim::levenshtein(&letters(a), &letters(b))
}

#[cfg(test)]
mod tests;
