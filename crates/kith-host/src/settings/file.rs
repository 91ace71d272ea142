//! Reads and checks one settings file. A mistake is reported with its line.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use kith_home::error::Problem;
use kith_home::placeholder::is_placeholder;
use kith_home::trust::ownership_problem;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::tables::{MODELS_KEYS, NOT_A_MODEL, SettingsTables};
use super::{SettingPlace, refused, shown_name};
use crate::error::{CallError, ErrorCode, quoted};

const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;

/// Which of the two files it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileScope {
    House,
    User,
}

#[derive(Debug)]
pub(super) struct SettingsFile {
    pub(super) path: Arc<Path>,
    pub(super) tables: SettingsTables,
    /// The full names of all keys in it.
    pub(super) keys: Vec<String>,
    text: String,
    /// Why it may not be the user's own, as it was when it was read.
    doubt: Option<Problem>,
}

/// What is wrong, and in which line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SettingsMistake {
    pub(super) line: usize,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl SettingsFile {
    /// Reads the file; `None` if there is none.
    pub(super) fn read(path: PathBuf, scope: FileScope) -> Result<Option<SettingsFile>, CallError> {
        let Some((text, doubt)) = read_bounded(&path)? else { return Ok(None) };
        let path: Arc<Path> = path.into();
        match parse(&text, scope) {
            Ok((tables, keys)) => Ok(Some(SettingsFile { path, tables, keys, text, doubt })),
            Err(SettingsMistake { line, message, hint }) => {
                let report = refused(Some(&SettingPlace { file: path, line }), &message);
                Err(hint.into_iter().fold(report, CallError::hint))
            }
        }
    }

    /// Refuses a file that another user owns or could write: it says where words and keys go.
    pub(super) fn require_owner(&self) -> Result<(), CallError> {
        let Some(problem) = &self.doubt else { return Ok(()) };
        let why = match problem {
            Problem::ForeignOwner { uid } => format!("it belongs to user {uid}"),
            _ => "any user can write to it".to_owned(),
        };
        let message = format!("`{}` cannot be used: {why}", self.path.display());
        let fix = format!("check it, then `chown $USER {0}; chmod go-w {0}`", quoted(&self.path));
        Err(CallError::request(ErrorCode::Untrusted, message).hint(fix))
    }

    pub(super) fn place_of<T>(&self, spanned: &Spanned<T>) -> SettingPlace {
        let line = line_of(&self.text, spanned.span().start);
        SettingPlace { file: Arc::clone(&self.path), line }
    }

    /// A path as seen from the folder of this file; `~/` is the user's home.
    pub(super) fn resolve(&self, path: &str, user_home: Option<&Path>) -> PathBuf {
        match (path.strip_prefix("~/"), user_home) {
            (Some(rest), Some(user_home)) => user_home.join(rest),
            _ => self.path.parent().unwrap_or(Path::new("/")).join(path),
        }
    }
}

pub(super) fn parse(
    text: &str,
    scope: FileScope,
) -> Result<(SettingsTables, Vec<String>), SettingsMistake> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        SettingsMistake { line, message: error.message().trim().replace('\n', ", "), hint: None }
    })?;
    let mut keys = Vec::new();
    gather_keys(table.get_ref(), "", &mut keys);
    let tables = SettingsTables::deserialize(toml::Deserializer::from(table))
        .map_err(|error| mistake_of(error, text))?;
    check_scope(&tables, scope, text)?;
    Ok((tables, keys))
}

/// What concerns one house stands in that house, and what concerns all of them does not.
fn check_scope(
    tables: &SettingsTables,
    scope: FileScope,
    text: &str,
) -> Result<(), SettingsMistake> {
    let wrong = |at: usize, message: &str, hint: &str| {
        let (message, hint) = (message.to_owned(), Some(hint.to_owned()));
        Err(SettingsMistake { line: line_of(text, at), message, hint })
    };
    if let (FileScope::House, Some(named)) = (scope, &tables.house.default) {
        return wrong(
            named.span().start,
            "`[house]` belongs in `~/.kith/config.toml`: it is for folders in no house",
            "remove it from `kith.toml`",
        );
    }
    let agents = tables.agents.values().map(|it| ("[agents]", it.span().start)).next();
    let agent = tables.agent.as_ref().map(|it| ("[agent]", it.span().start));
    match (scope, &tables.identity, agent.or(agents)) {
        (FileScope::House, Some(identity), _) => wrong(
            identity.span().start,
            "`[identity]` belongs in `~/.kith/config.toml`: it is for all agents",
            "in `kith.toml` write `[agent.identity]` or `[agents.<id>.identity]`",
        ),
        (FileScope::User, _, Some((name, at))) => wrong(
            at,
            &format!("`{name}` belongs in the `kith.toml` of a house"),
            "`[identity]` is for all agents",
        ),
        _ => Ok(()),
    }
}

