//! The calls of an answer: judged, run, refused, reported.

use std::sync::Arc;

use futures_util::future::join_all;
use kith_vocab::block::{Block, ToolCall};
use kith_vocab::event::Body;
use kith_vocab::event::calls::{CallJudged, Effect, ToolStarted, Verdict};
use kith_vocab::event::messages::{Outcome, ToolResult, Trust};
use kith_vocab::policy::CallToJudge;
use kith_vocab::tool::{Prepared, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutput};

use super::{Hands, TurnError};
use crate::session::Session;

/// Looks at each call and asks the policy. A call that cannot even be prepared has failed; there
/// is nothing to judge.
pub(super) async fn judge(session: &mut Session, hands: &Hands<'_>, calls: Vec<ToolCall>) {
    for call in calls {
        let prepared = match prepare(hands, &call).await {
            Ok((_, prepared)) => prepared,
            Err(reason) => {
                settle(session, &call, Outcome::Failed, reason, Trust::Owner);
                continue;
            }
        };
        let judgement = hands.policy.judge(&CallToJudge {
            call_id: call.call_id,
            tool: &call.tool,
            effect: prepared.effect,
            summary: &prepared.summary,
            facts: &prepared.facts,
        });
        session.stage(Body::CallJudged(CallJudged {
            call_id: call.call_id,
            tool: call.tool.clone(),
            effect: prepared.effect,
            verdict: judgement.verdict,
            reason: judgement.reason,
            rule: judgement.rule,
            grant_id: judgement.grant_id,
            sandbox: judgement.sandbox,
            digest: prepared.digest.clone(),
            facts: prepared.facts.clone(),
        }));
        if judgement.verdict == Verdict::Allow && prepared.effect == Effect::Read {
            session.set_ready(call.call_id, prepared);
        }
    }
}

/// Reading changes nothing, so a crash costs nothing but time: no start is recorded, and the
/// calls simply run again.
pub(super) async fn run_reads(
    session: &mut Session,
    hands: &Hands<'_>,
    calls: Vec<ToolCall>,
) -> Result<(), TurnError> {
    session.commit(hands.watcher)?;
    let readers = calls.iter().map(|call| (call, session.take_ready(call.call_id)));
    let readers: Vec<_> = readers.collect();
    let outputs = join_all(readers.into_iter().map(|(call, ready)| read(hands, call, ready))).await;
    for (call, output) in calls.iter().zip(outputs) {
        finish(session, hands, call, output)?;
    }
    Ok(())
}

async fn read(hands: &Hands<'_>, call: &ToolCall, ready: Option<Prepared>) -> ToolOutput {
    let ready = match (ready, find(hands, call)) {
        (Some(prepared), Some(tool)) => Ok((tool, prepared)),
        // Judged before a restart: what it was found to do is known no more.
        _ => prepare(hands, call).await,
    };
    match ready {
        Ok((tool, prepared)) => tool.run(prepared, hands.cancel).await,
        Err(text) => ToolOutput { text, succeeded: false, trust: Trust::Owner },
    }
}

pub(super) async fn run(
    session: &mut Session,
    hands: &Hands<'_>,
    call: ToolCall,
) -> Result<(), TurnError> {
    let (tool, prepared) = match prepare(hands, &call).await {
        Ok(ready) => ready,
        Err(reason) => {
            settle(session, &call, Outcome::Failed, reason, Trust::Owner);
            return Ok(());
        }
    };
    // What was judged is what runs. Between the two, a file may have changed.
    if judged_digest(session, &call).as_deref() != Some(&prepared.digest) {
        refuse(session, &call, "what it would act on has changed since it was allowed");
        return Ok(());
    }
    let started = ToolStarted { call_id: call.call_id, digest: prepared.digest.clone() };
    session.stage(Body::ToolStarted(started));
    session.commit(hands.watcher)?;
    let output = tool.run(prepared, hands.cancel).await;
    finish(session, hands, &call, output)
}

pub(super) fn refuse(session: &mut Session, call: &ToolCall, reason: &str) {
    let reason = if reason.trim().is_empty() { "it was not allowed" } else { reason };
    settle(session, call, Outcome::Refused, format!("Refused: {reason}."), Trust::Owner);
}

pub(super) fn report_interrupted(session: &mut Session, call: &ToolCall) {
    let text = "Interrupted: the program ended while this ran. It may or may not have taken \
                effect; look before you try again.";
    settle(session, call, Outcome::Interrupted, text.to_owned(), Trust::Owner);
}

pub(super) fn settle(
    session: &mut Session,
    call: &ToolCall,
    outcome: Outcome,
    text: String,
    trust: Trust,
) {
    settle_part(session, call, outcome, (text, None), trust);
}

fn settle_part(
    session: &mut Session,
    call: &ToolCall,
    outcome: Outcome,
    (text, full_output): (String, Option<String>),
    trust: Trust,
) {
    session.stage(Body::ToolResult(ToolResult {
        call_id: call.call_id,
        tool: call.tool.clone(),
        content: vec![Block::text(text)],
        outcome,
        trust,
        full_output,
        primed: None,
    }));
}

fn finish(
    session: &mut Session,
    hands: &Hands<'_>,
    call: &ToolCall,
    output: ToolOutput,
) -> Result<(), TurnError> {
    let outcome = match (output.succeeded, hands.cancel.is_cancelled()) {
        (true, _) => Outcome::Done,
        (false, true) => Outcome::Cancelled,
        (false, false) => Outcome::Failed,
    };
    let shown = match shorten(&output.text) {
        None => (output.text, None),
        Some(part) => {
            let whole = session.keep(&output.text)?;
            (format!("{part}\n(The whole output is kept as {whole}.)"), Some(whole))
        }
    };
    settle_part(session, call, outcome, shown, output.trust);
    Ok(())
}

async fn prepare(hands: &Hands<'_>, call: &ToolCall) -> Result<(Arc<dyn Tool>, Prepared), String> {
    if let Some(raw) = &call.raw_input {
        return Err(format!(
            "The arguments of this call are not one whole JSON object ({} bytes came), so it did \
             not run. Send the call again, complete, and shorter if it was cut off.",
            raw.len()
        ));
    }
    let Some(tool) = find(hands, call) else {
        let names: Vec<&str> = hands.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        return Err(format!("There is no tool `{}`. There are: {}.", call.tool, names.join(", ")));
    };
    let prepared = tool.prepare(&call.input).await?;
    Ok((tool, prepared))
}

fn find(hands: &Hands<'_>, call: &ToolCall) -> Option<Arc<dyn Tool>> {
    hands.tools.iter().find(|tool| tool.spec().name == call.tool).map(Arc::clone)
}

fn judged_digest(session: &Session, call: &ToolCall) -> Option<String> {
    session.state().turn.as_ref()?.calls.get(call.call_id)?.digest.clone()
}

/// Head and tail of an output that is too long: errors stand at either end.
fn shorten(text: &str) -> Option<String> {
    if text.len() <= TOOL_OUTPUT_BYTES_MAX {
        return None;
    }
    let head_end = text.floor_char_boundary(TOOL_OUTPUT_BYTES_MAX * 7 / 10);
    let tail_begin = text.ceil_char_boundary(text.len() - TOOL_OUTPUT_BYTES_MAX / 5);
    let n_missing = tail_begin - head_end;
    let (head, tail) = (&text[..head_end], &text[tail_begin..]);
    Some(format!("{head}\n… {n_missing} bytes left out …\n{tail}"))
}
