//! A model server that breaks off in the middle of two calls, on every wire.
//!
//! The provider's own tests cut at every byte; here every thirteenth is followed through the engine, or
//! each one with `KITH_SLOW_TESTS`: the calls, the session and its next message.

#![allow(clippy::print_stdout, reason = "the counts are what these tests are run for")]

use kith_providers::http_provider::HttpProvider;
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::server::{FakeModelServer, ServerReply};
use kith_testkit::tools::CountingTool;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::models::Wire;
use kith_vocab::json::Json;
use kith_vocab::provider::{
    Answer, AnswerFailure, AskContext, FailureCause, ModelChoice, Provider,
};
use kith_vocab::tool::Tool;
use serde_json::{Value, json};

use super::*;
use crate::verify::Verifier;

const STEP: usize = 13;

/// A provider whose server never wants us to wait before we try again.
struct Hasty(HttpProvider);

impl Provider for Hasty {
    fn choice(&self) -> &ModelChoice {
        self.0.choice()
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        Box::pin(async move {
            let mut answer = self.0.ask(body, ctx).await;
            if let Err(AnswerFailure {
                cause: FailureCause::Failed { retry_after_ms, .. }, ..
            }) = &mut answer
            {
                *retry_after_ms = Some(0);
            }
            answer
        })
    }
}

fn stream(body: String) -> ServerReply {
    let content_type = "text/event-stream".to_owned();
    ServerReply::Raw { status: 200, content_type, body: body.into_bytes() }
}

/// The recorded answer with two calls, and a plain one.
fn replies(wire: Wire) -> (ServerReply, ServerReply) {
    let events = |events: &[Value]| {
        stream(events.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat())
    };
    let (calls, done) = match wire {
        Wire::OpenaiChat => (
            include_str!("../../../../../testdata/streams/openai_chat.sse"),
            events(&[
                json!({"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]}),
            ]),
        ),
        Wire::Anthropic => (
            include_str!("../../../../../testdata/streams/anthropic.sse"),
            events(&[
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Done."}}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ]),
        ),
        Wire::OpenaiResponses => (
            include_str!("../../../../../testdata/streams/openai_responses.sse"),
            events(&[
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Done."}),
                json!({"type": "response.completed", "response": {"status": "completed"}}),
            ]),
        ),
    };
    (stream(calls.to_owned()), done)
}

async fn follow_cuts(wire: Wire) {
    let (calls, done) = replies(wire);
    let n_bytes = calls.body().len();
    let step = if std::env::var_os("KITH_SLOW_TESTS").is_some() { 1 } else { STEP };
    // The end of the stream is always among them.
    let cuts: Vec<usize> = (0..=n_bytes).rev().step_by(step).collect();
    let script =
        cuts.iter().flat_map(|cut| [calls.clone().cut_after(*cut), done.clone(), done.clone()]);
    let server = FakeModelServer::start(script).await;
    let choice = ModelChoice {
        provider: "fake".to_owned(),
        wire,
        model: "m".to_owned(),
        parameters: Json::empty_object(),
        context_window: 100_000,
    };
    let provider = Hasty(HttpProvider::new(choice, &server.base_url(), None).unwrap());
    let tools = ["read_file", "exec_shell"].map(CountingTool::new);
    let given = tools.iter().map(|tool| Arc::new(tool.clone()) as Arc<dyn Tool>).collect();
    let house = TestHouse::asking(Arc::new(ScriptedModels::one(Arc::new(provider))), given);
    let engine = house.engine();
    let (mut n_whole, mut n_proven) = (0, 0);
    for cut in &cuts {
        let thread = format!("cli:room:{cut}");
        let runs = tools.iter().map(CountingTool::runs).sum::<usize>();
        let first = ask(&engine, &message(&format!("a{cut}"), &thread, "go")).await.unwrap();
        assert_eq!(first.text.as_str(), "Done.", "{wire:?} cut at {cut}");
        let runs = tools.iter().map(CountingTool::runs).sum::<usize>() - runs;
        assert!(runs == 0 || runs == 2, "{wire:?} cut at {cut}: {runs} calls ran");
        n_whole += runs / 2;
        let second = ask(&engine, &message(&format!("b{cut}"), &thread, "and now?")).await.unwrap();
        assert_eq!((second.text.as_str(), second.session_id), ("Done.", first.session_id));
        let mut verifier = Verifier::default();
        house.events(first.session_id).iter().for_each(|event| verifier.read(event));
        assert_eq!(verifier.mismatches, [], "{wire:?} cut at {cut}");
        n_proven += verifier.n_requests;
    }
    assert!(n_whole > 0 && n_whole < cuts.len() / 2, "{n_whole}");
    println!(
        "{wire:?}: {} cuts, {n_whole} after the answer was whole; 0 calls on partial arguments; all \
         sessions went on, {n_proven} requests proven",
        cuts.len()
    );
}

#[tokio::test]
async fn after_a_chat_stream_was_cut_nothing_has_run_and_the_session_goes_on() {
    follow_cuts(Wire::OpenaiChat).await;
}

#[tokio::test]
async fn after_an_anthropic_stream_was_cut_nothing_has_run_and_the_session_goes_on() {
    follow_cuts(Wire::Anthropic).await;
}

#[tokio::test]
async fn after_a_responses_stream_was_cut_nothing_has_run_and_the_session_goes_on() {
    follow_cuts(Wire::OpenaiResponses).await;
}
