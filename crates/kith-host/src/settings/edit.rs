//! Changes one key of `kith.toml`. Comments, layout and everything else in it stay as they are.

use std::fs;
use std::io;

use kith_home::init::replace_settings;
use toml_edit::{DocumentMut, Item, Value};

use super::file::{FileScope, SettingsFile};
use crate::error::CallError;
use crate::house::House;

/// Writes `[models] use` into the settings of the house. Returns what stood there.
pub fn set_used_model(house: &House, name: &str) -> Result<Option<String>, CallError> {
    let path = house.dir.join("kith.toml");
    // Refuses what could not be read again, with the line of the mistake.
    SettingsFile::read(path.clone(), FileScope::House)?;
    let failed = |source: io::Error| {
        CallError::filesystem(format!("cannot read `{}`: {source}", path.display()))
    };
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(failed)?,
    };
    let (text, before) = with_used_model(&text, name)?;
    replace_settings(&path, &text)?;
    Ok(before)
}

fn with_used_model(text: &str, name: &str) -> Result<(String, Option<String>), CallError> {
    let refused = |what: String| CallError::invalid(format!("cannot change `kith.toml`: {what}"));
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| refused(error.to_string()))?;
    let Some(models) = document.get_mut("models") else {
        return Ok((with_new_table(text, name), None));
    };
    let models = models.as_table_like_mut();
    let models = models.ok_or_else(|| refused("`models` is not a table".to_owned()))?;
    let mut value = Value::from(name);
    let mut before = None;
    if let Some(old) = models.get_mut("use").and_then(Item::as_value_mut) {
        // A comment behind it stays.
        *value.decor_mut() = old.decor().clone();
        before = old.as_str().map(str::to_owned);
        *old = value;
    } else {
        models.insert("use", Item::Value(value));
    }
    Ok((document.to_string(), before))
}

/// At the end: a file may hold nothing but comments, and they stay above.
fn with_new_table(text: &str, name: &str) -> String {
    let space = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{space}[models]\nuse = {}\n", Value::from(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, before: Option<&str>) {
        let (changed, old) = with_used_model(text, "b").unwrap();
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
        let (changed, _) = with_used_model(tables, "b").unwrap();
        assert_eq!(
            changed,
            "# top\n\n[agent]\nid = \"main\"\n\n[models]\nuse = \"b\"\n\n# the model\n[models.b]\nwire = \"demo\"\n"
        );
        // What is written can be read again.
        for text in ["", tables, "models.b.wire = \"demo\"\n"] {
            let (changed, _) = with_used_model(text, "b").unwrap();
            let (again, before) = with_used_model(&changed, "b").unwrap();
            assert_eq!((again, before.as_deref()), (changed, Some("b")));
        }
    }
}
