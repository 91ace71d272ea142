//! Markdown of an answer as styled rows.
//!
//! An answer grows while it is shown: [`settled_len`] says how much of it can no longer change its
//! form, so that this part can be printed for good.

use pulldown_cmark::{Alignment, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::styled::{Colour, Line, Style};

const CODE: Style = Style::coloured(Colour::Cyan);
/// Narrower columns of a table are not cut further.
const CELL_COLUMNS_MIN: usize = 4;

fn parser(source: &str) -> Parser<'_> {
    Parser::new_ext(source, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// How many bytes of a growing answer are blocks that what follows cannot change: they end with a
/// blank line, or with the end of their own.
pub(crate) fn settled_len(source: &str) -> usize {
    let (mut depth, mut settled, mut has_end) = (0_usize, 0, false);
    for (event, range) in parser(source).into_offset_iter() {
        let before = source[..range.start].trim_end_matches([' ', '\t']);
        if depth == 0 && (has_end || before.ends_with("\n\n")) {
            settled = range.start;
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                has_end = matches!(tag, TagEnd::Heading(_) | TagEnd::CodeBlock);
            }
            _ => (),
        }
    }
    settled
}

/// Whether the text begins with a block of code that is still open, and where its last whole line
/// ends.
pub(crate) fn open_code_len(source: &str) -> Option<usize> {
    let fence = source.lines().next()?.trim_start();
    let mark = ["```", "~~~"].into_iter().find(|mark| fence.starts_with(mark))?;
    // Code within a line, not a fence.
    if mark == "```" && fence.trim_start_matches('`').contains('`') {
        return None;
    }
    let is_closed = source.lines().skip(1).any(|line| {
        let line = line.trim();
        line.starts_with(mark) && line.trim_start_matches(&mark[..1]).is_empty()
    });
    let end = source.rfind('\n')? + 1;
    let n_lines = source[..end].lines().count();
    (!is_closed && n_lines > 1).then_some(end)
}

/// The text in rows of at most `width` columns.
pub(crate) fn rendered(source: &str, width: usize) -> Vec<Line> {
    let mut renderer = Renderer::new(width);
    for event in parser(source) {
        renderer.take(event);
    }
    renderer.finish()
}

struct Renderer {
    width: usize,
    rows: Vec<Line>,
    /// The paragraph that is being read.
    line: Line,
    styles: Vec<Style>,
    /// What stands before the rows of quotes and lists.
    prefixes: Vec<Prefix>,
    lists: Vec<Option<u64>>,
    link: Option<String>,
    code: Option<String>,
    table: Option<MarkdownTable>,
    /// A blank row stands before the next block.
    is_apart: bool,
}

enum Prefix {
    Quote,
    /// The mark of an item, until it was written, and its width.
    Item {
        mark: Option<String>,
        columns: usize,
    },
}

#[derive(Default)]
struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Line>>,
}

