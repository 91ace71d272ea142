//! The calls of a conversation: a line for each, and the whole of it on demand.

use std::collections::{HashMap, VecDeque};

use kith_vocab::block::{ToolCall, plain_text};
use kith_vocab::event::messages::{Outcome, ToolResult};
use kith_vocab::ids::CallId;

use super::super::call_words::{argument_of, result_in_words};
use super::super::styled::{Line, Style, fitted};
use super::super::words::{ScreenLanguage, ScreenText};
use super::ERROR;
use super::amounts::in_bytes;

/// Calls that can be opened; older ones are in `kith session show`.
const OPENED_MAX: usize = 50;
/// Bytes of a call's output that are kept to be opened. Longer outputs are in the log.
const OPENED_BYTES_MAX: usize = 256 * 1024;
/// Lines of a running call that are shown.
const OUTPUT_LINES_MAX: usize = 5;
/// Bytes of such a line that are kept; a row takes no more.
const OUTPUT_LINE_BYTES_MAX: usize = 1_000;

#[derive(Default)]
pub(super) struct ShownCalls {
    running: HashMap<CallId, RunningCall>,
    /// Oldest first.
    done: VecDeque<DoneCall>,
    /// The last lines of the call that runs.
    output: VecDeque<String>,
}

struct RunningCall {
    tool: String,
    /// What it was asked to do, in one word or path.
    argument: String,
    input: String,
}

/// A call that can be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DoneCall {
    /// The line that the conversation shows of it.
    pub(crate) title: String,
    input: String,
    output: String,
    /// The blob with the whole output, if `output` is a part of it.
    pub(crate) full_output: Option<String>,
    n_bytes_left_out: usize,
}

/// The whole output of a call, as far as it is shown.
pub(crate) struct OpenedOutput {
    text: String,
    n_bytes_left_out: u64,
}

impl OpenedOutput {
    /// The beginning of an output of `n_bytes`; `bytes` are what was read of it.
    pub(crate) fn of(bytes: &[u8], n_bytes: u64, bytes_max: usize) -> OpenedOutput {
        let shown = &bytes[..bytes.len().min(bytes_max)];
        let n_bytes_left_out = n_bytes.saturating_sub(shown.len() as u64);
        OpenedOutput { text: String::from_utf8_lossy(shown).into_owned(), n_bytes_left_out }
    }
}

impl ShownCalls {
    pub(super) fn begin(&mut self, call: &ToolCall) {
        let (tool, input) = call.meant();
        let input = call.raw_input.as_deref().unwrap_or(input.as_str()).to_owned();
        let argument = argument_of(&input);
        self.running.insert(call.call_id, RunningCall { tool, argument, input });
    }

    /// The tool and its argument, of a call that has not ended.
    pub(super) fn title(&self, id: CallId) -> Option<String> {
        let RunningCall { tool, argument, .. } = self.running.get(&id)?;
        Some(format!("{tool} {argument}").trim_end().to_owned())
    }

    /// `read_file USER.md · 16 lines`, or why it failed.
    pub(super) fn end(
        &mut self,
        result: &ToolResult,
        language: ScreenLanguage,
        columns: usize,
    ) -> Vec<Line> {
        self.output.clear();
        let text = plain_text(&result.content).to_string();
        let (argument, input) = match self.running.remove(&result.call_id) {
            Some(call) => (call.argument, call.input),
            None => <(String, String)>::default(),
        };
        let mut line = Line::styled("• ", Style::DIM);
        line.push(&result.tool, Style::BOLD);
        if !argument.is_empty() {
            line.push(&format!(" {argument}"), Style::PLAIN);
        }
        let style = if result.outcome == Outcome::Done { Style::DIM } else { ERROR };
        line.push(&format!(" · {}", result_in_words(result.outcome, &text, language)), style);
        let kept = text.floor_char_boundary(OPENED_BYTES_MAX);
        self.done.push_back(DoneCall {
            title: line.text().trim_start_matches("• ").to_owned(),
            input,
            output: text[..kept].to_owned(),
            full_output: result.full_output.clone(),
            n_bytes_left_out: text.len() - kept,
        });
        if self.done.len() > OPENED_MAX {
            self.done.pop_front();
        }
        line.wrapped(columns, 4)
    }

    /// A line of the call that runs.
    pub(super) fn add_output(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            self.output
                .push_back(line[..line.floor_char_boundary(OUTPUT_LINE_BYTES_MAX)].to_owned());
            if self.output.len() > OUTPUT_LINES_MAX {
                self.output.pop_front();
            }
        }
    }

    pub(super) fn clear_output(&mut self) {
        self.output.clear();
    }

    /// The last lines of the call that runs, a row for each.
    pub(super) fn output_rows(&self, columns: usize) -> impl Iterator<Item = Line> {
        let row =
            move |line: &String| Line::styled(&fitted(&format!("  │ {line}"), columns), Style::DIM);
        self.output.iter().map(row)
    }

    /// Newest first.
    pub(super) fn done(&self) -> impl ExactSizeIterator<Item = &DoneCall> {
        self.done.iter().rev()
    }
}

impl DoneCall {
    /// The whole input and output. `whole` is the text of `full_output`, if it was read.
    pub(crate) fn lines(
        &self,
        whole: Option<&OpenedOutput>,
        language: ScreenLanguage,
        columns: usize,
    ) -> Vec<Line> {
        let mut lines = Line::styled(&self.title, Style::BOLD).wrapped(columns, 2);
        let mut put = |text: &str, style| {
            for row in text.lines() {
                lines.extend(Line::styled(&format!("  {row}"), style).wrapped(columns, 2));
            }
        };
        put(&in_rows(&self.input), Style::PLAIN);
        put("──", Style::DIM);
        let output = whole.map_or(self.output.as_str(), |whole| whole.text.as_str());
        put(output, Style::DIM);
        if output.trim().is_empty() {
            put(language.say(ScreenText::NoOutput), Style::DIM);
        }
        let (n_left_out, why) = match whole {
            Some(whole) => (whole.n_bytes_left_out, ScreenText::WholeOutputCut),
            None => (self.n_bytes_left_out as u64, ScreenText::OutputCut),
        };
        if n_left_out > 0 {
            put(&format!("… {} {}", in_bytes(n_left_out), language.say(why)), Style::DIM);
        }
        lines
    }
}

/// The arguments of a call, one in each row and texts as they are.
fn in_rows(input: &str) -> String {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_str(input) else {
        return input.to_owned();
    };
    let row = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) if text.contains('\n') => {
            format!("{name}:\n{text}")
        }
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    members.iter().map(row).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_an_opened_output_is_said() {
        let call = DoneCall {
            title: "run".to_owned(),
            input: "{}".to_owned(),
            output: "abc".to_owned(),
            full_output: Some("blob".to_owned()),
            n_bytes_left_out: 0,
        };
        let shown = |whole: &OpenedOutput| {
            let lines = call.lines(Some(whole), ScreenLanguage::English, 80);
            lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
        };
        let cut = shown(&OpenedOutput::of("你好 and more".as_bytes(), 3_000, 6));
        assert!(
            cut.ends_with("  你好\n  … 2 KB not shown: the output is longer than this view"),
            "{cut}"
        );
        let whole = shown(&OpenedOutput::of(b"all", 3, 6));
        assert!(whole.ends_with("  all"), "{whole}");
    }
}
