//! `kith approvals`, `kith approve`, `kith deny`, `kith grants` and `kith explain reply`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use kith_host::call::Response;
use kith_host::calls::approval::{
    ApprovalAnswer, DecideApproval, DecidedApproval, GrantView, ListApprovals, ListGrants,
    RevokeGrant,
};
use kith_host::calls::message::{MessageAnswer, TurnEnd};
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::replies::{PendingForm, explain};
use kith_host::words::short;
use kith_vocab::clock::Clock as _;
use kith_vocab::ids::EventId;
use kith_vocab::invisible::visible;
use serde::Serialize;
use serde_json::Value;

use super::ask::{TurnDisplay, follow_until_stopped, print};
use super::session_name::named_session;
use super::{
    CommandResult, call, client_of, house_of, leave, print_answer, print_form, print_notes,
};
use crate::program::args::GlobalArgs;
use crate::program::args::approval::{Approve, Deny, GrantsCommand};
use crate::program::signals::StopSignal;
use crate::program::ui;

/// Maximum size of a file with pending approvals.
const PENDING_FILE_BYTES_MAX: u64 = 1024 * 1024;

pub(crate) async fn list(shared: &GlobalArgs) -> CommandResult {
    let told = call(shared, ListApprovals { session: None, approval: None }).await?;
    Ok(print_answer(shared, &told, |list| {
        if list.approvals.is_empty() {
            ui::note("no approval is waiting");
        }
        for (n, approval) in list.approvals.iter().enumerate() {
            if n > 0 {
                ui::line("");
            }
            ui::line(&approval.question);
            ui::line(&format!("Session: {}", short(approval.session_id)));
        }
    }))
}

/// Prints the question and the whole input of its call, each text as it would be written.
pub(crate) async fn show(shared: &GlobalArgs, approval: Option<String>) -> CommandResult {
    let approval = match approval {
        Some(approval) => approval,
        None => only_one(shared).await?,
    };
    let told = call(shared, ListApprovals { session: None, approval: Some(approval) }).await?;
    Ok(print_answer(shared, &told, |list| {
        for approval in &list.approvals {
            ui::line(&approval.question);
            let input = approval.input.as_deref().unwrap_or_default();
            let fields = serde_json::from_str::<serde_json::Map<String, Value>>(input);
            for (name, value) in fields.unwrap_or_default() {
                ui::line(&format!("\n{name}:"));
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                visible(&text).lines().for_each(|row| ui::line(&format!("    {row}")));
            }
        }
    }))
}

async fn only_one(shared: &GlobalArgs) -> Result<String, CallError> {
    let mut all =
        call(shared, ListApprovals { session: None, approval: None }).await?.data.approvals;
    match all.len() {
        1 => Ok(all.remove(0).approval_id),
        0 => Err(CallError::invalid("no approval is waiting")),
        n => Err(CallError::invalid(format!("{n} approvals are waiting"))
            .hint("name one by its code; `kith approvals` lists them")),
    }
}

pub(crate) async fn approve(shared: &GlobalArgs, args: Approve) -> CommandResult {
    let for_minutes = args.for_time.as_deref().map(minutes).transpose()?;
    let shown = TurnDisplay::new(shared.json, args.stream_json);
    let call = DecideApproval {
        approval: args.approval,
        session: session(shared, args.session).await?,
        decide_id: EventId::from_uuid(SystemClock.new_id()),
        decision: ApprovalAnswer::Allow,
        for_minutes,
        reason: None,
    };
    decide(shared, call, shown).await
}

pub(crate) async fn deny(shared: &GlobalArgs, args: Deny) -> CommandResult {
    let shown = TurnDisplay::new(shared.json, args.stream_json);
    let call = DecideApproval {
        approval: args.approval,
        session: session(shared, args.session).await?,
        decide_id: EventId::from_uuid(SystemClock.new_id()),
        decision: ApprovalAnswer::Deny,
        for_minutes: None,
        reason: args.reason.filter(|reason| !reason.trim().is_empty()),
    };
    decide(shared, call, shown).await
}

/// An approval is found in all sessions unless one is named.
async fn session(shared: &GlobalArgs, named: Option<String>) -> Result<Option<String>, CallError> {
    match named {
        Some(named) => named_session(shared, Some(named)).await.map(Some),
        None => Ok(None),
    }
}

