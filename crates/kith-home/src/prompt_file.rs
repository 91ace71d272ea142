//! One prompt file, read with a limit on everything.
//!
//! A file in a home may be gigabytes long, a pipe that never answers, a loop of links or no text.
//! It is looked at before it is opened, read up to [`PROMPT_FILE_BYTES_READ_MAX`], and put into a
//! prompt up to [`PROMPT_FILE_CHARS_MAX`] with a mark that says what is missing.

use std::borrow::Cow;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use kith_vocab::digest::sha256_hex;

use crate::beneath::open_real;
use crate::error::{HomeError, Problem};
use crate::markdown::without_comments;
use crate::ownership;
use crate::placeholder::is_placeholder;
use crate::rendering::without_closing_marks;

/// In Unicode scalar values. One more, and the file is cut.
pub const PROMPT_FILE_CHARS_MAX: usize = 65_536;

/// A longer file is not read whole: only its two ends are, and it is neither counted nor hashed.
pub const PROMPT_FILE_BYTES_READ_MAX: u64 = 16 * 1024 * 1024;

/// The parts of a file that is too long: 70 % of the limit from its start, 20 % from its end.
const HEAD_CHARS: usize = PROMPT_FILE_CHARS_MAX * 7 / 10;
const TAIL_CHARS: usize = PROMPT_FILE_CHARS_MAX / 5;

/// Bytes that hold at least so many characters, with room for a character cut at the edge.
const HEAD_BYTES: u64 = 4 * HEAD_CHARS as u64 + 16;
const TAIL_BYTES: u64 = 4 * TAIL_CHARS as u64 + 16;

#[expect(clippy::large_enum_variant, reason = "one at a time, and never stored")]
pub(crate) enum FileLookup {
    Absent,
    /// A folder, a pipe, a device.
    NotAFile,
    File(OpenFile),
}

pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
    /// The path without links by which it was opened.
    pub(crate) real: PathBuf,
}

#[derive(Debug)]
pub(crate) struct PromptFile {
    pub(crate) path: PathBuf,
    text: PromptText,
    /// Of the bytes on disk; `None` for a file that was not read whole.
    pub(crate) sha256: Option<String>,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug)]
enum PromptText {
    Whole(String),
    Ends { head: String, tail: String, n_bytes: u64 },
}

/// The part of a file that a prompt contains.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) content: String,
    /// Characters of the file, if they were counted.
    pub(crate) chars: Option<u64>,
    /// Characters of the file that are in `content`; the mark of a cut is none of them.
    pub(crate) injected_chars: u64,
}

/// Opens a file without ever waiting for it. An error means that something is there and cannot
/// be had: no permission, a loop of links, a link that leads nowhere.
pub(crate) fn open(path: &Path) -> io::Result<FileLookup> {
    match fs::metadata(path) {
        // Stands for an absent file while a sandbox runs.
        Ok(metadata) if is_placeholder(&metadata) => return Ok(FileLookup::Absent),
        Ok(metadata) if !metadata.is_file() => return Ok(FileLookup::NotAFile),
        Ok(_) => (),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if fs::symlink_metadata(path).is_ok() {
                Err(error)
            } else {
                Ok(FileLookup::Absent)
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Ok(FileLookup::Absent);
        }
        Err(error) => return Err(error),
    }
    let real = fs::canonicalize(path)?;
    let file = open_real(&real)?;
    // The file may have been replaced since the look; only what is open is certain.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(FileLookup::NotAFile);
    }
    Ok(FileLookup::File(OpenFile { file, metadata, real }))
}

/// The text of a file of the home for programs to read; empty when there is no file.
pub(crate) fn read_text(path: &Path) -> Result<String, HomeError> {
    let read_error = |source| HomeError::ReadFile { path: path.to_owned(), source };
    match open(path).map_err(read_error)? {
        FileLookup::Absent | FileLookup::NotAFile => Ok(String::new()),
        // Left out of the prompt as well, which tells it.
        FileLookup::File(OpenFile { metadata, .. })
            if matches!(ownership::problem(&metadata), Some(Problem::ForeignOwner { .. })) =>
        {
            Ok(String::new())
        }
        FileLookup::File(OpenFile { file, metadata, .. }) => {
            let file = PromptFile::read(path, file, &metadata).map_err(read_error)?;
            Ok(file.text().to_owned())
        }
    }
}

