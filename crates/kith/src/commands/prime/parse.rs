//! `kith prime parse` and `kith prime show`: a script as it is understood.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use kith_home::priming::export::export;
use kith_home::priming::parse::{Parsed, parse_bytes};
use kith_home::priming::script::SCRIPT_BYTES_MAX;
use kith_home::priming::slug::ScriptRef;
use kith_home::priming::store::{PrimingStore, StoreError};
use kith_vocab::json::Json;
use serde::Serialize;

use super::super::{print_form, print_notes};
use super::{in_form, n_records_in_words};
use crate::args::Shared;
use crate::args::prime::{PrimeParse, PrimeShow};
use crate::house::House;
use crate::report::{Blame, Report};
use crate::ui;

#[derive(Serialize)]
struct ParseForm {
    script: Json,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShowForm {
    script_ref: String,
    path: String,
    script: Json,
}

pub(super) fn run(shared: &Shared, args: &PrimeParse) -> Result<ExitCode, Report> {
    let bytes = read(&args.file).map_err(|source| {
        let message = format!("cannot read `{}`: {source}", args.file.display());
        let blame = match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => Blame::Request,
            _ => Blame::Environment,
        };
        let code = if blame == Blame::Request { "invalid_request" } else { "filesystem_error" };
        Report::new(blame, code, message)
    })?;
    let path = args.file.clone();
    let parsed = parse_bytes(&bytes).map_err(|error| StoreError::Script { path, error })?;
    if shared.json {
        print_form(true, &ParseForm { script: parsed.script.to_json() });
    } else {
        let title = parsed.script.title().map_or_else(String::new, |title| format!("  {title}"));
        ui::line(&format!("{}{title}", n_records_in_words(parsed.script.records.len())));
    }
    print_warnings(&args.file, &parsed);
    Ok(ExitCode::SUCCESS)
}

pub(super) fn show(shared: &Shared, args: &PrimeShow) -> Result<ExitCode, Report> {
    let script_ref: ScriptRef = args.script_ref.parse()?;
    let house = House::find(shared.home.as_deref())?;
    let parsed = PrimingStore::new(&house.dir).load(&script_ref)?;
    let path = PrimingStore::path_of(&script_ref);
    if shared.json {
        let script = parsed.script.to_json();
        let script_ref = script_ref.to_string();
        print_form(true, &ShowForm { script_ref, path: in_form(&path), script });
    } else {
        ui::document(&export(&parsed.script));
    }
    print_warnings(&path, &parsed);
    Ok(ExitCode::SUCCESS)
}

fn print_warnings(path: &Path, parsed: &Parsed) {
    let notes = parsed.warnings.iter().map(|warning| format!("`{}`, {warning}", path.display()));
    print_notes(&notes.collect::<Vec<_>>());
}

/// At most one byte more than a script may have: enough to see that it has too many.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would be waited for, and a folder is read on some systems.
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
