//! Hints for command lines that people type out of habit: a message without `ask`, options of other
//! programs, a command with two letters swapped.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use kith_host::settings::nearest;

use super::Invocation;

/// What was probably meant, if that can be told.
pub(super) fn hint(error: &clap::Error) -> Option<String> {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => hint_for_word(named(ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => hint_for_argument(named(ContextKind::InvalidArg)?),
        _ => None,
    }
}

fn hint_for_word(word: &str) -> Option<String> {
    let commands = Invocation::command();
    let shown = commands.get_subcommands().filter(|it| !it.is_hide_set());
    let known = shown.map(clap::Command::get_name);
    // The commands of a command are for clap to compare.
    let first = super::words().skip(1).find(|it| !it.as_encoded_bytes().starts_with(b"-"))?;
    if first != word {
        return None;
    }
    Some(match nearest(word, known).filter(|known| is_slip(word, known)) {
        _ if word.contains(char::is_whitespace) || !word.is_ascii() => {
            "`kith ask \"…\"` sends a message; `kith` alone opens the chat".to_owned()
        }
        _ if word == "chat" => "`kith` alone opens the chat".to_owned(),
        _ if word == "continue" => hint_for_continuing(),
        _ if ["ls", "list", "history"].contains(&word) => {
            "`kith session ls` lists conversations".to_owned()
        }
        _ if ["login", "auth", "key", "keys"].contains(&word) => {
            "there is no login: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a model in kith.toml"
                .to_owned()
        }
        _ if ["config", "settings"].contains(&word) => {
            "settings are in kith.toml in the agent's folder; `kith doctor` says which were read"
                .to_owned()
        }
        _ if ["serve", "daemon", "web", "start"].contains(&word) => {
            "`kith up --open` starts the daemon and opens its page".to_owned()
        }
        Some(meant) => format!("did you mean `kith {meant}`?"),
        None => {
            format!("`kith ask {word}` sends this as a message; `kith --help` lists the commands")
        }
    })
}

/// Whether a word has at most one letter that the other lacks: two of four would be another word.
fn is_slip(word: &str, known: &str) -> bool {
    let mut left: Vec<char> = known.chars().collect();
    let n_missing = word.chars().filter(|ch| match left.iter().position(|it| it == ch) {
        Some(at) => {
            left.remove(at);
            false
        }
        None => true,
    });
    n_missing.count() <= 1 && left.len() <= 2
}

/// Options of programs that people know.
fn hint_for_argument(argument: &str) -> Option<String> {
    let name = argument.split('=').next().unwrap_or_default();
    Some(match name {
        "-p" | "--print" | "--prompt" | "-e" | "--exec" => {
            "`kith ask TEXT` prints one answer and ends; `-q` leaves the notes out".to_owned()
        }
        "-c" | "--continue" => hint_for_continuing(),
        "-r" | "--resume" | "--session" => {
            "`kith resume SESSION` opens a session; `kith session ls` lists them".to_owned()
        }
        "-n" | "--new" => {
            "`kith new` starts a new session here, and `kith` goes on with it; in the chat: `/new`"
                .to_owned()
        }
        "-m" => "the option is `--model`".to_owned(),
        "--prime" => {
            "`kith new --prime SCRIPT` starts a session with the script, and `kith` goes on \
                      with it; `kith ask --prime SCRIPT TEXT` asks at once"
                .to_owned()
        }
        "--yolo" | "--full-auto" | "--dangerously-skip-permissions" => {
            "`mode` in `[policy]` of kith.toml decides what is asked before it runs".to_owned()
        }
        _ => return None,
    })
}

fn hint_for_continuing() -> String {
    "`kith` continues this folder's conversation by itself; `kith resume SESSION` opens another"
        .to_owned()
}
