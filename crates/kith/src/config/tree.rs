//! Settings that were checked: tables of values, each with the place it stands at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::schema::Stage;

#[derive(Clone, Debug, Default)]
pub(super) struct Tree(pub(super) BTreeMap<String, Entry>);

#[derive(Clone, Debug)]
pub(super) enum Entry {
    Table(Tree),
    Setting(Setting),
}

#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) value: Value,
    pub(super) place: Place,
    pub(super) stage: Stage,
}

/// Where a setting stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: Arc<Path>,
    pub(crate) line: usize,
}

impl Tree {
    /// What stands here, and of `far` what does not: the nearer wins, key by key.
    pub(super) fn over(mut self, far: Tree) -> Tree {
        for (name, far) in far.0 {
            let merged = match (self.0.remove(&name), far) {
                (Some(Entry::Table(near)), Entry::Table(far)) => Entry::Table(near.over(far)),
                (Some(near), _) => near,
                (None, far) => far,
            };
            self.0.insert(name, merged);
        }
        self
    }

    pub(super) fn table(&self, name: &str) -> Option<&Tree> {
        match self.0.get(name)? {
            Entry::Table(table) => Some(table),
            Entry::Setting(_) => None,
        }
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = (&String, &Tree)> {
        self.0.iter().filter_map(|(name, entry)| match entry {
            Entry::Table(table) => Some((name, table)),
            Entry::Setting(_) => None,
        })
    }

    pub(super) fn setting(&self, name: &str) -> Option<&Setting> {
        match self.0.get(name)? {
            Entry::Setting(setting) => Some(setting),
            Entry::Table(_) => None,
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.setting(name)?.value.as_str().map(str::to_owned)
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.setting(name)?.value.as_u64()
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.setting(name)?.value.as_array()?.iter();
        Some(items.filter_map(|item| item.as_str().map(str::to_owned)).collect())
    }

    /// Paths as seen from the folder of the file they stand in; `~/` is the user's home.
    pub(super) fn paths(&self, name: &str, user_home: Option<&Path>) -> Option<Vec<PathBuf>> {
        let folder = self.setting(name)?.place.file.parent()?.to_owned();
        let paths = self.texts(name)?.into_iter();
        Some(
            paths
                .map(|path| match (path.strip_prefix("~/"), user_home) {
                    (Some(rest), Some(user_home)) => user_home.join(rest),
                    _ => folder.join(path),
                })
                .collect(),
        )
    }

    /// Every setting with its full name, in the order of names.
    pub(super) fn settings(&self) -> Vec<(String, &Setting)> {
        let mut found = Vec::new();
        self.gather("", &mut found);
        found
    }

    fn gather<'a>(&'a self, prefix: &str, found: &mut Vec<(String, &'a Setting)>) {
        for (name, entry) in &self.0 {
            match entry {
                Entry::Table(table) => table.gather(&format!("{prefix}{name}."), found),
                Entry::Setting(setting) => found.push((format!("{prefix}{name}"), setting)),
            }
        }
    }

    /// Some place in this table.
    pub(super) fn place(&self) -> Option<&Place> {
        self.0.values().find_map(|entry| match entry {
            Entry::Table(table) => table.place(),
            Entry::Setting(setting) => Some(&setting.place),
        })
    }
}
