//! `search_files`: which lines of which files match a pattern.
//!
//! ripgrep's crates do the matching, our own walk finds the files: theirs goes by paths and could
//! be led out of the roots. A search reads much, so what it may read is bounded as a whole, and
//! what it leaves out is said.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use kith_vocab::json::Json;
use kith_vocab::tool::{CallPlan, Refusal, TOOL_OUTPUT_BYTES_MAX};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call::{self, FileReader};
use crate::display;
use crate::folder::{self, EntryKind};
use crate::glob::Glob;
use crate::hard_links::{PrivateFiles, has_hard_links};
use crate::roots::{OpenedFile, OpenedFolder, OpenedPath, Roots};
use crate::search_files::page::{Around, Detail, SearchPage};
use crate::search_files::pattern::{Case, Pattern};
use crate::trust::{LowestTrust, QuotedText, TrustOf, own_refusal, quoted};
use crate::walk::{WALK_DEPTH_MAX, Walk};

mod page;
mod pattern;

const NAME: &str = "search_files";

pub(crate) const SEARCH_CONTEXT_LINES_MAX: usize = 5;
/// Maximum size of a file that is searched.
pub(crate) const SEARCH_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The search of a file ends at a longer line.
pub(crate) const SEARCH_LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Maximum number of bytes read in one search.
pub(crate) const SEARCH_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes times places of the pattern, which no search exceeds: a large pattern gets fewer bytes.
pub(crate) const SEARCH_STEPS_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// Header and footer.
const REMARKS_BYTES_MAX: usize = 1024;

pub(crate) struct SearchFiles {
    pub(crate) roots: Arc<Roots>,
    pub(crate) trust_of: TrustOf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchFilesInput {
    pattern: String,
    #[serde(default = "call::cwd")]
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<usize>,
}

pub(crate) struct SearchTarget {
    input: SearchFilesInput,
    pattern: Pattern,
    glob: Option<Glob>,
    path: OpenedPath,
}

impl FileReader for SearchFiles {
    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str = "Search file contents; not ignored files.";
    const INPUT_SCHEMA: &'static str = r#"{
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Rust regex"},
        "path": {"type": "string", "description": "file or folder"},
        "glob": {"type": "string", "description": "e.g. *.rs"},
        "filesOnly": {"type": "boolean"},
        "ignoreCase": {"type": "boolean"},
        "context": {"type": "integer", "description": "lines around, 0-5"}
    },
    "required": ["pattern"]
}"#;

    type Target = SearchTarget;

    fn open(&self, json: &Json) -> Result<(SearchTarget, CallPlan), Refusal> {
        let input: SearchFilesInput = call::read_input(NAME, json).map_err(own_refusal)?;
        if input.context.is_some_and(|context| context > SEARCH_CONTEXT_LINES_MAX) {
            return Err(own_refusal(format!("`context` is at most {SEARCH_CONTEXT_LINES_MAX}")));
        }
        let case = if input.ignore_case == Some(true) { Case::Ignored } else { Case::Counts };
        let pattern = Pattern::parse(&input.pattern, case).map_err(own_refusal)?;
        let glob = input.glob.as_deref().map(parse_glob).transpose().map_err(own_refusal)?;
        let path = self.roots.open_path(&input.path).map_err(own_refusal)?;
        let real = match &path {
            OpenedPath::File(file) => &file.real,
            OpenedPath::Folder(folder) => &folder.real,
        };
        let summary = summary(&input);
        let prepared = call::prepared_read(NAME, &self.roots, (json, &input), real, summary);
        Ok((SearchTarget { input, pattern, glob, path }, prepared))
    }

    fn read(&self, target: SearchTarget, stop: &CancellationToken) -> Result<QuotedText, Refusal> {
        let SearchTarget { input, pattern, glob, path } = target;
        let mut search = Search::new(&input, pattern, &self.trust_of, stop);
        let left_out = match path {
            OpenedPath::File(file) => search.named_file(&input.path, file),
            OpenedPath::Folder(folder) => {
                let private = self.roots.private_files();
                Ok(search.folder(&input.path, folder, glob.as_ref(), &private))
            }
        };
        if stop.is_cancelled() {
            return Err(own_refusal(call::cancelled(NAME)));
        }
        let trust = search.trust.lowest();
        quoted(left_out.map(|left_out| search.into_text(&input, &left_out)), trust)
    }
}

/// A glob without `/` is about the names of files, in whatever folder they lie.
fn parse_glob(text: &str) -> Result<Glob, String> {
    let glob = Glob::parse("glob", text)?;
    if text.ends_with('/') {
        // It means what lies in the folder: a folder itself has no lines.
        return Glob::parse("glob", &format!("{text}**"));
    }
    if !text.contains('/') {
        return Glob::parse("glob", &format!("**/{text}"));
    }
    Ok(glob)
}

fn summary(input: &SearchFilesInput) -> String {
    let (pattern, path) = (display::name(&input.pattern), display::name(&input.path));
    match &input.glob {
        None => format!("{NAME} {pattern} in {path}"),
        Some(glob) => format!("{NAME} {pattern} in {path}, glob {}", display::name(glob)),
    }
}

struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    page: SearchPage,
    trust_of: &'a TrustOf,
    trust: LowestTrust<'a>,
    stop: &'a CancellationToken,
    bytes_left: u64,
    n_searched: u64,
    n_binary: u64,
    n_large: u64,
    n_unread: u64,
    n_ignored: u64,
    /// The walk did not see all files.
    is_cut: bool,
}

enum FileOutcome {
    Searched,
    Binary,
    TooLarge,
    LineTooLong,
    Unreadable(io::Error),
}

impl<'a> Search<'a> {
    fn new(
        input: &SearchFilesInput,
        pattern: Pattern,
        trust_of: &'a TrustOf,
        stop: &'a CancellationToken,
    ) -> Self {
        let is_files_only = input.files_only == Some(true);
        let detail = if is_files_only { Detail::Files } else { Detail::Lines };
        let n_context = if is_files_only { 0 } else { input.context.unwrap_or(0) };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .before_context(n_context)
            .after_context(n_context)
            .heap_limit(Some(SEARCH_LINE_BYTES_MAX))
            .build();
        Search {
            matcher: pattern.matcher,
            searcher,
            page: SearchPage::new(detail, TOOL_OUTPUT_BYTES_MAX - REMARKS_BYTES_MAX),
            trust_of,
            trust: LowestTrust::new(trust_of),
            stop,
            bytes_left: SEARCH_BYTES_MAX.min(SEARCH_STEPS_MAX / pattern.n_places),
            n_searched: 0,
            n_binary: 0,
            n_large: 0,
            n_unread: 0,
            n_ignored: 0,
            is_cut: false,
        }
    }

    /// Searches a file that `path` names, whatever the glob says.
    fn named_file(&mut self, path: &str, opened: OpenedFile) -> Result<String, String> {
        let (name, bytes) = (display::name(path), display::number(opened.bytes));
        self.trust.add(&opened.real);
        if opened.has_hard_links {
            self.trust.distrust();
        }
        match self.file(path, opened.file, opened.bytes) {
            FileOutcome::Searched => Ok(String::new()),
            FileOutcome::Binary => Err(format!(
                "`{name}` is a binary file of {bytes} bytes; {NAME} searches text only"
            )),
            FileOutcome::TooLarge => Err(format!(
                "`{name}` is too large to search: {bytes} bytes, at most {}; read_file shows a \
                 part of it",
                display::number(SEARCH_FILE_BYTES_MAX)
            )),
            // The lines before the long one were searched.
            FileOutcome::LineTooLong if self.page.n_matches > 0 => {
                self.n_unread += 1;
                Ok(String::new())
            }
            FileOutcome::LineTooLong => Err(format!(
                "`{name}` cannot be searched: it has a line of more than {} bytes",
                display::number(SEARCH_LINE_BYTES_MAX as u64)
            )),
            FileOutcome::Unreadable(error) => Err(format!("`{name}` cannot be searched: {error}")),
        }
    }

    /// Returns what the walk left out, in words.
    fn folder(
        &mut self,
        path: &str,
        folder: OpenedFolder,
        glob: Option<&Glob>,
        private: &PrivateFiles<'_>,
    ) -> String {
        let above = if Path::new(path) == Path::new(".") { Path::new("") } else { Path::new(path) };
        let depth_max = glob.map_or(WALK_DEPTH_MAX, |glob| glob.depth_max);
        let real = folder.real.clone();
        let mut walk = Walk::new(folder, depth_max, self.stop, self.trust_of);
        while self.bytes_left > 0
            && let Some(found) = walk.next()
        {
            if found.kind != EntryKind::File || glob.is_some_and(|glob| !glob.matches(&found)) {
                continue;
            }
            let path = above.join(&found.path);
            let outcome = match walk.open(&found) {
                Ok((_, metadata)) if private.hold(&metadata) => {
                    FileOutcome::Unreadable(io::ErrorKind::PermissionDenied.into())
                }
                Ok((file, metadata)) => {
                    if has_hard_links(&metadata) {
                        walk.trust.distrust();
                    }
                    let n_matches = self.page.n_matches;
                    let outcome = self.file(&path.to_string_lossy(), file, metadata.len());
                    // A file can be trusted less than its folder. What is not quoted does not count.
                    if self.page.n_matches > n_matches {
                        walk.trust.add(&real.join(&found.path));
                    }
                    outcome
                }
                Err(error) => FileOutcome::Unreadable(error),
            };
            match outcome {
                FileOutcome::Searched => (),
                FileOutcome::Binary => self.n_binary += 1,
                FileOutcome::TooLarge => self.n_large += 1,
                FileOutcome::LineTooLong | FileOutcome::Unreadable(_) => self.n_unread += 1,
            }
        }
        self.n_ignored = walk.n_ignored;
        self.is_cut = walk.is_cut;
        let left_out = walk.left_out();
        self.trust = walk.trust;
        left_out
    }

