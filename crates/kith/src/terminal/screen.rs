//! The screen of the conversation: drawn anew, left for another program, and left for good.

use std::io::{self, Write};
use std::time::Duration;

use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_vocab::clock::Clock as _;

use super::live_area::LiveRows;
use super::styled::{Line, fitted};
use super::words::ScreenText;
use super::{TerminalChat, keyboard};
use crate::program::ui;

/// How long leaving waits for messages that were just sent.
const DELIVERY_MAX: Duration = Duration::from_secs(5);

impl TerminalChat {
    pub(super) fn suspend(&mut self) -> Result<(), CallError> {
        let erase = self.area.erase();
        self.write(&erase);
        self.keyboard.suspend()?;
        (self.columns, self.rows) = keyboard::size();
        Ok(())
    }

    pub(super) fn external_editor(&mut self) {
        let erase = self.area.erase();
        self.write(&erase);
        match self.keyboard.edit(&self.input.take_text()) {
            Ok(text) => self.input.put_back(&text),
            Err((text, error)) => {
                self.input.put_back(&text);
                self.tell(&error);
            }
        }
    }

    /// Prints what is new, and shows the area below it anew.
    pub(super) fn draw(&mut self) {
        let rows_max = self.rows.saturating_sub(1).max(1);
        let input_rows_max = (rows_max / 2).max(1);
        let mut input = match &self.block {
            Some(block) => block.rows(self.columns, rows_max),
            None => self.input.rows(self.columns, input_rows_max, self.keys_shown()),
        };
        if let Some(n_above) = input.rows.len().checked_sub(rows_max) {
            let n_above = n_above.min(input.cursor_row);
            input.rows.drain(..n_above);
            input.rows.truncate(rows_max);
            input.cursor_row -= n_above;
        }
        let room = rows_max.saturating_sub(input.rows.len());
        let now = self.opened.elapsed();
        // A row is left for what runs.
        let question_room = room.saturating_sub(1).max(1);
        let asked = if self.block.is_some() {
            Vec::new()
        } else {
            let whole = self.conversation.long_question(self.columns, question_room);
            self.printed.extend(whole);
            let now_ms = SystemClock.now();
            self.conversation.question_rows(self.columns, question_room, now, now_ms)
        };
        let room = room.saturating_sub(asked.len());
        let mut rows = self.conversation.live(self.columns, room, now);
        if rows.len() > room {
            rows.drain(..rows.len() - room);
        }
        rows.extend(asked);
        let cursor_row = rows.len() + input.cursor_row;
        rows.extend(input.rows);
        for row in &mut rows {
            if row.width() > self.columns {
                *row = Line::plain(&fitted(&row.text(), self.columns));
            }
        }
        let area = LiveRows { rows, cursor_row, cursor_column: input.cursor_column };
        let printed = std::mem::take(&mut self.printed);
        if let Some(bytes) = self.area.change(&printed, &area, self.is_coloured) {
            self.write(&bytes);
        }
    }

    /// The keys below the input.
    fn keys_shown(&self) -> ScreenText {
        match (self.conversation.has_question(), self.conversation.is_running()) {
            (true, _) => ScreenText::KeysAnswer,
            (false, true) => ScreenText::KeysBusy,
            (false, false) => ScreenText::KeysIdle,
        }
    }

    pub(super) fn write(&mut self, bytes: &str) {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes.as_bytes()).and_then(|()| stdout.flush());
        // A terminal that is gone ends the conversation; what was answered is in the log.
        if written.is_err() {
            self.is_over = true;
        }
    }

    /// Waits until what was sent has arrived.
    async fn deliver(&mut self) {
        let delivered = async {
            while self.conversation.has_pending() {
                let Some(incoming) = self.incoming.recv().await else { return };
                self.take(incoming);
            }
        };
        // What has not arrived by then is printed.
        tokio::time::timeout(DELIVERY_MAX, delivered).await.unwrap_or_default();
        self.draw();
    }

    /// Leaves the terminal as it was found.
    pub(super) async fn close(&mut self) {
        self.deliver().await;
        let erase = self.area.erase();
        self.write(&erase);
        self.keyboard.close();
        for text in self.conversation.take_pending().into_iter().chain([self.input.take_text()]) {
            if !text.trim().is_empty() {
                ui::error_line(&self.language.labelled(ScreenText::NotSent, &text));
            }
        }
        // A turn goes on without anyone who looks.
        self.tasks.shutdown().await;
    }
}
