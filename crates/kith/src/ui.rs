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
/// The exit code that shells use for Ctrl-C.
pub(crate) const EXIT_STOPPED: u8 = 130;

/// Maximum length of an answer to a question, which is one word.
const ANSWER_BYTES_MAX: u64 = 1024;

/// The error after which stdout is not written to any more. The command goes on: a turn does not end
/// early because nobody reads its output.
static STDOUT_GONE: OnceLock<io::Error> = OnceLock::new();

pub(crate) fn line(text: &str) {
    out(&format!("{}\n", visible(text)));
}

/// Prints lines in one write: thousands of small writes would take longer than making the lines.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) {
    line(&lines.into_iter().collect::<Vec<_>>().join("\n"));
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
    err(&format!("note: {}\n", visible(text)));
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
    if io::stdout().is_terminal() && !no_colour() {
        out(&text.ansi().to_string());
    } else {
        out(&visible(&text.to_string()));
    }
}

/// Prints an error about the command line. Without colours: it repeats arguments, which may hold escape
/// sequences.
pub(crate) fn styled_error(text: &StyledStr) {
    err(&visible(&text.to_string()));
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

/// Whether colours are shown where stdout is a terminal.
pub(crate) fn is_coloured() -> bool {
    !no_colour()
}

fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// The text with its control and direction characters made visible, except line ends and tabs.
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
