//! Crashes with every desk that a crash may leave: none loses a message, none says one twice.

#![allow(clippy::print_stdout, reason = "the table is what this test is run for")]

use std::collections::BTreeMap;
use std::fmt::Write;

use kith_sessions::desk::{MemoryDesk, RowTarget};
use kith_testkit::files::{CrashModel, Fault, Written};
use kith_testkit::scripted::ScriptedModels;
use kith_testkit::tools::CountingTool;
use kith_vocab::clock::BoxFuture;
use kith_vocab::event::messages::{Outcome, StopReason};
use kith_vocab::event::models::Wire;
use kith_vocab::ingress::IngressEvent;
use kith_vocab::json::Json;
use kith_vocab::provider::{Answer, AnswerBlock, AnswerFailure, AskContext, ModelChoice, Provider};
use serde_json::{Value, json};

use super::*;
use crate::report::TurnReport;

/// Kills of a case that has too many operations to be killed at each.
const SAMPLED_KILLS: usize = 12;

/// What has become of the desk after the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeskAfter {
    KeepsAll,
    LosesUnsynced,
    /// A copy that was made when half of the messages were accepted.
    OldCopy,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    desk: DeskAfter,
    n_rows: usize,
    n_sessions: usize,
}

#[derive(Clone, Copy, Debug)]
struct Crash {
    at: usize,
    written: Written,
    model: CrashModel,
}

#[derive(Clone, Copy, Debug, Default)]
struct Damage {
    lost: usize,
    doubled: usize,
    /// Calls of which nobody knows whether they took effect; the model was told.
    unknown: usize,
}

/// Calls the tool for each message, once and with the message's name, and then says so.
struct Doer(ModelChoice);

impl Doer {
    fn new() -> Doer {
        Doer(ModelChoice {
            provider: "doer".to_owned(),
            wire: Wire::OpenaiChat,
            model: "doer".to_owned(),
            parameters: Json::empty_object(),
            context_window: 128_000,
        })
    }
}

impl Provider for Doer {
    fn choice(&self) -> &ModelChoice {
        &self.0
    }

    fn ask(&self, body: Vec<u8>, _: AskContext) -> BoxFuture<'_, Result<Answer, AnswerFailure>> {
        let body: Value = serde_json::from_slice(&body).unwrap();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let (block, stop_reason) = if last["role"] == "tool" {
            (AnswerBlock::Text("Done.".to_owned()), StopReason::EndTurn)
        } else {
            let text = last["content"].to_string();
            let (_, name) = text.trim_end_matches(['"', '}', ']']).rsplit_once('#').unwrap();
            let call = AnswerBlock::Call {
                provider_call_id: format!("call_{name}"),
                tool: "write_file".to_owned(),
                arguments: json!({ "name": name }).to_string(),
            };
            (call, StopReason::ToolCall)
        };
        let answer = Answer { content: vec![block], usage: None, stop_reason };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

impl Case {
    /// The messages in the order in which they come. The last one of each session has a text that
    /// is long enough to be a blob, which all sessions share.
    fn messages(self) -> Vec<IngressEvent> {
        let mut messages = Vec::new();
        for row in 0..self.n_rows {
            for session in 0..self.n_sessions {
                let name = format!("{session}-{row}");
                let long = if row + 1 == self.n_rows { 14_000 } else { 0 };
                let text = format!("{}do #{name}", "long ".repeat(long));
                messages.push(message(&name, &format!("cli:room:{session}"), &text));
            }
        }
        messages
    }

    /// Accepts all messages, runs until the crash, restarts, and delivers all of them again.
    async fn run(self, crash: Option<Crash>) -> (TestHouse, CountingTool, Vec<TurnReport>) {
        let tool = CountingTool::new("write_file");
        let models = ScriptedModels::one(Arc::new(Doer::new()));
        let mut house = TestHouse::asking(Arc::new(models), vec![Arc::new(tool.clone())]);
        let messages = self.messages();
        let mut old_copy: Option<MemoryDesk> = None;
        let engine = house.engine();
        for (place, event) in messages.iter().enumerate() {
            if place == messages.len() / 2 {
                old_copy = Some(house.desk.copy());
            }
            engine.accept(event, RowTarget::Current).await.unwrap();
        }
        if let Some(Crash { at, written, .. }) = crash {
            house.files.plan(at, Fault::Kill { written });
        }
        resume(&engine).await;
        let Some(Crash { at, model, .. }) = crash else { return (house, tool, Vec::new()) };
        assert!(house.files.is_killed(), "{at}");
        engine.kill();

        house.files = house.files.reboot(model);
        house.desk = match self.desk {
            DeskAfter::KeepsAll => house.desk.copy(),
            DeskAfter::LosesUnsynced => house.desk.crash(at % (house.desk.n_unsynced() + 1)),
            DeskAfter::OldCopy => old_copy.unwrap(),
        };
        let engine = house.engine();
        if self.desk == DeskAfter::OldCopy {
            engine.recover_desk().await.unwrap();
        }
        engine.run_wakeups();
        engine.resume_all().await.unwrap();
        let asked = messages.iter().map(|event| async {
            let report = ask(&engine, event).await;
            report.unwrap_or_else(|error| panic!("{self:?} {crash:?} {}: {error}", event.key))
        });
        let reports = futures_util::future::join_all(asked).await;
        within(engine.until_rest()).await;
        engine.kill();
        // What the second process went on with must outlive a power cut.
        house.files = house.files.reboot(CrashModel::PowerCut);
        (house, tool, reports)
    }

