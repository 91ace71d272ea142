use std::fs;
use std::sync::Arc;

use kith_vocab::clock::Clock;
use kith_vocab::header::Priming;
use kith_vocab::ids::{SessionId, ThreadId};
use kith_vocab::ingress::RunningBehavior;
use tempfile::TempDir;

use super::*;
use crate::call::{Follower, Reply};
use crate::caller::CLI;
use crate::calls::message::{Acknowledgement, MessageTarget, SendMessage};
use crate::calls::session::RenameSession;
use crate::clock::SystemClock;
use crate::host::{message, upkeep};
use crate::house::AGENT_ID;
use crate::tests::host;

const WORDS: &str = "### record agent_words_record\n```\n---\ngenseq: 3\n---\nReady.\n```\n";

fn house(n_records: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let scripts = dir.path().join(".minds/priming/team_shared");
    fs::create_dir_all(&scripts).unwrap();
    fs::write(scripts.join("words.md"), WORDS.repeat(n_records)).unwrap();
    dir
}

async fn create(host: &Arc<Host>, call: CreateDialog) -> Reply<CreatedDialog> {
    create_dialog(Arc::clone(host), Caller::owner(CLI), call).await
}

fn wanted(show_in_ui: bool) -> CreateDialog {
    CreateDialog {
        agent_id: None,
        session_id: Some(SessionId::from_uuid(SystemClock.new_id())),
        thread_id: Some(thread("web:room:a")),
        cwd: Some("/".to_owned()),
        priming: Some(Priming { script_refs: vec!["team_shared/words".to_owned()], show_in_ui }),
    }
}

fn thread(name: &str) -> ThreadId {
    name.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_makes_no_second_session() {
    let dir = house(2);
    let host = host(dir.path()).await;
    let first = create(&host, wanted(true)).await.unwrap();
    let second = wanted(true);
    create(&host, second.clone()).await.unwrap();

    // The answer was lost, and meanwhile the thread went on elsewhere.
    let again = CreateDialog { session_id: Some(first.data.session_id), ..wanted(true) };
    assert_eq!(create(&host, again).await.unwrap().data, first.data);
    assert_eq!(first.data.primed, 2);
    assert_eq!(host.store.list().unwrap(), [first.data.session_id, second.session_id.unwrap()]);
    let current =
        host.desk.current_session(AGENT_ID, second.thread_id.as_ref().unwrap()).await.unwrap();
    assert_eq!(current, Some(first.data.session_id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_that_is_taken_by_something_else_is_a_conflict() {
    let dir = house(1);
    let host = host(dir.path()).await;
    let first = wanted(true);
    create(&host, first.clone()).await.unwrap();
    for other in [
        CreateDialog { thread_id: Some(thread("web:room:b")), ..first.clone() },
        CreateDialog { priming: None, ..first.clone() },
        CreateDialog { priming: wanted(false).priming, ..first.clone() },
    ] {
        assert_eq!(create(&host, other).await.unwrap_err().code, "conflict");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_refuses_what_a_client_should_not_have_asked_for() {
    let dir = house(1);
    let folder = dir.path().join(".minds/priming/individual/ux");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("own.md"), WORDS).unwrap();
    let host = host(dir.path()).await;
    let words = "team_shared/words";
    for (script_refs, code) in [
        (vec![words, "team_shared/none"], "invalid_request"),
        (vec![words, "individual/ux/own"], "invalid_request"),
        (vec![words, "../../Agent"], "usage"),
        (vec![words; priming::PRIMED_SCRIPTS_MAX + 1], "usage"),
    ] {
        let script_refs: Vec<String> = script_refs.into_iter().map(str::to_owned).collect();
        let priming = Some(Priming { script_refs, show_in_ui: true });
        let refused = create(&host, CreateDialog { priming, ..wanted(true) }).await;
        assert_eq!(refused.unwrap_err().code, code);
    }
    assert_eq!(host.store.list().unwrap(), []);
    assert!(!dir.path().join(".dialogs").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_are_none_prime_nothing() {
    let dir = house(1);
    let host = host(dir.path()).await;
    let priming = Some(Priming { script_refs: Vec::new(), show_in_ui: false });
    let empty = CreateDialog { priming, ..wanted(true) };
    let told = create(&host, empty.clone()).await.unwrap();
    assert_eq!(told.data.primed, 0);
    assert_eq!(create(&host, empty).await.unwrap(), told);
    let read = host.reads.read(told.data.session_id).await.unwrap();
    assert_eq!(read.reading.header.meta.priming, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_conversation_shows_what_was_primed_until_something_is_said() {
    let dir = house(2);
    let host = host(dir.path()).await;
    let shown = create(&host, wanted(true)).await.unwrap().data.session_id;
    let told = host.reads.history_before(shown).await.unwrap();
    assert_eq!(told.iter().filter(|event| event.is_primed()).count(), 2);
    let hidden = create(&host, wanted(false)).await.unwrap().data.session_id;
    assert_eq!(host.reads.history_before(hidden).await.unwrap(), []);

    let caller = Caller::owner(CLI);
    let (session, title) = (shown.to_string(), "a name".to_owned());
    let rename = RenameSession { session: session.clone(), title };
    upkeep::rename_session(Arc::clone(&host), caller.clone(), rename).await.unwrap();
    assert!(
        !host.reads.history_before(shown).await.unwrap().is_empty(),
        "a title is nothing that was said"
    );
    let settings = host.settings.current().unwrap();
    let chosen = host.models.choose(Some("demo"), &settings).unwrap();
    let said = SendMessage {
        client_message_id: "m1".to_owned(),
        text: "hello".to_owned(),
        agent_id: None,
        thread_id: thread("web:room:a"),
        target: MessageTarget::Session(session),
        cwd: "/".to_owned(),
        model: Some("demo".to_owned()),
        expects: chosen.name,
        expected_leaf: None,
        running_behavior: RunningBehavior::FollowUp,
        ack: Acknowledgement::Completed,
        attachments: Vec::new(),
    };
    let follower = Follower::none();
    message::send_message(Arc::clone(&host), caller, said, follower).await.unwrap();
    assert_eq!(host.reads.history_before(shown).await.unwrap(), []);
}
