//! Changes one key of a settings file. Comments, layout and everything else in it stay as they are.

use std::fs;
use std::io;
use std::path::Path;

use kith_home::init::replace_settings;
use kith_home::trust::make_user_folder;
use toml_edit::{Array, DocumentMut, Item, Value};

use super::file::{FileScope, SettingsFile, parse};
use super::forms::TEXT_CHARS_MAX;
use crate::error::CallError;
use crate::house::House;

/// Writes `[models] use` into the settings of the house, and the table of that model if it is new there.
/// Returns what stood there.
pub fn set_used_model(
    house: &House,
    name: &str,
    table: Option<&str>,
) -> Result<Option<String>, CallError> {
    change(&house.dir.join("kith.toml"), FileScope::House, |text| {
        let (text, before) = with_key(text, ("models", "use"), name)?;
        Ok(match table {
            Some(table) => (format!("{text}{}{table}", space_after(&text)), before),
            None => (text, before),
        })
    })
}

/// Makes this the house that is used in folders that are in none, unless another one is already. One
/// whose folder is gone is replaced: otherwise no command would work outside a house until somebody
/// edits the file. Returns whether it did.
pub fn set_default_house(user_home: &Path, house: &Path) -> Result<bool, CallError> {
    let path = user_home.join(".kith/config.toml");
    let file = SettingsFile::read(path.clone(), FileScope::User)?;
    // A name that settings cannot hold stays out of them.
    let name = house.to_str().filter(|it| it.chars().count() <= TEXT_CHARS_MAX);
    let Some(house) = name else { return Ok(false) };
    let has_default = file.is_some_and(|file| {
        let named = file.tables.house.default.as_ref();
        named.is_some_and(|named| file.resolve(&named.get_ref().0, Some(user_home)).is_dir())
    });
    if has_default {
        return Ok(false);
    }
    make_user_folder(user_home)?;
    set_key(&path, FileScope::User, ("house", "default"), house)?;
    Ok(true)
}

/// Adds an agent to the settings of the house.
pub fn add_agent(house: &House, id: &str, home: &str) -> Result<(), CallError> {
    change(&house.dir.join("kith.toml"), FileScope::House, |text| {
        let space = space_after(text);
        // An id has only letters that a bare key may have.
        Ok((format!("{text}{space}[agents.{id}]\nhome = {}\n", Value::from(home)), ()))
    })
}

/// Takes an agent out of the settings of the house.
pub fn remove_agent(house: &House, id: &str) -> Result<(), CallError> {
    change(&house.dir.join("kith.toml"), FileScope::House, |text| {
        let mut document = parsed(text)?;
        let agents = document.get_mut("agents").and_then(Item::as_table_like_mut);
        let removed = agents.and_then(|agents| agents.remove(id));
        match removed {
            Some(_) => Ok((document.to_string(), ())),
            None => Err(CallError::invalid(format!("`kith.toml` has no `[agents.{id}]`"))),
        }
    })
}

/// Adds a folder to the projects of the house.
pub fn add_project(house: &House, folder: &str) -> Result<(), CallError> {
    change(&house.dir.join("kith.toml"), FileScope::House, |text| {
        let mut document = parsed(text)?;
        let Some(table) = document.get_mut("projects") else {
            let space = space_after(text);
            return Ok((
                format!("{text}{space}[projects]\nfolders = [{}]\n", Value::from(folder)),
                (),
            ));
        };
        let table = table.as_table_like_mut();
        let table = table.ok_or_else(|| unchanged("`projects` is not a table"))?;
        let folders = table.entry("folders").or_insert(Item::Value(Value::Array(Array::new())));
        let folders = folders.as_array_mut();
        folders.ok_or_else(|| unchanged("`projects.folders` is not a list"))?.push(folder);
        Ok((document.to_string(), ()))
    })
}

/// Takes a folder out of the projects of the house.
pub fn remove_project(house: &House, folder: &Path) -> Result<(), CallError> {
    let path = house.dir.join("kith.toml");
    let file = SettingsFile::read(path.clone(), FileScope::House)?;
    let is_folder = |written: &str| {
        let resolve = |file: &SettingsFile| file.resolve(written, house.user_home.as_deref());
        file.as_ref().map(resolve).as_deref() == Some(folder)
    };
    change(&path, FileScope::House, |text| {
        let mut document = parsed(text)?;
        let folders = document.get_mut("projects").and_then(|it| it.get_mut("folders"));
        let folders = folders.and_then(Item::as_array_mut);
        let place = folders
            .as_ref()
            .and_then(|it| it.iter().position(|written| written.as_str().is_some_and(is_folder)));
        let (Some(folders), Some(place)) = (folders, place) else {
            let message = format!("`{}` stands in another file of settings", folder.display());
            return Err(CallError::invalid(message)
                .hint("take it out of `[projects]` in `~/.kith/config.toml` by hand"));
        };
        folders.remove(place);
        Ok((document.to_string(), ()))
    })
}

