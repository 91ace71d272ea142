//! The input: keys become changes of the text, or something to do.

use std::path::Path;
use std::sync::Arc;

use super::completion::{Candidate, Completions, argument_of, completions};
use super::editor::Editor;
use super::file_roots::FileRoots;
use super::history::InputHistory;
use super::keys::{Key, KeyPress, TerminalInput};
use super::live_area::LiveRows;
use super::picker::{PickEntry, PickList};
use super::slash::list_of;
use super::styled::{Colour, Line, Style, fitted};
use super::words::{ScreenLanguage, ScreenText, commands};

const MARK: &str = "> ";

/// What a key asks for beyond the input itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputAction {
    Changed,
    Send(SaidText),
    /// Said to the running turn at once.
    Steer(SaidText),
    Stop,
    Interrupt,
    Leave,
    /// The whole of a call.
    ShowCall,
    /// The last message that waits comes back into the input.
    EditQueued,
    ClearScreen,
    Suspend,
    ExternalEditor,
}

/// What was typed and sent off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SaidText {
    pub(crate) text: String,
    /// Without what long pastes stand for.
    pub(crate) typed: String,
}

pub(crate) struct Input {
    language: ScreenLanguage,
    editor: Editor,
    history: InputHistory,
    files: Arc<FileRoots>,
    commands: Vec<(&'static str, &'static str)>,
    completions: Option<Completions>,
    /// What the argument of a command can be; `None` until it is known.
    arguments: Option<(PickList, Option<Vec<Candidate>>)>,
    search: Option<HistorySearch>,
}

/// The history being searched.
struct HistorySearch {
    words: String,
    /// Which of the entries found is shown.
    nth: usize,
    typed: String,
}

impl Input {
    pub(crate) fn new(
        language: ScreenLanguage,
        history_folder: &Path,
        files: Arc<FileRoots>,
    ) -> Input {
        Input {
            language,
            editor: Editor::new(language),
            history: InputHistory::open(history_folder),
            files,
            commands: commands(language),
            completions: None,
            arguments: None,
            search: None,
        }
    }

    /// Puts a text into the input, before what was typed meanwhile.
    pub(crate) fn put_back(&mut self, text: &str) {
        let typed = self.editor.take();
        let both = if typed.is_empty() { text.to_owned() } else { format!("{text}\n{typed}") };
        self.editor.paste(&both);
    }

    /// The list that the argument being typed is of, if it has to be fetched.
    pub(crate) fn wanted_arguments(&mut self) -> Option<PickList> {
        let list =
            argument_of(self.editor.before_cursor()).and_then(|(command, _)| list_of(command));
        let Some(list) = list else {
            self.arguments = None;
            return None;
        };
        let is_asked = self.arguments.as_ref().is_some_and(|(asked, _)| *asked == list);
        if !is_asked {
            self.arguments = Some((list, None));
        }
        (!is_asked).then_some(list)
    }

    pub(crate) fn set_arguments(&mut self, list: PickList, entries: Vec<PickEntry>) {
        // Something else may be typed by now.
        if !self.arguments.as_ref().is_some_and(|(asked, _)| *asked == list) {
            return;
        }
        let candidate = |it: PickEntry| Candidate { text: it.value, about: it.about };
        self.arguments = Some((list, Some(entries.into_iter().map(candidate).collect())));
        self.offer();
    }

    fn arguments_for(&self, command: &str) -> Vec<Candidate> {
        if command == "queue" {
            let all = [
                ("go", ScreenText::QueueGo),
                ("edit", ScreenText::QueueEdit),
                ("rm", ScreenText::QueueRemove),
            ];
            let candidate = |(text, about)| Candidate {
                text: String::from(text),
                about: self.language.say(about).to_owned(),
            };
            return all.map(candidate).to_vec();
        }
        match &self.arguments {
            Some((list, Some(known))) if list_of(command) == Some(*list) => known.clone(),
            _ => Vec::new(),
        }
    }

    /// Whether nothing is typed, offered or searched for.
    pub(crate) fn is_idle(&self) -> bool {
        self.editor.is_empty() && self.completions.is_none() && self.search.is_none()
    }

    /// Whether this letter is all that is typed.
    pub(crate) fn is_only(&self, letter: char) -> bool {
        self.editor.text().chars().eq([letter])
    }

    pub(crate) fn take_text(&mut self) -> String {
        self.editor.take()
    }

    pub(crate) fn take(&mut self, input: &TerminalInput) -> Option<InputAction> {
        match input {
            TerminalInput::Paste(text) => {
                self.search = None;
                self.editor.paste(text);
                self.offer();
                Some(InputAction::Changed)
            }
            TerminalInput::Key(key) if self.search.is_some() => self.search_key(*key),
            TerminalInput::Key(key) => self.pressed(*key),
            TerminalInput::Resized | TerminalInput::Gone => None,
        }
    }

