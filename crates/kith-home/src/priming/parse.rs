//! Text in, a script out.
//!
//! Nothing is guessed. A heading that is almost one, a fence too many or a repeated key is
//! refused with its line, because a history that differs from what its author sees would be
//! believed by the model all the same.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use kith_vocab::json::Json;

use super::check::{CallChecker, record_fields, script_fields};
use super::form::entries_of;
use super::heading::{LineKind, classify, open_fence};
use super::record_type::{BodyRule, RecordType};
use super::script::{
    PrimingRecord, RECORDS_MAX, SCRIPT_BYTES_MAX, Script, ScriptError, ScriptField, ScriptProblem,
    Warning, excerpt, warn,
};
use super::yaml::{self, YamlEntry};

/// A script, and what is odd about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptWithWarnings {
    pub script: Script,
    pub warnings: Vec<Warning>,
}

/// Reads a script as it lies on the disk.
pub fn parse_bytes(bytes: &[u8]) -> Result<ScriptWithWarnings, ScriptError> {
    // Before the bytes are looked at: there may be too many of them.
    if bytes.len() > SCRIPT_BYTES_MAX {
        return Err(ScriptError::new(1, ScriptProblem::TooLong));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        // One piece for each line, the one with the bad byte included.
        let line = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n').count();
        ScriptError::new(line, ScriptProblem::NotUtf8)
    })?;
    parse(text)
}

