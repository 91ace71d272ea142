//! A test is a transcript and the step it calls for. `check` is the only place that knows the API.

use kith_testkit::transcript::{Transcript, transcript};
use kith_vocab::block::ToolCall;

use super::*;

#[test]
fn empty_session_rests() {
    check("", "rest");
    check("snapshot be kind | tools read_file", "rest");
}

#[test]
fn user_message_asks_the_model() {
    check("user: tidy my notes", "ask model");
    check("user: one | user: two", "ask model");
}

#[test]
fn plain_answer_ends_the_turn() {
    check("user: hi | asked model | model: hello", "end done");
    check("user: hi | asked model | model: hello | ended done", "rest");
}

#[test]
fn something_open_is_something_running() {
    check("user: hi | asked model", "wait running");
    check("user: go | model: ok, write_file=c1 | free c1 | start c1", "wait running");
}

#[test]
fn a_request_that_was_cut_short_is_made_again() {
    check("user: hi | asked model | resumed", "ask model");
}

#[test]
fn three_resumes_end_the_turn_as_failed() {
    check("user: hi | asked model | resumed | asked model | resumed", "ask model");
    check(
        "user: hi | asked model | resumed | asked model | resumed | asked model | resumed",
        "end failed",
    );
}

#[test]
fn every_call_is_judged_first() {
    check("user: look | model: ok, read_file=c1", "judge c1");
    check("user: look | model: ok, read_file=c1 | free c1", "read c1");
    check("user: look | model: ok, write_file=c1 | free c1", "run c1");
    check("user: look | model: ok, write_file=c1 | forbid c1", "refuse c1");
}

#[test]
fn all_questions_are_asked_at_once() {
    check("user: go | model: ok, write_a=c1, write_b=c2", "judge c1 c2");
    check("user: go | model: ok, write_a=c1, write_b=c2 | hold c1", "judge c2");
    check("user: go | model: ok, write_a=c1, write_b=c2 | hold c1 | hold c2", "ask about c1 c2");
    check(
        "user: go | model: ok, write_a=c1, write_b=c2 | hold c1 | hold c2 | asked c1",
        "ask about c2",
    );
}

#[test]
fn a_waiting_call_holds_back_later_ones() {
    let asked = "user: go | model: ok, write_a=c1, write_b=c2 | hold c1 | free c2 | asked c1";
    check(asked, "await c1");
    check(&format!("{asked} | allow c1"), "run c1");
    check(&format!("{asked} | deny c1"), "refuse c1");
    check(&format!("{asked} | deny c1 | refused c1"), "run c2");
}

#[test]
fn an_approval_that_nobody_answers_expires() {
    let asked = "user: go | model: ok, write_a=c1 | hold c1 | asked c1";
    check(&format!("{asked} | later 86400000"), "expire c1");
    check(&format!("{asked} | expired c1"), "refuse c1");
}

#[test]
fn neighbouring_reads_run_side_by_side() {
    let judged = "user: go | model: ok, read_a=c1, list_b=c2, write_c=c3, read_d=c4 \
                  | free c1 | free c2 | free c3 | free c4";
    check(judged, "read c1 c2");
    check(&format!("{judged} | done c1"), "read c2");
    check(&format!("{judged} | done c1 | done c2"), "run c3");
}

#[test]
fn what_was_allowed_is_judged_again_once_the_world_has_changed() {
    let judged = "user: go | model: ok, write_a=c1, write_b=c2 | free c1 | free c2 | start c1";
    check(&format!("{judged} | done c1"), "judge c2");
    check(&format!("{judged} | fail c1"), "judge c2");
    check(&format!("{judged} | done c1 | forbid c2"), "refuse c2");
    let read = "user: go | model: ok, read_a=c1, write_b=c2 | free c1 | free c2";
    check(&format!("{read} | done c1"), "run c2");
}

#[test]
fn crash_during_a_tool_is_reported_not_retried() {
    let started = "user: go | model: ok, write_file=c1 | free c1 | start c1 | resumed";
    check(started, "interrupted c1");
    check(&format!("{started} | interrupted c1"), "ask model");
}

#[test]
fn crash_during_a_read_runs_it_again() {
    check("user: go | model: ok, read_file=c1 | free c1 | resumed", "read c1");
}

#[test]
fn late_and_stray_decisions_change_nothing() {
    check("user: go | model: ok, write_file=c1 | hold c1 | allow c1", "ask about c1");
    let asked = "user: go | model: ok, write_file=c1 | hold c1 | asked c1";
    check(&format!("{asked} | deny c1 | allow c1"), "refuse c1");
    check(&format!("{asked} | allow c1 | start c1 | allow c1"), "wait running");
    check(&format!("{asked} | allow c1 | start c1 | done c1 | allow c1 | start c1"), "ask model");
}

#[test]
fn message_during_a_tool_call_waits_for_the_call() {
    check("user: go | model: ok, write_a=c1 | hold c1 | asked c1 | user: hurry", "await c1");
    check(
        "user: go | model: ok, write_a=c1 | free c1 | start c1 | user: no | done c1",
        "ask model",
    );
}

#[test]
fn a_failure_is_retried_at_its_time_or_ends_the_turn() {
    check("user: hi | asked model | failed network", "end failed");
    check("user: hi | asked model | failed network retry", "wait until");
    check("user: hi | asked model | failed network retry | later 600000", "ask model");
}

