//! `kith prompt`: what a new session would be told.

use std::env;
use std::process::ExitCode;

use super::{print_form, print_notes, read, unexpected};
use crate::args::{Prompt, Shared};
use crate::client::{Answer, Request};
use crate::report::{Blame, Report};
use crate::ui;

pub(crate) async fn run(shared: &Shared, args: Prompt) -> Result<ExitCode, Report> {
    let cwd = match args.cwd {
        Some(dir) => dir,
        None => env::current_dir()
            .map_err(|source| Report::new(Blame::Environment, "filesystem_error", source))?,
    };
    let unusable = |what: String| {
        let message = format!("cannot use the folder `{}`: {what}", cwd.display());
        Report::new(Blame::Request, "invalid_request", message)
    };
    let real = cwd.canonicalize().map_err(|source| unusable(source.to_string()))?;
    if !real.is_dir() {
        return Err(unusable("it is not a folder".to_owned()));
    }
    let cwd = real.display().to_string();
    let request = Request::GetPrompt {
        agent_id: shared.agent().map(str::to_owned),
        audience: args.audience.into(),
        cwd,
    };
    let Answer::Prompt(told) = read(shared, request).await? else { return Err(unexpected()) };
    if shared.json {
        print_form(true, &told.form);
        print_notes(&told.notes);
        return Ok(ExitCode::SUCCESS);
    }
    ui::line(&told.form.system_prompt);
    for section in &told.form.snapshot.sections {
        for source in section.sources.iter().flatten() {
            if let Some(path) = &source.path {
                let chars = source.chars.map_or_else(|| "uncounted".to_owned(), |n| n.to_string());
                let injected = source.injected_chars.unwrap_or_default();
                ui::error_line(&format!("{path}: {chars} characters, {injected} in the prompt"));
            }
        }
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