    async fn damage(self, crash: Crash) -> Damage {
        let (house, tool, reports) = self.run(Some(crash)).await;
        let (mut n_said, mut n_unknown) = (BTreeMap::<String, usize>::new(), BTreeMap::new());
        for id in house.store().list().unwrap() {
            let mut now = String::new();
            for event in house.events(id) {
                match event.body {
                    Body::UserMessage(_) => {
                        now = event.ingress_key.unwrap();
                        *n_said.entry(now.clone()).or_default() += 1;
                    }
                    Body::ToolResult(it) if it.outcome == Outcome::Interrupted => {
                        *n_unknown.entry(now.clone()).or_default() += 1;
                    }
                    _ => (),
                }
            }
        }
        let mut n_runs = BTreeMap::<String, usize>::new();
        for input in tool.inputs() {
            let name = input.read::<Value>().unwrap()["name"].as_str().unwrap().to_owned();
            *n_runs.entry(format!("cli:local:{name}")).or_default() += 1;
        }
        let mut damage = Damage::default();
        for (event, report) in self.messages().iter().zip(reports) {
            let key = &event.key;
            let said = n_said.get(key).copied().unwrap_or_default();
            let runs = n_runs.get(key).copied().unwrap_or_default();
            let unknown: usize = n_unknown.get(key).copied().unwrap_or_default();
            let is_answered = report.end == MessageEnd::Done && report.text == "Done.";
            let is_lost = said == 0 || runs + unknown == 0 || !is_answered;
            if is_lost {
                println!("{self:?} {crash:?} {key}: {said} {runs} {unknown} {report:?}");
            }
            damage.lost += usize::from(is_lost);
            damage.doubled += said.saturating_sub(1) + runs.saturating_sub(1);
            damage.unknown += unknown;
        }
        damage
    }

    /// The crashes of a case. With `KITH_SLOW_TESTS` a short case is killed at every operation in
    /// every way, and a long one as often as time allows.
    fn crashes(self, n_operations: usize) -> Vec<Crash> {
        let ways: Vec<(Written, CrashModel)> = Written::EACH
            .into_iter()
            .flat_map(|written| CrashModel::EACH.map(|model| (written, model)))
            .collect();
        let crash = |at, (written, model)| Crash { at, written, model };
        let is_slow = std::env::var_os("KITH_SLOW_TESTS").is_some();
        if self.n_rows == 1 && is_slow {
            let each = (1..=n_operations).flat_map(|at| ways.iter().map(move |way| (at, *way)));
            return each.map(|(at, way)| crash(at, way)).collect();
        }
        let n_kills = match (self.n_rows, is_slow) {
            (1, _) => n_operations,
            (_, true) => SAMPLED_KILLS,
            (_, false) => 1,
        };
        let step = (n_operations / n_kills).max(1);
        // An odd distance, so that writes and syncs take turns; each place in another way, and with
        // each desk in another.
        let places = (1..=n_operations).rev().step_by(step | 1).enumerate();
        let first = self.desk as usize;
        places.map(|(n, at)| crash(at, ways[(first + n) % ways.len()])).collect()
    }
}

async fn check(desk: DeskAfter) {
    let mut table = String::new();
    let mut worst = (0, 0);
    let is_slow = std::env::var_os("KITH_SLOW_TESTS").is_some();
    let n_long = if is_slow { 64 } else { 16 };
    for (n_rows, n_sessions) in [(1, 1), (1, 2), (n_long, 1), (n_long, 2)] {
        let case = Case { desk, n_rows, n_sessions };
        let n_operations = case.run(None).await.0.files.count();
        let crashes = case.crashes(n_operations);
        let mut sum = Damage::default();
        for crash in &crashes {
            let Damage { lost, doubled, unknown } = case.damage(*crash).await;
            sum.lost += lost;
            sum.doubled += doubled;
            sum.unknown += unknown;
        }
        let Damage { lost, doubled, unknown } = sum;
        writeln!(
            table,
            "{desk:?}: {n_rows} rows, {n_sessions} sessions, {n_operations} operations, {} kills: \
             {lost} lost, {doubled} doubled, {unknown} unknown",
            crashes.len(),
        )
        .unwrap();
        worst = (worst.0 + lost, worst.1 + doubled);
    }
    println!("{table}");
    assert_eq!(worst, (0, 0), "{table}");
}

#[tokio::test(start_paused = true)]
async fn no_crash_loses_or_doubles_anything_if_the_desk_keeps_all() {
    check(DeskAfter::KeepsAll).await;
}

#[tokio::test(start_paused = true)]
async fn no_crash_loses_or_doubles_anything_if_the_desk_loses_what_was_not_synced() {
    check(DeskAfter::LosesUnsynced).await;
}

#[tokio::test(start_paused = true)]
async fn no_crash_loses_or_doubles_anything_if_an_old_desk_is_put_back() {
    check(DeskAfter::OldCopy).await;
}
