//! Compaction: the model is asked for a summary, which replaces what came before the kept tail.

use std::io;

use kith_providers::media::{MediaBytes, media_of};
use kith_providers::render;
use kith_vocab::event::Body;
use kith_vocab::event::control::{Level, Notice};
use kith_vocab::event::messages::{
    Compact, HarnessItem, HarnessItemEvent, HarnessKind, Ledger, Origin, StopReason, Trust, Usage,
    Visibility,
};
use kith_vocab::event::models::{CompactRequested, FailureKind, ModelRef, Purpose, SummaryScope};
use kith_vocab::ids::EventId;
use kith_vocab::provider::{
    Answer, AnswerBlock, AnswerFailure, Delta, DeltaSink, FailureCause, ModelChoice,
};

use super::ask::{self, RequestFailure, SentRequest, fail};
use super::{Action, EffectStop, TurnContext};
use crate::context::{context, summary, words};
use crate::failure::SessionFailure;
use crate::ledger::{self, LedgerText, next_ledger};
use crate::session::{CLIENT_ID, EventSource, Session};
use crate::state::State;
use crate::state::compaction::Compaction;
use crate::step::TURN_RESUMES_MAX;
use crate::words::NoticeText;

/// The share of the window, in per cent, at which a conversation is compacted.
const FULL_PERCENT: u64 = 80;
/// The part of the window that a summary may need.
const ANSWER_TOKENS: u64 = 8_192;
/// A summary of a short conversation may be longer than it.
const SUMMARY_BYTES_MIN: u64 = 4_096;
/// The bytes that each message may keep where messages must be shortened, tried in this order.
const CUT_TEXT_BYTES: [u64; 4] = [128 * 1024, 32 * 1024, 8 * 1024, 2 * 1024];

/// Whether the conversation should be summarised before a body of this length is sent.
pub(super) fn is_due(state: &State, body_bytes: u64, choice: &ModelChoice) -> bool {
    let window = choice.context_window;
    // What images and files cost has little to do with their bytes; the vendor counts them.
    let text_bytes = body_bytes.saturating_sub(summary::new_media_bytes(state));
    let tokens = state.context_size.tokens(text_bytes);
    let is_full = |tokens: u64| tokens.saturating_mul(100) >= window.saturating_mul(FULL_PERCENT);
    if window == 0 || !is_full(tokens) || !may_help(state) {
        return false;
    }
    // Where what must stay fills the window, a summary would only cost.
    let kept = find_kept(state, choice).map_or(0, |kept| summary::bytes_from(state, kept));
    // The next summary will be about as long as the last.
    let again = last_compaction(state).map_or(0, summary_bytes);
    let gone = summary::conversation_bytes(state).saturating_sub(kept).saturating_sub(again);
    let left = u128::from(tokens) * u128::from(text_bytes.saturating_sub(gone));
    !is_full(u64::try_from(left / u128::from(text_bytes.max(1))).unwrap_or(u64::MAX))
}

/// Whether a summary can be asked for that may shorten the conversation.
pub(super) fn may_help(state: &State) -> bool {
    // A message that was too long has no answer after it.
    let has_another = || summary::asked_after_another(state).is_some();
    match state.compaction {
        Compaction::Idle => !state.conversation.finished().is_empty() || has_another(),
        // What was kept then can be summarised now.
        Compaction::Done => has_another(),
        Compaction::Requested(_) | Compaction::Asked { .. } | Compaction::FailedInThisTurn => false,
    }
}

pub(super) fn request(session: &mut Session) {
    let requested = CompactRequested { by: CLIENT_ID.to_owned(), models: Vec::new() };
    session.stage(Body::CompactRequested(requested));
}

