//! One file of settings, held against the table of names.
//!
//! All of it is looked at before anything of it is used, and the first mistake is told. Someone who
//! writes `deny = […]` in the wrong place and sees no complaint will rely on it.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::kind::{Kind, Refusal};
use super::nearest::nearest;
use super::schema::{HOUSE_ONLY, Key, Named, Stage, TOP, Table, USER_ONLY};
use super::tree::{Entry, Place, Setting, Tree};

/// What is wrong, and in which line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Whose settings a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    House,
    User,
}

/// Of a name that is repeated in an error.
const NAME_CHARS_MAX: usize = 80;

pub(super) fn check(text: &str, file: &Arc<Path>, whose: Whose) -> Result<Tree, Mistake> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = lines.line_of(error.span().map_or(0, |span| span.start));
        Mistake { line, message: error.message().trim().replace('\n', ", "), hint: None }
    })?;
    let mut checker = Checker { lines, file: Arc::clone(file), first: None };
    for (key, _) in table.get_ref() {
        checker.belongs(key, whose);
    }
    let tree = checker.table(table.get_ref(), &TOP, "");
    match checker.first {
        None => Ok(tree),
        Some(Refusal { at, what, hint }) => {
            Err(Mistake { line: checker.lines.line_of(at), message: what, hint })
        }
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    fn line_of(&self, at: usize) -> usize {
        1 + self.0.partition_point(|&start| start <= at)
    }
}

struct Checker {
    lines: Lines,
    file: Arc<Path>,
    /// Tables come in the order of their names; what is told is what stands first.
    first: Option<Refusal>,
}

impl Checker {
    fn table(&mut self, found: &DeTable<'_>, table: &Table, path: &str) -> Tree {
        let mut tree = Tree::default();
        for (key, value) in found {
            let name = key.get_ref().as_ref();
            if let Some(entry) = self.entry(key, value, table, path) {
                tree.0.insert(name.to_owned(), entry);
            }
        }
        tree
    }

    fn entry(
        &mut self,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        table: &Table,
        path: &str,
    ) -> Option<Entry> {
        let name = key.get_ref().as_ref();
        if let Some(known) = table.keys.iter().find(|known| known.name == name) {
            return self.known(known, value, path);
        }
        if let (Some(named), DeValue::Table(inner)) = (&table.named, value.get_ref()) {
            return self.named(named, key, inner, path);
        }
        self.unknown(key, table, path);
        None
    }

    fn known(&mut self, key: &Key, value: &Spanned<DeValue<'_>>, path: &str) -> Option<Entry> {
        let full = format!("{path}{}", key.name);
        if let (Kind::Table(inner), DeValue::Table(found)) = (&key.kind, value.get_ref()) {
            return Some(Entry::Table(self.table(found, inner, &format!("{full}."))));
        }
        match key.kind.take(key.name, value) {
            Ok(taken) => {
                let line = self.lines.line_of(value.span().start);
                let place = Place { file: Arc::clone(&self.file), line };
                let stage: Stage = key.stage;
                Some(Entry::Setting(Setting { value: taken, place, stage }))
            }
            Err(Refusal { at, what, hint }) => {
                self.refuse(at, || (format!("`{full}` {what}"), hint));
                None
            }
        }
    }

    fn named(
        &mut self,
        named: &Named,
        key: &Spanned<DeString<'_>>,
        found: &DeTable<'_>,
        path: &str,
    ) -> Option<Entry> {
        let name = key.get_ref().as_ref();
        if !(named.is_name)(name) {
            let message = format!("`{}` must be {}", shown(name), named.must_be);
            self.refuse(key.span().start, || (message, None));
            return None;
        }
        Some(Entry::Table(self.table(found, named.table, &format!("{path}{name}."))))
    }

    fn unknown(&mut self, key: &Spanned<DeString<'_>>, table: &Table, path: &str) {
        self.refuse(key.span().start, || {
            let name = shown(key.get_ref());
            let place = match path.strip_suffix('.') {
                None => "the settings".to_owned(),
                Some(path) => format!("`[{path}]`"),
            };
            let names = table.keys.iter().map(|key| key.name);
            let hint = match nearest(&name, names.clone()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => match (&table.named, table.keys) {
                    (Some(chosen), []) => {
                        format!("here stand tables, `[{path}{}]`", chosen.shown)
                    }
                    _ => format!("there are: {}", names.collect::<Vec<_>>().join(", ")),
                },
            };
            (format!("there is no `{name}` in {place}"), Some(hint))
        });
    }

    /// What is about one house stands in that house, and what is about all of them does not.
    fn belongs(&mut self, key: &Spanned<DeString<'_>>, whose: Whose) {
        let name = key.get_ref().as_ref();
        let (message, hint) = match whose {
            Whose::House if USER_ONLY.contains(&name) => (
                format!("`{name}` belongs in `~/.kith/config.toml`, for every agent"),
                format!("here it is `[agent.{name}]`, or `[agents.<id>.{name}]`"),
            ),
            Whose::User if HOUSE_ONLY.contains(&name) => (
                format!("`{name}` belongs in the `kith.toml` of a house"),
                "for every agent there is `[identity]`".to_owned(),
            ),
            _ => return,
        };
        self.refuse(key.span().start, || (message, Some(hint)));
    }

    fn refuse(&mut self, at: usize, told: impl FnOnce() -> (String, Option<String>)) {
        if self.first.as_ref().is_some_and(|first| first.at <= at) {
            return;
        }
        let (what, hint) = told();
        self.first = Some(Refusal { at, what, hint });
    }
}

/// A name that may be anything, in one line.
fn shown(name: &str) -> String {
    let name = name.chars().take(NAME_CHARS_MAX);
    name.map(|ch| if ch.is_control() { '\u{fffd}' } else { ch }).collect()
}
