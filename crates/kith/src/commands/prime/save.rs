//! `kith prime export` and `kith prime save`: turn a session into a script.

use std::process::ExitCode;

use kith_host::calls::priming::{ExportScript, SaveScript, SavedScript};
use kith_host::error::CallError;
use kith_host::priming::check_slug;
use serde::Serialize;

use super::super::{call, print_form, print_notes};
use super::n_records_in_words;
use crate::program::args::GlobalArgs;
use crate::program::args::prime::{PrimeExport, PrimeSave};
use crate::program::ui;

#[derive(Serialize)]
struct SaveForm<'a> {
    /// `null` where nothing was written.
    path: Option<&'a str>,
    records: usize,
}

pub(super) async fn export(shared: &GlobalArgs, args: PrimeExport) -> Result<ExitCode, CallError> {
    let told = call(shared, ExportScript { session: args.session }).await?;
    if shared.json {
        print_form(true, &SaveForm { path: None, records: told.data.records });
    } else {
        ui::document(&told.data.text);
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run(shared: &GlobalArgs, args: PrimeSave) -> Result<ExitCode, CallError> {
    // Refused before the house is touched.
    check_slug(&args.slug)?;
    let save = SaveScript {
        session: args.session,
        slug: args.slug,
        agent_id: shared.agent_id(),
        shared: args.shared,
        overwrite: args.overwrite,
    };
    let told = call(shared, save).await?;
    let SavedScript { script_ref, path, records } = &told.data;
    if shared.json {
        print_form(true, &SaveForm { path: Some(path), records: *records });
    } else {
        ui::line(&format!("Saved {} to `{path}`", n_records_in_words(*records)));
        ui::line(&format!("\nStart a session with it:\n  kith new --prime {script_ref}"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
