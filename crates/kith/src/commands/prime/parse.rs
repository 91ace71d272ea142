//! `kith prime parse` and `kith prime show`: print a script as kith reads it.

use std::process::ExitCode;

use kith_host::calls::priming::{ScriptView, ShowScript};
use kith_host::error::CallError;
use kith_host::priming::parse_file;
use kith_vocab::json::Json;
use serde::Serialize;

use super::super::{call, print_form, print_notes};
use super::n_records_in_words;
use crate::program::args::GlobalArgs;
use crate::program::args::prime::{PrimeParse, PrimeShow};
use crate::program::ui;

#[derive(Serialize)]
struct ParseForm {
    script: Json,
}

/// A script as `kith prime show --json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowForm<'a> {
    script_ref: &'a str,
    path: &'a str,
    script: &'a Json,
}

/// A file that lies anywhere needs no house.
pub(super) fn run(shared: &GlobalArgs, args: &PrimeParse) -> Result<ExitCode, CallError> {
    let parsed = parse_file(&args.file)?;
    let script = parsed.data;
    if shared.json {
        print_form(true, &ParseForm { script: script.script });
    } else {
        let title = script.title.map_or_else(String::new, |title| format!("  {title}"));
        ui::line(&format!("{}{title}", n_records_in_words(script.records)));
    }
    print_notes(&parsed.notes);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn show(shared: &GlobalArgs, args: PrimeShow) -> Result<ExitCode, CallError> {
    let told = call(shared, ShowScript { script_ref: args.script_ref }).await?;
    let ScriptView { script_ref, path, script, text } = &told.data;
    if shared.json {
        print_form(true, &ShowForm { script_ref, path, script });
    } else {
        ui::document(text);
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
