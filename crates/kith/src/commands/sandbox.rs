//! `kith sandbox`: runs a command as the agent's commands are run.

use std::process::ExitCode;

use kith_host::sandbox::{SandboxedCommand, run_command};

use super::forms::SandboxForm;
use super::{CommandResult, house_of, print_form};
use crate::program::args::GlobalArgs;
use crate::program::args::sandbox::SandboxArgs;
use crate::program::signals::StopSignal;

pub(crate) async fn run(shared: &GlobalArgs, args: SandboxArgs) -> CommandResult {
    let mut stop = StopSignal::listen()?;
    let command = SandboxedCommand {
        argv: args.command,
        has_network: args.network,
        // With `--json` stdout holds one value.
        prints_to_stderr: shared.json,
    };
    // A command can be tried anywhere; without a house nothing of one needs protection.
    let house = house_of(shared).ok();
    let stop = async {
        stop.received().await;
    };
    let code = run_command(house.as_ref(), command, stop).await?;
    if shared.json {
        print_form(true, &SandboxForm { exit_code: code });
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}
