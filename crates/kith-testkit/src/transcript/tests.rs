use kith_vocab::block::Block;
use kith_vocab::event::Body;
use kith_vocab::event::messages::Trust;
use kith_vocab::validate::validate;

use super::*;
use crate::samples::sample_model_ref;

#[track_caller]
fn check(line: &str, expected: &str) -> Transcript {
    let transcript = transcript(line);
    let types: Vec<&str> = transcript.events.iter().map(|event| event.body.type_name()).collect();
    assert_eq!(types.join(" "), expected, "{line}");
    for (index, event) in transcript.events.iter().enumerate() {
        validate(event).unwrap();
        assert_eq!(event.seq, index as u64 + 1);
    }
    transcript
}

#[test]
fn a_turn_is_one_line() {
    let it = check(
        "user: go | asked model | model: well, ok, write_file=c1, read(x)=c2 | free c1 | hold c2 | \
         asked c2 | deny c2 | start c1 | resumed | interrupted c1 | refused c2 | ended done",
        "user_message model_requested assistant_message call_judged call_judged approval_requested \
         approval_decided tool_started resumed tool_result tool_result turn_ended",
    );
    let Body::AssistantMessage(answer) = &it.events[2].body else { panic!("not an answer") };
    assert_eq!(answer.request_id, Some(it.events[2].id));
    assert_eq!(answer.message.content.len(), 3);
    assert_eq!(answer.message.content[0].as_text(), Some("well, ok"));
    assert_eq!(it.call("c2"), it.events[2].id.call(1));
    assert_eq!(it.label_of(it.call("c2")), "c2");
    let Body::Resumed(resumed) = &it.events[8].body else { panic!("not resumed") };
    assert_eq!(resumed.open_calls, [it.call("c1")]);
    assert_eq!(it.event("c1"), it.events[9].id);
}

#[test]
fn parents_follow_the_leaf() {
    let it = check(
        "user#u1: a | model#m1: b | user: c | leaf u1 | model: d | leaf root | user: e",
        "user_message assistant_message user_message leaf_moved assistant_message leaf_moved user_message",
    );
    assert_eq!(it.events[1].parent_id, Some(it.event("u1")));
    assert_eq!(it.events[2].parent_id, Some(it.event("m1")));
    assert_eq!(it.events[4].parent_id, Some(it.event("u1")));
    assert_eq!(it.events[6].parent_id, None);
}

#[test]
fn queues_are_rewritten_whole() {
    let it = check(
        "queue a | queue b | queue steer c | taken | drained",
        "queue_update queue_update queue_update user_message queue_update harness_item queue_update",
    );
    let Body::QueueUpdate(queue) = &it.events[1].body else { panic!("not a queue") };
    assert_eq!(queue.items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["q1", "q2"]);
    let Body::UserMessage(message) = &it.events[3].body else { panic!("not a message") };
    assert_eq!(message.queue_item_id.as_deref(), Some("q1"));
}

#[test]
fn words_name_the_inbox_row_they_came_from_and_the_models_they_may_reach() {
    let it = check(
        "user#u1@peer key=k1: a | queue key=k2 models=fast,deep b = c | queue steer key=k3 d | taken | drained",
        "user_message queue_update queue_update user_message queue_update harness_item queue_update",
    );
    let keys: Vec<Option<&str>> = it.events.iter().map(|it| it.ingress_key.as_deref()).collect();
    assert_eq!(keys, [Some("k1"), None, None, Some("k2"), None, Some("k3"), None]);
    let Body::UserMessage(message) = &it.events[0].body else { panic!("not a message") };
    assert_eq!((message.trust, it.event("u1")), (Trust::Peer, it.events[0].id));
    let Body::QueueUpdate(queue) = &it.events[1].body else { panic!("not a queue") };
    assert_eq!(queue.items[0].content, [Block::text("b = c")]);
    assert_eq!(queue.items[0].ingress_key.as_deref(), Some("k2"));
    assert_eq!(queue.items[0].models, [sample_model_ref("fast"), sample_model_ref("deep")]);
}

#[test]
fn a_turn_that_ended_can_be_retried() {
    let it = check(
        "user: a | started | ended failed | notice x | retried steps=3 models=fast | model: b | ended done",
        "user_message turn_started turn_ended notice turn_started assistant_message turn_ended",
    );
    let Body::TurnStarted(turn) = &it.events[4].body else { panic!("not a turn") };
    assert_eq!((turn.limits.steps, &turn.models[..]), (3, &[sample_model_ref("fast")][..]));
}

#[test]
#[should_panic(expected = "`retried` needs a turn that has ended")]
fn an_open_turn_is_not_retried() {
    transcript("user: a | ended failed | user: b | retried");
}

#[test]
fn the_rest_of_the_language() {
    check(
        "snapshot Be kind. | tools read_file write_file | primed user@peer: a | cloned model: b, x=p1 | \
         user#u1: hi\\nyou | started steps=3 tokens=5 unattended | failed cut retry | later 1000 | failed empty | \
         model/max_tokens: , write_file(?)=c1 | done c1 | joined c1 mind | note n | steer s | cancel | notice x | \
         title y | ended bound | compact requested | asked compact | compact keep=u1 short | expired c1",
        "instruction_snapshot toolset_snapshot user_message assistant_message user_message turn_started \
         model_failed model_failed assistant_message tool_result harness_item harness_item harness_item \
         cancel_requested notice session_title_updated turn_ended compact_requested model_requested compact \
         approval_decided",
    );
    assert!(transcript("").events.is_empty());
}

#[test]
#[should_panic(expected = "unknown transcript verb `frobnicate`")]
fn an_unknown_word_fails_the_test() {
    transcript("user: a | frobnicate c1");
}
