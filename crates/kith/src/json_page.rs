//! The page docs/json.md: what every command prints with `--json`, made from the types it prints.
//!
//! A command that is missing here fails the test, and so does a page that is not fresh.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};

use clap::{Command, CommandFactory as _};
use kith_host::calls::agent::{IdentityView, PromptView, SkillIssueView, SkillList};
use kith_host::calls::approval::{ApprovalList, GrantList, RevokedGrant};
use kith_host::calls::cost::CostTable;
use kith_host::calls::house::{BackupSummary, DoctorReport};
use kith_host::calls::message::{CancelledTurn, MessageAnswer};
use kith_host::calls::models::{ModelList, UsedModel};
use kith_host::calls::policy::CommandExplanation;
use kith_host::calls::priming::{ScriptIssueView, ScriptList, ScriptText};
use kith_host::calls::project::{ProjectList, RegisteredProject, RemovedProject};
use kith_host::calls::queue::{QueueView, TakenMessage, WaitingMessages};
use kith_host::calls::session::{
    CompactedSession, CreatedDialog, RemovedFiles, RenamedSession, RepairView, ReplayReport,
    SearchHits, SessionView,
};
use kith_host::calls::thread::{ThreadFilesSummary, ThreadList};
use kith_host::calls::tree::{SessionPlace, TreeView};
use kith_host::calls::trust::{RepositoryList, TrustedFolder};
use kith_host::calls::why::RequestExplanation;
use kith_host::error::ErrorCode;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::program::args::Invocation;
use crate::program::args::completions::COMPLETE;
use crate::program::commands::CheckForm;
use crate::program::commands::approval::DecidedForm;
use crate::program::commands::forms::{
    AgentListForm, CompletionsForm, ExportForm, InitForm, LogsForm, ManForm, NewAgentForm,
    NewScriptForm, RemovedAgentForm, SandboxForm, SavedScriptForm,
};
use crate::program::commands::model_test::TestForm;
use crate::program::commands::prime::ScriptForm;
use crate::program::commands::session::VerifyForm;
use crate::program::commands::session::list::ListForm;
use crate::program::commands::skill::SkillForm;
use crate::program::commands::up::StatusForm;
use crate::program::ui::{
    EXIT_BUG, EXIT_EARLY, EXIT_ENVIRONMENT, EXIT_REQUEST, EXIT_STOPPED, EXIT_USAGE, ErrorForm,
};

/// Types that docs/format/session-log.md specifies.
const OF_THE_LOG: [&str; 4] = ["Event", "SessionHeader", "InstructionSnapshot", "Block"];

const OPENING: &str = "\
# JSON

With `--json` every command prints exactly one JSON value, on one line of stdout, also when it fails. Keys are added in later
versions; keys that are here keep their names and meanings, so read those you know and pass over the rest. Control and
direction characters are escaped. Notes for people still go to stderr; `--quiet` leaves them out.

The value is an object with `ok`, and the keys that are listed for the command below. `kith thread show --json` is the one
exception: it prints an array of AI SDK `UIMessage`s.

## Failures

A failure has `\"ok\": false` and `error`. Commands that check something (`doctor`, `session verify`, `session replay`, `skill check`,
`prime check`, `model test`) print their findings with `\"ok\": false`; those of `session verify` have `error` too.

";

const STREAM: &str = "\
## `--stream-json`

`kith ask`, `kith retry`, `kith steer` and `kith queue add` print one JSON value per line while the turn runs. Each has a `type`:

| type | other keys |
|---|---|
| `event` | `event`: an event of the log, after it is on disk ([session-log.md](format/session-log.md)) |
| `delta` | one of `text`, `thinking`, `tool`, `toolInput`, `progress`: a piece of what the model streams. Pieces may be lost on a slow reader; events are not |
| `note` | `text`: why nothing comes of the message yet |
| `answer` | the last line: `ok` and the keys of `kith ask` |
| `error` | the last line of a turn without an answer: `ok` and `error`, as above |

";

