//! The calls of an answer: judged, run, refused, reported.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use kith_sessions::journal::NewBlob;
use kith_vocab::block::{Block, ToolCall};
use kith_vocab::blocking::blocking;
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Body;
use kith_vocab::event::calls::{CallJudged, Effect, Grant, Sandbox, ToolStarted, Verdict, Via};
use kith_vocab::event::messages::{Outcome, ToolResult, Trust};
use kith_vocab::ids::CallId;
use kith_vocab::json::Json;
use kith_vocab::policy::{Judgement, Question};
use kith_vocab::tool::{
    CallContext, CallPlan, Permit, Refusal, RunContext, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutcome,
    ToolOutput,
};
use tokio_util::sync::CancellationToken;

use super::approvals::differences;
use super::end::deny_asked;
use super::{EffectKind, EffectOutcome, EffectStop, TurnContext, TurnEffect, time_left};
use crate::feed::FeedProgress;
use crate::session::{CLIENT_ID, Session};
use crate::state::calls::CallStage;
use crate::words::{RefusalText, refused};

/// When a tool looks at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    First,
    AtStart,
}

type PrepareResult = Result<(Arc<dyn Tool>, CallPlan), Refusal>;

/// A call, and what its tool found when it looked.
pub(crate) struct PreparedCall {
    call: ToolCall,
    looked: PrepareResult,
    /// The standing approvals of the agent in this workspace.
    grants: Arc<[Grant]>,
}

impl PreparedCall {
    /// Whether it does nothing but read, or cannot be run.
    fn only_reads(&self) -> bool {
        let Ok((_, plan)) = &self.looked else { return true };
        !plan.effects.is_empty() && plan.effects.iter().all(|it| *it == Effect::Read)
    }
}

/// Prepares each call before the policy is asked about any.
pub(super) fn prepare_calls(
    session: &Session,
    ctx: &TurnContext,
    calls: Vec<ToolCall>,
) -> TurnEffect {
    let cancel = CancellationToken::new();
    let grants = find_grants(session, ctx);
    let looks: Vec<_> = calls
        .into_iter()
        .map(|call| prepare_call(session, ctx, call, &cancel, Look::First))
        .collect();
    let future = Box::pin(async move {
        let mut looked = Vec::new();
        // One after the other: what is looked at may be the same file.
        for look in looks {
            looked.push(look.await);
        }
        // Nobody grants what is allowed anyway, so for calls that only read the desk is not asked.
        if !looked.iter().all(PreparedCall::only_reads) {
            let grants = grants.await;
            for call in &mut looked {
                call.grants = Arc::clone(&grants);
            }
        }
        EffectOutcome::Judged(looked)
    });
    TurnEffect { kind: EffectKind::Prepare, future, cancel, time_left: time_left(session) }
}

/// Looks at a call once more, right before it runs: between its verdict and its start, the world
/// may have changed.
pub(super) fn prepare_again(session: &Session, ctx: &TurnContext, call: ToolCall) -> TurnEffect {
    let cancel = CancellationToken::new();
    let look = prepare_call(session, ctx, call, &cancel, Look::AtStart);
    let grants = find_grants(session, ctx);
    let future = Box::pin(async move {
        let look = look.await;
        EffectOutcome::Ready(Box::new(PreparedCall { grants: grants.await, ..look }))
    });
    TurnEffect { kind: EffectKind::Prepare, future, cancel, time_left: time_left(session) }
}

fn prepare_call(
    session: &Session,
    ctx: &TurnContext,
    call: ToolCall,
    cancel: &CancellationToken,
    look: Look,
) -> impl Future<Output = PreparedCall> + Send + use<> {
    let tool = find(ctx, &call);
    let context = call_context(session, &call, cancel, look);
    async move {
        let looked = match tool {
            Ok(tool) => {
                let prepared = tool.prepare(&call.input, &context).await;
                prepared.map(|prepared| (Arc::clone(&tool), prepared))
            }
            Err(refusal) => Err(refusal),
        };
        PreparedCall { call, looked, grants: Arc::new([]) }
    }
}

/// The standing approvals that count here and now. If the desk cannot be asked there are none, and a
/// person is asked instead.
fn find_grants(
    session: &Session,
    ctx: &TurnContext,
) -> impl Future<Output = Arc<[Grant]>> + Send + use<> {
    let (desk, now) = (Arc::clone(&ctx.desk), ctx.clock.now());
    let (agent, workspace) = (session.header().agent_id.clone(), session.header().cwd.clone());
    async move {
        let rows = desk.grants(now).await.unwrap_or_default().into_iter();
        let here = rows.filter(|row| row.agent_id == agent && row.workspace == workspace);
        here.map(|row| row.grant).collect()
    }
}