pub(super) fn start(session: &mut Session, ctx: &TurnContext) -> Result<Action, SessionFailure> {
    let n_resumed = session.state().compaction.wanted().map_or(0, |wanted| wanted.n_resumed);
    if n_resumed >= TURN_RESUMES_MAX {
        return Ok(give_up(session));
    }
    let provider = match ask::find_model(&*ctx.models, &models(session.state())) {
        Ok(provider) => provider,
        Err(unavailable) => {
            fail(session, None, failure(FailureKind::Network, unavailable.reason));
            return Ok(Action::Staged);
        }
    };
    let choice = provider.choice();
    let scope = match find_scope(session.state(), choice)? {
        Readable::All => None,
        Readable::Part(scope) => Some(scope),
        Readable::Nothing => return Ok(refuse(session, ctx, &choice.model.clone())),
    };
    let body = body(session.state(), choice, scope.as_ref())?;
    Ok(ask::send(session, ctx, provider, body, Purpose::Compact, scope))
}

/// Not even a part of the conversation can be read.
fn refuse(session: &mut Session, ctx: &TurnContext, model: &str) -> Action {
    let message = format!(
        "the conversation is too long for `{model}` even to be summarised; choose a model with a \
         larger context, go back with `kith session branch`, or start over with `kith ask --new`"
    );
    let has_next = ask::next_model(&*ctx.models, &models(session.state())).is_some();
    if session.state().turn.is_some() && !has_next {
        notify(session, NoticeText::TooLong { model });
    }
    fail_or_fall_back(session, ctx, None, failure(FailureKind::ContextLength, message));
    Action::Staged
}

/// Asking for the summary ended the program time and again. It is paid for each time, so a person
/// decides whether to try it once more.
fn give_up(session: &mut Session) -> Action {
    notify(session, NoticeText::SummaryInterruptedTooOften);
    let message = "the summary was interrupted too many times".to_owned();
    fail(session, None, failure(FailureKind::Cut, message));
    Action::Staged
}

fn notify(session: &mut Session, notice: NoticeText<'_>) {
    let text = notice.in_language(session.state().language()).into();
    session.stage(Body::Notice(Notice { text, level: Level::Warn, about: None }));
}

pub(super) fn record(
    session: &mut Session,
    ctx: &TurnContext,
    asked: &SentRequest,
    answer: Result<Answer, AnswerFailure>,
    stopped: EffectStop,
) {
    if session.state().compaction.request() != Some(asked.request_id) {
        // It was cancelled meanwhile.
        return;
    }
    let request = Some(asked.request_id);
    match answer {
        Ok(answer) => {
            // Calls are ignored: the model was asked for words.
            let texts = answer.content.iter().filter_map(|block| match block {
                AnswerBlock::Text(text) => Some(text.as_str()),
                AnswerBlock::Thinking(_) | AnswerBlock::Call { .. } => None,
            });
            let summary: String = texts.collect();
            // Nobody said what it used, so what may have been used counts.
            let (input, output) = (asked.body_bytes / 3, summary.len() as u64 / 3);
            let estimate = Usage { input, output, is_estimate: true, ..Usage::default() };
            let usage = answer.usage.unwrap_or(estimate);
            match useless(session.state(), asked, &summary, answer.stop_reason) {
                Some((kind, why)) => {
                    let message = format!("`{}` {why}", asked.choice.provider);
                    let failure = RequestFailure { usage: answer.usage, ..failure(kind, message) };
                    fail_or_fall_back(session, ctx, request, failure);
                }
                None => stage_summary(session, asked, summary, usage),
            }
        }
        Err(unfinished) if stopped == EffectStop::ByDeadline => {
            record_timeout(session, asked.request_id, unfinished.usage);
        }
        // The end of the turn, or a cancellation, has ended it.
        Err(AnswerFailure { cause: FailureCause::Cancelled, usage, .. }) => {
            session.set_stopped_usage(usage);
        }
        Err(AnswerFailure { cause: FailureCause::Failed { kind, message, .. }, usage, .. }) => {
            let failure = RequestFailure { usage, ..failure(kind, message) };
            fail_or_fall_back(session, ctx, request, failure);
        }
    }
}

/// A summary that ran out of time is not asked for again.
pub(super) fn record_timeout(session: &mut Session, request_id: EventId, usage: Option<Usage>) {
    let failure = failure(FailureKind::Timeout, "the summary took too long".to_owned());
    fail(session, Some(request_id), RequestFailure { usage, ..failure });
}

