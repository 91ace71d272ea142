//! What unfinished answers count with when the vendor does not say what they used.

use std::sync::Mutex;

use kith_sessions::desk::RowTarget;
use kith_testkit::scripted::{ScriptedModels, ScriptedTurn};
use kith_vocab::budget::{Budget, Settlement, SpendRefusal, SpendRequest};
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::Usage;
use kith_vocab::event::models::{FailureKind, Reserved};
use kith_vocab::ids::EventId;
use kith_vocab::provider::{
    Answer, AnswerFailure, AskContext, FailureCause, ModelChoice, Provider,
};

use super::compaction::with_window;
use super::*;
use crate::command::CommandAction;
use crate::spending::{SpendingReader, Spent};

/// A model whose input costs 1 for a token, its output 2 and a write into its cache 3.
struct PricedModel(Arc<ScriptedModel>);

impl Provider for PricedModel {
    fn choice(&self) -> &ModelChoice {
        self.0.choice()
    }

    fn cost_micros(&self, usage: &Usage) -> Option<u64> {
        Some(usage.input + 2 * usage.output + 3 * usage.cache_write)
    }

    fn ask(&self, body: Vec<u8>, ctx: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        self.0.ask(body, ctx)
    }
}

/// Refuses nothing, and keeps what was reserved and what was settled first.
#[derive(Default)]
struct KeptBudget {
    reserved: Mutex<Vec<Reserved>>,
    worst: Mutex<Vec<Option<Reserved>>>,
    settled: Mutex<Vec<(EventId, Settlement)>>,
}

impl Budget for KeptBudget {
    fn reserve(&self, request: &SpendRequest<'_>) -> Result<(), SpendRefusal> {
        self.reserved.lock().unwrap().push(request.most);
        self.worst.lock().unwrap().push(request.worst);
        Ok(())
    }

    fn settle(&self, request_id: EventId, settlement: Settlement) {
        let mut settled = self.settled.lock().unwrap();
        if settled.iter().all(|(id, _)| *id != request_id) {
            settled.push((request_id, settlement));
        }
    }
}

fn priced_house(model: ScriptedModel) -> (TestHouse, Arc<ScriptedModel>, Arc<KeptBudget>) {
    let model = Arc::new(model);
    let provider: Arc<dyn Provider> = Arc::new(PricedModel(Arc::clone(&model)));
    let house = TestHouse::asking(Arc::new(ScriptedModels::one(provider)), Vec::new());
    let budget = Arc::new(KeptBudget::default());
    *house.setup.budget.lock().unwrap() = budget.clone();
    (house, model, budget)
}

fn spent(house: &TestHouse, id: SessionId) -> Vec<Spent> {
    let mut reader = SpendingReader::default();
    house.events(id).iter().for_each(|event| reader.read(event));
    reader.finish()
}

/// The estimate for a request of so many bytes whose answer broke off after so many.
fn estimate(body_bytes: usize, streamed_bytes: u64) -> Usage {
    let (input, output) = (body_bytes as u64 / 3, streamed_bytes / 3);
    let cost_micros = Some(input + 2 * output);
    Usage { input, output, cost_micros, is_estimate: true, ..Usage::default() }
}

#[tokio::test(start_paused = true)]
async fn a_reservation_prices_the_input_as_a_write_into_the_cache_if_that_is_dearer() {
    let (house, model, budget) = priced_house(script().says("Done."));
    let engine = house.engine();
    ask(&engine, &message("m1", ROOM, "hi")).await.unwrap();
    let input = model.bodies()[0].bytes.len() as u64 / 3;
    let reserved = Reserved { tokens: input + 8_192, cost_micros: Some(3 * input + 2 * 8_192) };
    assert_eq!(*budget.reserved.lock().unwrap(), [reserved]);
}

#[tokio::test(start_paused = true)]
async fn the_worst_case_covers_a_window_that_is_set_too_small_and_an_answer_without_a_limit() {
    for (window, is_too_small) in [(1_000, true), (100_000, false)] {
        let (house, model, budget) = priced_house(with_window(script().says("Done."), window));
        let long = "x".repeat(20_000);
        ask(&house.engine(), &message("m1", ROOM, &long)).await.unwrap();
        let body_bytes = model.bodies()[0].bytes.len() as u64;
        // Each byte may be a token. Without a limit an answer may fill the window.
        let (input, output) = if is_too_small { (body_bytes, 8_192) } else { (window, window) };
        let cost_micros = Some(3 * input + 2 * output);
        let worst = Reserved { tokens: input + output, cost_micros };
        assert_eq!(*budget.worst.lock().unwrap(), [Some(worst)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopped_answer_counts_with_its_request_and_what_was_streamed() {
    // Of the second nothing is kept, as of thoughts and half a call.
    for partial in ["x".repeat(300), " ".repeat(300), String::new()] {
        let (house, model, budget) = priced_house(script().waits_after(&partial));
        let engine = house.engine();
        let said = message("m1", ROOM, "hi");
        let id = engine.send(&said, RowTarget::Current).await.unwrap().session_id();
        until(|| !model.bodies().is_empty()).await;
        pass_a_while().await;
        house.command(&engine, id, CommandAction::Cancel { key: None }).await.unwrap();
        within(engine.until_rest()).await;
        let spent = spent(&house, id);
        let expected = estimate(model.bodies()[0].bytes.len(), partial.len() as u64);
        assert_eq!(spent.len(), 1);
        assert_eq!((spent[0].usage, spent[0].is_estimate), (expected, true));
        assert_eq!(
            *budget.settled.lock().unwrap(),
            [(spent[0].request_id, Settlement::Used(expected))]
        );
        // The next request is not measured by an estimate.
        assert!(!crate::state::State::of(&house.events(id)).context_size.is_counted());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_fails_after_it_began_is_not_free() {
    for kind in [FailureKind::Malformed, FailureKind::Status, FailureKind::Cut] {
        let breaks = |model: ScriptedModel, partial: &str| {
            let (message, retry_after_ms) = ("the script says so".to_owned(), None);
            let retryable = true;
            let cause = FailureCause::Failed { kind, message, retryable, retry_after_ms };
            model.then(ScriptedTurn::Breaks { partial: partial.to_owned(), cause })
        };
        let model = breaks(breaks(script(), ""), &"x".repeat(300)).says("Done.");
        let (house, model, budget) = priced_house(model);
        let engine = house.engine();
        let id = ask(&engine, &message("m1", ROOM, "hi")).await.unwrap().session_id;
        within(engine.until_rest()).await;
        let (spent, bodies) = (spent(&house, id), model.bodies());
        assert_eq!((spent.len(), bodies.len()), (3, 3));
        let of = |body_bytes: usize| {
            let mut found = spent.iter().filter(|it| it.usage == estimate(body_bytes, 300));
            found.next().is_some_and(|it| it.is_estimate)
        };
        assert!(of(bodies[1].bytes.len()), "{spent:?}");
        let settled = budget.settled.lock().unwrap();
        assert_eq!(settled[1].1, Settlement::Used(estimate(bodies[1].bytes.len(), 300)));
        // Before an answer began a failure is free, unless the server fell silent.
        let expected = match kind {
            FailureKind::Cut => Settlement::Unknown,
            _ => Settlement::Used(Usage::default()),
        };
        assert_eq!(settled[0].1, expected);
    }
}
