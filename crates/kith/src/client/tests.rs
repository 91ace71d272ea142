//! The forms come back as they went: a socket may one day lie between the two ends.

use std::fmt::Debug;

use kith_testkit::transcript::transcript;
use kith_vocab::header::{HeaderMeta, HeaderType, LOG_FORMAT_VERSION, Priming};
use serde::de::DeserializeOwned;

use super::*;

#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
}

fn session_id() -> SessionId {
    "01a1e11b-9858-75e6-b081-4c1ec49881c0".parse().unwrap()
}

fn thread_id() -> ThreadId {
    "cli:room:dcbc08e684213133".parse().unwrap()
}

#[test]
fn every_request_comes_back_as_it_went() {
    for place in [Place::Current, Place::New, Place::Session("latest".to_owned())] {
        check(&Request::SendMessage(SendMessage {
            client_message_id: "m1".to_owned(),
            text: "hello\u{202e}".to_owned(),
            agent_id: Some("ux".to_owned()),
            thread_id: thread_id(),
            place,
            cwd: "/tmp".to_owned(),
            model: None,
            expects: ModelName {
                provider: "openai".to_owned(),
                model: "m".to_owned(),
                server: Some("http://localhost/v1".to_owned()),
            },
            expected_leaf: Some(LeafId::Start),
        }));
    }
    for priming in [None, Some(Priming { script_refs: vec!["x".to_owned()], show_in_ui: false })] {
        let (session_id, thread_id, cwd) = (session_id(), thread_id(), "/".to_owned());
        let agent_id = Some("ux".to_owned());
        check(&Request::CreateDialog(CreateDialog {
            session_id,
            agent_id,
            thread_id,
            cwd,
            priming,
        }));
    }
    check(&Request::ListSessions {});
    check(&Request::ShowSession { session: "latest".to_owned() });
    check(&Request::VerifySession { session: "latest".to_owned() });
    let (agent_id, cwd) = (None, "/".to_owned());
    check(&Request::GetPrompt { agent_id, audience: Audience::Peer, cwd });
    check(&Request::RenameSession { session: "latest".to_owned(), title: "四 words".to_owned() });
    check(&Request::RepairSession { session: "latest".to_owned() });
    check(&Request::SearchSessions { query: "天气".to_owned(), limit: 7 });
    check(&Request::RemoveSession { session: "latest".to_owned() });
    check(&Request::ShowTree { session: "latest".to_owned() });
    let id = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1";
    for expected_leaf in [None, Some(LeafId::Start), Some(id.parse().unwrap())] {
        check(&Request::BranchSession {
            session: "latest".to_owned(),
            to: "start".to_owned(),
            expected_leaf,
            branch_id: id.parse().unwrap(),
        });
    }
    for at in [None, Some("start".to_owned())] {
        let (session, clone_id) = ("latest".to_owned(), id.parse().unwrap());
        check(&Request::CloneSession { session, at, clone_id });
    }
    check(&Request::ListRepositories {});
    check(&Request::TrustRepository { path: "/srv/a b".to_owned() });
    check(&Request::DistrustRepository { path: "/srv/a b".to_owned() });
}

#[test]
fn every_answer_comes_back_as_it_went() {
    let notes = vec!["a note".to_owned()];
    let log = transcript("snapshot be kind | user: go | asked model | model: ok, read_file=c1");
    let leaf = log.events.last().map(|event| event.id);
    let damaged = Some(DamageView { line: 4, code: "bad_crc".to_owned() });
    let form = MessageAnswer {
        session_id: session_id(),
        thread_id: thread_id(),
        leaf,
        text: "hi".to_owned(),
        usage: Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, cost_micros: Some(5) },
        stop_reason: Some(StopReason::EndTurn),
        pending_approvals: vec!["approval-1".to_owned()],
    };
    let told = Told { form, notes: notes.clone() };
    check(&Answer::Message(told.clone(), Outcome::Answered));
    check(&Answer::Message(told, Outcome::Failed("why".to_owned())));
    let form = Created { session_id: session_id(), thread_id: thread_id(), primed: 3 };
    check(&Answer::Created(Told { form, notes: notes.clone() }));

    let row = SessionRow {
        session_id: session_id(),
        thread_id: None,
        agent_id: None,
        title: None,
        created_at: None,
        updated_at: None,
        events: 0,
        leaf: None,
        state: SessionState::ReadOnly,
    };
    check(&Answer::Sessions(Told { form: SessionList { sessions: vec![row] }, notes: Vec::new() }));

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
    let form = Box::new(SessionView { header, events: log.events, leaf, damaged: damaged.clone() });
    check(&Answer::Session(Told { form, notes: notes.clone() }));

    let mismatches = leaf.map(|request_id| MismatchView {
        request_id,
        expected: "aa".to_owned(),
        rebuilt: "bb".to_owned(),
    });
    let form = Verification {
        events: 5,
        requests: 2,
        damaged,
        mismatches: mismatches.into_iter().collect(),
        other_renderer: leaf.into_iter().collect(),
    };
    check(&Answer::Verification(Told { form, notes: notes.clone() }));

    let form = Renamed { session_id: session_id(), title: "四 words".to_owned() };
    check(&Answer::Renamed(Told { form, notes: notes.clone() }));
    let lost_from = DamageView { line: 4, code: "bad_crc".to_owned() };
    let form = RepairView { session_id: session_id(), events: 3, lost_from };
    check(&Answer::Repaired(Told { form, notes: notes.clone() }));
    let row =
        RepositoryRow { path: "/srv".to_owned(), trusted_at: "2026-11-15T00:00:00Z".to_owned() };
    let form = RepositoryList { repositories: vec![row] };
    check(&Answer::Repositories(Told { form, notes: notes.clone() }));
    check(&Answer::Trusted(Told { form: TrustedView { path: "/srv".to_owned() }, notes }));
}

#[test]
fn what_was_found_and_removed_comes_back_as_it_went() {
    let notes = vec!["a note".to_owned()];
    let hit = Hit {
        session_id: session_id(),
        event_id: session_id().to_string().parse().unwrap(),
        text: "天气".to_owned(),
        ts: "2026-11-15T00:00:00.000Z".to_owned(),
    };
    check(&Answer::Found(Told { form: Found { hits: vec![hit] }, notes: notes.clone() }));
    let form = Removed { removed: vec!["sessions/x.jsonl".to_owned()] };
    check(&Answer::Removed(Told { form, notes }));
}