#[test]
fn cancel_ends_the_turn_whatever_is_open() {
    check("user: hi | cancel", "end cancelled");
    check("user: hi | asked model | cancel", "end cancelled");
    check("user: go | model: ok, write_a=c1 | hold c1 | asked c1 | cancel", "end cancelled");
    check("user: hi | cancel | ended cancelled", "rest");
    check("cancel", "rest");
}

#[test]
fn the_bounds_of_a_turn_end_it() {
    check("user: hi | started steps=1 | asked model | model: ok, read_a=c1", "judge c1");
    check(
        "user: hi | started steps=1 | asked model | model: ok, read_a=c1 | free c1 | done c1",
        "end bound steps",
    );
    check("user: hi | started wall=1000 | later 1000", "end bound wall");
    check(
        "user: hi | started repeats=1 | model: a, read_a(x)=c1 | free c1 | done c1 \
         | model: b, read_a(x)=c2 | free c2",
        "end bound repeats",
    );
}

#[test]
fn waiting_for_a_person_does_not_count_as_time() {
    check(
        "user: go | started wall=10000 | model: ok, write_a=c1 | hold c1 | asked c1 \
         | later 50000 | allow c1",
        "run c1",
    );
}

#[test]
fn a_call_cut_off_twice_fails_the_turn() {
    check("user: go | model/max_tokens: ok, write_a(?)=c1", "judge c1");
    check(
        "user: go | model/max_tokens: ok, write_a(?)=c1 | fail c1 \
         | model/max_tokens: ok, write_a(?)=c2",
        "end failed",
    );
}

#[test]
fn a_steer_makes_the_model_speak_again() {
    check("user: go | model: done | queue steer left", "drain steers");
    check("user: go | model: done | queue steer left | drained", "ask model");
    check("user: go | queue steer left | model: ok, write_a=c1", "judge c1");
}

#[test]
fn a_steer_is_read_only_by_models_that_its_author_named() {
    let turn = "user: go | started models=a";
    check(&format!("{turn} | model: done | queue steer models=a left"), "drain steers");
    check(&format!("{turn} | model: done | queue steer models=b,a left"), "drain steers");
    check(&format!("{turn} | model: done | queue steer models=b left"), "end done");
    let turn = "user: go | started models=a,b";
    check(&format!("{turn} | model: done | queue steer models=a left"), "end done");
    check(
        &format!("{turn} | model: done | queue steer models=c left | ended done"),
        "take follow-up",
    );
}

#[test]
fn follow_ups_flow_after_a_turn_that_ended_well() {
    check("user: go | queue next | model: done | ended done", "take follow-up");
    check("user: go | queue next | cancel | ended cancelled", "rest");
    check("user: go | queue next | model: done | ended done | taken", "ask model");
    check("user: go | model: done | ended done | queue steer late", "take follow-up");
}

#[test]
fn compaction_comes_before_the_next_request() {
    check("user: go | compact requested", "compact");
    check("user: go | model: ok | ended done | compact requested", "compact");
}

#[test]
fn what_was_primed_or_cloned_obliges_to_nothing() {
    check("primed user: hello", "rest");
    check("primed user: go | primed model: ok, write_a=c1", "rest");
    check("cloned user: go | cloned model: ok, write_a=c1", "rest");
    check("primed user: go | primed model: ok, write_a=c1 | free c1 | start c1 | resumed", "rest");
    check("primed user: go | primed model: ok, write_a=c1 | user: hi", "ask model");
}

#[test]
fn moving_the_leaf_drops_what_was_owed_there() {
    check("user#u1: one | model: a | ended done | user: two | leaf u1", "rest");
    check("user: go | model: ok, write_a=c1 | free c1 | leaf root", "rest");
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let log = transcript(line);
    let state = State::of(&log.events);
    assert_eq!(in_words(&log, decide(&state, log.now)), expected, "after: {line}");
}

fn in_words(log: &Transcript, step: Step) -> String {
    let name = |call: &ToolCall| log.label_of(call.call_id);
    let names = |calls: &[ToolCall]| calls.iter().map(name).collect::<Vec<_>>().join(" ");
    match step {
        Step::AskModel => "ask model".to_owned(),
        Step::Judge(calls) => format!("judge {}", names(&calls)),
        Step::AskApproval(calls) => format!("ask about {}", names(&calls)),
        Step::ExpireApproval(call_id) => format!("expire {}", log.label_of(call_id)),
        Step::Wait(Wait::Running) => "wait running".to_owned(),
        Step::Wait(Wait::Approval(call_id)) => format!("await {}", log.label_of(call_id)),
        Step::Wait(Wait::Until(_)) => "wait until".to_owned(),
        Step::RunReads(calls) => format!("read {}", names(&calls)),
        Step::Run(call) => format!("run {}", name(&call)),
        Step::Refuse { call, .. } => format!("refuse {}", name(&call)),
        Step::ReportInterrupted(call) => format!("interrupted {}", name(&call)),
        Step::DrainSteers => "drain steers".to_owned(),
        Step::TakeFollowUp => "take follow-up".to_owned(),
        Step::Compact => "compact".to_owned(),
        Step::EndTurn(Ending { reason, bound: None }) => format!("end {reason:?}").to_lowercase(),
        Step::EndTurn(Ending { bound: Some(bound), .. }) => {
            format!("end bound {bound:?}").to_lowercase()
        }
        Step::Rest => "rest".to_owned(),
    }
}
