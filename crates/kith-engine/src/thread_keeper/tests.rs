use std::path::Path;

use kith_sessions::journal::FilesJournal;
use kith_sessions::thread_file::ThreadFiles;
use kith_testkit::scripted::ScriptedModel;
use kith_vocab::event::Body;
use kith_vocab::event::control::{SessionTitleUpdated, TitleSource};

use super::*;
use crate::command::CommandAction;
use crate::feed::ThreadKey;
use crate::fixture::{TestHouse, ask, message};

fn keeper(house: &TestHouse, engine: &Engine) -> ThreadKeeper {
    let files = ThreadFiles::new(Arc::new(house.files.clone()), Path::new("/house/.kith"));
    let journal = Arc::new(FilesJournal::reader(house.store()));
    ThreadKeeper::start(engine, ThreadFileSync::new(journal, files))
}

async fn is_up_to_date(keeper: &ThreadKeeper) -> bool {
    let thread_id = "cli:room:a".parse().unwrap();
    let key = ThreadKey { agent_id: "main".to_owned(), thread_id };
    let looked = keeper
        .run(move |threads| Box::pin(async move { threads.is_up_to_date(&key).await.unwrap() }));
    looked.await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_thread_file_follows_its_sessions_whatever_happens_in_them() {
    let model =
        Arc::new((0..9).fold(ScriptedModel::new([]), |model, n| model.says(&format!("{n}"))));
    let house = TestHouse::new(&model);
    let engine = house.engine();
    let files = keeper(&house, &engine);
    let first = ask(&engine, &message("m0", "cli:room:a", "zero")).await.unwrap();
    ask(&engine, &message("m1", "cli:room:a", "one")).await.unwrap();
    assert!(is_up_to_date(&files).await);
    let title = SessionTitleUpdated { title: "numbers".to_owned(), source: TitleSource::User };
    let append = CommandAction::Append(Box::new(Body::SessionTitleUpdated(title)));
    house.command(&engine, first.session_id, append).await.unwrap();
    ask(&engine, &message("m2", "cli:room:a", "two")).await.unwrap();
    assert!(is_up_to_date(&files).await);
    let to = first.leaf.into();
    let branch = CommandAction::Branch { to, expected_leaf: None };
    house.command(&engine, first.session_id, branch).await.unwrap();
    assert!(is_up_to_date(&files).await);
    ask(&engine, &message("m3", "cli:room:a", "three")).await.unwrap();
    assert!(is_up_to_date(&files).await);
    engine.kill();

    // What was written while nobody kept the files is made up for by the next turn.
    let engine = house.engine();
    ask(&engine, &message("m4", "cli:room:a", "four")).await.unwrap();
    let files = keeper(&house, &engine);
    ask(&engine, &message("m5", "cli:room:a", "five")).await.unwrap();
    assert!(is_up_to_date(&files).await);
    assert_eq!(files.take_failure().map(|error| error.to_string()), None);
}
