//! One request to the model, and its outcome.

use std::sync::Arc;

use kith_providers::media::{MEDIA_BYTES_MAX, MediaBytes, media_of};
use kith_providers::render::{self, RenderError};
use kith_sessions::storage::StorageError;
use kith_vocab::block::{Block, ToolCall};
use kith_vocab::budget::{CapReached, SpendRefusal};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Body;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::messages::{AnswerContent, AssistantMessage, StopReason, Usage};
use kith_vocab::event::models::{
    FailureKind, ModelFailed, ModelRef, ModelRequested, Purpose, Reserved, SummaryScope,
};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, AskContext, DeltaSink, FailureCause, ModelChoice,
    ModelUnavailable, Models, Provider,
};
use kith_vocab::text::Text;
use tokio_util::sync::CancellationToken;

use super::compact::{self, NoDeltas};
use super::reservation::{self, RequestSize, SpendReservation, StreamCounter};
use super::{
    Action, EffectKind, EffectOutcome, EffectStop, TurnContext, TurnEffect, time_left, window,
};
use crate::context::context;
use crate::failure::SessionFailure;
use crate::feed::FeedTap;
use crate::session::{EventSource, Session};
use crate::state::State;
use crate::words::NoticeText;

/// How often one request is tried.
const MODEL_ATTEMPTS_MAX: u32 = 4;
/// How often a server on this machine is asked that is loading its model, and how long it is waited
/// for in between: a minute together.
const LOADING_ATTEMPTS_MAX: u32 = 30;
const LOADING_WAIT_MS: u64 = 2_000;
/// A vendor that wants us to wait longer than this is reported instead.
const RETRY_WAIT_MS_MAX: u64 = 60_000;
const RETRY_WAIT_MS_FIRST: u64 = 500;
/// A longer request is not sent. It holds the whole conversation, which nothing else bounds.
pub(super) const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a person can do about a conversation that is too long for a model.
const TOO_LONG_HINT: &str = "choose a model with a larger context, go back with `kith session \
                             branch`, or start over with `kith ask --new`";

/// A request that was sent.
pub(crate) struct SentRequest {
    pub(super) request_id: EventId,
    pub(super) choice: ModelChoice,
    purpose: Purpose,
    pub(super) scope: Option<SummaryScope>,
    pub(super) body_bytes: u64,
    /// The tokens of the request, if they are more than the model reads and nobody was told yet.
    over_window: Option<u64>,
    reservation: SpendReservation,
}

/// The first model of the list that can be asked from here as it was recorded.
pub(crate) fn find_model(
    models: &dyn Models,
    recorded: &[ModelRef],
) -> Result<Arc<dyn Provider>, ModelUnavailable> {
    let mut unavailable = None;
    for model in recorded {
        match models.find(model) {
            Ok(provider) => return Ok(provider),
            Err(error) => unavailable = unavailable.or(Some(error)),
        }
    }
    let reason = "the turn was begun by an earlier version, which did not record its model";
    Err(unavailable.unwrap_or_else(|| ModelUnavailable { reason: reason.to_owned() }))
}

pub(super) async fn start(
    session: &mut Session,
    ctx: &TurnContext,
) -> Result<Action, SessionFailure> {
    let provider = match find_model(&*ctx.models, &remaining_models(session.state())) {
        Ok(provider) => provider,
        Err(ModelUnavailable { reason }) => {
            let attempt = next_attempt(session);
            let failure = RequestFailure {
                kind: FailureKind::Network,
                message: reason,
                attempt,
                wait_ms: None,
                usage: None,
            };
            fail(session, None, failure);
            return Ok(Action::Staged);
        }
    };
    let choice = provider.choice().clone();
    let body = match body_of(session, &choice).await {
        Ok(body) => body,
        Err(BodyError::Storage(error)) => return Err(error.into()),
        Err(BodyError::Render(error @ RenderError::TooMuchMedia { .. })) => {
            if compact::may_help(session.state()) {
                compact::request(session);
            } else {
                fail(session, None, unsendable(error.to_string()));
            }
            return Ok(Action::Staged);
        }
        Err(BodyError::Render(error)) => {
            return Err(SessionFailure::Render { reason: error.to_string() });
        }
    };
    match body {
        Ok(body) if !compact::is_due(session.state(), body.len() as u64, &choice) => {
            Ok(send(session, ctx, provider, body, Purpose::Turn, None))
        }
        Err(n_bytes) if !compact::may_help(session.state()) => {
            fail(session, None, too_large(n_bytes));
            Ok(Action::Staged)
        }
        _ => {
            compact::request(session);
            Ok(Action::Staged)
        }
    }
}

