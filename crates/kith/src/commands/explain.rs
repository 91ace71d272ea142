//! `kith explain`: shows where a value comes from. It changes nothing.

use std::process::ExitCode;

use kith_host::calls::prompt::{ExplainAgent, IdentityView};
use kith_host::error::CallError;

use super::{call, print_form};
use crate::program::args::{Explain, GlobalArgs};
use crate::program::ui;

pub(crate) async fn run(shared: &GlobalArgs, args: &Explain) -> Result<ExitCode, CallError> {
    match args {
        Explain::Identity(_) => identity(shared).await,
    }
}

async fn identity(shared: &GlobalArgs) -> Result<ExitCode, CallError> {
    let identity = call(shared, ExplainAgent { agent_id: shared.agent_id() }).await?.data;
    let IdentityView { name, role, goal, voice, emoji, kind, style, avatar, source } = &identity;
    if shared.json {
        print_form(true, &identity);
        return Ok(ExitCode::SUCCESS);
    }
    ui::line(&format!("name: {name}"));
    let fields = [
        ("role", role),
        ("goal", goal),
        ("voice", voice),
        ("emoji", emoji),
        ("type", kind),
        ("style", style),
        ("avatar", avatar),
    ];
    for (label, value) in fields {
        if let Some(value) = value {
            ui::line(&format!("{label}: {value}"));
        }
    }
    ui::line(&format!("The name comes from {source}"));
    Ok(ExitCode::SUCCESS)
}
