//! `kith prime`: the scripts of a house.

mod check;
mod ls;
mod parse;
mod save;

use std::process::ExitCode;

use kith_host::error::CallError;

use crate::program::args::GlobalArgs;
use crate::program::args::prime::Prime;

pub(crate) async fn run(shared: &GlobalArgs, command: Prime) -> Result<ExitCode, CallError> {
    match command {
        Prime::Ls(args) => ls::run(shared, args).await,
        Prime::Show(args) => parse::show(shared, args).await,
        Prime::Check(_) => check::run(shared).await,
        Prime::Parse(args) => parse::run(shared, &args),
        Prime::Export(args) => save::export(shared, args).await,
        Prime::Save(args) => save::run(shared, args).await,
    }
}

/// `, line 3`, if it is about a line.
fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

fn n_records_in_words(n_records: usize) -> String {
    if n_records == 1 { "1 record".to_owned() } else { format!("{n_records} records") }
}