    fn pressed(&mut self, press: KeyPress) -> Option<InputAction> {
        let KeyPress { key, ctrl: is_ctrl, alt: is_alt, shift: is_shift } = press;
        let is_offered = self.completions.is_some();
        let mut offers = false;
        match key {
            Key::Char(letter) if is_ctrl => {
                let action = self.ctrl_key(letter);
                if action != Some(InputAction::Changed) {
                    return action;
                }
            }
            Key::Char('b') if is_alt => self.editor.word_left(),
            Key::Char('f') if is_alt => self.editor.word_right(),
            Key::Char(_) if is_alt => return None,
            Key::Char(ch) => {
                self.history.leave();
                self.editor.type_char(ch);
                offers = true;
            }
            Key::Enter if is_alt || is_shift || is_ctrl => self.editor.insert("\n"),
            Key::Enter => return self.enter(),
            Key::Tab => {
                self.complete();
                return Some(InputAction::Changed);
            }
            Key::Up | Key::BackTab if is_offered => {
                return Some(self.choose(Completions::previous));
            }
            Key::Down if is_offered => return Some(self.choose(Completions::next)),
            Key::BackTab | Key::PageUp | Key::PageDown => return None,
            Key::Escape if is_offered => (),
            Key::Escape => return Some(InputAction::Stop),
            Key::Backspace if is_alt || is_ctrl => self.editor.cut_word(),
            Key::Backspace => {
                self.editor.backspace();
                offers = true;
            }
            Key::Delete => self.editor.delete(),
            Key::Left if is_ctrl || is_alt => self.editor.word_left(),
            Key::Right if is_ctrl || is_alt => self.editor.word_right(),
            Key::Left => self.editor.left(),
            Key::Right => self.editor.right(),
            Key::Home => self.editor.line_start(),
            Key::End => self.editor.line_end(),
            Key::Up => return Some(self.up()),
            Key::Down => self.down(),
        }
        if offers {
            self.offer();
        } else {
            self.completions = None;
        }
        Some(InputAction::Changed)
    }

    fn ctrl_key(&mut self, letter: char) -> Option<InputAction> {
        match letter {
            'c' => return Some(self.interrupt()),
            'd' if self.editor.is_empty() => return Some(InputAction::Leave),
            'd' => self.editor.delete(),
            's' => return self.sent().map(InputAction::Steer),
            'o' => return Some(InputAction::ShowCall),
            'l' => return Some(InputAction::ClearScreen),
            'z' => return Some(InputAction::Suspend),
            'g' => return Some(InputAction::ExternalEditor),
            'r' => {
                let typed = self.editor.text().to_owned();
                self.search = Some(HistorySearch { words: String::new(), nth: 0, typed });
            }
            'a' => self.editor.line_start(),
            'e' => self.editor.line_end(),
            'b' => self.editor.left(),
            'f' => self.editor.right(),
            'u' => self.editor.cut_to_line_start(),
            'k' => self.editor.cut_to_line_end(),
            'w' => self.editor.cut_word(),
            'y' => self.editor.insert_cut(),
            '_' => self.editor.undo(),
            'j' => self.editor.insert("\n"),
            'p' => return Some(self.up()),
            'n' => self.down(),
            _ => return None,
        }
        Some(InputAction::Changed)
    }

    fn choose(&mut self, step: fn(&mut Completions)) -> InputAction {
        self.completions.iter_mut().for_each(step);
        InputAction::Changed
    }

    /// Ctrl-C clears what was typed; with nothing typed it is for the conversation.
    fn interrupt(&mut self) -> InputAction {
        self.completions = None;
        if self.editor.is_empty() {
            return InputAction::Interrupt;
        }
        let text = self.editor.take();
        self.history.add_draft(&text);
        InputAction::Changed
    }

    fn sent(&mut self) -> Option<SaidText> {
        self.completions = None;
        if self.editor.text().trim().is_empty() {
            return None;
        }
        let typed = self.editor.text().to_owned();
        let text = self.editor.take();
        self.history.add(&text);
        Some(SaidText { text, typed })
    }

    fn enter(&mut self) -> Option<InputAction> {
        // A command that is only begun is completed; a whole one is sent.
        if let Some(chosen) = self.completions.as_ref().and_then(Completions::chosen)
            && !self.editor.text().contains(char::is_whitespace)
            && self.editor.text().starts_with('/')
            && chosen.text != self.editor.text()
        {
            let is_only = self.completions.as_ref().is_some_and(|it| it.candidates.len() == 1);
            self.complete();
            self.completions = None;
            if !is_only {
                return Some(InputAction::Changed);
            }
        }
        if self.editor.before_cursor().ends_with('\\') {
            self.editor.backspace();
            self.editor.insert("\n");
            return Some(InputAction::Changed);
        }
        self.sent().map(InputAction::Send)
    }