/// Writes down that the body is sent, and sends it.
pub(super) fn send(
    session: &mut Session,
    ctx: &TurnContext,
    provider: Arc<dyn Provider>,
    body: Vec<u8>,
    purpose: Purpose,
    scope: Option<SummaryScope>,
) -> Action {
    let choice = provider.choice().clone();
    let request_id = session.new_event_id();
    let size = RequestSize::of(session.state(), body.len() as u64, purpose);
    let most = reservation::most(&*provider, size);
    let reserved = reservation::reserved(&most);
    let amounts = (reserved, reservation::worst(&*provider, size));
    let made = SpendReservation::make(session, &ctx.setup.budget, request_id, &choice, amounts);
    let mut reservation = match made {
        Ok(reservation) => reservation,
        Err(SpendRefusal::CapReached(reached)) => {
            return refuse_by_budget(session, purpose, reached);
        }
        Err(SpendRefusal::Wait(settled)) => {
            return Action::Start(reservation::wait(settled, time_left(session)));
        }
    };
    let over_window = window::tokens_over(session.state(), body.len() as u64, &choice, purpose);
    let event = request_event(request_id, &choice, &body, reserved);
    session.stage(Body::ModelRequested(ModelRequested { purpose, scope, ..event }));
    let (cancel, time_left) = (CancellationToken::new(), time_left(session));
    let sink: Arc<dyn DeltaSink> = match purpose {
        Purpose::Turn => Arc::new(FeedTap { feed: Arc::clone(session.feed()), request_id }),
        Purpose::Compact => Arc::new(NoDeltas),
    };
    let counter = Arc::new(StreamCounter::new(sink));
    let sink = Arc::clone(&counter) as Arc<dyn DeltaSink>;
    let ask = AskContext { time_left, cancel: cancel.clone(), sink };
    let body_bytes = body.len() as u64;
    let future = Box::pin(async move {
        reservation.note_sent();
        let mut answer = provider.ask(body, ask).await;
        if let Err(failure) = &mut answer {
            reservation::estimate_usage(failure, &*provider, &most, counter.n_bytes());
        }
        let sent = SentRequest {
            request_id,
            choice,
            purpose,
            scope,
            body_bytes,
            over_window,
            reservation,
        };
        EffectOutcome::Asked(Box::new(sent), answer)
    });
    Action::Start(TurnEffect { kind: EffectKind::Ask(request_id), future, cancel, time_left })
}

/// The models of the turn that were not given up.
pub(super) fn remaining_models(state: &State) -> Vec<ModelRef> {
    let turn = state.turn.as_ref();
    turn.map_or_else(Vec::new, |turn| turn.models.iter().skip(turn.n_given_up).cloned().collect())
}

enum BodyError {
    Render(RenderError),
    Storage(StorageError),
}

/// The body of the next request, with the bytes of its images and files; of one that is too long only
/// its length.
async fn body_of(
    session: &mut Session,
    choice: &ModelChoice,
) -> Result<Result<Vec<u8>, u64>, BodyError> {
    let blobs: Vec<String> = {
        let context = context(session.state());
        let request = context.request(&choice.provider, &choice.model, &choice.parameters);
        let media = media_of(choice.wire, &request).map_err(BodyError::Render)?;
        if media.is_empty() {
            let none = MediaBytes::new();
            return render::render_up_to(choice.wire, &request, &none, REQUEST_BYTES_MAX)
                .map_err(BodyError::Render);
        }
        media.into_iter().map(|media| media.blob.clone()).collect()
    };
    let is_refused = |blob: &String| {
        let refused = &session.state().refused_media;
        refused.is_refused(&choice.provider, &choice.model, blob)
    };
    let (refused, blobs): (Vec<String>, Vec<String>) = blobs.into_iter().partition(is_refused);
    let mut media = session.read_blobs(blobs).await.map_err(BodyError::Storage)?;
    media.extend(refused.into_iter().map(|blob| (blob, Vec::new())));
    let context = context(session.state());
    let request = context.request(&choice.provider, &choice.model, &choice.parameters);
    // In base64 three bytes are four.
    let media_bytes_max = usize::try_from(MEDIA_BYTES_MAX).unwrap_or_default() / 3 * 4;
    let bytes_max = REQUEST_BYTES_MAX + media_bytes_max;
    render::render_up_to(choice.wire, &request, &media, bytes_max).map_err(BodyError::Render)
}