async fn decide(shared: &GlobalArgs, call: DecideApproval, shown: TurnDisplay) -> CommandResult {
    let client = client_of(shared, house_of(shared)?);
    let mut stop = StopSignal::listen()?;
    let told = follow_until_stopped(&client, call, shown.screen(), &mut stop).await;
    let told = told.unwrap_or_else(|| {
        Err(CallError::stopped("quit without waiting for the turn to end")
            .hint("the next message finishes it"))
    });
    shown.end_line();
    let printed = told.and_then(|told| {
        let Response { data, notes } = told;
        let DecidedApproval { approval_id, decision, grant, reply } = data;
        if shared.json {
            let form = DecidedForm { approval_id, decision, grant, answer: &reply.answer };
            print_form(true, &form);
            let is_done = reply.answer.end == TurnEnd::Done;
            print_notes(&notes);
            return Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(ui::EXIT_EARLY) });
        }
        if let Some(grant) = &grant {
            ui::note(&format!(
                "not asked again until {}; `kith grants` lists it",
                grant.expires_at
            ));
        }
        print(&Response { data: reply, notes }, &shown, &stop)
    });
    leave(client, &mut stop).await;
    printed
}

/// `kith approve` and `kith deny`
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct DecidedForm<'a> {
    approval_id: String,
    decision: ApprovalAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    grant: Option<GrantView>,
    answer: &'a MessageAnswer,
}

/// A duration in minutes: `10m`, `2h`.
fn minutes(text: &str) -> Result<u32, CallError> {
    let (number, unit) =
        text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let per_unit = match unit {
        "m" => Some(1),
        "h" => Some(60),
        _ => None,
    };
    let minutes = number.parse::<u32>().ok().zip(per_unit).map(|(n, unit)| n.saturating_mul(unit));
    minutes.ok_or_else(|| {
        CallError::usage(format!("`{text}` is not a duration"))
            .hint("for example `--for 10m` or `--for 2h`")
    })
}

pub(crate) async fn grants(shared: &GlobalArgs, command: GrantsCommand) -> CommandResult {
    match command {
        GrantsCommand::Ls => {
            let told = call(shared, ListGrants {}).await?;
            Ok(print_answer(shared, &told, |list| {
                if list.grants.is_empty() {
                    ui::note("there are no standing approvals");
                }
                for grant in &list.grants {
                    let words = grant.argv_prefix.as_ref().map(|words| words.join(" "));
                    let what = words.or_else(|| grant.path.clone()).unwrap_or_default();
                    let what = visible(&what);
                    ui::line(&format!(
                        "{}  `{what}` in {} until {}",
                        grant.grant_id, grant.workspace, grant.expires_at
                    ));
                }
            }))
        }
        GrantsCommand::Rm { grant } => {
            let told = call(shared, RevokeGrant { grant }).await?;
            Ok(print_answer(shared, &told, |revoked| {
                ui::line(&format!("revoked {}", revoked.grant_id));
            }))
        }
    }
}

/// Says how a reply would be read, without a house and without a model.
pub(crate) fn explain_reply(shared: &GlobalArgs, text: &str, file: Option<&Path>) -> CommandResult {
    let form = explain(text, file.map(read_pending).transpose()?);
    if file.is_none() && !shared.json {
        ui::note(
            "read as a reply to the sample question `make test` [7QX]; `--pending FILE` gives your own",
        );
    }
    if shared.json {
        print_form(true, &form);
        return Ok(ExitCode::SUCCESS);
    }
    ui::line(&format!("{}: {}", form.verdict, form.reason));
    if let Some(command) = form.assumed {
        ui::note(&format!(
            "read as if one approval for `{command}` were waiting (code 7QX); `--pending FILE` names \
             the real ones"
        ));
    }
    for (word, ids) in [("allowed", &form.approvals), ("denied", &form.denied)] {
        if !ids.is_empty() && form.verdict == "allow" {
            ui::line(&format!("{word}: {}", ids.join(", ")));
        }
    }
    if let Some(grant) = &form.grant {
        let (pattern, minutes) = (grant.pattern.join(" "), grant.minutes);
        ui::line(&format!("not asked again: `{pattern}` for {minutes} minutes"));
    }
    Ok(ExitCode::SUCCESS)
}

fn read_pending(file: &Path) -> Result<Vec<PendingForm>, CallError> {
    let refused = |what: String| {
        CallError::invalid(format!("cannot read `{}`: {what}", file.display())).hint(
            "it must be a JSON list such as `[{\"approvalId\": \"a1\", \"code\": \"7QX\", \"tool\": \
             \"exec_shell\", \"summary\": \"run the tests\", \"command\": \"make test\"}]`",
        )
    };
    let size = fs::metadata(file).map_err(|error| refused(error.to_string()))?.len();
    if size > PENDING_FILE_BYTES_MAX {
        return Err(refused(format!("it has {size} bytes, more than {PENDING_FILE_BYTES_MAX}")));
    }
    let text = fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| refused(error.to_string()))
}
