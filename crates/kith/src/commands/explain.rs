//! `kith explain`: why something is as it is. It only looks.

use std::process::ExitCode;

use kith_host::calls::prompt::{ExplainAgent, IdentityView};
use kith_host::error::CallError;

use super::{call, print_form};
use crate::args::{Explain, Shared};
use crate::ui;

pub(crate) async fn run(shared: &Shared, args: &Explain) -> Result<ExitCode, CallError> {
    match args {
        Explain::Identity(_) => identity(shared).await,
    }
}

async fn identity(shared: &Shared) -> Result<ExitCode, CallError> {
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
