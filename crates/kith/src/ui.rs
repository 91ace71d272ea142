//! Prints to stdout and stderr; nothing else does.
//!
//! Data goes to stdout, everything else to stderr. Text from outside is printed with its control
//! characters made visible, so that no file name and no answer can move the cursor.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::builder::StyledStr;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_vocab::invisible::is_deceptive;
use serde::Serialize;
use serde_json::json;

use crate::program::args::{self, ColorChoice};

pub(crate) const EXIT_REQUEST: u8 = 1;
pub(crate) const EXIT_USAGE: u8 = 2;
pub(crate) const EXIT_ENVIRONMENT: u8 = 3;
/// The turn ended early: at a limit, or because it waits for a person.
pub(crate) const EXIT_EARLY: u8 = 4;
pub(crate) const EXIT_BUG: u8 = 70;
/// The exit code that shells use for Ctrl-C.
pub(crate) const EXIT_STOPPED: u8 = 130;

/// Maximum length of an answer to a question, which is one word.
const ANSWER_BYTES_MAX: u64 = 1024;

/// What the options say about printing, as `color * 2 + quiet`. Until they are read, colours are automatic.
static OPTIONS: AtomicU8 = AtomicU8::new(0);

/// The error after which stdout is not written to any more. The command goes on: a turn does not end
/// early because nobody reads its output.
static STDOUT_GONE: OnceLock<io::Error> = OnceLock::new();

/// How a word stands out where colours are used. It says nothing that the word does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Good,
    Warning,
    Bad,
    Strong,
    Dim,
}

impl Emphasis {
    fn code(self) -> &'static str {
        match self {
            Emphasis::Good => "32",
            Emphasis::Warning => "33",
            Emphasis::Bad => "1;31",
            Emphasis::Strong => "1",
            Emphasis::Dim => "2",
        }
    }

    fn around(self, text: &str) -> String {
        format!("\u{1b}[{}m{text}\u{1b}[0m", self.code())
    }
}

/// Sets what `--color` and `--quiet` say.
pub(crate) fn configure(color: ColorChoice, is_quiet: bool) {
    let color = match color {
        ColorChoice::Auto => 0,
        ColorChoice::Always => 1,
        ColorChoice::Never => 2,
    };
    OPTIONS.store(color * 2 + u8::from(is_quiet), Ordering::Relaxed);
}

/// Whether notes and progress are left out.
pub(crate) fn is_quiet() -> bool {
    OPTIONS.load(Ordering::Relaxed) % 2 == 1
}

/// Whether colours are used on a stream that is, or is not, a terminal.
fn uses_colour(is_terminal: bool) -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match OPTIONS.load(Ordering::Relaxed) / 2 {
        1 => true,
        2 => false,
        _ if set("NO_COLOR").is_some() => false,
        _ if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => true,
        _ => is_terminal && set("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// Prints a line whose beginning stands out.
pub(crate) fn line_with(beginning: &str, emphasis: Emphasis, rest: &str) {
    let beginning = visible(beginning);
    let is_coloured = uses_colour(io::stdout().is_terminal());
    let beginning = if is_coloured { emphasis.around(&beginning) } else { beginning };
    out(&format!("{beginning}{}\n", visible(rest)));
}

/// A line as it is printed to stdout, standing out as a whole.
pub(crate) fn emphasised(line: &str, emphasis: Emphasis) -> String {
    let line = visible(line);
    if uses_colour(io::stdout().is_terminal()) { emphasis.around(&line) } else { line }
}

pub(crate) fn line(text: &str) {
    out(&format!("{}\n", visible(text)));
}

/// Prints lines in one write: thousands of small writes would take longer than making the lines.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) {
    line(&lines.into_iter().collect::<Vec<_>>().join("\n"));
}

/// Prints lines whose control characters are visible already, apart from our own colours.
pub(crate) fn visible_lines(lines: &[String]) {
    out(&format!("{}\n", lines.join("\n")));
}

/// How many rows the screen has, if somebody sits in front of one.
pub(crate) fn screen_rows() -> Option<usize> {
    let size =
        if is_interactive() { rustix::termios::tcgetwinsize(io::stdout()).ok() } else { None };
    size.map(|it| usize::from(it.ws_row)).filter(|rows| *rows > 0)
}

/// Prints a text unchanged. Only on a terminal are its control characters made visible.
pub(crate) fn document(text: &str) {
    if io::stdout().is_terminal() { out(&visible(text)) } else { out(text) }
}

/// Prints a part of a line at once.
pub(crate) fn part(text: &str) {
    out(&visible(text));
}

pub(crate) fn error_line(text: &str) {
    err(&format!("{}\n", visible(text)));
}

/// Prints a note: something the person should know beside the answer.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        err(&with_labels(&format!("note: {}\n", visible(text))));
    }
}

/// Whether progress is shown: to a person who looks at it.
pub(crate) fn shows_progress() -> bool {
    !is_quiet() && io::stderr().is_terminal()
}

/// Replaces what stands in the line of progress; an empty text takes it away.
pub(crate) fn progress(text: &str) {
    err(&format!("\r\u{1b}[K{}", visible(text)));
}

