//! Calls and answers come back as they went: a socket may lie between the two ends.

use std::fmt::Debug;

use kith_testkit::transcript::transcript;
use kith_vocab::event::control::{Bound, Queue};
use kith_vocab::event::messages::{StopReason, Usage};
use kith_vocab::header::{
    Audience, HeaderMeta, HeaderType, LOG_FORMAT_VERSION, Priming, SessionHeader,
};
use kith_vocab::ids::{LeafId, SessionId, ThreadId};
use kith_vocab::ingress::RunningBehavior;
use kith_vocab::json::Json;

use super::feed::{AnswerDelta, AnswerDeltaKind, TurnItem};
use super::message::{
    Acknowledgement, MessageAnswer, MessageOutcome, MessageReply, MessageTarget, ModelName,
    SendMessage, TurnEnd,
};
use super::queue::{EditQueue, QueueChange, TakeNext};
use super::session::{CreateDialog, CreatedDialog};
use super::session::{
    DamageView, EventPage, ExportItem, HitKind, ListSessions, MismatchView, ReadEvents, SearchHit,
    SearchHits, SearchSessions, SessionList, SessionRow, SessionState, SessionView, ShowSession,
    Verification,
};
use super::subscription::FollowHouse;
use super::thread::{ListMessages, MessageList, MessageSource};
use super::tree::BranchSession;
use super::trust::ListRepositories;
use crate::call::Payload;
use crate::error::ErrorCode;

const ID: &str = "01a1e11b-9858-75e6-b081-4c1ec49881c0";

#[track_caller]
fn check<T: Payload + PartialEq + Debug>(value: &T) {
    let text = Json::of(value);
    assert_eq!(&text.read::<T>().unwrap(), value, "{text:?}");
}

#[track_caller]
fn check_form<T: Payload>(value: &T, expected: &str) {
    assert_eq!(Json::of(value).as_str(), expected);
}

fn session_id() -> SessionId {
    ID.parse().unwrap()
}

fn thread_id() -> ThreadId {
    "cli:room:dcbc08e684213133".parse().unwrap()
}

#[test]
fn calls_come_back_as_they_went() {
    use MessageTarget::{Current, New, Session};
    for target in [Current, New, Session("latest".to_owned())] {
        check(&SendMessage {
            client_message_id: "m1".to_owned(),
            text: "hello\u{202e}".to_owned(),
            agent_id: Some("ux".to_owned()),
            thread_id: thread_id(),
            target,
            cwd: "/tmp".to_owned(),
            model: None,
            expects: ModelName {
                provider: "openai".to_owned(),
                model: "m".to_owned(),
                server: Some("http://localhost/v1".to_owned()),
            },
            expected_leaf: Some(LeafId::Start),
            running_behavior: RunningBehavior::Steer,
            ack: Acknowledgement::Completed,
            attachments: Vec::new(),
        });
    }
    for priming in [None, Some(Priming { script_refs: vec!["x".to_owned()], show_in_ui: false })] {
        check(&CreateDialog {
            session_id: Some(session_id()),
            agent_id: None,
            thread_id: Some(thread_id()),
            cwd: Some("/".to_owned()),
            priming,
        });
    }
    for expected_leaf in [None, Some(LeafId::Start), Some(ID.parse().unwrap())] {
        let (session, to) = ("latest".to_owned(), "start".to_owned());
        check(&BranchSession { session, to, expected_leaf, branch_id: ID.parse().unwrap() });
    }
    check(&SearchSessions { query: "天气".to_owned(), limit: 7 });
    for of in [MessageSource::Thread("cli:".to_owned()), MessageSource::Session(ID.to_owned())] {
        check(&ListMessages { agent_id: None, of });
    }
}

