//! `kith prime ls`: lists the scripts an agent may use.

use std::process::ExitCode;

use kith_host::calls::priming::{ListScripts, ScriptRow};
use kith_host::error::CallError;

use super::super::{call, print_form, print_notes};
use super::{at_line, n_records_in_words};
use crate::program::args::GlobalArgs;
use crate::program::args::prime::PrimeLs;
use crate::program::ui;

pub(super) async fn run(shared: &GlobalArgs, args: PrimeLs) -> Result<ExitCode, CallError> {
    let query = args.query.clone().unwrap_or_default();
    let told = call(shared, ListScripts { agent_id: shared.agent_id(), query: args.query }).await?;
    let scripts = &told.data.scripts;
    if shared.json {
        print_form(true, &told.data);
    } else if scripts.is_empty() && !query.is_empty() {
        ui::note(&format!("no script matches `{query}`"));
    } else if scripts.is_empty() {
        ui::note("no scripts yet; `kith prime save latest SLUG` saves a conversation as one");
    } else {
        let names = scripts.iter().map(|it| name_of(it).chars().count());
        let width = names.max().unwrap_or_default();
        let lines: Vec<String> = scripts.iter().map(|it| line_of(it, width)).collect();
        ui::line(&lines.join("\n"));
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}

fn name_of(script: &ScriptRow) -> &str {
    script.script_ref.as_ref().unwrap_or(&script.path)
}

fn line_of(script: &ScriptRow, width: usize) -> String {
    let name = name_of(script);
    match (&script.error, script.records) {
        (Some(error), _) => {
            format!("{name:width$}  unusable{}: {}", at_line(error.line), error.message)
        }
        (None, n_records) => {
            let n_records = n_records_in_words(n_records.unwrap_or_default());
            let title = script.title.as_deref().unwrap_or_default();
            format!("{name:width$}  {n_records}  {title}").trim_end().to_owned()
        }
    }
}