/// Makes the word with which a line of a message begins stand out. The text must be visible already.
fn with_labels(text: &str) -> String {
    if !uses_colour(io::stderr().is_terminal()) {
        return text.to_owned();
    }
    let labels = [("error:", Emphasis::Bad), ("note:", Emphasis::Dim), ("hint:", Emphasis::Strong)];
    let of_line = |line: &str| {
        let found = labels.iter().find(|(label, _)| line.starts_with(label));
        match found {
            Some((label, emphasis)) => {
                format!("{}{}", emphasis.around(label), &line[label.len()..])
            }
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(of_line).collect()
}

pub(crate) fn prompt(text: &str) {
    err(text);
}

/// Prints one JSON value on a line of its own.
pub(crate) fn json(value: &impl Serialize) {
    match json_line(value) {
        Ok(line) => out(&line),
        Err(report) => {
            report_error(&report, false);
        }
    }
}

/// The line that [`json()`] prints.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String, CallError> {
    let text = serde_json::to_string(value)
        .map_err(|error| CallError::new(Blame::Program, ErrorCode::InternalError, error))?;
    Ok(format!("{}\n", escaped(&text)))
}

/// What went wrong, as `--json` prints it under `error`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ErrorForm {
    /// For programs: it does not change.
    code: ErrorCode,
    /// For people: it may change.
    message: String,
    /// The line of a session file, of settings or of a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) fn error_form(error: &CallError) -> ErrorForm {
    let hint = (!error.hints.is_empty()).then(|| error.hints.join("; "));
    ErrorForm { code: error.code, message: error.message(), line: error.line, hint }
}

pub(crate) fn report_error(error: &CallError, as_json: bool) -> ExitCode {
    if as_json {
        let error = error_form(error);
        if args::asks_for_stream() {
            json(&json!({ "type": "error", "ok": false, "error": error }));
        } else {
            json(&json!({ "ok": false, "error": error }));
        }
    } else {
        err(&with_labels(&visible(&error.to_string())));
    }
    ExitCode::from(exit_code(error.blame))
}

fn exit_code(blame: Blame) -> u8 {
    match blame {
        Blame::Request => EXIT_REQUEST,
        Blame::Usage => EXIT_USAGE,
        Blame::Environment => EXIT_ENVIRONMENT,
        Blame::Program => EXIT_BUG,
        Blame::Stopped => EXIT_STOPPED,
    }
}

/// The exit code; another one if printing failed.
pub(crate) fn conclude(code: ExitCode) -> ExitCode {
    match STDOUT_GONE.get() {
        // The reader closed the pipe (`kith session ls | head -1`), so there is nobody to report to.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            report_error(&CallError::filesystem(format!("cannot write to stdout: {error}")), false)
        }
        _ => code,
    }
}

pub(crate) fn styled(text: &StyledStr) {
    if uses_colour(io::stdout().is_terminal()) {
        out(&text.ansi().to_string());
    } else {
        out(&visible(&text.to_string()));
    }
}

/// Prints an error about the command line. Its own colours are left out: it repeats arguments, which may
/// hold escape sequences.
pub(crate) fn styled_error(text: &StyledStr) {
    err(&with_labels(&visible(&text.to_string())));
}

/// Asks a question, and returns whether the next line of stdin is a plain yes.
pub(crate) fn confirm(question: &str) -> Result<bool, CallError> {
    prompt(&visible(question));
    let mut answer = String::new();
    // The rest of a longer line stays in the buffer, for a conversation that reads on.
    let read = io::Read::take(io::stdin().lock(), ANSWER_BYTES_MAX).read_line(&mut answer);
    read.map_err(|source| {
        CallError::filesystem(format!("cannot read from the terminal: {source}"))
    })?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是" | "好" | "同意")
}

pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

pub(crate) fn input_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether something is written to stdin: a pipe, a file or a socket, but not a terminal or `/dev/null`.
pub(crate) fn input_is_piped() -> bool {
    use rustix::fs::FileType;
    let kind = rustix::fs::fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile | FileType::Socket))
}

/// Whether colours are used where stdout is a terminal.
pub(crate) fn is_coloured() -> bool {
    uses_colour(true)
}

/// The text with its control and direction characters made visible, except line ends and tabs.
pub(crate) fn visible(text: &str) -> String {
    // Most lines are plain, and to go through their characters one by one was a fifth of a long list.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    let mut visible = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        match ch {
            '\n' | '\t' => visible.push(ch),
            '\r' if chars.peek() == Some(&'\n') => (),
            _ if is_deceptive(ch) => {
                // Writing to a string cannot fail.
                write!(visible, "\\u{{{:x}}}", u32::from(ch)).unwrap_or_default();
            }
            _ => visible.push(ch),
        }
    }
    visible
}

/// JSON with these characters escaped. They occur only in its strings.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for ch in json.chars() {
        if is_deceptive(ch) {
            for unit in ch.encode_utf16(&mut [0; 2]) {
                write!(escaped, "\\u{unit:04x}").unwrap_or_default();
            }
        } else {
            escaped.push(ch);
        }
    }
    escaped
}

fn out(text: &str) {
    if STDOUT_GONE.get().is_some() {
        return;
    }
    let mut stdout = io::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The first failure has been reported already.
        STDOUT_GONE.set(error).unwrap_or_default();
    }
}

fn err(text: &str) {
    // Without stderr there is nowhere to report it.
    io::stderr().lock().write_all(text.as_bytes()).unwrap_or_default();
}

#[cfg(test)]
mod tests;
