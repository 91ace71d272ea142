//! One answer read from its response: how long it is waited for, and what it amounts to.
//!
//! A server can keep a connection open for ever without saying anything. So three waits are bounded:
//! the whole request by what is left of the turn, silence by [`SilenceLimits`],
//! and what follows the end of an answer by a moment. Comments do not count as events: proxies send
//! them while the model behind them is dead.

use std::time::Duration;

use kith_vocab::event::models::FailureKind;
use kith_vocab::provider::{Answer, AnswerFailure, AskContext, DeltaSink, FailureCause};
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout_at};

use crate::answer::{Accumulator, PartialAnswer};
use crate::client::HttpResponse;
use crate::fault::Fault;
use crate::sse::{SseDecoder, SseEvent};

/// Bytes of a whole answer as it comes over the wire.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long usage and `[DONE]` are waited for once the server has said why the answer ended.
const AFTER_END_MS_MAX: u64 = 2000;

/// Bytes as they come: a response, or what a test sends.
pub(crate) trait ByteChunks {
    /// The next bytes; none at the end, also where the connection broke.
    fn next_chunk(&mut self) -> impl Future<Output = Option<impl AsRef<[u8]> + Send>> + Send;
}

impl ByteChunks for HttpResponse<'_> {
    async fn next_chunk(&mut self) -> Option<impl AsRef<[u8]> + Send> {
        // Whether the answer was whole by then is what counts, not how the connection ended.
        self.chunk().await.unwrap_or_default()
    }
}

/// How the work on an answer came to its end.
#[derive(Debug)]
pub(crate) enum ExchangeEnd {
    Over(Result<(), Fault>),
    Cancelled,
    OutOfTime,
}

/// Lets the exchange go on until it is over, cancelled or out of time.
pub(crate) async fn bounded(
    ctx: &AskContext,
    exchange: impl Future<Output = Result<(), Fault>>,
) -> ExchangeEnd {
    tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => ExchangeEnd::Cancelled,
        outcome = exchange => ExchangeEnd::Over(outcome),
        () = tokio::time::sleep(ctx.time_left) => ExchangeEnd::OutOfTime,
    }
}

/// The result of the request. `named` puts a fault into words.
#[expect(clippy::result_large_err, reason = "it is built once for a request")]
pub(crate) fn conclude(
    ending: ExchangeEnd,
    answer: Accumulator,
    named: impl FnOnce(Fault, PartialAnswer) -> AnswerFailure,
) -> Result<Answer, AnswerFailure> {
    let fault = match ending {
        ExchangeEnd::Over(Err(fault)) => fault,
        ExchangeEnd::Over(Ok(())) => {
            return answer.finish().map_err(|it| named(it.0, it.1));
        }
        // It was only waiting for what follows an answer.
        ExchangeEnd::Cancelled | ExchangeEnd::OutOfTime if answer.is_whole() => {
            return answer.finish().map_err(|it| named(it.0, it.1));
        }
        ExchangeEnd::Cancelled => {
            let PartialAnswer { text: partial_text, usage } = answer.into_partial();
            return Err(AnswerFailure { cause: FailureCause::Cancelled, partial_text, usage });
        }
        // Another turn has its own time.
        ExchangeEnd::OutOfTime => {
            Fault::new(FailureKind::Timeout, "did not finish within the time limit of this turn")
                .retryable()
        }
    };
    Err(named(fault, answer.into_partial()))
}

/// How long a server may send nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SilenceLimits {
    /// Before the first event: a server reads the whole request before it answers.
    pub(crate) first: Duration,
    /// Between two events.
    pub(crate) between: Duration,
}

/// What a body is. Its first character tells: servers, and what stands between, get content types
/// wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyForm {
    Events,
    /// Some servers do not stream, whatever they are asked.
    Json,
    WebPage,
}

