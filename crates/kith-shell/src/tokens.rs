//! The second reading of a script: a strict reader for the simple forms, and for nothing else.
//!
//! A grammar made for editors forgives, and forgives differently from a shell. So what it found is
//! compared with what this reader finds, and where they differ, a person is asked.

use crate::word::Word;

/// The words of one command, and the files it is redirected to or from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenCommand {
    pub(crate) words: Vec<String>,
    pub(crate) targets: Vec<String>,
}

/// The commands in the order of the text, then redirections of groups in alphabetical order.
/// `None`: the script has a form that this reader does not know.
pub(crate) fn commands(script: &str) -> Option<Vec<TokenCommand>> {
    let mut reader = TokenReader {
        rest: script,
        commands: Vec::new(),
        groups: Vec::new(),
        command: TokenCommand::default(),
        brackets: Vec::new(),
        expects: Expects::CommandOrEnd,
    };
    while reader.step()? {}
    let mut commands = reader.commands;
    reader.groups.sort();
    commands.extend(reader.groups);
    Some(commands)
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Command,
    CommandOrEnd,
    /// Assignments came, and nothing else yet.
    Program,
    Arguments,
    /// A group has closed: redirections and operators may follow.
    Operator,
}

struct TokenReader<'a> {
    rest: &'a str,
    commands: Vec<TokenCommand>,
    groups: Vec<TokenCommand>,
    command: TokenCommand,
    brackets: Vec<char>,
    expects: Expects,
}

const KEYWORDS: [&str; 20] = [
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do",
    "done", "in", "function", "coproc", "[[", "]]", "((", "))",
];

impl<'a> TokenReader<'a> {
    /// Reads one token; `false` at the end of the script.
    fn step(&mut self) -> Option<bool> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        if let Some(rest) = self.rest.strip_prefix("\\\n") {
            self.rest = rest;
            return Some(true);
        }
        let Some(first) = self.rest.chars().next() else {
            self.end_of_command()?;
            return (self.brackets.is_empty() && self.expects != Expects::Command).then_some(false);
        };
        match first {
            '#' => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            }
            ';' if self.rest.starts_with(";;") => return None,
            ';' if self.is_between() => return None,
            '\n' | ';' => self.separator(1, Expects::CommandOrEnd)?,
            '&' if self.rest.starts_with("&>") => self.redirect()?,
            '&' if self.rest.starts_with("&&") => self.operator(2)?,
            '&' => return None,
            '|' if self.rest.starts_with("||") || self.rest.starts_with("|&") => {
                self.operator(2)?;
            }
            '|' => self.operator(1)?,
            '(' => self.open('(')?,
            ')' => self.close('(')?,
            '<' | '>' => self.redirect()?,
            _ => self.word()?,
        }
        Some(true)
    }

    fn is_between(&self) -> bool {
        matches!(self.expects, Expects::Command | Expects::CommandOrEnd)
    }

    fn operator(&mut self, n_bytes: usize) -> Option<()> {
        if self.is_between() {
            return None;
        }
        self.separator(n_bytes, Expects::Command)
    }

    fn separator(&mut self, n_bytes: usize, then: Expects) -> Option<()> {
        self.rest = &self.rest[n_bytes..];
        // After an operator, a line may end before the next command begins.
        if self.expects == Expects::Command {
            return Some(());
        }
        self.end_of_command()?;
        self.expects = then;
        Some(())
    }

    fn end_of_command(&mut self) -> Option<()> {
        let command = std::mem::take(&mut self.command);
        match self.expects {
            Expects::Command | Expects::CommandOrEnd if command == TokenCommand::default() => (),
            Expects::Arguments if !command.words.is_empty() => self.commands.push(command),
            Expects::Operator if command.words.is_empty() => {
                if !command.targets.is_empty() {
                    self.groups.push(command);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn open(&mut self, bracket: char) -> Option<()> {
        if !self.is_between()
            || self.command != TokenCommand::default()
            || self.rest.starts_with("((")
        {
            return None;
        }
        self.rest = &self.rest[1..];
        self.brackets.push(bracket);
        self.expects = Expects::Command;
        Some(())
    }

    fn close(&mut self, bracket: char) -> Option<()> {
        self.rest = &self.rest[1..];
        if self.expects == Expects::Command {
            return None;
        }
        self.end_of_command()?;
        self.expects = Expects::Operator;
        (self.brackets.pop() == Some(bracket)).then_some(())
    }

    fn redirect(&mut self) -> Option<()> {
        let operators = ["&>>", "&>", ">>", ">|", ">&", "<&", "<>", ">", "<"];
        if ["<<", "<(", ">("].iter().any(|it| self.rest.starts_with(it)) {
            return None;
        }
        let operator = operators.into_iter().find(|it| self.rest.starts_with(it))?;
        self.rest = self.rest[operator.len()..].trim_start_matches([' ', '\t']);
        let target = self.raw_word()?;
        let is_descriptor = target == "-" || target.bytes().all(|it| it.is_ascii_digit());
        match operator {
            ">&" | "<&" if is_descriptor => (),
            "<&" => return None,
            _ => self.command.targets.push(Word::read(target).text),
        }
        if self.is_between() {
            self.expects = Expects::Program;
        }
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        let raw = self.raw_word()?;
        let is_number = raw.bytes().all(|it| it.is_ascii_digit());
        if self.rest.starts_with(['<', '>']) {
            // `2>&1`; a name for the descriptor, `{fd}>`, is not known here.
            let is_name = raw.starts_with('{') && raw.ends_with('}');
            if is_number {
                return self.redirect();
            }
            if is_name {
                return None;
            }
        }
        let is_open = self.is_between();
        match self.expects {
            Expects::Operator if raw == "}" => return self.close_brace(),
            Expects::Operator => return None,
            _ if is_open && raw == "!" => {
                self.expects = Expects::Command;
                return Some(());
            }
            _ if is_open && raw == "{" => {
                self.brackets.push('{');
                self.expects = Expects::Command;
                return Some(());
            }
            _ if is_open && raw == "}" => return self.close_brace(),
            _ if is_open && KEYWORDS.contains(&raw) => return None,
            Expects::Arguments => (),
            _ if is_assignment(raw) => {
                self.expects = Expects::Program;
                return Some(());
            }
            _ => (),
        }
        self.expects = Expects::Arguments;
        self.command.words.extend(Word::read_all(raw).into_iter().map(|it| it.text));
        Some(())
    }

    fn close_brace(&mut self) -> Option<()> {
        if self.expects == Expects::Command || self.command.words != Vec::<String>::new() {
            return None;
        }
        self.end_of_command()?;
        self.expects = Expects::Operator;
        (self.brackets.pop() == Some('{')).then_some(())
    }

    /// A word as written, up to the next blank or operator.
    fn raw_word(&mut self) -> Option<&'a str> {
        let text = self.rest;
        let mut chars = text.char_indices();
        let mut end = text.len();
        while let Some((at, ch)) = chars.next() {
            match ch {
                '\\' => {
                    chars.next()?;
                }
                '\'' => {
                    chars.find(|(_, it)| *it == '\'')?;
                }
                '"' => loop {
                    match chars.next()?.1 {
                        '"' => break,
                        '\\' => {
                            chars.next()?;
                        }
                        '`' => return None,
                        _ => (),
                    }
                },
                '`' => return None,
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => {
                    end = at;
                    break;
                }
                _ => (),
            }
        }
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

fn is_assignment(raw: &str) -> bool {
    let Some((name, _)) = raw.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_start = name.starts_with(|ch: char| ch.is_ascii_alphabetic() || ch == '_');
    is_start && name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
}
