//! The turn that runs: what it waits for, for how long, and what it has used.

use std::time::Duration;

use kith_vocab::event::messages::Usage;

use super::super::styled::{Colour, Line, Style, fitted};
use super::super::words::{ScreenLanguage, ScreenText};
use super::amounts::{in_seconds, in_thousands};

/// Bytes of a text for each of its tokens, about; only for what is told while an answer grows.
const BYTES_PER_TOKEN: u64 = 4;
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS: u128 = 120;

pub(super) struct RunningTurn {
    pub(super) began: Duration,
    pub(super) activity: Activity,
    pub(super) usage: Usage,
    pub(super) has_price: bool,
    pub(super) failure: Option<String>,
    /// A notice has said what went wrong.
    pub(super) has_notice: bool,
    /// It is no turn, but a summary between turns.
    pub(super) is_summary: bool,
    /// Bytes that came of the answer that grows: the vendor tells its tokens only at the end.
    n_growing_bytes: u64,
}

/// What is being waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Waiting,
    Thinking,
    Answering,
    Calling(String),
    Summarising,
    /// The last attempt, with this number, failed.
    Retrying(u32),
    /// A person has to answer.
    Asking,
    Stopping,
}

impl RunningTurn {
    pub(super) fn new(began: Duration) -> RunningTurn {
        RunningTurn {
            began,
            activity: Activity::Waiting,
            usage: Usage::default(),
            has_price: true,
            failure: None,
            has_notice: false,
            is_summary: false,
            n_growing_bytes: 0,
        }
    }

    /// A piece of the answer came.
    pub(super) fn grow(&mut self, text: &str) {
        self.n_growing_bytes = self.n_growing_bytes.saturating_add(text.len() as u64);
    }

    pub(super) fn add(&mut self, usage: &Usage) {
        self.n_growing_bytes = 0;
        let sum = &mut self.usage;
        sum.input = sum.input.saturating_add(usage.input);
        sum.output = sum.output.saturating_add(usage.output);
        sum.cache_read = sum.cache_read.saturating_add(usage.cache_read);
        sum.cache_write = sum.cache_write.saturating_add(usage.cache_write);
        self.has_price &= usage.cost_micros.is_some();
        let cost = usage.cost_micros.unwrap_or_default();
        sum.cost_micros = Some(sum.cost_micros.unwrap_or_default().saturating_add(cost));
    }

    /// The live line: what runs, how long it has, and the tokens so far.
    pub(super) fn status(&self, language: ScreenLanguage, columns: usize, now: Duration) -> Line {
        let words = |word| language.say(word).to_owned();
        let what = match &self.activity {
            Activity::Waiting => words(ScreenText::Waiting),
            Activity::Thinking => words(ScreenText::Thinking),
            Activity::Answering => words(ScreenText::Answering),
            Activity::Calling(what) => what.clone(),
            Activity::Summarising => words(ScreenText::Summarising),
            Activity::Retrying(n) => format!("{} ({n})", language.say(ScreenText::Retries)),
            Activity::Asking => words(ScreenText::Asking),
            Activity::Stopping => words(ScreenText::Stopping),
        };
        let elapsed = now.saturating_sub(self.began);
        let frame = usize::try_from(elapsed.as_millis() / FRAME_MS).unwrap_or_default();
        let mut parts = vec![what, in_seconds(elapsed)];
        let n_growing = self.n_growing_bytes.div_ceil(BYTES_PER_TOKEN);
        if n_growing > 0 {
            let n_tokens = in_thousands(self.usage.output.saturating_add(n_growing));
            let input = match input_of(&self.usage) {
                0 => String::new(),
                input => format!("↑{} ", in_thousands(input)),
            };
            parts.push(format!("{input}↓~{n_tokens}"));
        } else {
            parts.extend(usage_in_words(&self.usage, self.has_price));
        }
        let mut line = Line::styled(FRAMES[frame % FRAMES.len()], Style::coloured(Colour::Cyan));
        let told = format!(" {}", parts.join(" · "));
        line.push(&fitted(&told, columns.saturating_sub(1)), Style::DIM);
        line
    }
}

/// What a request read, from the cache or not.
pub(super) fn input_of(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

/// Tokens read and written, and the cost where every request has a price.
pub(super) fn usage_in_words(usage: &Usage, has_price: bool) -> Vec<String> {
    let input = input_of(usage);
    if input == 0 && usage.output == 0 {
        return Vec::new();
    }
    let mut parts = vec![format!("↑{} ↓{}", in_thousands(input), in_thousands(usage.output))];
    if let (true, Some(micros)) = (has_price, usage.cost_micros) {
        parts.push(format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100));
    }
    parts
}
