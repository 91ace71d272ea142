//! Time is paused here: it passes only while everyone waits, and then at once.

use std::sync::{Arc, Mutex};

use kith_vocab::event::models::Wire;
use kith_vocab::provider::{AnswerBlock, Delta, DeltaPart};
use kith_vocab::secret::filter::SecretFilter;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;

const TEXT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const PING: &str = ": OPENROUTER PROCESSING\n\n";
const BLANK: &str = "data:\n\n";

const LIMITS: SilenceLimits =
    SilenceLimits { first: Duration::from_mins(15), between: Duration::from_mins(2) };

/// What a server sends: bytes after each pause, in seconds. It never closes the connection.
struct Script(mpsc::UnboundedReceiver<String>);

impl ByteChunks for Script {
    async fn next_chunk(&mut self) -> Option<impl AsRef<[u8]> + Send> {
        match self.0.recv().await {
            Some(piece) => Some(piece),
            None => std::future::pending().await,
        }
    }
}

fn script(pieces: Vec<(u64, &'static str)>) -> Script {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for (pause_secs, piece) in pieces {
            sleep(Duration::from_secs(pause_secs)).await;
            if sender.send(piece.to_owned()).is_err() {
                return;
            }
        }
    });
    Script(receiver)
}

fn context(time_left: Duration) -> AskContext {
    AskContext { time_left, cancel: CancellationToken::new(), sink: Arc::new(Heard::default()) }
}

#[derive(Default)]
struct Heard(Mutex<String>);

impl DeltaSink for Heard {
    fn delta(&self, delta: Delta<'_>) {
        if let DeltaPart::Text(text) = delta.part {
            self.0.lock().unwrap().push_str(text);
        }
    }
}

/// What comes of it, and after how many seconds.
async fn outcome(ctx: &AskContext, pieces: Vec<(u64, &'static str)>) -> String {
    let begun = Instant::now();
    let mut answer = Accumulator::of(Wire::OpenaiChat);
    let mut pieces = script(pieces);
    let reading = read_answer(&mut pieces, LIMITS, &*ctx.sink, &mut answer);
    let ending = bounded(ctx, reading).await;
    let named = |fault: Fault, text| fault.into_failure("p", &SecretFilter::default(), text);
    let words = match conclude(ending, answer, named) {
        Ok(Answer { content, usage, .. }) => {
            let texts = content.iter().map(|block| match block {
                AnswerBlock::Text(text) => text.as_str(),
                _ => "?",
            });
            let usage = if usage.is_some() { " with usage" } else { "" };
            format!("`{}`{usage}", texts.collect::<String>())
        }
        Err(AnswerFailure { cause: FailureCause::Cancelled, partial_text, .. }) => {
            format!("cancelled after `{partial_text}`")
        }
        Err(AnswerFailure {
            cause: FailureCause::Failed { kind, message, .. },
            partial_text,
            ..
        }) => {
            format!("{kind:?} after `{partial_text}`: {message}")
        }
    };
    format!("{words}, {} s", begun.elapsed().as_secs())
}

async fn check(pieces: Vec<(u64, &'static str)>, expected: &str) {
    assert_eq!(outcome(&context(Duration::from_hours(1)), pieces).await, expected);
}

#[tokio::test(start_paused = true)]
async fn silence_ends_in_a_timeout() {
    let silent = "`p` sent nothing for 120 seconds; try again, or use another model";
    let silent_from_the_start = silent.replace("120", "900");
    check(vec![], &format!("Timeout after ``: {silent_from_the_start}, 900 s")).await;
    check(vec![(899, TEXT), (119, TEXT), (1, END), (0, DONE)], "`aa`, 1019 s").await;
    check(vec![(100, TEXT)], &format!("Timeout after `a`: {silent}, 220 s")).await;
    check(vec![(119, TEXT), (119, TEXT), (1, END), (0, DONE)], "`aa`, 239 s").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_pings_is_silent() {
    let silent = "`p` sent nothing for 120 seconds; try again, or use another model";
    let silent_from_the_start = silent.replace("120", "900");
    let pings = |ping| vec![(1, ping); 1000];
    check(pings(PING), &format!("Timeout after ``: {silent_from_the_start}, 900 s")).await;
    check(pings(BLANK), &format!("Timeout after ``: {silent_from_the_start}, 900 s")).await;
    let mut said = vec![(50, TEXT)];
    said.extend(pings(PING));
    check(said, &format!("Timeout after `a`: {silent}, 170 s")).await;
}

#[tokio::test(start_paused = true)]
async fn what_follows_the_end_of_an_answer_is_waited_for_only_a_moment() {
    check(vec![(0, TEXT), (0, END)], "`a`, 2 s").await;
    check(vec![(0, TEXT), (0, END), (1, USAGE)], "`a` with usage, 2 s").await;
    check(vec![(0, TEXT), (0, END), (1, USAGE), (0, DONE)], "`a` with usage, 1 s").await;
    let mut pings = vec![(0, TEXT), (0, END)];
    pings.extend(vec![(1, PING); 1000]);
    check(pings, "`a`, 2 s").await;
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_turn_bounds_the_whole_request() {
    let late = "`p` did not finish within the time limit of this turn";
    let ctx = context(Duration::from_secs(5));
    let trickle = vec![(1, TEXT); 1000];
    let expected = format!("Timeout after `aaaa`: {late}, 5 s");
    assert_eq!(outcome(&ctx, trickle).await, expected);
    assert_eq!(outcome(&ctx, vec![]).await, format!("Timeout after ``: {late}, 5 s"));
    // The answer itself was in time.
    assert_eq!(outcome(&ctx, vec![(4, TEXT), (0, END)]).await, "`a`, 5 s");
    let ctx = context(Duration::ZERO);
    assert_eq!(outcome(&ctx, vec![]).await, format!("Timeout after ``: {late}, 0 s"));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_returns_what_was_said_so_far() {
    let ctx = context(Duration::from_hours(1));
    let cancel = ctx.cancel.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(2500)).await;
        cancel.cancel();
    });
    assert_eq!(outcome(&ctx, vec![(1, TEXT); 1000]).await, "cancelled after `aa`, 2 s");
    assert_eq!(outcome(&ctx, vec![(0, TEXT)]).await, "cancelled after ``, 0 s");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_end_of_an_answer_takes_nothing_away() {
    let ctx = context(Duration::from_hours(1));
    let cancel = ctx.cancel.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    });
    assert_eq!(outcome(&ctx, vec![(0, TEXT), (0, END)]).await, "`a`, 0 s");
}
