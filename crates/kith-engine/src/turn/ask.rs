//! One request to the model, and what came of it.

use kith_providers::render;
use kith_vocab::block::{Block, ToolCall};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Body;
use kith_vocab::event::messages::{AnswerContent, AssistantMessage, StopReason};
use kith_vocab::event::models::{FailureKind, ModelFailed, ModelRequested, Purpose, Reserved};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::provider::{Answer, AnswerBlock, Cause, ModelChoice, Unfinished};

use super::{Hands, TurnError};
use crate::context::context;
use crate::session::Session;

/// How often one request is tried.
pub(super) const MODEL_ATTEMPTS_MAX: u32 = 4;
/// A vendor that wants us to wait longer than this is reported instead.
pub(super) const RETRY_WAIT_MS_MAX: u64 = 60_000;
const RETRY_WAIT_MS_FIRST: u64 = 500;

pub(super) async fn model(session: &mut Session, hands: &Hands<'_>) -> Result<(), TurnError> {
    let choice = hands.provider.choice();
    let body = {
        let context = context(session.state());
        let request = context.request(&choice.provider, &choice.model, &choice.parameters);
        render::render(choice.wire, &request)?
    };
    let request_id = EventId::from_uuid(hands.clock.new_id());
    session.stage(Body::ModelRequested(requested(request_id, choice, &body)));
    session.commit(hands.watcher)?;

    match hands.provider.ask(body, hands.watcher, hands.cancel).await {
        Ok(answer) if is_empty(&answer) => {
            let message = format!("`{}` answered with nothing", choice.provider);
            let attempt = next_attempt(session);
            fail(
                session,
                hands,
                request_id,
                Failure { kind: FailureKind::Empty, message, attempt, wait_ms: Some(0) },
            );
        }
        Ok(answer) => answered(session, choice, request_id, answer),
        Err(unfinished) => broken_off(session, hands, request_id, unfinished),
    }
    Ok(())
}

fn requested(request_id: EventId, choice: &ModelChoice, body: &[u8]) -> ModelRequested {
    let body_bytes = body.len() as u64;
    ModelRequested {
        request_id,
        purpose: Purpose::Turn,
        provider: choice.provider.clone(),
        wire: choice.wire,
        model: choice.model.clone(),
        parameters: choice.parameters.clone(),
        renderer_version: render::RENDERER_VERSION,
        body_sha256: sha256_hex(body),
        body_bytes,
        // Four bytes a token is on the safe side of what vendors count for text.
        reserved: Reserved { tokens: body_bytes / 4, cost_micros: None },
    }
}

fn answered(session: &mut Session, choice: &ModelChoice, id: EventId, answer: Answer) {
    let was_cut = answer.stop_reason == StopReason::MaxTokens;
    let n_calls = answer.content.iter().filter(|it| matches!(it, AnswerBlock::Call { .. })).count();
    let mut n_seen = 0;
    let content = answer.content.into_iter().map(|block| match block {
        AnswerBlock::Text(text) => Block::text(text),
        AnswerBlock::Thinking(thinking) => Block::Thinking(thinking),
        AnswerBlock::Call { provider_call_id, tool, arguments } => {
            let call_id = id.call(n_seen);
            n_seen += 1;
            // The last call of an answer that ran out of tokens may read like a whole one and not
            // be: `rm a` was going to be `rm a.bak`.
            let is_whole = !(was_cut && n_seen as usize == n_calls);
            let (input, raw_input) = parse_arguments(arguments, is_whole);
            Block::ToolCall(ToolCall { call_id, provider_call_id, tool, input, raw_input })
        }
    });
    let event = AssistantMessage {
        request_id: Some(id),
        message: AnswerContent { content: content.collect() },
        provider: Some(choice.provider.clone()),
        model: Some(choice.model.clone()),
        usage: answer.usage,
        stop_reason: answer.stop_reason,
        primed: None,
    };
    session.stage_as(id, None, Body::AssistantMessage(event));
}

fn parse_arguments(arguments: String, is_whole: bool) -> (Json, Option<String>) {
    // Some vendors send nothing for a call without arguments.
    let text = if arguments.trim().is_empty() { "{}" } else { arguments.as_str() };
    match Json::parse(text) {
        Ok(input) if is_whole && input.is_object() => (input, None),
        _ => (Json::empty_object(), Some(arguments)),
    }
}

fn broken_off(session: &mut Session, hands: &Hands<'_>, id: EventId, unfinished: Unfinished) {
    let Unfinished { cause, partial_text } = unfinished;
    match cause {
        Cause::Cancelled => {
            super::note_cancel(session, hands);
            keep_partial(session, hands.provider.choice(), id, partial_text, StopReason::Cancelled);
        }
        Cause::Failed { kind, message, retryable, retry_after_ms } => {
            let attempt = next_attempt(session);
            let wait = retry_after_ms.unwrap_or_else(|| back_off(id, attempt));
            let again = retryable && wait <= RETRY_WAIT_MS_MAX;
            if !again || attempt >= MODEL_ATTEMPTS_MAX {
                let choice = hands.provider.choice();
                keep_partial(session, choice, id, partial_text, StopReason::Error);
            }
            let wait_ms = again.then_some(wait);
            fail(session, hands, id, Failure { kind, message, attempt, wait_ms });
        }
    }
}

struct Failure {
    kind: FailureKind,
    message: String,
    attempt: u32,
    /// How long to wait before trying again, if that may help.
    wait_ms: Option<u64>,
}

fn fail(session: &mut Session, hands: &Hands<'_>, request_id: EventId, failure: Failure) {
    let Failure { kind, message, attempt, wait_ms } = failure;
    let may_retry = attempt < MODEL_ATTEMPTS_MAX;
    let retry_at = wait_ms.filter(|_| may_retry).map(|wait| hands.clock.now() + wait);
    let request_id = Some(request_id);
    session.stage(Body::ModelFailed(ModelFailed { request_id, kind, message, attempt, retry_at }));
}

/// Of an answer that did not finish, the text is kept, and only if the turn ends there.
fn keep_partial(
    session: &mut Session,
    choice: &ModelChoice,
    id: EventId,
    text: String,
    stop_reason: StopReason,
) {
    if text.trim().is_empty() {
        return;
    }
    let event = AssistantMessage {
        request_id: Some(id),
        message: AnswerContent { content: vec![Block::text(text)] },
        provider: Some(choice.provider.clone()),
        model: Some(choice.model.clone()),
        usage: None,
        stop_reason,
        primed: None,
    };
    session.stage_as(id, None, Body::AssistantMessage(event));
}

fn next_attempt(session: &Session) -> u32 {
    let failure = session.state().turn.as_ref().and_then(|turn| turn.failure);
    failure.map_or(0, |it| it.attempt) + 1
}

/// Doubles with every attempt; the request's own id scatters those that failed together.
fn back_off(id: EventId, attempt: u32) -> u64 {
    let base = RETRY_WAIT_MS_FIRST << attempt.min(6);
    let scatter = u64::from(id.as_uuid().as_bytes()[15]) * base / 512;
    base / 2 + scatter
}

fn is_empty(answer: &Answer) -> bool {
    !answer.content.iter().any(|block| match block {
        AnswerBlock::Text(text) => !text.trim().is_empty(),
        AnswerBlock::Thinking(_) => false,
        AnswerBlock::Call { .. } => true,
    })
}