impl BodyForm {
    /// `None` if nothing has come yet.
    fn of(piece: &[u8]) -> Option<BodyForm> {
        Some(match piece.trim_ascii_start().first()? {
            b'<' => BodyForm::WebPage,
            b'{' | b'[' | b'"' => BodyForm::Json,
            _ => BodyForm::Events,
        })
    }
}

/// Fills `answer` from the body of a response until nothing more is to be waited for.
pub(crate) async fn read_answer(
    pieces: &mut impl ByteChunks,
    limits: SilenceLimits,
    sink: &dyn DeltaSink,
    answer: &mut Accumulator,
) -> Result<(), Fault> {
    let mut decoder = SseDecoder::default();
    let mut events: Vec<SseEvent> = Vec::new();
    let mut n_bytes: usize = 0;
    let mut form: Option<BodyForm> = None;
    let mut json: Vec<u8> = Vec::new();
    let mut silence_max = limits.first;
    let mut deadline = Instant::now() + silence_max;
    while !answer.is_done() {
        let piece = match timeout_at(deadline, pieces.next_chunk()).await {
            Ok(Some(piece)) => piece,
            Ok(None) if form == Some(BodyForm::Json) => return take_json(&json, sink, answer),
            Ok(None) => return Ok(()),
            Err(_) if answer.is_whole() => return Ok(()),
            Err(_) => return Err(silence(silence_max)),
        };
        let piece = piece.as_ref();
        n_bytes += piece.len();
        if n_bytes > ANSWER_BYTES_MAX {
            return Err(too_long());
        }
        form = form.or_else(|| BodyForm::of(piece));
        match form {
            Some(BodyForm::WebPage) => return Err(web_page()),
            Some(BodyForm::Json) => {
                json.extend_from_slice(piece);
                silence_max = limits.between;
                deadline = Instant::now() + silence_max;
                continue;
            }
            Some(BodyForm::Events) | None => (),
        }
        let feeding = decoder.feed(piece, &mut events);
        for event in events.drain(..).filter(|event| !event.data.trim().is_empty()) {
            let was_whole = answer.is_whole();
            answer.feed(&event.data, sink)?;
            match answer.is_whole() {
                false => {
                    silence_max = limits.between;
                    deadline = Instant::now() + silence_max;
                }
                true if !was_whole => {
                    deadline = Instant::now() + Duration::from_millis(AFTER_END_MS_MAX);
                }
                true => (),
            }
            if answer.is_done() {
                return Ok(());
            }
        }
        feeding
            .map_err(|error| Fault::new(FailureKind::Malformed, error.to_string()).retryable())?;
    }
    Ok(())
}

/// Takes an answer that came in one piece.
fn take_json(body: &[u8], sink: &dyn DeltaSink, answer: &mut Accumulator) -> Result<(), Fault> {
    let Ok(text) = str::from_utf8(body) else {
        let what = "answered with bytes that are not UTF-8: check the base URL";
        return Err(Fault::new(FailureKind::Malformed, what));
    };
    // The accumulator says that it broke off.
    if serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof()) {
        return Ok(());
    }
    if answer.feed_whole(text, sink)? {
        return Ok(());
    }
    let what = "answered with JSON that is not an answer of this API: check the base URL and wire";
    Err(Fault::new(FailureKind::Malformed, what).said(text))
}

pub(crate) fn silence(silence_max: Duration) -> Fault {
    let seconds = silence_max.as_secs_f64();
    let what = format!("sent nothing for {seconds} seconds; try again, or use another model");
    Fault::new(FailureKind::Timeout, what).retryable()
}

pub(crate) fn web_page() -> Fault {
    let what = "answered with a web page instead of a model's answer: check the base URL";
    Fault::new(FailureKind::Malformed, what)
}

fn too_long() -> Fault {
    let what = format!(
        "sent more than {} MiB in one answer: set `maxTokens` for the model, or use another",
        ANSWER_BYTES_MAX / (1024 * 1024)
    );
    Fault::new(FailureKind::Malformed, what)
}

#[cfg(test)]
mod tests;
