//! Prints to stdout and stderr; nothing else does.
//!
//! Data goes to stdout, everything else to stderr. Text from outside is printed with its control
//! characters made visible, so that no file name and no answer can move the cursor.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::builder::StyledStr;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_vocab::invisible::is_deceptive;
use serde::Serialize;
use serde_json::json;

pub(crate) const EXIT_REQUEST: u8 = 1;
pub(crate) const EXIT_USAGE: u8 = 2;
pub(crate) const EXIT_ENVIRONMENT: u8 = 3;
/// The turn ended early: at a limit, or because it waits for a person.
pub(crate) const EXIT_EARLY: u8 = 4;
pub(crate) const EXIT_BUG: u8 = 70;
/// What shells use for Ctrl-C.
pub(crate) const EXIT_STOPPED: u8 = 130;

/// Limit on what is read as an answer, which is one word.
const ANSWER_BYTES_MAX: u64 = 1024;

/// Why stdout takes no more. Work goes on without it: a turn is not cut short because nobody reads.
static STDOUT_GONE: OnceLock<io::Error> = OnceLock::new();

pub(crate) fn line(text: &str) {
    out(&format!("{}\n", visible(text)));
}

/// Prints lines in one piece: thousands of small writes would take longer than making the lines.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) {
    line(&lines.into_iter().collect::<Vec<_>>().join("\n"));
}

/// A text that must come out as it is, whatever it holds: only on a terminal are its control characters
/// made visible.
pub(crate) fn document(text: &str) {
    if io::stdout().is_terminal() { out(&visible(text)) } else { out(text) }
}

/// A part of a line, shown at once.
pub(crate) fn part(text: &str) {
    out(&visible(text));
}

pub(crate) fn error_line(text: &str) {
    err(&format!("{}\n", visible(text)));
}

/// Something the person should know that is not what was asked for.
pub(crate) fn note(text: &str) {
    err(&format!("note: {}\n", visible(text)));
}

pub(crate) fn prompt(text: &str) {
    err(text);
}

/// One JSON value, alone on its line.
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

pub(crate) fn report_error(error: &CallError, as_json: bool) -> ExitCode {
    if as_json {
        let mut form = json!({ "code": error.code, "message": error.message() });
        if let Some(line) = error.line {
            form["line"] = json!(line);
        }
        if !error.hints.is_empty() {
            form["hint"] = json!(error.hints.join("; "));
        }
        json(&json!({ "ok": false, "error": form }));
    } else {
        err(&visible(&error.to_string()));
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

/// The exit code, unless what was to be printed could not be.
pub(crate) fn conclude(code: ExitCode) -> ExitCode {
    match STDOUT_GONE.get() {
        // The reader had enough (`kith session ls | head -1`): there is no one left to tell.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            report_error(&CallError::filesystem(format!("cannot write to stdout: {error}")), false)
        }
        _ => code,
    }
}

pub(crate) fn styled(text: &StyledStr) {
    if io::stdout().is_terminal() && !no_colour() {
        out(&text.ansi().to_string());
    } else {
        out(&visible(&text.to_string()));
    }
}

/// Without colours: it repeats arguments, and those may hold escape sequences.
pub(crate) fn styled_error(text: &StyledStr) {
    err(&visible(&text.to_string()));
}

/// Asks a question, and tells whether the next line of stdin is a plain yes.
pub(crate) fn confirm(question: &str) -> Result<bool, CallError> {
    prompt(&visible(question));
    let mut answer = String::new();
    // The rest of a longer line is not lost: a conversation reads on from there.
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

fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Control and direction characters as what they are, line ends and tabs aside.
pub(crate) fn visible(text: &str) -> String {
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

/// The same for JSON, which has its own spelling for them: outside of strings there are none.
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
        // Whoever came first has told it already.
        STDOUT_GONE.set(error).unwrap_or_default();
    }
}

fn err(text: &str) {
    // With stderr gone there is no one left to tell.
    io::stderr().lock().write_all(text.as_bytes()).unwrap_or_default();
}

#[cfg(test)]
mod tests;