impl Renderer {
    fn new(width: usize) -> Renderer {
        Renderer {
            width: width.max(8),
            rows: Vec::new(),
            line: Line::default(),
            styles: vec![Style::PLAIN],
            prefixes: Vec::new(),
            lists: Vec::new(),
            link: None,
            code: None,
            table: None,
            is_apart: false,
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn with_style(&mut self, change: impl FnOnce(&mut Style)) {
        let mut style = self.style();
        change(&mut style);
        self.styles.push(style);
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => {
                let style = self.style();
                if let Some(code) = &mut self.code {
                    code.push_str(&text);
                } else {
                    self.line.push(&text, style);
                }
            }
            Event::Code(text) => self.line.push(&text, Style { bold: self.style().bold, ..CODE }),
            // Models mean the line ends they write, as people in a chat do.
            Event::SoftBreak | Event::HardBreak => self.end_paragraph(),
            Event::Rule => {
                self.begin_block();
                let columns = self.width.min(40);
                self.rows.push(Line::styled(&"─".repeat(columns), Style::DIM));
                self.is_apart = true;
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                for part in text.split_inclusive('\n') {
                    self.line.push(part.trim_end_matches('\n'), Style::DIM);
                    if part.ends_with('\n') {
                        self.end_paragraph();
                    }
                }
            }
            Event::TaskListMarker(is_done) => {
                self.line.push(if is_done { "[x] " } else { "[ ] " }, Style::PLAIN);
            }
            Event::FootnoteReference(name) => self.line.push(&format!("[{name}]"), Style::DIM),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.line.push(&text, CODE),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let is_top = matches!(level, HeadingLevel::H1 | HeadingLevel::H2);
                self.with_style(|style| {
                    style.bold = true;
                    style.underlined = is_top;
                });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.prefixes.push(Prefix::Quote);
                self.with_style(|style| style.dim = true);
            }
            Tag::CodeBlock(_) => {
                self.begin_block();
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                self.end_paragraph();
                if self.lists.is_empty() {
                    self.begin_block();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.is_apart = false;
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number += 1;
                        mark
                    }
                    _ => "• ".to_owned(),
                };
                let columns = mark.chars().count();
                self.prefixes.push(Prefix::Item { mark: Some(mark), columns });
            }
            Tag::Emphasis => self.with_style(|style| style.italic = true),
            Tag::Strong => self.with_style(|style| style.bold = true),
            Tag::Strikethrough => self.with_style(|style| style.struck = true),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
                self.with_style(|style| style.underlined = true);
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(MarkdownTable { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            _ => (),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_paragraph();
                self.is_apart = true;
            }
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.styles.pop();
                self.is_apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.prefixes.pop();
                self.styles.pop();
                self.is_apart = true;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                for line in code.lines() {
                    self.put(&Line::styled(&format!("  {line}"), CODE), 2);
                }
                self.is_apart = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_paragraph();
                // An item without text still has its mark.
                if let Some(Prefix::Item { mark: Some(_), .. }) = self.prefixes.last() {
                    self.put(&Line::default(), 0);
                }
                self.prefixes.pop();
                self.is_apart = false;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some(link) = self.link.take()
                    && !self.line.text().ends_with(&link)
                {
                    self.line.push(&format!(" ({link})"), Style::DIM);
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.put_table(&table);
                }
                self.is_apart = true;
            }
            _ => (),
        }
    }

    fn begin_block(&mut self) {
        self.end_paragraph();
        if std::mem::take(&mut self.is_apart) {
            self.rows.push(Line::default());
        }
    }

    fn end_paragraph(&mut self) {
        if !self.line.spans.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.put(&line, 0);
        }
    }

    /// Adds a paragraph behind the prefixes of the lists and quotes around it.
    fn put(&mut self, line: &Line, indent: usize) {
        let columns: usize = self.prefixes.iter().map(Prefix::columns).sum();
        let width = self.width.saturating_sub(columns).max(2);
        for row in line.wrapped(width, indent) {
            let mut whole = Line::default();
            for prefix in &mut self.prefixes {
                whole.extend(prefix.take());
            }
            whole.extend(row);
            self.rows.push(whole);
        }
    }

    fn put_table(&mut self, table: &MarkdownTable) {
        let n_columns = table.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths: Vec<usize> = (0..n_columns)
            .map(|n| table.rows.iter().filter_map(|row| row.get(n)).map(Line::width).max())
            .map(|width| width.unwrap_or_default().max(1))
            .collect();
        let gaps = 2 * n_columns.saturating_sub(1);
        // The widest column gives way until the table fits.
        while widths.iter().sum::<usize>() + gaps > self.width {
            match widths.iter_mut().max() {
                Some(widest) if *widest > CELL_COLUMNS_MIN => *widest -= 1,
                _ => break,
            }
        }
        for (n_row, row) in table.rows.iter().enumerate() {
            let empty = Line::default();
            let cells: Vec<Vec<Line>> = widths
                .iter()
                .enumerate()
                .map(|(n, width)| row.get(n).unwrap_or(&empty).wrapped(*width, 0))
                .collect();
            let n_lines = cells.iter().map(Vec::len).max().unwrap_or_default();
            for n_line in 0..n_lines {
                let mut line = Line::default();
                for (n, width) in widths.iter().enumerate() {
                    let cell = cells.get(n).and_then(|it| it.get(n_line)).unwrap_or(&empty);
                    let room = width.saturating_sub(cell.width());
                    let left = match table.alignments.get(n) {
                        Some(Alignment::Right) => room,
                        Some(Alignment::Center) => room / 2,
                        _ => 0,
                    };
                    line.push(&" ".repeat(left), Style::PLAIN);
                    let mut cell = cell.clone();
                    if n_row == 0 {
                        cell.spans.iter_mut().for_each(|span| span.style.bold = true);
                    }
                    line.extend(cell);
                    if n + 1 < widths.len() {
                        line.push(&" ".repeat(room - left + 2), Style::PLAIN);
                    }
                }
                self.rows.push(line);
            }
            if n_row == 0 {
                let columns = widths.iter().sum::<usize>() + gaps;
                let rule = Line::styled(&"─".repeat(columns.min(self.width)), Style::DIM);
                self.rows.push(rule);
            }
        }
    }

    fn finish(mut self) -> Vec<Line> {
        self.end_paragraph();
        self.rows
    }
}

impl Prefix {
    fn columns(&self) -> usize {
        match self {
            Prefix::Quote => 2,
            Prefix::Item { columns, .. } => *columns,
        }
    }

    /// What stands before a row: the mark of an item only once.
    fn take(&mut self) -> Line {
        match self {
            Prefix::Quote => Line::styled("│ ", Style::DIM),
            Prefix::Item { mark, columns } => match mark.take() {
                Some(mark) => Line::plain(&mark),
                None => Line::plain(&" ".repeat(*columns)),
            },
        }
    }
}

#[cfg(test)]
mod tests;