pub(super) fn record(
    session: &mut Session,
    ctx: &TurnContext,
    asked: &SentRequest,
    answer: Result<Answer, AnswerFailure>,
    stopped: EffectStop,
) {
    asked.reservation.settle(&answer);
    if asked.purpose == Purpose::Compact {
        return compact::record(session, ctx, asked, answer, stopped);
    }
    match answer {
        Ok(answer) if is_empty(&answer) => {
            let message = format!("`{}` returned an empty answer", asked.choice.provider);
            let attempt = next_attempt(session);
            let (kind, wait_ms, usage) = (FailureKind::Empty, Some(0), answer.usage);
            let failure = RequestFailure { kind, message, attempt, wait_ms, usage };
            fail_or_fall_back(session, ctx, asked.request_id, failure);
        }
        Ok(answer) => record_answer(session, asked, answer),
        Err(unfinished) => record_broken_off(session, ctx, asked, unfinished, stopped),
    }
}

/// The model did not stop when the turn's time was over.
pub(super) fn record_timeout(session: &mut Session, request_id: EventId) {
    if session.state().compaction.request() == Some(request_id) {
        return compact::record_timeout(session, request_id, None);
    }
    fail(session, Some(request_id), out_of_time(session, None));
}

/// A cap is reached: the person is told once, in their language.
fn refuse_by_budget(session: &mut Session, purpose: Purpose, reached: CapReached) -> Action {
    let text = NoticeText::CapReached(reached);
    if purpose == Purpose::Turn
        && let Some(turn) = &session.state().turn
    {
        let about = Some(turn.began_with.to_string());
        let told = text.in_language(&turn.language).into();
        session.stage(Body::Notice(Notice { text: told, level: Level::Warn, about }));
    }
    let (kind, message) = (FailureKind::Budget, text.in_language("en"));
    let attempt = MODEL_ATTEMPTS_MAX;
    fail(session, None, RequestFailure { kind, message, attempt, wait_ms: None, usage: None });
    Action::Staged
}

fn request_event(
    request_id: EventId,
    choice: &ModelChoice,
    body: &[u8],
    reserved: Reserved,
) -> ModelRequested {
    ModelRequested {
        request_id,
        purpose: Purpose::Turn,
        provider: choice.provider.clone(),
        wire: choice.wire,
        model: choice.model.clone(),
        parameters: choice.parameters.clone(),
        renderer_version: render::renderer_version(choice.wire),
        body_sha256: sha256_hex(body),
        body_bytes: body.len() as u64,
        reserved,
        scope: None,
    }
}

fn record_answer(session: &mut Session, asked: &SentRequest, answer: Answer) {
    let id = asked.request_id;
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
            Block::ToolCall(ToolCall {
                call_id,
                provider_call_id,
                tool,
                input,
                raw_input: raw_input.map(Text::from),
            })
        }
    });
    let content = content.collect();
    stage_answer(session, asked, content, answer.stop_reason, answer.usage);
    if let Some(tokens) = asked.over_window {
        window::tell(session, &asked.choice, tokens);
    }
}

fn stage_answer(
    session: &mut Session,
    asked: &SentRequest,
    content: Vec<Block>,
    stop_reason: StopReason,
    usage: Option<Usage>,
) {
    let event = AssistantMessage {
        request_id: Some(asked.request_id),
        message: AnswerContent { content },
        provider: Some(asked.choice.provider.clone()),
        model: Some(asked.choice.model.clone()),
        usage,
        stop_reason,
        primed: None,
    };
    let source = EventSource { id: Some(asked.request_id), ..EventSource::RUNTIME };
    session.stage_from(source, Body::AssistantMessage(event));
}

