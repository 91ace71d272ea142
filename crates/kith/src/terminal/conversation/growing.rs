//! An answer that grows: its finished blocks are printed, its last block is shown in the live rows.

use kith_vocab::ids::EventId;

use super::super::markdown::{open_code_len, rendered, settled_len};
use super::super::styled::Line;

/// A longer block is not held back until it is whole: each piece of it would be read anew.
const OPEN_BYTES_MAX: usize = 4 * 1024;

#[derive(Default)]
pub(super) struct ShownAnswer {
    request_id: Option<EventId>,
    /// All that came of this answer.
    received: String,
    /// What was not printed yet.
    open: String,
    /// A block was printed, so the next one stands apart.
    has_printed: bool,
    /// `open` is the rest of a block whose first lines were printed.
    continues_block: bool,
    /// Pieces are missing: what is new waits for the whole answer.
    is_behind: bool,
}

impl ShownAnswer {
    /// Adds a piece, and gives the rows that are finished.
    pub(super) fn add(&mut self, request_id: EventId, text: &str, columns: usize) -> Vec<Line> {
        self.begin(request_id);
        if self.is_behind {
            return Vec::new();
        }
        self.received.push_str(text);
        self.open.push_str(text);
        self.settle(columns)
    }

    /// All that was said so far is told again, because pieces were lost or this client came late.
    pub(super) fn catch_up(
        &mut self,
        request_id: EventId,
        so_far: &str,
        columns: usize,
    ) -> Vec<Line> {
        self.begin(request_id);
        let rest = so_far.strip_prefix(self.received.as_str()).map(str::to_owned);
        self.is_behind = rest.is_none();
        rest.map_or_else(Vec::new, |rest| self.add(request_id, &rest, columns))
    }

    /// The whole answer is known: pieces may have been lost on the way.
    pub(super) fn complete(
        &mut self,
        request_id: EventId,
        text: &str,
        columns: usize,
    ) -> Vec<Line> {
        self.begin(request_id);
        match text.strip_prefix(self.received.as_str()) {
            Some(rest) => self.open.push_str(rest),
            // What was shown is not the beginning of it: it is shown whole.
            None => text.clone_into(&mut self.open),
        }
        self.end(columns)
    }

    /// Nothing more comes: what is open is printed.
    pub(super) fn end(&mut self, columns: usize) -> Vec<Line> {
        let mut lines = self.settle(columns);
        let open = std::mem::take(&mut self.open);
        lines.extend(self.print(&open, columns));
        *self = ShownAnswer::default();
        lines
    }

    /// Part of an answer was shown, and its end is not known.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.received.trim().is_empty()
    }

    /// The last block as far as it is known.
    pub(super) fn open_rows(&self, columns: usize) -> Vec<Line> {
        let mut rows = rendered(&self.open, columns);
        if self.has_printed && !rows.is_empty() && !self.continues_block {
            rows.insert(0, Line::default());
        }
        rows
    }

    fn begin(&mut self, request_id: EventId) {
        if self.request_id != Some(request_id) {
            *self = ShownAnswer { request_id: Some(request_id), ..ShownAnswer::default() };
        }
    }

    fn settle(&mut self, columns: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.open.len() > OPEN_BYTES_MAX {
            lines.extend(self.settle_by_force(columns));
        }
        let settled = settled_len(&self.open);
        if settled > 0 {
            let rest = self.open.split_off(settled);
            let blocks = std::mem::replace(&mut self.open, rest);
            lines.extend(self.print(&blocks, columns));
        }
        if let Some(end) = open_code_len(&self.open) {
            let fence = self.open.lines().next().unwrap_or_default().to_owned();
            let rest = self.open.split_off(end);
            let code = std::mem::replace(&mut self.open, format!("{fence}\n{rest}"));
            lines.extend(self.print(&code, columns));
            self.continues_block = true;
        }
        lines
    }

    /// Prints what is too long to be held back, in pieces that end with a block, a line or a word.
    fn settle_by_force(&mut self, columns: usize) -> Vec<Line> {
        let whole = std::mem::take(&mut self.open);
        // The first line of a block of code whose lines are being printed.
        let (mut fence, mut at) = (String::new(), 0);
        let mut lines = Vec::new();
        while fence.len() + whole.len() - at > OPEN_BYTES_MAX {
            let piece_end = whole.floor_char_boundary(at + OPEN_BYTES_MAX);
            let piece = format!("{fence}{}", &whole[at..piece_end]);
            let settled = settled_len(&piece);
            let code = open_code_len(&piece).filter(|_| settled == 0);
            let word_end = || piece.rfind('\n').or_else(|| piece.rfind(' ')).map(|at| at + 1);
            let end = Some(settled).filter(|end| *end > 0).or(code).or_else(word_end);
            let end = end.filter(|end| *end > fence.len()).unwrap_or(piece.len());
            lines.extend(self.print(&piece[..end], columns));
            self.continues_block = settled == 0;
            at += end - fence.len();
            fence = match code.and_then(|_| piece.lines().next()) {
                Some(line) => format!("{line}\n"),
                None => String::new(),
            };
        }
        self.open = format!("{fence}{}", &whole[at..]);
        lines
    }

    fn print(&mut self, source: &str, columns: usize) -> Vec<Line> {
        let mut lines = rendered(source, columns);
        let is_apart = self.has_printed && !self.continues_block;
        if is_apart && !lines.is_empty() {
            lines.insert(0, Line::default());
        }
        self.continues_block = false;
        self.has_printed |= !lines.is_empty();
        lines
    }
}
