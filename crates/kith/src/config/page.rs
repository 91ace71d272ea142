//! The page of the documentation that lists every setting. It is made from the table of names.

use std::fmt::Write;

use super::kind::Kind;
use super::schema::{HOUSE_ONLY, Key, Stage, TOP, Table, USER_ONLY};

const OPENING: &str = "\
# Settings

Settings stand in `kith.toml` in the house, and in `~/.kith/config.toml` for every house of a user. Where both say
something, the nearer wins, key by key. Without either the defaults hold, and nothing is needed to begin.

All of it is checked before a command runs: a name that does not exist, a value of another type, a word or a number out
of range are refused with file and line and, for a misspelt name, the one that was probably meant.

**Secrets are named, never written.** Where a secret belongs, only `\"${NAME}\"` is taken; the environment variable is
looked up when the secret is used. Anything else is refused. A password in an address is refused as well.

A *text* is one line of up to 500 characters. A *path* is seen from the folder of the file it stands in; `~/` is your home folder. A *duration* is a text such as
`\"90s\"`, `\"10m\"`, `\"1h30m\"` or `\"2d\"`. Amounts of money are USD.

Not everything is built yet. A setting marked *later* is checked like any other, and nothing obeys it: `kith doctor`
says so for each one that is set, and tells which settings are in force.

## A team

```toml
[agents.ux]
home = \"agents/ux\"

[agents.dev]
home = \"agents/dev\"
```

Each agent has a home of its own, a folder beneath the house with at least an `Agent.md`; they share the house, its
sessions, its host and its project memory. `--agent ux` (or `KITH_AGENT=ux`) names the one that is meant. Without it that
is the agent of `[agent]`, else `main`, else the only one. `main` is the house's own folder, unless `[agent]` or
`[agents.main]` says otherwise; beside other agents it is there if the folder holds an `Agent.md`.

## Who the agent is

Its name is the first of these that is given: `[identity]` in `~/.kith/config.toml`, the agent's `identity` in
`kith.toml`, `IDENTITY.md`, else `Assistant`. The other fields follow the same order, each by itself. `kith explain
identity` says which it was.

## Every setting
";

pub(super) fn page() -> String {
    let mut page = OPENING.to_owned();
    section(&TOP, "", &mut page);
    page.push_str(
        "\n<!-- Made from crates/kith/src/config/schema.rs; a test compares them and writes this page anew with \
         KITH_WRITE_PAGE=1. -->\n",
    );
    page
}

fn section(table: &Table, path: &str, page: &mut String) {
    for key in table.keys {
        if let Kind::Table(inner) = &key.kind {
            heading(key, &format!("{path}{}", key.name), inner, page);
        }
    }
}

fn heading(key: &Key, path: &str, table: &Table, page: &mut String) {
    // Writing to a string cannot fail.
    let named = table.named.as_ref().filter(|_| table.keys.is_empty());
    let name = named.map_or_else(String::new, |named| format!(".{}", named.shown));
    writeln!(page, "\n### `[{path}{name}]`: {}\n", key.says).unwrap_or_default();
    if HOUSE_ONLY.contains(&path) {
        page.push_str("Only in the `kith.toml` of a house.\n\n");
    }
    if USER_ONLY.contains(&path) {
        page.push_str("Only in `~/.kith/config.toml`.\n\n");
    }
    rows(table, "", page);
    if let Some(named) = &table.named {
        if !table.keys.is_empty() {
            writeln!(page, "\n### `[{path}.{}]`\n", named.shown).unwrap_or_default();
        }
        writeln!(page, "`{}` is {}.\n", named.shown, named.must_be).unwrap_or_default();
        rows(named.table, "", page);
    }
}

/// The keys of a table and of the tables within it.
fn rows(table: &Table, prefix: &str, page: &mut String) {
    if prefix.is_empty() && !table.keys.is_empty() {
        page.push_str("| key | for | takes | |\n|---|---|---|---|\n");
    }
    for key in table.keys {
        let name = format!("{prefix}{}", key.name);
        if let Kind::Table(inner) = &key.kind {
            rows(inner, &format!("{name}."), page);
            continue;
        }
        let stage = match key.stage {
            Stage::Obeyed => String::new(),
            Stage::Partly(how) => how.to_owned(),
            Stage::Later(with) => format!("*later*, with {with}"),
        };
        writeln!(page, "| `{name}` | {} | {} | {stage} |", key.says, takes(&key.kind))
            .unwrap_or_default();
    }
}

fn takes(kind: &Kind) -> String {
    match kind {
        Kind::Text => "a text".to_owned(),
        Kind::List(Kind::Text) => "a list of texts".to_owned(),
        Kind::List(Kind::Path) => "a list of paths".to_owned(),
        kind => kind.must_be(),
    }
}
