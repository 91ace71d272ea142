//! Which words can stand at the end of a command line. Pure: what only the house knows is named here and
//! looked up by the command.

use clap::{Arg, Command};

/// Words of the house that an argument can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HouseWords {
    Sessions,
    Agents,
    Models,
    Scripts,
    Skills,
    Threads,
}

/// A word that could be typed, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShellWord {
    pub(crate) word: String,
    pub(crate) about: String,
}

/// What is known of the last word of a command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Completion {
    /// What was typed of it.
    pub(crate) typed: String,
    /// What stands before it in the same word (`--model=`) and has to be repeated.
    pub(crate) before: String,
    pub(crate) candidates: Vec<ShellWord>,
    pub(crate) of_house: Option<HouseWords>,
    /// The values of `--home` and `--agent`, if they were typed before.
    pub(crate) home: Option<String>,
    pub(crate) agent: Option<String>,
}

/// The command line so far.
struct CommandLine<'a> {
    command: &'a Command,
    path: Vec<&'a str>,
    n_positional: usize,
    /// The option whose value comes next.
    awaits: Option<&'a Arg>,
    only_positional: bool,
    home: Option<String>,
    agent: Option<String>,
}

/// Finds what could stand for the last of these words. `root` must be built, so that global options are
/// known everywhere.
pub(crate) fn complete(root: &Command, words: &[String]) -> Completion {
    let words = joined_at_equals(words);
    let Some((typed, earlier)) = words.split_last() else { return Completion::default() };
    let mut line = CommandLine {
        command: root,
        path: Vec::new(),
        n_positional: 0,
        awaits: None,
        only_positional: false,
        home: None,
        agent: None,
    };
    for word in earlier {
        line.read(word);
    }
    let mut completion = line.last_word(typed);
    (completion.home, completion.agent) = (line.home, line.agent);
    let Completion { typed, candidates, .. } = &mut completion;
    candidates.retain(|it| it.word.starts_with(typed.as_str()));
    completion
}

/// bash breaks `--model=x` into three words.
fn joined_at_equals(words: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last) if word == "=" && last.starts_with("--") => last.push('='),
            Some(last) if last.starts_with("--") && last.ends_with('=') && word != "=" => {
                last.push_str(word);
            }
            _ => joined.push(word.clone()),
        }
    }
    joined
}

impl<'a> CommandLine<'a> {
    fn read(&mut self, word: &str) {
        if let Some(arg) = self.awaits.take() {
            self.note_value(arg, word);
        } else if self.only_positional {
            self.n_positional += 1;
        } else if word == "--" {
            self.only_positional = true;
        } else if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--"))
        {
            if let Some(arg) = self.option(name) {
                self.note_value(arg, value);
            }
        } else if word.starts_with('-') && word.len() > 1 {
            self.awaits = self.option(word).filter(|arg| arg.get_action().takes_values());
        } else if let Some(command) = self.subcommand(word) {
            self.path.push(command.get_name());
            (self.command, self.n_positional) = (command, 0);
        } else {
            self.n_positional += 1;
        }
    }

    fn note_value(&mut self, arg: &Arg, value: &str) {
        match arg.get_id().as_str() {
            "home" => self.home = Some(value.to_owned()),
            "agent" => self.agent = Some(value.to_owned()),
            _ => (),
        }
    }

    fn option(&self, name: &str) -> Option<&'a Arg> {
        let is_named = |arg: &&Arg| match name.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            // `-qV`: the last letter is the one that could have a value.
            None => arg.get_short().is_some() && arg.get_short() == name.chars().last(),
        };
        self.command.get_arguments().find(is_named)
    }

    /// A subcommand stands before all that is positional.
    fn subcommand(&self, name: &str) -> Option<&'a Command> {
        if self.n_positional > 0 { None } else { self.command.find_subcommand(name) }
    }

    fn last_word(&self, word: &str) -> Completion {
        if let Some(arg) = self.awaits {
            return self.values(arg, word);
        }
        if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--"))
            && let Some(arg) = self.option(name)
        {
            return Completion { before: format!("{name}="), ..self.values(arg, value) };
        }
        if word.starts_with('-') && !self.only_positional {
            return Completion {
                typed: word.to_owned(),
                candidates: self.options(),
                ..Completion::default()
            };
        }
        let positional: Vec<&Arg> = self.command.get_positionals().collect();
        // The last one may have several words.
        let takes_more = |arg: &&&Arg| arg.get_num_args().is_some_and(|it| it.max_values() > 1);
        let last = || positional.last().filter(takes_more);
        let mut completion = match positional.get(self.n_positional).or_else(last) {
            Some(arg) => self.values(arg, word),
            None => Completion { typed: word.to_owned(), ..Completion::default() },
        };
        if self.n_positional == 0 && !self.only_positional {
            let shown = self.command.get_subcommands().filter(|it| !it.is_hide_set());
            completion.candidates.extend(shown.map(|it| ShellWord {
                word: it.get_name().to_owned(),
                about: first_line(it.get_about()),
            }));
        }
        completion
    }

    fn options(&self) -> Vec<ShellWord> {
        let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
        let candidate = |arg: &Arg| {
            let word = format!("--{}", arg.get_long()?);
            Some(ShellWord { word, about: first_line(arg.get_help()) })
        };
        shown.filter_map(candidate).collect()
    }

    fn values(&self, arg: &Arg, typed: &str) -> Completion {
        let possible = arg.get_possible_values();
        let is_flag = !arg.get_action().takes_values();
        let candidates = possible.iter().filter(|it| !is_flag && !it.is_hide_set()).map(|it| {
            ShellWord { word: it.get_name().to_owned(), about: first_line(it.get_help()) }
        });
        Completion {
            typed: typed.to_owned(),
            candidates: candidates.collect(),
            of_house: of_house(&self.path, arg),
            ..Completion::default()
        }
    }
}

/// Where the words for an argument come from, if the house knows them.
fn of_house(path: &[&str], arg: &Arg) -> Option<HouseWords> {
    Some(match (path, arg.get_id().as_str()) {
        (_, "session") => HouseWords::Sessions,
        (_, "agent") | (["agent", "rm"], "id") => HouseWords::Agents,
        (_, "model") | (["model", ..], "name") => HouseWords::Models,
        (_, "prime" | "script_ref") => HouseWords::Scripts,
        (["skill", ..], "name") => HouseWords::Skills,
        (_, "thread") => HouseWords::Threads,
        _ => return None,
    })
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