#[test]
fn the_forms_of_calls_stay() {
    check_form(&ListRepositories {}, "{}");
    check_form(&ListSessions { agent_id: None }, "{}");
    check_form(&ShowSession { session: "latest".to_owned() }, r#"{"session":"latest"}"#);
    let page: ReadEvents = serde_json::from_str(r#"{"session":"latest","limit":2}"#).unwrap();
    check_form(&page, r#"{"session":"latest","after":0,"limit":2}"#);
    let request_id = session_id().to_string().parse().unwrap();
    let (stream_seq, block, call_id, kind) = (7, 0, None, AnswerDeltaKind::Text);
    let text = "hi".to_owned();
    let delta = AnswerDelta { stream_seq, request_id, block, call_id, kind, text };
    let form = format!(
        r#"{{"delta":{{"streamSeq":7,"requestId":"{request_id}","block":0,"kind":"text","text":"hi"}}}}"#
    );
    check_form(&TurnItem::Delta(delta), &form);
    check_form(&TurnItem::Note("wait".to_owned()), r#"{"note":"wait"}"#);
    let edit = |change| EditQueue {
        session: "latest".to_owned(),
        edit_id: request_id,
        queue: Queue::FollowUp,
        change,
    };
    let item_id = || "i".to_owned();
    let text = "other words".to_owned();
    for (change, form) in [
        (
            QueueChange::Replace { item_id: item_id(), updated_at: 7, text },
            r#"{"replace":{"itemId":"i","updatedAt":7,"text":"other words"}}"#,
        ),
        (
            QueueChange::Remove { item_id: item_id(), updated_at: None },
            r#"{"remove":{"itemId":"i"}}"#,
        ),
        (
            QueueChange::Move { item_id: item_id(), updated_at: Some(7), to: 2 },
            r#"{"move":{"itemId":"i","updatedAt":7,"to":2}}"#,
        ),
    ] {
        let form = format!(
            r#"{{"session":"latest","editId":"{request_id}","queue":"follow_up","change":{form}}}"#
        );
        check(&edit(change.clone()));
        check_form(&edit(change), &form);
    }
    let take = TakeNext { session: "latest".to_owned(), take_id: request_id };
    check_form(&take, &format!(r#"{{"session":"latest","takeId":"{request_id}"}}"#));
    check_form(&FollowHouse { resumes: false }, "{}");
}

#[test]
fn answers_come_back_as_they_went() {
    let log = transcript("snapshot be kind | user: go | asked model | model: ok, read_file=c1");
    let leaf = log.events.last().map(|event| event.id);
    let damaged = Some(DamageView { line: 4, code: ErrorCode::BadCrc });
    let answer = MessageAnswer {
        session_id: session_id(),
        thread_id: thread_id(),
        leaf,
        text: "hi".to_owned(),
        usage: Usage {
            input: 1,
            output: 2,
            cache_read: 3,
            cache_write: 4,
            cost_micros: Some(5),
            is_estimate: false,
        },
        stop_reason: Some(StopReason::EndTurn),
        end: TurnEnd::Bound,
        bound: Some(Bound::Steps),
        pending_approvals: vec!["approval-1".to_owned()],
    };
    for outcome in [MessageOutcome::Answered, MessageOutcome::Failed("why".to_owned())] {
        check(&MessageReply { answer: answer.clone(), outcome });
    }
    check(&CreatedDialog { session_id: session_id(), thread_id: thread_id(), primed: 3 });
    let header = SessionHeader {
        v: LOG_FORMAT_VERSION,
        line_type: HeaderType::SessionHeader,
        session_id: session_id(),
        agent_id: "main".to_owned(),
        device_id: "device".to_owned(),
        created_at: 7,
        thread_id: thread_id(),
        audience: Audience::Owner,
        cwd: "/".to_owned(),
        cloned_from: None,
        parent: None,
        meta: HeaderMeta::default(),
    };
    for event in &log.events {
        check(&TurnItem::Event(Box::new(event.clone())));
        check(&ExportItem::Event(event.clone()));
    }
    check(&ExportItem::Header { header: header.clone(), title: Some("四 words".to_owned()) });
    check(&EventPage { events: log.events.clone(), next_after: Some(4) });
    check(&SessionView { header, events: log.events, leaf, damaged: damaged.clone() });
    let mismatches = leaf.map(|request_id| MismatchView {
        request_id,
        expected: "aa".to_owned(),
        rebuilt: "bb".to_owned(),
    });
    check(&Verification {
        events: 5,
        requests: 2,
        damaged,
        mismatches: mismatches.into_iter().collect(),
        other_renderer: leaf.into_iter().collect(),
    });
    check(&MessageList { messages: Json::parse(r#"[{"n":1.50}]"#).unwrap() });
}

#[test]
fn lists_come_back_as_they_went() {
    let row = SessionRow {
        session_id: session_id(),
        thread_id: None,
        agent_id: None,
        title: None,
        created_at: None,
        updated_at: None,
        events: 0,
        leaf: None,
        cwd: None,
        project: None,
        state: SessionState::ReadOnly,
    };
    check(&SessionList { sessions: vec![row] });
    let hit = SearchHit {
        session_id: session_id(),
        event_id: ID.parse().unwrap(),
        kind: HitKind::User,
        text: "天气".to_owned(),
        ts: "2026-11-15T00:00:00.000Z".to_owned(),
        is_abandoned: true,
    };
    check(&SearchHits { hits: vec![hit] });
}
