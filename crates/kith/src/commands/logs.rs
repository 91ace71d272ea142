//! `kith logs`: the end of a diagnostic log, and what comes after it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use kith_host::calls::log::{DiagnosticLines, FollowLog, ReadDiagnosticLog};
use tokio_util::sync::CancellationToken;

use super::forms::LogsForm;
use super::session_name::named_session;
use super::{CommandResult, call, client_of, house_of, print_as};
use crate::program::args::GlobalArgs;
use crate::program::args::logs::Logs;
use crate::program::signals::StopSignal;
use crate::program::ui::{self, EXIT_STOPPED};

pub(crate) async fn run(shared: &GlobalArgs, args: Logs) -> CommandResult {
    let session = match args.session {
        Some(name) => Some(named_session(shared, Some(name)).await?),
        None => None,
    };
    let lines = args.lines;
    if args.follow {
        return follow(shared, FollowLog { session, lines }).await;
    }
    let told = call(shared, ReadDiagnosticLog { session, lines }).await?;
    let form = LogsForm {
        log: told.data.log.clone(),
        file: told.data.file.clone(),
        lines: told.data.lines.iter().map(|line| pairs(line)).collect(),
    };
    Ok(print_as(shared, &told, &form, |view| {
        if view.lines.is_empty() {
            return ui::note(&format!("nothing has been logged in `{}` yet", view.file));
        }
        ui::visible_lines(&view.lines);
    }))
}

async fn follow(shared: &GlobalArgs, call: FollowLog) -> CommandResult {
    let mut stop = StopSignal::listen()?;
    let client = client_of(shared, house_of(shared)?);
    let is_json = shared.json;
    let take = move |item: DiagnosticLines| {
        if is_json {
            for line in &item.lines {
                ui::json(&pairs(line));
            }
        } else {
            ui::visible_lines(&item.lines);
        }
    };
    let ended = tokio::select! {
        ended = client.follow(call, take, CancellationToken::new()) => Some(ended),
        _ = stop.received() => None,
    };
    super::leave(client, &mut stop).await;
    match ended {
        None => Ok(ExitCode::from(EXIT_STOPPED)),
        Some(ended) => {
            ended?;
            ui::note("the host has stopped");
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The pairs of a line.
fn pairs(line: &str) -> BTreeMap<String, String> {
    let pairs = line.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
