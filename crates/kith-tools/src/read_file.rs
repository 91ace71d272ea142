//! `read_file`: a text file, or a page of it.
//!
//! A page holds whole lines only, each with its number, under a header that says which lines of
//! how many they are: a model that sees half a line edits half a line, and one that does not know
//! how much is missing takes the part for the whole. Our own remarks carry no line number, so text
//! of a file cannot pass for them.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use kith_vocab::json::Json;
use kith_vocab::tool::{CallPlan, Refusal, TOOL_OUTPUT_BYTES_MAX};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call::{self, FileReader};
use crate::display;
use crate::folder;
use crate::roots::{OpenedFile, Roots};
use crate::trust::{QuotedText, TrustOf, own_refusal, quoted};

const NAME: &str = "read_file";

/// Maximum number of bytes of a file that are read; beyond them lines are counted as "at least".
pub(crate) const READ_FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Size of a chunk; the tool checks for a cancel after each.
const CHUNK_BYTES_MAX: usize = 64 * 1024;
/// Header and footer without the path.
const REMARKS_BYTES_MAX: usize = 384;

pub(crate) struct ReadFile {
    pub(crate) roots: Arc<Roots>,
    pub(crate) trust_of: TrustOf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFileInput {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

/// A file of this size is read faster than another thread is woken to read it.
const SHORT_FILE_BYTES_MAX: u64 = 256 * 1024;

impl FileReader for ReadFile {
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str = "Read a text file: numbered lines, in pages.";
    const INPUT_SCHEMA: &'static str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "offset": {"type": "integer", "description": "line, from 1"},
        "limit": {"type": "integer"}
    },
    "required": ["path"]
}"#;

    type Target = (ReadFileInput, OpenedFile);

    fn open(&self, json: &Json) -> Result<(Self::Target, CallPlan), Refusal> {
        let input: ReadFileInput = call::read_input(NAME, json).map_err(own_refusal)?;
        if input.offset == Some(0) {
            return Err(own_refusal("`offset` counts lines from 1".to_owned()));
        }
        if input.limit == Some(0) {
            return Err(own_refusal("`limit` must be at least 1".to_owned()));
        }
        let file = self.roots.open_file(&input.path).map_err(own_refusal)?;
        let call = (json, &input);
        let prepared = call::prepared_read(NAME, &self.roots, call, &file.real, summary(&input));
        Ok(((input, file), prepared))
    }

    fn is_short((_, file): &Self::Target) -> bool {
        file.bytes <= SHORT_FILE_BYTES_MAX
    }

    fn read(
        &self,
        (input, file): Self::Target,
        stop: &CancellationToken,
    ) -> Result<QuotedText, Refusal> {
        let trust = file.trust(&self.trust_of);
        quoted(page_of(&input, file, stop), trust)
    }
}

fn summary(input: &ReadFileInput) -> String {
    let path = display::name(&input.path);
    match (input.offset, input.limit) {
        (None, None) => format!("{NAME} {path}"),
        (Some(first), None) => format!("{NAME} {path}, from line {first}"),
        (first, Some(limit)) => {
            let first = first.unwrap_or(1);
            format!("{NAME} {path}, lines {first}-{}", first.saturating_add(limit - 1))
        }
    }
}

fn page_of(
    input: &ReadFileInput,
    opened: OpenedFile,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let path = display::name(&input.path);
    let failed = |error: io::Error| format!("`{path}` cannot be read: {error}");
    let OpenedFile { mut file, bytes, .. } = opened;

    let Some(head) = folder::text_head(&mut file).map_err(failed)? else {
        let size = display::count(bytes, "byte", "bytes");
        return Err(format!("`{path}` is a binary file of {size}; {NAME} shows text only"));
    };
    let mut page = FilePage::new(
        input.offset.unwrap_or(1),
        input.limit,
        TOOL_OUTPUT_BYTES_MAX - REMARKS_BYTES_MAX - path.len(),
    );
    if !fill(&mut page, &head, file, cancel).map_err(failed)? {
        return Err(call::cancelled(NAME));
    }
    page.into_text(&path)
}

/// Feeds the file to the page; false if that was cancelled.
fn fill(
    page: &mut FilePage,
    head: &[u8],
    file: File,
    cancel: &CancellationToken,
) -> io::Result<bool> {
    let mut reader =
        BufReader::with_capacity(CHUNK_BYTES_MAX, head.chain(file).take(READ_FILE_BYTES_MAX));
    let mut n_bytes = 0;
    loop {
        if cancel.is_cancelled() {
            return Ok(false);
        }
        let chunk = reader.fill_buf()?;
        let chunk_len = chunk.len();
        if chunk_len == 0 {
            break;
        }
        page.take(chunk);
        reader.consume(chunk_len);
        n_bytes += chunk_len as u64;
    }
    page.finish(n_bytes >= READ_FILE_BYTES_MAX);
    Ok(true)
}

