//! The page docs/configuration.md, made from the types of the settings and their comments.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::super::tables::{ModelSettings, SettingsTables};

const OPENING: &str = "\
# Settings

Settings are read from `kith.toml` in the house and from `~/.kith/config.toml` for all houses of a user. Neither file is
needed. Where both set something, `kith.toml` wins: a model (`[models.<name>]`) is taken whole from it, other tables key by
key.

Both files are checked before anything runs. An unknown key or a wrong value is refused with file and line and, for a
misspelt name, with the nearest valid one.

A running host looks at both files before it accepts a message and before a turn begins, so a change counts from the next
turn on. While a changed file cannot be read, new messages are refused with file and line; turns that run go on with the
settings they began with. The instructions and the tool list of a session do not change.

**Secrets are named, never written.** Where a secret belongs, only `\"${NAME}\"` is accepted; the environment variable is
read when the secret is used. Passwords and keys in addresses and among `parameters` are refused.

A *text* is one line of at most 500 characters. A relative path starts from the folder of the file it is written in; `~/` is
your home folder. Amounts of money are in USD.

## A team

```toml
[agents.ux]
home = \"agents/ux\"

[agents.dev]
home = \"agents/dev\"
```

`kith agent new ux` creates the folder and writes these lines; `kith agent ls` lists the agents, `kith agent rm ux` takes one out
and leaves its files and sessions.

Each agent has a home of its own, a folder in the house with at least an `Agent.md`. They share the house, its sessions, its
host and its project memory. `--agent ux` (or `KITH_AGENT=ux`) chooses one. So does standing in its home. The default is the agent of `[agent]`, else
`main`, else the only one. `main` lives in the house's own folder, unless `[agent]` or `[agents.main]` says otherwise; beside
other agents it exists if that folder has an `Agent.md`.

## The agent's identity

Its name is the first of these that is set: `[identity]` in `~/.kith/config.toml`, the agent's `identity` in `kith.toml`,
`IDENTITY.md`, else `Assistant`. The other fields follow the same order, each by itself. `kith explain identity` says where
each comes from.

## All settings
";

pub(super) fn page() -> String {
    let mut page = OPENING.to_owned();
    for (name, table) in properties(&schema_of::<SettingsTables>()) {
        let about = text(&table, "description");
        let each = table.get("additionalProperties").filter(|it| it.is_object());
        let shown = if each.is_some() { format!("{name}.<id>") } else { name.clone() };
        heading(&shown, &about, &mut page);
        match name.as_str() {
            "agent" | "agents" => page.push_str("Only in `kith.toml`.\n\n"),
            "house" | "identity" => page.push_str("Only in `~/.kith/config.toml`.\n\n"),
            "budget" => page.push_str(BUDGET),
            _ => (),
        }
        rows(each.unwrap_or(&table), &mut page);
        if name == "models" {
            heading("models.<name>", "a model and how to reach it", &mut page);
            rows(&schema_of::<ModelSettings>(), &mut page);
        }
    }
    page.push_str(
        "\n<!-- Made from crates/kith-host/src/settings/tables.rs; a test compares them and writes this page anew with \
         KITH_WRITE_PAGE=1. -->\n",
    );
    page
}

const BUDGET: &str = "\
A request that could pass a cap is not made. Before it is made, all that it may use is reserved: its text with three bytes a
token, 12,000 tokens for each image and each page of a PDF file (a page for each 4 KiB, at most 100), and the longest answer
(`maxTokens`, else 8,192); text costs what writing it into the vendor's cache costs, if that is dearer. What the vendor says then
counts instead. Of an answer that was stopped, or that broke off after it began, without a word of what it used, an estimate counts:
the request, and what had streamed (thoughts and calls too) with three bytes a token. Of a request that a server fell silent on,
the reservation. Servers may count more than was reserved, so a request waits while those under way could use up the rest if their
models read and wrote as much as they can (`contextWindow`, or each byte as a token if that is more, and `maxTokens`, else as much again):
a cap is passed by one request at most. Requests of a model without a `contextWindow`, and of any model until it has answered once
since the host started, are made one at a time under a cap. Days are those of this machine's clock. What a removed session used on the day stays spent: it is
kept in `.kith/removed-spending.jsonl`, without its words, until a session is removed on a later day.

";

fn heading(name: &str, about: &str, page: &mut String) {
    let mut letters = about.chars();
    let first = letters.next().map(|it| it.to_lowercase().to_string()).unwrap_or_default();
    // Writing to a string cannot fail.
    writeln!(page, "\n### `[{name}]`: {first}{}\n", letters.as_str()).unwrap_or_default();
}

fn rows(table: &Value, page: &mut String) {
    page.push_str("| key | meaning | value |\n|---|---|---|\n");
    let mut row = |key: &str, schema: &Value| {
        let about = text(schema, "description");
        writeln!(page, "| `{key}` | {about} | {} |", value(schema)).unwrap_or_default();
    };
    for (name, schema) in properties(table) {
        let inner = properties(&schema);
        for (key, schema) in &inner {
            row(&format!("{name}.{key}"), schema);
        }
        if inner.is_empty() {
            row(&name, &schema);
        }
    }
}

fn value(schema: &Value) -> String {
    match schema.get("items") {
        Some(_) => "a list of texts".to_owned(),
        None => text(schema, "title"),
    }
}

fn properties(schema: &Value) -> Vec<(String, Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let pairs = properties.into_iter().flatten();
    pairs.map(|(name, schema)| (name.clone(), present(schema))).collect()
}

/// The schema of what is there: an optional value may also be null, which TOML does not have.
fn present(schema: &Value) -> Value {
    let Some(some) = schema.pointer("/anyOf/0") else { return schema.clone() };
    let mut some = some.clone();
    if let (Some(inner), Some(about)) = (some.as_object_mut(), schema.get("description")) {
        inner.insert("description".to_owned(), about.clone());
    }
    some
}

fn text(schema: &Value, key: &str) -> String {
    let text = schema.get(key).and_then(Value::as_str).unwrap_or_default();
    text.replace('\n', " ").replace("one line of text, at most 500 characters", "a text")
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::default().with(|it| it.inline_subschemas = true);
    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    schema.to_value()
}