/// Why a summary cannot stand for the conversation.
fn useless(
    state: &State,
    asked: &SentRequest,
    summary: &str,
    stop_reason: StopReason,
) -> Option<(FailureKind, &'static str)> {
    if summary.trim().is_empty() {
        return Some((FailureKind::Empty, "returned an empty summary"));
    }
    match stop_reason {
        StopReason::EndTurn => (),
        // It wanted to look something up; what it said before that may be the summary all the same.
        StopReason::ToolCall if summary.contains("## ") => (),
        _ => return Some((FailureKind::Cut, "did not finish its summary")),
    }
    let kept = kept_from(state, asked).map_or(0, |kept| summary::bytes_from(state, kept));
    let gone = summary::conversation_bytes(state).saturating_sub(kept);
    (summary.len() as u64 >= gone.max(SUMMARY_BYTES_MIN)).then_some((
        FailureKind::Malformed,
        "returned a summary that is longer than what it would replace",
    ))
}

/// The first event that a summary leaves as it is.
fn kept_from(state: &State, asked: &SentRequest) -> Option<EventId> {
    let before = asked.scope.and_then(|scope| scope.before);
    // What was not summarised is kept whole.
    before.or_else(|| find_kept(state, &asked.choice))
}

fn stage_summary(session: &mut Session, asked: &SentRequest, summary: String, usage: Usage) {
    let state = session.state();
    let before = asked.scope.and_then(|scope| scope.before);
    let first_kept = kept_from(state, asked).unwrap_or(asked.request_id);
    let ledger = ledger_of(state, before, &summary, ledger::bytes_max(state.context_window));
    let reminders = state.reminders_to_repeat(first_kept);
    let tokens_before = state.context_size.tokens(asked.body_bytes);
    let event = Compact {
        request_id: asked.request_id,
        model: asked.choice.model.clone(),
        usage,
        summary: summary.into(),
        ledger,
        first_kept_event_id: first_kept,
        tokens_before,
        tokens_after: 0,
    };
    let tokens_after = tokens_after(state, asked, &event);
    let source = EventSource { id: Some(asked.request_id), ..EventSource::RUNTIME };
    session.stage_from(source, Body::Compact(Compact { tokens_after, ..event }));
    for reminder in reminders {
        session.stage(Body::HarnessItem(reminder));
    }
    if asked.scope.is_some_and(|scope| scope.text_bytes_max.is_some()) {
        let item = HarnessItem {
            kind: HarnessKind::RuntimeNotice,
            origin: Origin::System,
            content: words::SUMMARY_OF_CUT_TEXTS.into(),
            visibility: Visibility::Hidden,
            data: None,
        };
        session.stage(Body::HarnessItem(HarnessItemEvent::new(item, Trust::Owner)));
        notify(session, NoticeText::SummaryOfCutTexts { model: &asked.choice.model });
    }
}

/// The first event that stays as it is: of the message to be answered, if it is not too long, or
/// else of the last words of the conversation.
fn find_kept(state: &State, choice: &ModelChoice) -> Option<EventId> {
    let all_bytes = summary::conversation_bytes(state);
    // Bytes that are more than a token each, so that the estimate errs to the safe side.
    let window_bytes =
        if choice.context_window > 0 { choice.context_window * 3 } else { all_bytes };
    let last_words = summary::first_kept(state, (window_bytes / 5).min(all_bytes / 2));
    let asked = state.turn.as_ref().map(|turn| turn.began_with).filter(|asked| {
        let n_bytes = summary::bytes_from(state, *asked);
        // Something must go, or the summary would only add to it.
        n_bytes > 0 && n_bytes <= window_bytes / 2 && n_bytes <= all_bytes / 4 * 3
    });
    asked.or(last_words)
}