    fn up(&mut self) -> InputAction {
        if self.editor.up() {
            return InputAction::Changed;
        }
        if self.editor.is_empty() {
            return InputAction::EditQueued;
        }
        self.previous_entry();
        InputAction::Changed
    }

    pub(crate) fn previous_entry(&mut self) {
        let typed = self.editor.text().to_owned();
        if let Some(entry) = self.history.previous(&typed) {
            let entry = entry.to_owned();
            self.editor.set(&entry);
        }
    }

    fn down(&mut self) {
        if !self.editor.down()
            && let Some(entry) = self.history.next()
        {
            self.editor.set(&entry);
        }
    }

    fn offer(&mut self) {
        let arguments = |command: &str| self.arguments_for(command);
        let before = self.editor.before_cursor();
        self.completions = completions(before, &self.commands, &arguments, &self.files);
    }

    fn complete(&mut self) {
        if self.completions.is_none() {
            self.offer();
        }
        let Some(completions) = &self.completions else { return };
        let Some(chosen) = completions.chosen() else { return };
        let (from, text) = (completions.from, chosen.text.clone());
        let is_folder = text.ends_with('/');
        let text = if is_folder { text } else { format!("{text} ") };
        self.editor.replace_before_cursor(from, &text);
        self.completions = None;
        if is_folder {
            self.offer();
        }
    }

    fn search_key(&mut self, press: KeyPress) -> Option<InputAction> {
        let KeyPress { key, ctrl: is_ctrl, .. } = press;
        let mut search = self.search.take()?;
        match key {
            Key::Char('r') if is_ctrl => search.nth += 1,
            Key::Char('c' | 'g') if is_ctrl => {
                self.editor.set(&search.typed);
                return Some(InputAction::Changed);
            }
            Key::Escape => {
                self.editor.set(&search.typed);
                return Some(InputAction::Changed);
            }
            Key::Backspace => {
                search.words.pop();
                search.nth = 0;
            }
            Key::Char(ch) if !is_ctrl => {
                search.words.push(ch);
                search.nth = 0;
            }
            // What was found stays in the input.
            _ => return self.pressed_after_search(press),
        }
        let found = self.history.search(&search.words);
        search.nth = search.nth.min(found.len().saturating_sub(1));
        let shown = found.get(search.nth).map_or_else(String::new, |it| (*it).to_owned());
        self.editor.set(&shown);
        self.search = Some(search);
        Some(InputAction::Changed)
    }

    fn pressed_after_search(&mut self, press: KeyPress) -> Option<InputAction> {
        // Enter takes what was found into the input, so that it can be read before it is sent.
        if press.key == Key::Enter { Some(InputAction::Changed) } else { self.pressed(press) }
    }

    /// The input in at most `rows_max` rows, with what Tab offers and which keys there are below.
    pub(crate) fn rows(&self, columns: usize, rows_max: usize, keys: ScreenText) -> LiveRows {
        let shown = self.editor.rows(columns.saturating_sub(MARK.len()));
        let first = (shown.cursor_row + 1).saturating_sub(rows_max);
        let mark = Style { bold: true, ..Style::coloured(Colour::Green) };
        // A blank row keeps the input apart from the conversation, where there is room.
        let n_apart = usize::from(rows_max > 4);
        let mut rows: Vec<Line> = vec![Line::default(); n_apart];
        for (n, text) in shown.rows.iter().enumerate().skip(first).take(rows_max) {
            let mut line = Line::styled(if n == 0 { MARK } else { "  " }, mark);
            line.push(text, Style::PLAIN);
            rows.push(line);
        }
        let below = if let Some(search) = &self.search {
            vec![Line::styled(
                &fitted(
                    &format!("({})", self.language.labelled(ScreenText::Search, &search.words)),
                    columns,
                ),
                Style::DIM,
            )]
        } else if let Some(completions) = &self.completions {
            completions
                .offered()
                .map(|(candidate, is_chosen)| {
                    let style = if is_chosen { Style::BOLD } else { Style::DIM };
                    let text = format!("  {:<12} {}", candidate.text, candidate.about);
                    Line::styled(&fitted(text.trim_end(), columns), style)
                })
                .chain(
                    completions.n_hidden().map(|n| Line::styled(&format!("  … {n}"), Style::DIM)),
                )
                .collect()
        } else {
            vec![Line::styled(&fitted(self.language.say(keys), columns), Style::DIM)]
        };
        rows.extend(below);
        LiveRows {
            rows,
            cursor_row: n_apart + shown.cursor_row - first,
            cursor_column: shown.cursor_column + MARK.len(),
        }
    }
}

#[cfg(test)]
mod tests;