fn find(ctx: &TurnContext, call: &ToolCall) -> Result<Arc<dyn Tool>, Refusal> {
    let refusal = |text| Err(Refusal { text, trust: Trust::Owner });
    if let Some(raw) = &call.raw_input {
        return refusal(format!(
            "The arguments of this call are not one whole JSON object ({} bytes came), so it did \
             not run. Send the call again, complete, and shorter if it was cut off.",
            raw.len()
        ));
    }
    let tools = &ctx.setup.tools;
    if let Some(tool) = tools.iter().find(|tool| tool.spec().name == call.tool) {
        return Ok(Arc::clone(tool));
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    refusal(format!("There is no tool `{}`. There are: {}.", call.tool, names.join(", ")))
}

fn call_context(
    session: &Session,
    call: &ToolCall,
    cancel: &CancellationToken,
    look: Look,
) -> CallContext {
    let header = session.header();
    CallContext {
        session_id: header.session_id,
        call_id: call.call_id,
        cwd: PathBuf::from(&header.cwd),
        audience: header.audience,
        lowest_trust: session.state().lowest_trust(),
        was_judged: look == Look::AtStart,
        cancel: cancel.clone(),
    }
}

/// Asks the policy about each call. One that cannot even be prepared has failed; there is nothing
/// to judge.
pub(super) fn judge(session: &mut Session, ctx: &TurnContext, calls: Vec<PreparedCall>) {
    for PreparedCall { call, looked, grants } in calls {
        let prepared = match looked {
            Ok((_, prepared)) => prepared,
            Err(Refusal { text, trust }) => {
                finish_with_text(session, &call, Outcome::Failed, text, trust);
                continue;
            }
        };
        let judgement = ask_policy(session, ctx, &call, &prepared, &grants);
        session.stage(Body::CallJudged(CallJudged {
            call_id: call.call_id,
            tool: call.tool_meant(),
            effect: prepared.effect(),
            verdict: judgement.verdict,
            reason: judgement.reason.into(),
            rule: judgement.rule,
            grant_id: judgement.grant_id,
            sandbox: judgement.sandbox,
            digest: prepared.digest.clone(),
            facts: with_summary(&prepared),
        }));
        if judgement.verdict == Verdict::Allow && prepared.effect() == Effect::Read {
            session.set_prepared(call.call_id, prepared);
        }
    }
}

fn ask_policy(
    session: &Session,
    ctx: &TurnContext,
    call: &ToolCall,
    prepared: &CallPlan,
    grants: &[Grant],
) -> Judgement {
    let state = session.state();
    let Some(turn) = &state.turn else { return no_turn() };
    // What counts is what will run, not by which tool it is called.
    let tool = call.tool_meant();
    let judgement = ctx.setup.policy.judge(&Question {
        call_id: call.call_id,
        tool: &tool,
        effects: &prepared.effects,
        summary: &prepared.summary,
        facts: &prepared.facts,
        author: &turn.author,
        trust: turn.trust,
        is_tainted: state.is_tainted(),
        audience: session.header().audience,
        is_attended: ctx.setup.approvals.has_someone(turn.attended),
        grants,
        sandbox: offered_sandbox(ctx, prepared),
        language: &turn.language,
    });
    if sends_a_secret(ctx, call, prepared, &judgement) {
        keeps_secrets(judgement.sandbox, &turn.language)
    } else {
        judgement
    }
}

fn no_turn() -> Judgement {
    let reason = "the turn that made the call has ended".to_owned();
    let (verdict, sandbox) = (Verdict::Deny, Sandbox::None);
    Judgement { verdict, reason, rule: None, grant_id: None, sandbox }
}

/// Only commands run in one, so only for them it is asked for.
fn offered_sandbox(ctx: &TurnContext, prepared: &CallPlan) -> Sandbox {
    if prepared.effects.contains(&Effect::Exec) {
        blocking(ctx.setup.sandbox)
    } else {
        Sandbox::None
    }
}

/// Whether a call that reaches others holds a known secret in its arguments. A command reaches others
/// if its sandbox lets it.
fn sends_a_secret(
    ctx: &TurnContext,
    call: &ToolCall,
    prepared: &CallPlan,
    judgement: &Judgement,
) -> bool {
    let reaches_others = prepared.effects.iter().any(|effect| match effect {
        Effect::Network | Effect::Message => true,
        Effect::Exec => judgement.sandbox != Sandbox::Workspace,
        Effect::Read | Effect::Write | Effect::Oneself => false,
    });
    reaches_others && ctx.setup.secrets.is_in_json(&call.input)
}

/// Such a call is denied, whatever rules and people say: nobody who is asked sees through every
/// encoding.
fn keeps_secrets(sandbox: Sandbox, language: &str) -> Judgement {
    let reason = RefusalText::HoldsSecret.in_language(language);
    let (reason, rule) = (reason.to_owned(), Some("secrets".to_owned()));
    Judgement { verdict: Verdict::Deny, reason, rule, grant_id: None, sandbox }
}

/// The facts of a call with its summary, so that every screen can say what it does.
fn with_summary(prepared: &CallPlan) -> Json {
    let Ok(mut facts) = prepared.facts.read::<serde_json::Map<String, serde_json::Value>>() else {
        return prepared.facts.clone();
    };
    facts.insert("summary".to_owned(), prepared.summary.clone().into());
    Json::of(&facts)
}

/// Reading changes nothing, so a crash costs nothing but time: no start is recorded, and the
/// calls simply run again.
pub(super) fn start_reads(
    session: &mut Session,
    ctx: &TurnContext,
    calls: Vec<ToolCall>,
) -> TurnEffect {
    let (cancel, time_left) = (CancellationToken::new(), time_left(session));
    let mut reads = Vec::new();
    for call in calls {
        let prepared = session.take_prepared(call.call_id);
        let run = run_context(session, &call, permit(Sandbox::None), &cancel);
        let tool = find(ctx, &call);
        reads.push(async move {
            let output = match (tool, prepared) {
                (Ok(tool), Some(prepared)) => tool.run(prepared, run).await,
                // Judged before a restart: what it was found to do is known no more.
                (Ok(tool), None) => match tool.prepare(&call.input, &run.call).await {
                    Ok(prepared) => tool.run(prepared, run).await,
                    Err(refusal) => failed(refusal),
                },
                (Err(refusal), _) => failed(refusal),
            };
            (call, output)
        });
    }
    let future = Box::pin(async move { EffectOutcome::Ran(join_all(reads).await) });
    TurnEffect { kind: EffectKind::Run, future, cancel, time_left }
}

fn failed(refusal: Refusal) -> ToolOutput {
    ToolOutput::text(ToolOutcome::Failed, refusal.trust, refusal.text)
}

fn permit(sandbox: Sandbox) -> Permit {
    Permit { sandbox, hosts: Vec::new(), paths: Vec::new() }
}

fn run_context(
    session: &Session,
    call: &ToolCall,
    permit: Permit,
    cancel: &CancellationToken,
) -> RunContext {
    let feed = Arc::clone(session.feed());
    RunContext {
        call: call_context(session, call, cancel, Look::AtStart),
        permit,
        time_left: time_left(session),
        progress: Arc::new(FeedProgress { feed, call_id: call.call_id }),
    }
}

/// Starts a call that was looked at again. What was judged is what runs, under the rules that hold
/// now.
pub(super) fn start(
    session: &mut Session,
    ctx: &TurnContext,
    call: PreparedCall,
) -> Option<TurnEffect> {
    let PreparedCall { call, looked, grants } = call;
    let (tool, prepared) = match looked {
        Ok(looked) => looked,
        Err(Refusal { text, trust }) => {
            finish_with_text(session, &call, Outcome::Failed, text, trust);
            return None;
        }
    };
    let progress = session.state().turn.as_ref().and_then(|turn| turn.calls.get(call.call_id));
    let is_approved = progress.is_some_and(|it| it.stage == CallStage::Approved);
    if progress.and_then(|it| it.digest.as_deref()) != Some(&prepared.digest) {
        let allowed = progress.and_then(|it| it.facts.clone());
        let language = session.state().language();
        let changed = differences(allowed.as_ref(), &with_summary(&prepared), language);
        refuse(session, &call, &changed);
        return None;
    }
    let asked_for = progress.and_then(|it| it.sandbox).filter(|_| is_approved);
    let judgement = ask_policy(session, ctx, &call, &prepared, &grants);
    if asked_for.is_some_and(|it| it != judgement.sandbox) {
        let reason = RefusalText::SandboxChanged.in_language(session.state().language());
        refuse(session, &call, reason);
        return None;
    }
    let may_run = match judgement.verdict {
        Verdict::Allow => true,
        Verdict::Ask => is_approved,
        Verdict::Deny => false,
    };
    if !may_run {
        refuse(session, &call, &judgement.reason);
        return None;
    }
    let started = ToolStarted { call_id: call.call_id, digest: prepared.digest.clone() };
    session.stage(Body::ToolStarted(started));
    let (cancel, time_left) = (CancellationToken::new(), time_left(session));
    let run = run_context(session, &call, permit(judgement.sandbox), &cancel);
    let future = Box::pin(async move {
        let output = tool.run(prepared, run).await;
        EffectOutcome::Ran(vec![(call, output)])
    });
    Some(TurnEffect { kind: EffectKind::Run, future, cancel, time_left })
}

pub(super) fn refuse(session: &mut Session, call: &ToolCall, reason: &str) {
    let text = refused(reason, session.state().language());
    finish_with_text(session, call, Outcome::Refused, text, Trust::Owner);
}

pub(super) fn report_interrupted(session: &mut Session, call: &ToolCall) {
    let text = "Interrupted: the program ended while this ran. It may or may not have taken \
                effect; look before you try again.";
    finish_with_text(session, call, Outcome::Interrupted, text.to_owned(), Trust::Owner);
}

/// Ends calls that were asked to stop and did not; what they did is unknown.
pub(super) fn give_up(session: &mut Session) {
    let Some(turn) = &session.state().turn else { return };
    let started = turn.calls.iter().filter(|it| it.stage == CallStage::Started);
    let calls: Vec<ToolCall> = started.map(|it| it.call.clone()).collect();
    let text = "Interrupted: this was told to stop and did not. It may still take effect; look \
                before you try again.";
    for call in calls {
        finish_with_text(session, &call, Outcome::Interrupted, text.to_owned(), Trust::Owner);
    }
}

/// Refuses calls that could not be prepared in the turn's time: they have not started.
pub(super) fn refuse_lost(session: &mut Session) {
    let Some(turn) = &session.state().turn else { return };
    let calls: Vec<ToolCall> = turn.calls.open().map(|it| it.call.clone()).collect();
    let reason = RefusalText::LookedTooLong.in_language(&turn.language);
    for call in calls {
        refuse(session, &call, reason);
    }
}

/// Denies a call whose question was not answered in time.
pub(super) fn expire(session: &mut Session, call_id: CallId) {
    let turn = session.state().turn.as_ref();
    let stage = turn.and_then(|turn| turn.calls.get(call_id)).map(|it| it.stage.clone());
    if let Some(stage) = stage {
        deny_asked(session, &stage, (CLIENT_ID, Via::Expiry), RefusalText::NobodyAnswered);
    }
}

pub(super) fn finish_with_text(
    session: &mut Session,
    call: &ToolCall,
    outcome: Outcome,
    text: String,
    trust: Trust,
) {
    stage_result(session, call, outcome, vec![Block::text(text)], trust, None);
}

fn stage_result(
    session: &mut Session,
    call: &ToolCall,
    outcome: Outcome,
    content: Vec<Block>,
    trust: Trust,
    full_output: Option<String>,
) {
    session.stage(Body::ToolResult(ToolResult {
        call_id: call.call_id,
        tool: call.tool_meant(),
        content,
        outcome,
        trust,
        full_output,
        primed: None,
    }));
}

pub(super) fn finish(
    session: &mut Session,
    call: &ToolCall,
    output: ToolOutput,
    stopped: EffectStop,
) {
    let outcome = match (output.outcome, stopped) {
        (ToolOutcome::Done, _) => Outcome::Done,
        (ToolOutcome::Failed, EffectStop::ByPerson) => Outcome::Cancelled,
        (ToolOutcome::Failed, _) => Outcome::Failed,
    };
    let text = output.plain_text();
    let ToolOutput { mut content, trust, full, .. } = output;
    let mut full_output = None;
    if let Some(spilled) = full {
        full_output = Some(spilled.sha256.clone());
        session.stage_blob(NewBlob::File(spilled));
    }
    if let Some(part) = shorten(&text) {
        let whole = full_output.unwrap_or_else(|| {
            let sha256 = sha256_hex(text.as_bytes());
            session.stage_blob(NewBlob::Bytes(text.as_bytes().to_vec()));
            sha256
        });
        content.retain(|block| block.as_text().is_none());
        content.insert(0, Block::text(format!("{part}\n(The whole output is kept as {whole}.)")));
        full_output = Some(whole);
    }
    stage_result(session, call, outcome, content, trust, full_output);
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