/// The lines asked for, as far as they fit, and the count of all.
struct FilePage {
    first: u64,
    /// The last line asked for.
    last: u64,
    body_bytes_max: usize,
    body: String,
    /// The first line that is not in the body.
    next: u64,
    /// Whole lines seen so far.
    n_lines: u64,
    /// The beginning of the line being read, no more than could be shown.
    line: Vec<u8>,
    line_bytes: u64,
    /// The file goes on beyond what was looked at.
    is_cut: bool,
    traits: LineTraits,
}

/// Properties of the lines that the page does not show by itself.
#[derive(Default)]
struct LineTraits {
    crlf: bool,
    invalid_utf8: bool,
    no_newline: bool,
}

impl FilePage {
    fn new(first: u64, limit: Option<u64>, body_bytes_max: usize) -> FilePage {
        FilePage {
            first,
            last: limit.map_or(u64::MAX, |limit| first.saturating_add(limit - 1)),
            body_bytes_max,
            body: String::new(),
            next: first,
            n_lines: 0,
            line: Vec::new(),
            line_bytes: 0,
            is_cut: false,
            traits: LineTraits::default(),
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        if self.is_full() {
            // Only the count is still of interest, and most of a large file comes this way.
            self.n_lines += chunk.iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
            self.line_bytes = u64::from(!chunk.ends_with(b"\n"));
            return;
        }
        for piece in chunk.split_inclusive(|&byte| byte == b'\n') {
            if self.wants_line() && self.line.len() <= self.body_bytes_max {
                let room = self.body_bytes_max + 1 - self.line.len();
                self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            self.line_bytes += piece.len() as u64;
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn finish(&mut self, is_cut: bool) {
        self.is_cut = is_cut;
        if self.line_bytes == 0 {
            return;
        }
        if is_cut {
            // Where we stopped looking is not where the line ends, so it is counted, not shown.
            self.n_lines += 1;
            return;
        }
        self.end_line();
        self.traits.no_newline = self.next == self.n_lines + 1;
    }

    /// Whether the line being read belongs on the page.
    fn wants_line(&self) -> bool {
        self.n_lines + 1 == self.next && self.next <= self.last
    }

    fn is_full(&self) -> bool {
        self.next > self.last || self.n_lines >= self.next
    }

    fn end_line(&mut self) {
        if self.wants_line() {
            self.show_line();
        }
        self.n_lines += 1;
        self.line.clear();
        self.line_bytes = 0;
    }

    fn show_line(&mut self) {
        let number = self.next;
        let text = String::from_utf8_lossy(&self.line);
        let prefix = format!("{number}\t");
        let is_too_long = prefix.len() + text.len() > self.body_bytes_max;
        let (prefix, text) = if is_too_long {
            let bytes = display::number(self.line_bytes);
            let remark = format!("[line {number} is {bytes} bytes long, too long to show]\n");
            (String::new(), Cow::Owned(remark))
        } else {
            (prefix, text)
        };
        if self.body.len() + prefix.len() + text.len() > self.body_bytes_max {
            // It opens the next page.
            self.last = number - 1;
            return;
        }
        self.body.push_str(&prefix);
        self.body.push_str(&text);
        if !is_too_long {
            self.traits.invalid_utf8 |= std::str::from_utf8(&self.line).is_err();
            self.traits.crlf |= self.line.ends_with(b"\r\n");
        }
        self.next += 1;
    }

    fn into_text(self, path: &str) -> Result<String, String> {
        if self.n_lines == 0 {
            return Ok(format!("{path}: empty file"));
        }
        let at_least = if self.is_cut { "at least " } else { "" };
        let (first, next, n_lines) = (self.first, self.next, self.n_lines);
        if next == first {
            let n_lines = display::count(n_lines, "line", "lines");
            return Err(format!("`{path}` has {at_least}{n_lines}; line {first} cannot be shown"));
        }
        let remarks: String = [
            (self.traits.crlf, ", lines end in CRLF"),
            (self.traits.invalid_utf8, ", invalid UTF-8 shown as \u{fffd}"),
            (self.traits.no_newline, ", no newline at the end"),
        ]
        .into_iter()
        .filter_map(|(holds, remark)| holds.then_some(remark))
        .collect();
        let header = format!("{path}: lines {first}-{} of {at_least}{n_lines}{remarks}", next - 1);
        let footer = match (n_lines + 1).saturating_sub(next) {
            0 => String::new(),
            n_more => {
                let more = display::count(n_more, "more line", "more lines");
                format!("… {at_least}{more}; continue with offset {next}")
            }
        };
        Ok(format!("{header}\n{}{footer}", self.body))
    }
}

#[cfg(test)]
mod tests;