fn parse_arguments(arguments: String, is_whole: bool) -> (Json, Option<String>) {
    // Some vendors send nothing for a call without arguments.
    let text = if arguments.trim().is_empty() { "{}" } else { arguments.as_str() };
    match Json::parse(text) {
        Ok(input) if is_whole && input.is_object() => (input, None),
        _ => (Json::empty_object(), Some(arguments)),
    }
}

fn record_broken_off(
    session: &mut Session,
    ctx: &TurnContext,
    asked: &SentRequest,
    unfinished: AnswerFailure,
    stopped: EffectStop,
) {
    let AnswerFailure { cause, partial_text, usage } = unfinished;
    let request_id = Some(asked.request_id);
    match (cause, stopped) {
        (_, EffectStop::ByDeadline) => {
            keep_partial(session, asked, partial_text);
            fail(session, request_id, out_of_time(session, usage));
        }
        (FailureCause::Cancelled, _) => {
            keep_cancelled(session, asked, partial_text, usage);
        }
        (FailureCause::Failed { kind: FailureKind::ContextLength, message, .. }, _)
            if may_shorten(session.state()) =>
        {
            let kind = FailureKind::ContextLength;
            let (attempt, wait_ms) = (next_attempt(session).min(MODEL_ATTEMPTS_MAX - 1), Some(0));
            fail(session, request_id, RequestFailure { kind, message, attempt, wait_ms, usage });
            compact::request(session);
        }
        (FailureCause::Failed { kind, message, retryable, retry_after_ms }, _) => {
            let attempt = next_attempt_of(session, kind);
            let usual = match kind {
                FailureKind::Loading => LOADING_WAIT_MS,
                _ => back_off(asked.request_id, attempt),
            };
            let wait = retry_after_ms.unwrap_or(usual);
            let again = retryable && wait <= RETRY_WAIT_MS_MAX;
            // Nor is it tried again when the turn's time is over by then: it ends at its limit, and
            // does not wait beyond.
            let left = u64::try_from(time_left(session).as_millis()).unwrap_or(u64::MAX);
            let is_in_time = wait < left;
            let is_last = !again || !is_in_time || attempt >= attempts_max(kind);
            if is_last && next_model(&*ctx.models, &remaining_models(session.state())).is_none() {
                keep_partial(session, asked, partial_text);
            }
            let wait_ms = again.then_some(wait.min(left));
            let message = match kind {
                FailureKind::ContextLength => format!("{message}; {TOO_LONG_HINT}"),
                _ => message,
            };
            let failure = RequestFailure { kind, message, attempt, wait_ms, usage };
            fail_or_fall_back(session, ctx, asked.request_id, failure);
        }
    }
}

/// Whether a request that the vendor found too long may be sent again after a compaction.
fn may_shorten(state: &State) -> bool {
    let is_first = state.turn.as_ref().is_some_and(|turn| turn.n_length_refusals == 0);
    is_first && compact::may_help(state)
}

pub(super) struct RequestFailure {
    pub(super) kind: FailureKind,
    pub(super) message: String,
    pub(super) attempt: u32,
    /// How long to wait before trying again, if that may help.
    pub(super) wait_ms: Option<u64>,
    /// What it used, as far as that is known or can be estimated.
    pub(super) usage: Option<Usage>,
}

/// The next decision finds that the turn's time is over, so trying again at once does no harm.
fn out_of_time(session: &Session, usage: Option<Usage>) -> RequestFailure {
    let message = "the turn ran out of time before the model answered".to_owned();
    let attempt = next_attempt(session).min(MODEL_ATTEMPTS_MAX - 1);
    RequestFailure { kind: FailureKind::Timeout, message, attempt, wait_ms: Some(0), usage }
}

fn too_large(n_bytes: u64) -> RequestFailure {
    let message = format!(
        "the conversation is too long to send: the request would have {} MiB, and the maximum is \
         {}; go back with `kith session branch`, or start over with `kith ask --new`",
        n_bytes.div_ceil(1024 * 1024),
        REQUEST_BYTES_MAX / (1024 * 1024)
    );
    unsendable(message)
}

