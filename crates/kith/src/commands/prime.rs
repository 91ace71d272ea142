//! `kith prime`: the priming scripts of a house.

use std::path::Path;
use std::process::ExitCode;

use kith_host::calls::priming::{
    CheckScripts, ExportScript, ListScripts, SaveScript, SavedScript, ScriptIssueView, ScriptRow,
    ScriptView, ShowScript,
};
use kith_host::priming::{create_script, named_ref, parse_file, ref_of, slug_of};
use kith_host::settings::Settings;
use kith_vocab::json::Json;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use super::forms::{NewScriptForm, SavedScriptForm};
use super::session_name::named_session;
use super::{CheckForm, CommandResult, call, counted, exit_of_check, house_of, padded};
use super::{print_answer, print_as, print_form, print_notes};
use crate::program::args::GlobalArgs;
use crate::program::args::prime::{Prime, PrimeSave};
use crate::program::ui;

/// A script as `--json` prints it. A script read from any file has no reference.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScriptForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    script_ref: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    script: &'a Json,
}

pub(crate) async fn run(shared: &GlobalArgs, command: Prime) -> CommandResult {
    match command {
        Prime::Ls { query } => list(shared, query).await,
        Prime::Show { script_ref } => show(shared, script_ref).await,
        Prime::Check => check(shared).await,
        Prime::Parse { file } => parse(shared, &file),
        Prime::Export { session } => export(shared, session).await,
        Prime::New { slug, title, shared: is_shared } => {
            create(shared, &slug, title.as_deref(), is_shared)
        }
        Prime::Save(args) => save(shared, args).await,
    }
}

async fn list(shared: &GlobalArgs, query: Option<String>) -> CommandResult {
    let list = ListScripts { agent_id: shared.agent_id(), query: query.clone() };
    Ok(print_answer(shared, &call(shared, list).await?, |list| {
        let scripts = &list.scripts;
        match query.as_deref().unwrap_or_default() {
            "" if scripts.is_empty() => {
                ui::note(
                    "no scripts yet; `kith prime save latest SLUG` saves a conversation as one",
                );
            }
            query if scripts.is_empty() => ui::note(&format!("no script matches `{query}`")),
            _ => {
                let names = scripts.iter().map(|it| name_of(it).width());
                let width = names.max().unwrap_or_default();
                ui::lines(scripts.iter().map(|it| line_of(it, width)));
            }
        }
    }))
}

fn name_of(script: &ScriptRow) -> &str {
    script.script_ref.as_ref().unwrap_or(&script.path)
}

fn line_of(script: &ScriptRow, width: usize) -> String {
    let name = padded(name_of(script), width);
    match (&script.error, script.records) {
        (Some(error), _) => {
            format!("{name}  unusable{}: {}", at_line(error.line), error.message)
        }
        (None, n_records) => {
            let n_records = counted(n_records.unwrap_or_default() as u64, "record");
            let title = script.title.as_deref().unwrap_or_default();
            format!("{name}  {n_records}  {title}").trim_end().to_owned()
        }
    }
}

async fn show(shared: &GlobalArgs, script_ref: String) -> CommandResult {
    let house = house_of(shared)?;
    // On another machine only its host knows which scripts there are.
    let script_ref = if shared.remote_house.is_some() {
        script_ref
    } else {
        let agent_id = Settings::load(&house)?.team.choose(shared.agent())?.id.clone();
        ref_of(&house, &agent_id, &script_ref)?
    };
    let told = call(shared, ShowScript { script_ref }).await?;
    let ScriptView { script_ref, path, script, .. } = &told.data;
    let form = ScriptForm { script_ref: Some(script_ref), path: Some(path), script };
    Ok(print_as(shared, &told, &form, |view| ui::document(&view.text)))
}

/// Checks a file as a script. This needs no house.
fn parse(shared: &GlobalArgs, file: &Path) -> CommandResult {
    let parsed = parse_file(file)?;
    let form = ScriptForm { script_ref: None, path: None, script: &parsed.data.script };
    Ok(print_as(shared, &parsed, &form, |script| {
        let title = script.title.as_ref().map_or_else(String::new, |title| format!("  {title}"));
        ui::line(&format!("{}{title}", counted(script.records as u64, "record")));
    }))
}

async fn check(shared: &GlobalArgs) -> CommandResult {
    let report = call(shared, CheckScripts {}).await?.data;
    let (checked, failed, issues) = (report.checked, report.failed, &report.issues);
    let is_sound = issues.is_empty();
    if shared.json {
        print_form(is_sound, &CheckForm { checked, failed, issues });
    } else {
        for issue in issues {
            ui::line(&issue_in_words(issue));
        }
        let scripts = counted(checked as u64, "script");
        ui::line(&format!("{scripts} checked, {failed} unusable"));
    }
    print_notes(&report.warnings.iter().map(issue_in_words).collect::<Vec<_>>());
    Ok(exit_of_check(is_sound))
}

async fn export(shared: &GlobalArgs, session: Option<String>) -> CommandResult {
    let session = named_session(shared, session).await?;
    let told = call(shared, ExportScript { session }).await?;
    Ok(print_answer(shared, &told, |script| ui::document(&script.text)))
}

async fn save(shared: &GlobalArgs, args: PrimeSave) -> CommandResult {
    // Arguments are checked before the house is touched.
    slug_of(&args.slug)?;
    let session = named_session(shared, Some(args.session)).await?;
    let save = SaveScript {
        session,
        slug: args.slug,
        title: args.title,
        agent_id: shared.agent_id(),
        shared: args.shared,
        overwrite: args.overwrite,
    };
    let told = call(shared, save).await?;
    let SavedScript { script_ref, path, records } = &told.data;
    let form = SavedScriptForm { path: path.clone(), records: *records };
    Ok(print_as(shared, &told, &form, |_| {
        ui::line(&format!("Saved {} to `{path}`", counted(*records as u64, "record")));
        ui::line(&format!("\nStart a session with it:\n  kith new --prime {script_ref}"));
    }))
}

fn create(shared: &GlobalArgs, slug: &str, title: Option<&str>, is_shared: bool) -> CommandResult {
    let slug = slug_of(slug)?;
    let house = house_of(shared)?;
    let agent_id = Settings::load(&house)?.team.choose(shared.agent())?.id.clone();
    let script_ref = named_ref(&agent_id, slug, is_shared)?;
    let path = create_script(&house, &script_ref, title)?;
    let path = house.dir.join(path).display().to_string();
    if shared.json {
        let script_ref = script_ref.to_string();
        print_form(true, &NewScriptForm { script_ref, path });
        return Ok(ExitCode::SUCCESS);
    }
    ui::line(&format!("Created `{path}`"));
    ui::line(&format!("\nEdit it, then start a session with it:\n  kith new --prime {script_ref}"));
    Ok(ExitCode::SUCCESS)
}

fn issue_in_words(issue: &ScriptIssueView) -> String {
    format!("`{}`{}: {}", issue.path, at_line(issue.line), issue.message)
}

/// `, line 3`, if the problem is in a line.
fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}
