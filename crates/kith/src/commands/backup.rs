//! `kith backup`: copies the house.

use std::process::ExitCode;

use kith_host::calls::house::{BackUpHouse, BackupSummary};
use kith_host::error::{CallError, ErrorCode};

use super::{call, house_of, print_form, print_notes};
use crate::program::args::{self, GlobalArgs};
use crate::program::ui;

pub(super) async fn run(
    shared: &GlobalArgs,
    args: args::BackupArgs,
) -> Result<ExitCode, CallError> {
    let dir = house_of(shared)?.cwd.join(&args.dir);
    let Some(dir) = dir.to_str().map(str::to_owned) else {
        let message = format!("the path `{}` is not valid UTF-8", args.dir.display());
        return Err(CallError::request(ErrorCode::InvalidRequest, message));
    };
    let told = call(shared, BackUpHouse { dir }).await?;
    if shared.json {
        print_form(true, &told.data);
    } else {
        let BackupSummary { path, sessions, files, bytes } = &told.data;
        let sessions =
            if *sessions == 1 { "1 session".to_owned() } else { format!("{sessions} sessions") };
        ui::line(&format!("copied {sessions}, {files} files, {bytes} bytes to `{path}`"));
        ui::note("derived files were not copied; kith recreates them when needed");
    }
    print_notes(&told.notes);
    Ok(ExitCode::SUCCESS)
}