pub fn parse(text: &str) -> Result<ScriptWithWarnings, ScriptError> {
    if text.len() > SCRIPT_BYTES_MAX {
        return Err(ScriptError::new(1, ScriptProblem::TooLong));
    }
    let text = with_plain_line_ends(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut reader = ScriptReader {
        lines: text.split('\n').collect(),
        at: 0,
        calls: CallChecker::default(),
        warnings: vec![],
    };
    let front_matter = reader.front_matter()?;
    let records = reader.records()?;
    let script = Script { front_matter, records };
    Ok(ScriptWithWarnings { script, warnings: reader.warnings })
}

/// Replaces CRLF by LF in a file that uses CRLF throughout; in any other file a CR is content.
fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    let n_lines = text.matches('\n').count();
    if n_lines > 0 && text.matches("\r\n").count() == n_lines {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

struct ScriptReader<'a> {
    lines: Vec<&'a str>,
    /// The line that is read next, from 0.
    at: usize,
    calls: CallChecker,
    warnings: Vec<Warning>,
}

impl<'a> ScriptReader<'a> {
    fn front_matter(&mut self) -> Result<Vec<ScriptField>, ScriptError> {
        self.skip_blank();
        let Some(split) = front_matter_of(&self.lines[self.at..]) else {
            return Ok(Vec::new());
        };
        let n_inside = split.map_err(|problem| self.error(problem))?;
        let entries = self.entries(self.at + 1, n_inside)?;
        self.at += n_inside + 2;
        script_fields(entries, &mut self.warnings)
    }

    fn records(&mut self) -> Result<Vec<PrimingRecord>, ScriptError> {
        let mut records = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            match classify(line) {
                LineKind::Comment => {
                    if records.is_empty()
                        && let Some(key) = lost_key(line)
                    {
                        return Err(self.error(ScriptProblem::OutsideFrontMatter { key }));
                    }
                    self.at += 1;
                }
                LineKind::Malformed(problem) => return Err(self.error(problem)),
                LineKind::Fence => return Err(self.error(ScriptProblem::StrayFence)),
                LineKind::Record(_) if records.len() == RECORDS_MAX => {
                    return Err(self.error(ScriptProblem::TooManyRecords));
                }
                LineKind::Record(record_type) => {
                    let record = self.record(record_type)?;
                    self.calls.check(&record)?;
                    records.push(record);
                }
            }
        }
        if records.is_empty() {
            return Err(ScriptError::new(self.last_line(), ScriptProblem::NoRecords));
        }
        Ok(records)
    }

    fn record(&mut self, record_type: RecordType) -> Result<PrimingRecord, ScriptError> {
        let line = self.at + 1;
        self.at += 1;
        self.skip_blank();
        let Some(fence) = self.lines.get(self.at).and_then(|line| open_fence(line)) else {
            let at = if self.at < self.lines.len() { self.at + 1 } else { line };
            return Err(ScriptError::new(at, ScriptProblem::NoBlock { record: record_type }));
        };
        let first = self.at + 1;
        let n_inside = self.lines[first..].iter().position(|line| line.trim() == fence);
        let n_inside = n_inside
            .ok_or_else(|| self.error(ScriptProblem::BlockOpen { fence: fence.to_owned() }))?;
        self.at = first + n_inside + 1;
        let (entries, body) = match record_type.body() {
            BodyRule::Json => (self.call(first, n_inside)?, String::new()),
            BodyRule::Text(_) => {
                let (entries, body) = self.block_parts(first, n_inside)?;
                (entries, body.join("\n"))
            }
            BodyRule::Nothing => {
                let (entries, body) = self.block_parts(first, n_inside)?;
                if let Some(at) = body.iter().position(|line| !line.trim().is_empty()) {
                    let line = first + n_inside - body.len() + at + 1;
                    let problem = ScriptProblem::BodyNotAllowed { record: record_type };
                    return Err(ScriptError::new(line, problem));
                }
                (entries, String::new())
            }
        };
        let fields = record_fields(record_type, line, entries, &mut self.warnings)?;
        self.warn_of_swallowed_record(first, n_inside);
        if fields.is_empty() {
            self.warn_of_swallowed_fields(record_type, first, n_inside);
        }
        Ok(PrimingRecord { record_type, fields, body, line })
    }

    /// A block whose closing fence was lost goes on to the next one and takes a record with it. Its
    /// text may also be about scripts, so this is only a warning.
    fn warn_of_swallowed_record(&mut self, first: usize, n_inside: usize) {
        let inside = &self.lines[first..first + n_inside];
        let is_record = |line: &&str| matches!(classify(line), LineKind::Record(_));
        let Some(at) = inside.iter().position(is_record) else { return };
        let message = format!(
            "`{}` is inside the block that begins in line {first}; is a fence missing above it?",
            excerpt(inside[at])
        );
        warn(&mut self.warnings, first + at + 1, message);
    }

    /// A front matter that lost its first line, or has it twice, is text.
    fn warn_of_swallowed_fields(&mut self, of: RecordType, first: usize, n_inside: usize) {
        let is_field = |line: &&str| {
            let name = line.split_once(':').map(|(name, _)| name);
            of.fields().iter().any(|field| Some(field.name) == name)
        };
        let inside = &self.lines[first..first + n_inside];
        let Some(at) = inside.iter().position(is_field) else { return };
        let message = format!(
            "`{}` is in the text of the block; is the line `---` above it missing or repeated?",
            excerpt(inside[at])
        );
        warn(&mut self.warnings, first + at + 1, message);
    }

    /// The front matter of a block and the lines of its text.
    fn block_parts(
        &self,
        first: usize,
        n_inside: usize,
    ) -> Result<(Vec<YamlEntry>, &[&'a str]), ScriptError> {
        let inside = &self.lines[first..first + n_inside];
        let Some(split) = front_matter_of(inside) else {
            return Ok((Vec::new(), inside));
        };
        let n_entries = split.map_err(|problem| ScriptError::new(first + 1, problem))?;
        let entries = self.entries(first + 1, n_entries)?;
        let body = &inside[n_entries + 2..];
        // One blank line sets the text off; a second one is the text's own.
        let n_separator = usize::from(body.first().is_some_and(|line| line.trim().is_empty()));
        Ok((entries, &body[n_separator..]))
    }

    fn entries(&self, first: usize, n_lines: usize) -> Result<Vec<YamlEntry>, ScriptError> {
        let mut text = self.lines[first..first + n_lines].join("\n");
        text.push('\n');
        yaml::read(&text, first + 1)
    }

    fn call(&self, first: usize, n_inside: usize) -> Result<Vec<YamlEntry>, ScriptError> {
        let lines = &self.lines[first..first + n_inside];
        let json = Json::parse(&lines.join("\n")).map_err(|error| {
            // The reader's line, and its words without it.
            let line = first + error.line().clamp(1, n_inside.max(1));
            let words = error.to_string();
            let reason = words.split(" at line ").next().unwrap_or_default();
            ScriptError::new(line, ScriptProblem::CallJson { reason: excerpt(reason) })
        })?;
        let entries = entries_of(&json).ok_or_else(|| {
            let reason = format!("it is `{}`", excerpt(json.as_str()));
            ScriptError::new(first + 1, ScriptProblem::CallJson { reason })
        })?;
        let lines_of_keys = lines_of_keys(lines);
        let mut names = BTreeSet::new();
        let mut found = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            let line = first + 1 + lines_of_keys.get(name.as_str()).copied().unwrap_or(0);
            if !names.insert(name.clone()) {
                let problem = ScriptProblem::DuplicateKey { key: excerpt(&name) };
                return Err(ScriptError::new(line, problem));
            }
            found.push(YamlEntry { name, value, line });
        }
        Ok(found)
    }

    fn skip_blank(&mut self) {
        while self.lines.get(self.at).is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
    }

    /// The last line that holds something.
    fn last_line(&self) -> usize {
        self.lines.iter().rposition(|line| !line.trim().is_empty()).map_or(1, |at| at + 1)
    }

    fn error(&self, problem: ScriptProblem) -> ScriptError {
        ScriptError::new(self.at + 1, problem)
    }
}

/// The key of a front matter whose first mark was lost.
fn lost_key(line: &str) -> Option<&'static str> {
    const TELLING_KEYS: [&str; 3] = ["kind", "applicableMemberIds", "trust"];
    let name = line.split_once(':')?.0;
    TELLING_KEYS.into_iter().find(|key| *key == name)
}

/// The number of lines between the marks of a front matter, if one begins here.
fn front_matter_of(lines: &[&str]) -> Option<Result<usize, ScriptProblem>> {
    let is_mark = |line: &&str| line.trim_end() == "---";
    if !lines.first().is_some_and(is_mark) {
        return None;
    }
    let n_inside = lines[1..].iter().position(is_mark);
    Some(n_inside.ok_or(ScriptProblem::FrontMatterOpen))
}

/// The lines of the keys of a JSON text, the last one for a repeated key. A key that does not begin
/// its line is not found; errors then name the block's first line.
fn lines_of_keys<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, usize> {
    let keys = lines.iter().enumerate().filter_map(|(at, line)| {
        let key = line.trim_start().strip_prefix('"')?;
        Some((key.split_once('"')?.0, at))
    });
    keys.collect()
}

#[cfg(test)]
pub(crate) mod tests;