/// A request that is too large to be sent, whenever it is tried.
fn unsendable(message: String) -> RequestFailure {
    let attempt = MODEL_ATTEMPTS_MAX;
    let (kind, wait_ms) = (FailureKind::ContextLength, None);
    RequestFailure { kind, message, attempt, wait_ms, usage: None }
}

/// A model that fails for good is given up for the rest of the turn, if its author named another.
fn fail_or_fall_back(
    session: &mut Session,
    ctx: &TurnContext,
    request_id: EventId,
    failure: RequestFailure,
) {
    let is_last = failure.wait_ms.is_none() || failure.attempt >= attempts_max(failure.kind);
    let remaining = is_last.then(|| remaining_models(session.state()));
    match remaining.and_then(|remaining| next_model(&*ctx.models, &remaining)) {
        Some(next) => fall_back(session, Some(request_id), failure, next),
        None => fail(session, Some(request_id), failure),
    }
}

/// Gives a model up for the next one, and tells the person.
pub(super) fn fall_back(
    session: &mut Session,
    request_id: Option<EventId>,
    failure: RequestFailure,
    next: String,
) {
    let text = NoticeText::FallsBack { kind: failure.kind, reason: &failure.message, to: &next };
    let text = text.in_language(session.state().language()).into();
    session.stage(Body::Notice(Notice { text, level: Level::Warn, about: None }));
    let retry_at = Some(session.now());
    let RequestFailure { kind, message, attempt, usage, .. } = failure;
    session.stage(Body::ModelFailed(ModelFailed {
        request_id,
        kind,
        message: message.into(),
        attempt,
        retry_at,
        fallback: Some(next),
        usage,
    }));
}

/// The name of the model that would be asked if the first one that can be asked were given up.
pub(super) fn next_model(models: &dyn Models, remaining: &[ModelRef]) -> Option<String> {
    // Those that cannot be asked from here are passed over together.
    let mut usable = remaining.iter().filter(|it| models.find(it).is_ok());
    usable.nth(1).map(|it| it.name.clone())
}

pub(super) fn fail(session: &mut Session, request_id: Option<EventId>, failure: RequestFailure) {
    let RequestFailure { kind, message, attempt, wait_ms, usage } = failure;
    let may_retry = attempt < attempts_max(kind);
    let retry_at = wait_ms.filter(|_| may_retry).map(|wait| session.now() + wait);
    session.stage(Body::ModelFailed(ModelFailed {
        request_id,
        kind,
        message: message.into(),
        attempt,
        retry_at,
        fallback: None,
        usage,
    }));
}

/// Keeps the text of an answer that failed, if the turn ends with it. The failure says what it used.
fn keep_partial(session: &mut Session, asked: &SentRequest, text: String) {
    if !text.trim().is_empty() {
        stage_answer(session, asked, vec![Block::text(text)], StopReason::Error, None);
    }
}

/// Keeps the text of an answer that was stopped. Without any, the end of the turn says what it used.
fn keep_cancelled(session: &mut Session, asked: &SentRequest, text: String, usage: Option<Usage>) {
    if text.trim().is_empty() {
        session.set_stopped_usage(usage);
    } else {
        stage_answer(session, asked, vec![Block::text(text)], StopReason::Cancelled, usage);
    }
}

/// A server that has loaded its model is asked anew as often as any other.
fn next_attempt_of(session: &Session, kind: FailureKind) -> u32 {
    let last = session.state().turn.as_ref().and_then(|turn| turn.failure);
    let was_loading = last.is_some_and(|it| it.kind == FailureKind::Loading);
    if was_loading && kind != FailureKind::Loading { 1 } else { next_attempt(session) }
}

fn next_attempt(session: &Session) -> u32 {
    let failure = session.state().turn.as_ref().and_then(|turn| turn.failure);
    failure.map_or(0, |it| it.attempt) + 1
}

fn attempts_max(kind: FailureKind) -> u32 {
    if kind == FailureKind::Loading { LOADING_ATTEMPTS_MAX } else { MODEL_ATTEMPTS_MAX }
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