type SchemaMaker = fn(&mut SchemaGenerator) -> Value;

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// What each command prints. `None`: the text says it.
#[expect(clippy::too_many_lines, reason = "a table, one line per command")]
fn forms() -> Vec<(&'static str, Option<SchemaMaker>, &'static str)> {
    let as_ask = "As `kith ask`.";
    let no_chat =
        "A conversation has no JSON form; `kith ask --session SESSION --json` continues it.";
    let messages = "An array of AI SDK `UIMessage`s, without `ok`.";
    let skill = "With the keys of a skill, as in `kith skill ls`: `name`, `displayName`, `description`, `scope`, `path`, `sha256`.";
    let reply = "`verdict` (`allow`, `deny`, `askBack` or `notAnAnswer`), `approvals`, `denied?` (ids), `grant?` (`pattern`, `minutes`), `reason` and `assumed?` (the command that was taken to wait, without `--pending`).";
    let logs = "With `--follow`, each line that comes is one JSON object, without `ok`.";
    let man = "With `--list`: `pages`, the names of all pages.";
    vec![
        ("init", Some(schema::<InitForm>), ""),
        ("ask", Some(schema::<MessageAnswer>), ""),
        ("resume", None, no_chat),
        ("retry", None, as_ask),
        ("cancel", Some(schema::<CancelledTurn>), ""),
        ("steer", None, as_ask),
        ("queue ls", Some(schema::<WaitingMessages>), ""),
        ("queue add", None, as_ask),
        ("queue edit", Some(schema::<QueueView>), ""),
        ("queue rm", Some(schema::<QueueView>), ""),
        ("queue move", Some(schema::<QueueView>), ""),
        ("queue go", Some(schema::<TakenMessage>), ""),
        ("approvals", None, "As `kith approvals ls`."),
        ("approvals ls", Some(schema::<ApprovalList>), ""),
        ("approvals show", Some(schema::<ApprovalList>), "The one that is named, with `input`."),
        ("approve", Some(schema::<DecidedForm<'_>>), ""),
        ("deny", None, "As `kith approve`."),
        ("grants ls", Some(schema::<GrantList>), ""),
        ("grants rm", Some(schema::<RevokedGrant>), ""),
        ("compact", Some(schema::<CompactedSession>), ""),
        ("cost", Some(schema::<CostTable>), ""),
        ("logs", Some(schema::<LogsForm>), logs),
        ("agent ls", Some(schema::<AgentListForm>), ""),
        ("agent new", Some(schema::<NewAgentForm>), ""),
        ("agent rm", Some(schema::<RemovedAgentForm>), ""),
        ("model ls", Some(schema::<ModelList>), ""),
        ("model use", Some(schema::<UsedModel>), ""),
        ("model test", Some(schema::<TestForm>), ""),
        ("new", Some(schema::<CreatedDialog>), ""),
        ("prime ls", Some(schema::<ScriptList>), ""),
        ("prime show", Some(schema::<ScriptForm<'_>>), ""),
        ("prime check", Some(schema::<CheckForm<'_, ScriptIssueView>>), ""),
        ("prime parse", Some(schema::<ScriptForm<'_>>), ""),
        ("prime export", Some(schema::<ScriptText>), ""),
        ("prime new", Some(schema::<NewScriptForm>), ""),
        ("prime save", Some(schema::<SavedScriptForm>), ""),
        ("session ls", Some(schema::<ListForm<'_>>), ""),
        ("session show", Some(schema::<SessionView>), ""),
        ("session verify", Some(schema::<VerifyForm<'_>>), ""),
        ("session replay", Some(schema::<ReplayReport>), ""),
        ("session export", Some(schema::<ExportForm>), ""),
        ("session rename", Some(schema::<RenamedSession>), ""),
        ("session repair", Some(schema::<RepairView>), ""),
        ("session search", Some(schema::<SearchHits>), ""),
        ("session rm", Some(schema::<RemovedFiles>), ""),
        ("session tree", Some(schema::<TreeView>), ""),
        ("session branch", Some(schema::<SessionPlace>), ""),
        ("session rerun", None, as_ask),
        ("session clone", Some(schema::<SessionPlace>), ""),
        ("thread ls", Some(schema::<ThreadList>), ""),
        ("thread show", None, messages),
        ("thread rebuild", Some(schema::<ThreadFilesSummary>), ""),
        ("thread compact", Some(schema::<ThreadFilesSummary>), ""),
        ("prompt", Some(schema::<PromptView>), ""),
        ("skill ls", Some(schema::<SkillList>), ""),
        ("skill show", Some(schema::<SkillForm<'_>>), skill),
        ("skill check", Some(schema::<CheckForm<'_, SkillIssueView>>), ""),
        ("why", Some(schema::<RequestExplanation>), ""),
        ("explain identity", Some(schema::<IdentityView>), ""),
        ("explain command", Some(schema::<CommandExplanation>), ""),
        ("explain reply", None, reply),
        ("sandbox", Some(schema::<SandboxForm>), ""),
        ("doctor", Some(schema::<DoctorReport>), ""),
        ("backup", Some(schema::<BackupSummary>), ""),
        ("project ls", Some(schema::<ProjectList>), ""),
        ("project add", Some(schema::<RegisteredProject>), ""),
        ("project rm", Some(schema::<RemovedProject>), ""),
        ("trust", Some(schema::<TrustedFolder>), ""),
        ("trust ls", Some(schema::<RepositoryList>), ""),
        ("trust rm", Some(schema::<TrustedFolder>), ""),
        ("up", Some(schema::<StatusForm>), ""),
        ("down", Some(schema::<StatusForm>), ""),
        ("status", Some(schema::<StatusForm>), ""),
        ("completions", Some(schema::<CompletionsForm>), ""),
        ("man", Some(schema::<ManForm>), man),
    ]
}

fn page() -> String {
    let mut generator = SchemaGenerator::default();
    let mut page = OPENING.to_owned();
    page.push_str("`error` has these keys:\n\n");
    keys(&schema::<ErrorForm>(&mut generator), &mut page);
    let codes: Vec<String> = ErrorCode::ALL.iter().map(|code| format!("`{code}`")).collect();
    writeln!(page, "\nThe codes: {}.\n", codes.join(", ")).unwrap();
    page.push_str(&exit_codes());
    page.push_str(STREAM);
    page.push_str("## Commands\n\nEach also has `ok`.\n");
    for (command, form, text) in forms() {
        writeln!(page, "\n### `kith {command}`\n").unwrap();
        if !text.is_empty() {
            writeln!(page, "{text}").unwrap();
        }
        if let Some(form) = form {
            if !text.is_empty() {
                page.push('\n');
            }
            keys(&form(&mut generator), &mut page);
        }
    }
    page.push_str("\n## Types\n");
    let types: BTreeMap<String, Value> = generator.definitions().clone().into_iter().collect();
    let used = used_types(&page, &types);
    for name in &used {
        writeln!(page, "\n### {name}\n").unwrap();
        let about = one_line(&types[name]["description"]);
        if !about.is_empty() {
            writeln!(page, "{about}\n").unwrap();
        }
        describe(&types[name], &mut page);
    }
    page.push_str(
        "\n<!-- Made from the types that are printed by crates/kith/src/json_page.rs; a test compares them and writes this \
         page anew with KITH_WRITE_PAGE=1. -->\n",
    );
    page
}

/// The types that the page links to, and those that these link to.
fn used_types(page: &str, types: &BTreeMap<String, Value>) -> Vec<String> {
    let mut text = page.to_owned();
    let mut used = Vec::new();
    // Each round finds at least one more.
    for _ in 0..types.len() {
        let is_new = |name: &&String| {
            let link = format!("(#{})", name.to_lowercase());
            !used.contains(*name) && text.contains(&link)
        };
        let found: Vec<String> = types.keys().filter(is_new).cloned().collect();
        for name in found {
            describe(&types[&name], &mut text);
            used.push(name);
        }
    }
    used.sort();
    used
}

fn exit_codes() -> String {
    let mut text = "## Exit codes\n\n| code | meaning |\n|---|---|\n".to_owned();
    for (code, meaning) in [
        (0, "done"),
        (EXIT_REQUEST, "the request cannot be met, or a check found problems"),
        (EXIT_USAGE, "wrong usage"),
        (EXIT_ENVIRONMENT, "the environment failed: disk, network or model server"),
        (
            EXIT_EARLY,
            "the turn ended early: at a limit, cut off at the length of an answer, held, or it waits for a person",
        ),
        (EXIT_BUG, "a bug in kith"),
        (EXIT_STOPPED, "stopped with Ctrl-C"),
    ] {
        writeln!(text, "| {code} | {meaning} |").unwrap();
    }
    text.push('\n');
    text
}

/// A table of keys, or the words of an enumeration.
fn describe(schema: &Value, page: &mut String) {
    if schema.get("properties").is_some() {
        return keys(schema, page);
    }
    let Some(choices) = schema.get("oneOf").or_else(|| schema.get("anyOf")) else {
        return writeln!(page, "{}", type_of(schema)).unwrap();
    };
    for choice in choices.as_array().unwrap() {
        let about = one_line(&choice["description"]);
        let about = if about.is_empty() { about } else { format!(": {about}") };
        writeln!(page, "- {}{about}", type_of(choice)).unwrap();
    }
}

fn keys(schema: &Value, page: &mut String) {
    page.push_str("| key | form | meaning |\n|---|---|---|\n");
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (key, of_key) in schema["properties"].as_object().into_iter().flatten() {
        let optional = if required.contains(&Value::from(key.as_str())) { "" } else { "?" };
        let about = one_line(&of_key["description"]).replace('|', "\\|");
        writeln!(page, "| `{key}{optional}` | {} | {about} |", type_of(of_key)).unwrap();
    }
}

fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        if OF_THE_LOG.contains(&name) {
            return format!("[{name}](format/session-log.md)");
        }
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("`{word}`");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().map(|it| format!("`{}`", it.as_str().unwrap_or("null")));
        return words.collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return choices.iter().map(type_of).collect::<Vec<_>>().join(" or ");
    }
    if let Some(parts) = schema["allOf"].as_array() {
        return parts.iter().map(type_of).collect::<Vec<_>>().join(" and ");
    }
    let names: Vec<&str> = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::String(name) => vec![name],
        // Of these the vocabulary describes itself.
        _ => return "as in [the log](format/session-log.md)".to_owned(),
    };
    let one = |name: &&str| match *name {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "object" if schema.get("properties").is_some() => {
            let keys = schema["properties"].as_object().unwrap().iter();
            let keys = keys.map(|(key, of_key)| format!("`{key}`: {}", type_of(of_key)));
            format!("object with {}", keys.collect::<Vec<_>>().join(", "))
        }
        name => name.to_owned(),
    };
    names.iter().map(one).collect::<Vec<_>>().join(" or ")
}

fn one_line(text: &Value) -> String {
    text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn leaves<'a>(command: &'a Command, path: &str, found: &mut Vec<String>) {
    let is_shown = |it: &&'a Command| it.get_name() != "help" && it.get_name() != COMPLETE;
    let beneath: Vec<&Command> = command.get_subcommands().filter(is_shown).collect();
    // `kith trust` works without its verbs.
    if beneath.is_empty() || !command.is_subcommand_required_set() && !path.is_empty() {
        found.push(path.to_owned());
    }
    for command in beneath {
        leaves(command, format!("{path} {}", command.get_name()).trim(), found);
    }
}

#[test]
fn the_page_of_json_is_fresh_and_has_every_command() {
    let mut commands = Vec::new();
    let mut root = Invocation::command();
    root.build();
    leaves(&root, "", &mut commands);
    let mut described: Vec<&str> = forms().into_iter().map(|(command, ..)| command).collect();
    commands.sort();
    described.sort_unstable();
    assert_eq!(described, commands);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = page();
    if env::var_os("KITH_WRITE_PAGE").is_some() {
        fs::write(path, &page).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/json.md is not fresh; KITH_WRITE_PAGE=1 writes it anew");
}
