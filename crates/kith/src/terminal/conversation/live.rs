//! The rows above the input that change: the end of the growing answer, what runs, and the queue.

use std::time::Duration;

use super::super::attached::without_attached;
use super::super::styled::{Line, Style, fitted};
use super::super::words::ScreenText;
use super::ShownConversation;

const SHOWN_BYTES_MAX: usize = 1_000;

/// The beginning of what was said; a row takes no more.
fn shown(message: &str) -> &str {
    let said = without_attached(message).0;
    &said[..said.floor_char_boundary(SHOWN_BYTES_MAX)]
}

impl ShownConversation {
    pub(crate) fn live(&self, columns: usize, rows_max: usize, now: Duration) -> Vec<Line> {
        let mut rows = Vec::new();
        if let Some(turn) = &self.turn {
            rows.push(turn.status(self.language, columns, now));
            rows.extend(self.calls.output_rows(columns));
        }
        let dim = |text: &str| Line::styled(&fitted(text, columns), Style::DIM);
        rows.extend(self.steers.iter().map(|item| dim(&format!("  ↪ {}", item.text))));
        let state = if self.is_held { ScreenText::Held } else { ScreenText::Queued };
        for (n, item) in self.follow_ups.iter().enumerate() {
            let told = self.language.labelled(state, shown(&item.text));
            rows.push(dim(&format!("  {} {told}", n + 1)));
        }
        for (_, text) in &self.pending {
            let told = self.language.labelled(ScreenText::Sending, shown(text));
            rows.push(dim(&format!("  {told}")));
        }
        let room = rows_max.saturating_sub(rows.len());
        let mut growing = self.growing.open_rows(columns);
        if growing.len() > room {
            growing.drain(..growing.len() - room);
        }
        growing.extend(rows);
        growing
    }
}
