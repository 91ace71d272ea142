//! `kith explain command`.

use std::env;

use kith_host::calls::policy::{CommandExplanation, ExplainCommand, ModeName, VerdictName};
use kith_host::error::CallError;

use super::{CommandResult, call, folder, print_answer};
use crate::program::args::GlobalArgs;
use crate::program::args::explain::{ExplainCommandArgs, ModeArg};
use crate::program::ui;

pub(crate) async fn command(shared: &GlobalArgs, args: ExplainCommandArgs) -> CommandResult {
    let cwd = args.cwd.map_or_else(env::current_dir, Ok).map_err(CallError::filesystem)?;
    let cwd = folder(&cwd)?.display().to_string();
    let mode = args.mode.map(|mode| match mode {
        ModeArg::Ask => ModeName::Ask,
        ModeArg::Readonly => ModeName::Readonly,
        ModeArg::Trusted => ModeName::Trusted,
        ModeArg::Deny => ModeName::Deny,
    });
    let explain = ExplainCommand { agent_id: shared.agent_id(), command: args.command, cwd, mode };
    Ok(print_answer(shared, &call(shared, explain).await?, print))
}

fn print(explanation: &CommandExplanation) {
    let how = match (explanation.sandboxed, explanation.network) {
        (true, true) => " (in the sandbox, with the network)",
        (true, false) => " (in the sandbox)",
        (false, _) => " (without a sandbox)",
    };
    let how = if explanation.verdict == VerdictName::Deny { "" } else { how };
    ui::line(&format!("{}{how}: {}", word(explanation.verdict), explanation.reason));
    for segment in &explanation.segments {
        let argv = segment.argv.join(" ");
        ui::line(&format!("  {}  {argv}: {}", word(segment.verdict), segment.reason));
    }
}

fn word(verdict: VerdictName) -> &'static str {
    match verdict {
        VerdictName::Allow => "allow",
        VerdictName::Ask => "ask",
        VerdictName::Deny => "deny",
    }
}