    fn file(&mut self, path: &str, mut file: File, bytes: u64) -> FileOutcome {
        if bytes > SEARCH_FILE_BYTES_MAX {
            return FileOutcome::TooLarge;
        }
        let head = match folder::text_head(&mut file) {
            Ok(Some(head)) => head,
            Ok(None) => return FileOutcome::Binary,
            Err(error) => return FileOutcome::Unreadable(error),
        };
        self.n_searched += 1;
        self.page.begin_file(path);
        let reader = Metered {
            source: head.chain(file).take(SEARCH_FILE_BYTES_MAX),
            bytes_left: &mut self.bytes_left,
            stop: self.stop,
        };
        let found = Matches { page: &mut self.page, matcher: &self.matcher };
        let searched = self.searcher.search_reader(&self.matcher, reader, found);
        self.page.end_file();
        match searched {
            Ok(()) => FileOutcome::Searched,
            // The text says that it stopped early.
            Err(_) if self.bytes_left == 0 => FileOutcome::Searched,
            // The searcher's own word for it; errors of the disk have other kinds.
            Err(error) if error.kind() == io::ErrorKind::Other => FileOutcome::LineTooLong,
            Err(error) => FileOutcome::Unreadable(error),
        }
    }

    fn into_text(self, input: &SearchFilesInput, left_out: &str) -> String {
        let page = &self.page;
        let is_cut = self.is_cut || self.bytes_left == 0;
        let at_least = if is_cut { "at least " } else { "" };
        let n_matches = display::count(page.n_matches, "match", "matches");
        let n_files = match page.n_files {
            0 => display::count(self.n_searched, "file", "files") + " searched",
            n_files => display::count(n_files, "file", "files"),
        };
        let footer = match page.n_matches {
            0 => self.hints(input).join("\n"),
            _ => page.footer(at_least),
        };
        let remarks = self.remarks();
        format!("{at_least}{n_matches} in {n_files}{left_out}{remarks}\n{}{footer}", page.body)
    }

    fn remarks(&self) -> String {
        let files = |n| display::count(n, "file", "files");
        let mebibytes_max = SEARCH_FILE_BYTES_MAX / 1024 / 1024;
        let remarks = [
            (self.n_binary > 0, format!(", {} left out as binary", files(self.n_binary))),
            (
                self.n_large > 0,
                format!(", {} above {mebibytes_max} MiB left out", files(self.n_large)),
            ),
            (self.n_unread > 0, format!(", {} not read to the end", files(self.n_unread))),
            (self.bytes_left == 0, ", stopped early: choose a narrower path or glob".to_owned()),
            (self.page.has_shortened, ", long lines shortened (…)".to_owned()),
            (self.page.has_invalid_utf8, ", invalid UTF-8 shown as \u{fffd}".to_owned()),
        ];
        remarks.into_iter().filter_map(|(holds, remark)| holds.then_some(remark)).collect()
    }

    /// Likely reasons why nothing was found.
    fn hints(&self, input: &SearchFilesInput) -> Vec<String> {
        if let Some(glob) = &input.glob
            && self.n_searched == 0
        {
            return vec![format!("no text file here matches the glob `{}`", display::name(glob))];
        }
        let mut hints = Vec::new();
        let has_case = |ch: char| ch.is_uppercase() || ch.is_lowercase();
        if input.ignore_case != Some(true) && input.pattern.contains(has_case) {
            hints.push("capitals count unless `ignoreCase` is true".to_owned());
        }
        if input.pattern.contains(['.', '*', '+', '?', '(', '[', '{', '^', '$', '|']) {
            hints.push(
                "the pattern is a regex: `\\` before a sign searches for the sign".to_owned(),
            );
        }
        if self.n_ignored > 0 {
            hints.push("name an ignored file or folder in `path` to search it".to_owned());
        }
        hints
    }
}

/// Hands on a file's bytes as long as the search may go on.
struct Metered<'a, R> {
    source: R,
    bytes_left: &'a mut u64,
    stop: &'a CancellationToken,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An error and not an end: half a line would match what the whole does not.
        if self.stop.is_cancelled() || *self.bytes_left == 0 {
            return Err(io::Error::other("stopped"));
        }
        let room = usize::try_from(*self.bytes_left).unwrap_or(usize::MAX).min(buffer.len());
        let n_read = self.source.read(&mut buffer[..room])?;
        *self.bytes_left -= n_read as u64;
        Ok(n_read)
    }
}

/// Carries what the searcher finds to the page.
struct Matches<'a> {
    page: &'a mut SearchPage,
    matcher: &'a RegexMatcher,
}

impl Sink for Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let matcher = self.matcher;
        self.page.matched(found.line_number().unwrap_or(0), found.bytes(), |line| {
            matcher.find(line).ok().flatten().map_or(0, |at| at.start())
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        let around = match line.kind() {
            SinkContextKind::Before => Around::Before,
            SinkContextKind::After | SinkContextKind::Other => Around::After,
        };
        self.page.context(around, line.line_number().unwrap_or(0), line.bytes());
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
