//! `kith prompt`: prints the system prompt of a new session.

use std::env;
use std::process::ExitCode;

use kith_host::calls::prompt::GetPrompt;
use kith_host::error::{Blame, CallError, ErrorCode};

use super::{call, folder, print_form, print_notes};
use crate::program::args::{GlobalArgs, Prompt};
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: Prompt) -> Result<ExitCode, CallError> {
    let cwd = match args.cwd {
        Some(dir) => dir,
        None => env::current_dir().map_err(|source| {
            CallError::new(Blame::Environment, ErrorCode::FilesystemError, source)
        })?,
    };
    let cwd = folder(&cwd)?.display().to_string();
    let get = GetPrompt { agent_id: shared.agent_id(), audience: args.audience.into(), cwd };
    let told = call(shared, get).await?;
    if shared.json {
        print_form(true, &told.data);
        print_notes(&told.notes);
        return Ok(ExitCode::SUCCESS);
    }
    ui::line(&told.data.system_prompt);
    for section in &told.data.snapshot.sections {
        for source in section.sources.iter().flatten() {
            if let Some(path) = &source.path {
                let chars = source.chars.map_or_else(|| "uncounted".to_owned(), |n| n.to_string());
                let injected = source.injected_chars.unwrap_or_default();
                ui::error_line(&format!("{path}: {injected} of {chars} characters in the prompt"));
            }
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