/// Says in plain words what serde says in its own, without the value.
fn mistake_of(mut error: toml::de::Error, text: &str) -> SettingsMistake {
    error.set_input(None);
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let full = error.to_string();
    let path = full.strip_prefix(error.message()).and_then(|rest| rest.split('`').nth(1));
    let path = shown_name(path.unwrap_or_default());
    let (message, hint) = in_words(error.message(), &path);
    SettingsMistake { line, message, hint }
}

fn in_words(message: &str, path: &str) -> (String, Option<String>) {
    // What was expected stands last; what stands before may be anything that the file holds.
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let name = rest.rsplit_once("`, expected ").map_or(rest, |(name, _)| name);
        let valid: Vec<&str> = expected.unwrap_or_default().split('`').skip(1).step_by(2).collect();
        return unknown_key(name, path, &valid);
    }
    if let Some(name) = message.strip_prefix("missing field ") {
        return (format!("`[{path}]` is missing {name}"), None);
    }
    match (message.starts_with("invalid type: "), expected) {
        (true, Some(NOT_A_MODEL)) => {
            let name = path.rsplit('.').next().unwrap_or_default();
            unknown_key(name, "models", &MODELS_KEYS)
        }
        (true, Some(expected)) => {
            let expected = match expected {
                "a sequence" => "a list",
                "a map" => "a table",
                expected => expected,
            };
            (format!("`{path}` must be {expected}"), None)
        }
        _ => {
            let (message, hint) = message.split_once('\n').unwrap_or((message, ""));
            let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
            // A complaint about a name names it.
            let has_subject = message.starts_with('`');
            (if has_subject { message.to_owned() } else { format!("`{path}` {message}") }, hint)
        }
    }
}

const KEYS_OF_MODELS: [&str; 2] = ["use", "fallbacks"];

fn unknown_key(name: &str, path: &str, valid: &[&str]) -> (String, Option<String>) {
    let place = if path.is_empty() { String::new() } else { format!(" in `[{path}]`") };
    let hint = match nearest(name, valid.iter().copied()) {
        // Written without its table, as people do who have read only the line.
        _ if path.is_empty() && KEYS_OF_MODELS.contains(&name) => {
            format!("`{name}` belongs below `[models]`")
        }
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("valid keys: {}", valid.join(", ")),
    };
    (format!("unknown key `{}`{place}", shown_name(name)), Some(hint))
}

/// The full name of every key that holds a value. Parameters of a model are one value.
fn gather_keys(table: &DeTable<'_>, prefix: &str, keys: &mut Vec<String>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if key.get_ref() != "parameters" => {
                gather_keys(inner, &format!("{name}."), keys);
            }
            _ => keys.push(name),
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn read_bounded(path: &Path) -> Result<Option<(String, Option<Problem>)>, CallError> {
    let refuse = |what: &str| Err(CallError::invalid(format!("`{}` {what}", path.display())));
    let failed = |source: io::Error| {
        CallError::filesystem(format!("cannot read `{}`: {source}", path.display()))
    };
    match fs::metadata(path) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
            return if is_link {
                refuse("is a link to a file that does not exist; correct or remove it")
            } else {
                Ok(None)
            };
        }
        Err(error) => return Err(failed(error)),
        // Stands for an absent file while a sandbox runs.
        Ok(metadata) if is_placeholder(&metadata) => return Ok(None),
        // A pipe would be waited for until somebody writes to it.
        Ok(metadata) if !metadata.is_file() => return refuse("is not a file; remove it"),
        Ok(_) => (),
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(failed)?;
    let doubt = file.metadata().map_err(failed).map(|it| ownership_problem(&it))?;
    file.take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > SETTINGS_BYTES_MAX {
        return refuse("is larger than 1 MiB");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some((text, doubt))),
        Err(_) => refuse("is not UTF-8 text"),
    }
}