/// The size of the next request: its share of the bytes that were counted.
fn tokens_after(state: &State, asked: &SentRequest, compact: &Compact) -> u64 {
    let all = summary::conversation_bytes(state);
    let kept = summary::bytes_from(state, compact.first_kept_event_id);
    let new = summary_bytes(compact);
    let bytes = asked.body_bytes.saturating_sub(all).saturating_add(kept).saturating_add(new);
    let tokens = u128::from(compact.tokens_before) * u128::from(bytes);
    u64::try_from(tokens / u128::from(asked.body_bytes.max(1))).unwrap_or(u64::MAX)
}

/// The bytes of a summary and its ledger.
fn summary_bytes(compact: &Compact) -> u64 {
    let Ledger { identifiers, paths, open_tasks, .. } = &compact.ledger;
    let names = [identifiers, paths, open_tasks].into_iter().flatten();
    (compact.summary.len() + names.map(String::len).sum::<usize>()) as u64
}

/// The ledger of a summary that ends before this message, or else of the whole conversation.
pub(crate) fn ledger_of(
    state: &State,
    before: Option<EventId>,
    summary: &str,
    bytes_max: usize,
) -> Ledger {
    let last = last_compaction(state).map(|it| &it.ledger);
    let mut texts = Vec::new();
    summary::each_text(state, before, &mut |text| {
        texts.push(match text {
            LedgerText::Said(text) => (true, text.to_owned()),
            LedgerText::Result(text) => (false, text.to_owned()),
        });
    });
    let texts = texts.iter().map(|(is_said, text)| match is_said {
        true => LedgerText::Said(text),
        false => LedgerText::Result(text),
    });
    next_ledger(last, texts, summary, bytes_max)
}

fn last_compaction(state: &State) -> Option<&Compact> {
    state.tree.from_leaf().find_map(|event| match &event.body {
        Body::Compact(it) => Some(it),
        _ => None,
    })
}

/// The models of the open turn, else those that were named with the request, else those of the last
/// turn.
fn models(state: &State) -> Vec<ModelRef> {
    let wanted = state.compaction.wanted();
    let named = wanted.map(|wanted| wanted.models.clone()).unwrap_or_default();
    let open = state.turn.as_ref().map(|_| ask::remaining_models(state));
    let last = || state.last_turn.as_ref().map(|turn| turn.models.clone()).unwrap_or_default();
    let mut models = open.unwrap_or_else(|| if named.is_empty() { last() } else { named });
    let fallback = wanted.and_then(|wanted| wanted.fallback.as_ref());
    if let Some(place) = models.iter().position(|it| Some(&it.name) == fallback) {
        models.drain(..place);
    }
    models
}

/// How much of a conversation a model can read.
enum Readable {
    All,
    Part(SummaryScope),
    Nothing,
}

/// The part of the conversation that the model can read: all of it, else the longest beginning of
/// whole turns, else all of it with its results cut, else what stands before the message to be
/// answered with its messages cut too.
fn find_scope(state: &State, choice: &ModelChoice) -> Result<Readable, SessionFailure> {
    let whole = body_bytes(state, choice, None)?;
    let fits = |bytes: u64| fits(state, choice, whole, bytes);
    // Images and files of the kept part stay, so some of them must be summarised.
    if fits(whole) && !has_too_much_media(state, choice) {
        return Ok(Readable::All);
    }
    let ends = summary::boundaries(state);
    let (mut fitting, mut too_long) = (None, ends.len());
    let mut next = ends.len() / 2;
    // Longer beginnings have more bytes, so the longest that fits is found by halving.
    while let Some(before) = ends.get(next).filter(|_| next < too_long) {
        let scope = part_before(Some(*before));
        if fits(body_bytes(state, choice, Some(&scope))?) {
            fitting = Some((next, scope));
        } else {
            too_long = next;
        }
        let low = fitting.map_or(0, |(place, _)| place + 1);
        next = low + (too_long - low.min(too_long)) / 2;
    }
    if let Some((_, scope)) = fitting {
        return Ok(Readable::Part(scope));
    }
    let cut = SummaryScope { cut_results: true, ..part_before(None) };
    if fits(body_bytes(state, choice, Some(&cut))?) {
        return Ok(Readable::Part(cut));
    }
    let before = summary::asked_after_another(state);
    if before.is_none() && state.turn.is_some() {
        return Ok(Readable::Nothing);
    }
    for text_bytes_max in CUT_TEXT_BYTES.map(Some) {
        let cut = SummaryScope { before, cut_results: true, text_bytes_max };
        if fits(body_bytes(state, choice, Some(&cut))?) {
            return Ok(Readable::Part(cut));
        }
    }
    Ok(Readable::Nothing)
}