impl PromptFile {
    pub(crate) fn read(path: &Path, mut file: File, metadata: &Metadata) -> io::Result<PromptFile> {
        let mut bytes = Vec::new();
        if metadata.len() <= PROMPT_FILE_BYTES_READ_MAX {
            // One byte more than allowed: a file that grows while it is read is found out.
            (&mut file).take(PROMPT_FILE_BYTES_READ_MAX + 1).read_to_end(&mut bytes)?;
        }
        let read_whole = metadata.len() <= PROMPT_FILE_BYTES_READ_MAX
            && bytes.len() as u64 <= PROMPT_FILE_BYTES_READ_MAX;
        let mut problems = Vec::new();
        let (text, sha256) = if read_whole {
            (PromptText::Whole(decode(&bytes, &mut problems)), Some(sha256_hex(&bytes)))
        } else {
            (read_ends(&mut file, &mut problems)?, None)
        };
        problems.dedup();
        Ok(PromptFile { path: path.to_owned(), text, sha256, problems })
    }

    /// The text, or the start of it when the file is too large.
    pub(crate) fn text(&self) -> &str {
        match &self.text {
            PromptText::Whole(text) => text,
            PromptText::Ends { head, .. } => head,
        }
    }

    pub(crate) fn chars(&self) -> Option<u64> {
        match &self.text {
            PromptText::Whole(text) => Some(text.chars().count() as u64),
            PromptText::Ends { .. } => None,
        }
    }

    /// Leaves out comments and cuts the text to the limit; `shown_path` is where the mark says the rest can be read.
    pub(crate) fn inject(&mut self, shown_path: &str) -> Excerpt {
        let chars = self.chars();
        let (whole, missing_chars, missing);
        let (head, tail) = match &self.text {
            PromptText::Whole(text) => {
                whole = without_comments(text);
                let n_chars = whole.chars().count();
                if n_chars <= PROMPT_FILE_CHARS_MAX {
                    let content = without_closing_marks(&whole);
                    return Excerpt { content, chars, injected_chars: n_chars as u64 };
                }
                let n_missing = n_chars - HEAD_CHARS - TAIL_CHARS;
                missing = format!("{n_missing} of {n_chars} characters");
                missing_chars = Some(n_missing as u64);
                let ends = (first_chars(&whole, HEAD_CHARS), last_chars(&whole, TAIL_CHARS));
                (Cow::Borrowed(ends.0), Cow::Borrowed(ends.1))
            }
            PromptText::Ends { head, tail, n_bytes } => {
                missing = format!("most of {n_bytes} bytes");
                missing_chars = None;
                (without_comments(head), without_comments(tail))
            }
        };
        let injected_chars = (head.chars().count() + tail.chars().count()) as u64;
        let content = format!(
            "{}\n[… {missing} are left out here; the whole file is `{shown_path}` …]\n{}",
            without_closing_marks(&head),
            without_closing_marks(&tail)
        );
        self.problems.push(Problem::Cut { missing_chars });
        Excerpt { content, chars, injected_chars }
    }
}

fn read_ends(file: &mut File, problems: &mut Vec<Problem>) -> io::Result<PromptText> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    (&mut *file).take(HEAD_BYTES).read_to_end(&mut head)?;
    let n_bytes = file.seek(SeekFrom::End(0))?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(n_bytes.saturating_sub(TAIL_BYTES)))?;
    (&mut *file).take(TAIL_BYTES).read_to_end(&mut tail)?;

    // The buffers end anywhere in a character. Each holds more characters than are kept, so what
    // decoding makes of such an edge is never among them; nor is it worth a report.
    let (head, tail) = (decode(&head, &mut Vec::new()), decode(&tail, &mut Vec::new()));
    let head = first_chars(&head, HEAD_CHARS).to_owned();
    let tail = last_chars(&tail, TAIL_CHARS).to_owned();
    if head.contains(char::REPLACEMENT_CHARACTER) || tail.contains(char::REPLACEMENT_CHARACTER) {
        problems.push(Problem::NotText);
    }
    Ok(PromptText::Ends { head, tail, n_bytes })
}

/// Drops a byte-order mark and replaces bytes that are not UTF-8. NUL characters are replaced too:
/// they are valid, but some vendors refuse them.
fn decode(bytes: &[u8], problems: &mut Vec<Problem>) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Owned(_)) {
        problems.push(Problem::NotText);
    }
    if !text.contains('\0') {
        return text.into_owned();
    }
    problems.push(Problem::NotText);
    text.replace('\0', "\u{fffd}")
}

fn first_chars(text: &str, n_chars: usize) -> &str {
    let end = text.char_indices().nth(n_chars).map_or(text.len(), |(end, _)| end);
    &text[..end]
}

fn last_chars(text: &str, n_chars: usize) -> &str {
    let start = text.char_indices().rev().nth(n_chars - 1).map_or(0, |(start, _)| start);
    &text[start..]
}

#[cfg(test)]
mod tests;
