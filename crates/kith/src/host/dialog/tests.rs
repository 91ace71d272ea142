use std::fs;
use std::path::Path;
use std::sync::Arc;

use kith_vocab::clock::Clock;
use kith_vocab::ids::ThreadId;
use tempfile::TempDir;

use super::*;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host::Started;
use crate::house::AGENT_ID;
use crate::house::House;

const WORDS: &str = "### record agent_words_record\n```\n---\ngenseq: 3\n---\nReady.\n```\n";

fn house(n_records: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("Agent.md"), "Be kind.\n").unwrap();
    let scripts = dir.path().join(".minds/priming/team_shared");
    fs::create_dir_all(&scripts).unwrap();
    fs::write(scripts.join("words.md"), WORDS.repeat(n_records)).unwrap();
    dir
}

async fn host(dir: &Path) -> Box<Host> {
    let dir = dir.canonicalize().unwrap();
    let house = House { cwd: dir.clone(), dir, user_home: None, is_named: true };
    let config = Config::load(&house).unwrap();
    match Host::start(house, Arc::new(config)).await.unwrap() {
        Started::Here(host) => host,
        Started::Elsewhere { holder } => panic!("{holder} holds a new house"),
    }
}

fn wanted(show_in_ui: bool) -> CreateDialog {
    CreateDialog {
        agent_id: None,
        session_id: SessionId::from_uuid(SystemClock.new_id()),
        thread_id: thread("web:room:a"),
        cwd: "/".to_owned(),
        priming: Some(Priming { script_refs: vec!["team_shared/words".to_owned()], show_in_ui }),
    }
}

fn thread(name: &str) -> ThreadId {
    name.parse().unwrap()
}

#[tokio::test]
async fn a_repeated_request_makes_no_second_session() {
    let dir = house(2);
    let host = host(dir.path()).await;
    let first = host.create_dialog(wanted(true)).await.unwrap();
    let second = wanted(true);
    host.create_dialog(second.clone()).await.unwrap();

    // The answer was lost, and meanwhile the thread went on elsewhere.
    let again = CreateDialog { session_id: first.form.session_id, ..wanted(true) };
    assert_eq!(host.create_dialog(again).await.unwrap().form, first.form);
    assert_eq!(first.form.primed, 2);
    assert_eq!(host.store.list().unwrap(), [first.form.session_id, second.session_id]);
    let current = host.desk.current_session(AGENT_ID, &second.thread_id).await.unwrap();
    assert_eq!(current, Some(first.form.session_id));
}

#[tokio::test]
async fn an_id_that_is_taken_by_something_else_is_a_conflict() {
    let dir = house(1);
    let host = host(dir.path()).await;
    let first = wanted(true);
    host.create_dialog(first.clone()).await.unwrap();
    for other in [
        CreateDialog { thread_id: thread("web:room:b"), ..first.clone() },
        CreateDialog { priming: None, ..first.clone() },
        CreateDialog { priming: wanted(false).priming, ..first.clone() },
    ] {
        assert_eq!(host.create_dialog(other).await.unwrap_err().code, "conflict");
    }
}

#[tokio::test]
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
        let refused = host.create_dialog(CreateDialog { priming, ..wanted(true) }).await;
        assert_eq!(refused.unwrap_err().code, code);
    }
    assert_eq!(host.store.list().unwrap(), []);
    assert!(!dir.path().join(".dialogs").exists());
}

#[tokio::test]
async fn scripts_that_are_none_prime_nothing() {
    let dir = house(1);
    let host = host(dir.path()).await;
    let priming = Some(Priming { script_refs: Vec::new(), show_in_ui: false });
    let empty = CreateDialog { priming, ..wanted(true) };
    let told = host.create_dialog(empty.clone()).await.unwrap();
    assert_eq!(told.form.primed, 0);
    assert_eq!(host.create_dialog(empty).await.unwrap(), told);
    let read = host.reader.read(told.form.session_id).await.unwrap();
    assert_eq!(read.reading.header.meta.priming, None);
}

#[tokio::test]
async fn the_conversation_shows_what_was_primed_until_something_is_said() {
    let dir = house(2);
    let host = host(dir.path()).await;
    let shown = host.create_dialog(wanted(true)).await.unwrap().form.session_id;
    let told = host.told_before(shown).await.unwrap();
    assert_eq!(told.as_deref(), Some("agent (primed):\n  Ready.\n\nagent (primed):\n  Ready."));
    let hidden = host.create_dialog(wanted(false)).await.unwrap().form.session_id;
    assert_eq!(host.told_before(hidden).await.unwrap(), None);

    let title = kith_vocab::event::control::SessionTitleUpdated {
        title: "a name".to_owned(),
        source: kith_vocab::event::control::TitleSource::User,
    };
    let (thread_id, quiet) = (thread("web:room:a"), crate::screen::Quiet);
    let renamed = Body::SessionTitleUpdated(title);
    host.engine.note(AGENT_ID, &thread_id, shown, renamed, &quiet).await.unwrap();
    assert!(host.told_before(shown).await.unwrap().is_some(), "a title is nothing that was said");
    let message = kith_vocab::event::messages::UserMessage {
        message: kith_vocab::event::messages::MessageContent { content: vec![], meta: None },
        author: Author { user_id: OWNER_ID.to_owned(), display_name: OWNER_ID.to_owned() },
        trust: Trust::Owner,
        ingress: None,
        queue_item_id: None,
        primed: None,
    };
    let said = Body::UserMessage(message);
    host.engine.note(AGENT_ID, &thread_id, shown, said, &quiet).await.unwrap();
    assert_eq!(host.told_before(shown).await.unwrap(), None);
}

#[tokio::test]
async fn of_a_long_history_the_conversation_shows_the_end() {
    let dir = house(SHOWN_ENTRIES_MAX + 2);
    let host = host(dir.path()).await;
    let id = host.create_dialog(wanted(true)).await.unwrap().form.session_id;
    let told = host.told_before(id).await.unwrap().unwrap();
    assert_eq!(told.matches("Ready.").count(), SHOWN_ENTRIES_MAX);
    assert!(told.starts_with("(2 earlier entries: `kith session show "), "{told}");
}