/// Writes a key of a table. Returns what stood there.
fn set_key(
    path: &Path,
    scope: FileScope,
    key: (&str, &str),
    value: &str,
) -> Result<Option<String>, CallError> {
    change(path, scope, |text| with_key(text, key, value))
}

fn change<T>(
    path: &Path,
    scope: FileScope,
    change: impl FnOnce(&str) -> Result<(String, T), CallError>,
) -> Result<T, CallError> {
    // Refuses what could not be read again, with the line of the mistake.
    SettingsFile::read(path.to_owned(), scope)?;
    let failed = |source: io::Error| {
        CallError::filesystem(format!("cannot read `{}`: {source}", path.display()))
    };
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(failed)?,
    };
    let (text, outcome) = change(&text)?;
    // `agents = { … }` cannot be added to by a table, for example.
    if let Err(mistake) = parse(&text, scope) {
        let message = format!(
            "`{}` cannot be changed by a command as it is written: {}",
            path.display(),
            mistake.message
        );
        return Err(CallError::invalid(message).hint("nothing was changed; edit it by hand"));
    }
    replace_settings(path, &text)?;
    Ok(outcome)
}

fn with_key(
    text: &str,
    (table, key): (&str, &str),
    value: &str,
) -> Result<(String, Option<String>), CallError> {
    let mut document = parsed(text)?;
    let Some(found) = document.get_mut(table) else {
        return Ok((with_new_table(text, (table, key), value), None));
    };
    let found = found.as_table_like_mut();
    let found = found.ok_or_else(|| unchanged(&format!("`{table}` is not a table")))?;
    let mut value = Value::from(value);
    let mut before = None;
    if let Some(old) = found.get_mut(key).and_then(Item::as_value_mut) {
        // A comment behind it stays.
        *value.decor_mut() = old.decor().clone();
        before = old.as_str().map(str::to_owned);
        *old = value;
    } else {
        found.insert(key, Item::Value(value));
    }
    Ok((document.to_string(), before))
}

/// At the end: a file may hold nothing but comments, and they stay above.
fn with_new_table(text: &str, (table, key): (&str, &str), value: &str) -> String {
    let space = space_after(text);
    format!("{text}{space}[{table}]\n{key} = {}\n", Value::from(value))
}

fn space_after(text: &str) -> &'static str {
    match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

fn parsed(text: &str) -> Result<DocumentMut, CallError> {
    text.parse().map_err(|error: toml_edit::TomlError| unchanged(&error.to_string()))
}

fn unchanged(what: &str) -> CallError {
    CallError::invalid(format!("cannot change the settings: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, before: Option<&str>) {
        let (changed, old) = with_key(text, ("models", "use"), "b").unwrap();
        assert_eq!((changed.as_str(), old.as_deref()), (expected, before));
    }

    #[test]
    fn only_the_one_key_changes() {
        check("", "[models]\nuse = \"b\"\n", None);
        check(
            "# mine\n[models] # here\n  use='a'   # the small one\nfallbacks = []\n\n[ui]\n",
            "# mine\n[models] # here\n  use=\"b\"   # the small one\nfallbacks = []\n\n[ui]\n",
            Some("a"),
        );
        check("# x\n# [models]", "# x\n# [models]\n\n[models]\nuse = \"b\"\n", None);
        check("[ui]\n", "[ui]\n\n[models]\nuse = \"b\"\n", None);
        check("models = { use = \"a\" }\n", "models = { use = \"b\" }\n", Some("a"));
        check("models.use = \"a\" # x\n", "models.use = \"b\" # x\n", Some("a"));
        let tables =
            "# top\n\n[agent]\nid = \"main\"\n\n# the model\n[models.b]\nwire = \"demo\"\n";
        let (changed, _) = with_key(tables, ("models", "use"), "b").unwrap();
        assert_eq!(
            changed,
            "# top\n\n[agent]\nid = \"main\"\n\n[models]\nuse = \"b\"\n\n# the model\n[models.b]\nwire = \"demo\"\n"
        );
        // What is written can be read again.
        for text in ["", tables, "models.b.wire = \"demo\"\n"] {
            let (changed, _) = with_key(text, ("models", "use"), "b").unwrap();
            let (again, before) = with_key(&changed, ("models", "use"), "b").unwrap();
            assert_eq!((again, before.as_deref()), (changed, Some("b")));
        }
    }
}