/// The conversation before a message, nothing of it shortened.
fn part_before(before: Option<EventId>) -> SummaryScope {
    SummaryScope { before, cut_results: false, text_bytes_max: None }
}

/// Whether the conversation has more images and files than a request may carry.
fn has_too_much_media(state: &State, choice: &ModelChoice) -> bool {
    let context = context(state);
    let request = context.request(&choice.provider, &choice.model, &choice.parameters);
    media_of(choice.wire, &request).is_err()
}

/// Whether a part of the conversation can be read, whose whole has so many bytes.
fn fits(state: &State, choice: &ModelChoice, whole: u64, bytes: u64) -> bool {
    let window = choice.context_window;
    if bytes > ask::REQUEST_BYTES_MAX as u64 {
        return false;
    }
    if window == 0 {
        // Where the vendor has refused the whole, half of it may be taken.
        return !is_refused(state) || bytes <= whole / 2;
    }
    let mut tokens = state.context_size.tokens(whole);
    if is_refused(state) {
        // The vendor counts more than we do.
        tokens = tokens.max(window);
    }
    let tokens = u128::from(tokens) * u128::from(bytes) / u128::from(whole.max(1));
    // Less than what is left when a conversation counts as full, so that the whole of it fits then.
    tokens <= u128::from(window - ANSWER_TOKENS.min(window / 10))
}

/// Whether the vendor has refused the open turn's last request as too long.
fn is_refused(state: &State) -> bool {
    state.turn.as_ref().is_some_and(|turn| turn.n_length_refusals > 0)
}

fn body(
    state: &State,
    choice: &ModelChoice,
    scope: Option<&SummaryScope>,
) -> Result<Vec<u8>, SessionFailure> {
    let mut body = Vec::new();
    write_body(state, choice, scope, &mut body)?;
    Ok(body)
}

fn body_bytes(
    state: &State,
    choice: &ModelChoice,
    scope: Option<&SummaryScope>,
) -> Result<u64, SessionFailure> {
    let mut counter = ByteCounter(0);
    write_body(state, choice, scope, &mut counter)?;
    Ok(counter.0)
}

fn write_body(
    state: &State,
    choice: &ModelChoice,
    scope: Option<&SummaryScope>,
    writer: impl io::Write,
) -> Result<(), SessionFailure> {
    let context = summary::context(state, scope);
    let request = context.request(&choice.provider, &choice.model, &choice.parameters);
    // Images and files are told in words: a summary needs no more of them.
    render::render_to(choice.wire, &request, &MediaBytes::new(), writer)
        .map_err(|error| SessionFailure::Render { reason: error.to_string() })
}

struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A summary is asked of each model once.
fn failure(kind: FailureKind, message: String) -> RequestFailure {
    RequestFailure { kind, message, attempt: 1, wait_ms: None, usage: None }
}

/// The next model may do better: it may be reached, or read more.
fn fail_or_fall_back(
    session: &mut Session,
    ctx: &TurnContext,
    request: Option<EventId>,
    failure: RequestFailure,
) {
    match ask::next_model(&*ctx.models, &models(session.state())) {
        Some(next) => ask::fall_back(session, request, failure, next),
        None => fail(session, request, failure),
    }
}

/// A summary is not an answer, so screens do not see it grow.
pub(super) struct NoDeltas;

impl DeltaSink for NoDeltas {
    fn delta(&self, _: Delta<'_>) {}
}
