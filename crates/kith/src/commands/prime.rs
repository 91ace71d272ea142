//! `kith prime`: the scripts of a house. None of these verbs needs the host: scripts are files.

mod check;
mod ls;
mod parse;
mod save;

use std::path::Path;
use std::process::ExitCode;

use crate::args::Shared;
use crate::args::prime::Prime;
use crate::report::Report;

pub(crate) async fn run(shared: &Shared, command: Prime) -> Result<ExitCode, Report> {
    match command {
        Prime::Ls(args) => ls::run(shared, &args),
        Prime::Show(args) => parse::show(shared, &args),
        Prime::Check(_) => check::run(shared),
        Prime::Parse(args) => parse::run(shared, &args),
        Prime::Export(args) => save::export(shared, args).await,
        Prime::Save(args) => save::run(shared, args).await,
    }
}

/// A path as a form holds it.
fn in_form(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// `, line 3`, if it is about a line.
fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

fn n_records_in_words(n_records: usize) -> String {
    if n_records == 1 { "1 record".to_owned() } else { format!("{n_records} records") }
}
