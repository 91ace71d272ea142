//! A message that is meant for one place of the conversation is said there or not at all.

use super::branching::branch;
use super::*;

fn expecting(key: &str, text: &str, leaf: LeafId) -> IngressEvent {
    IngressEvent { expected_leaf: Some(leaf), ..message(key, "cli:room:a", text) }
}

fn n_messages(house: &House, id: SessionId) -> usize {
    house.events(id).iter().filter(|it| matches!(it.body, Body::UserMessage(_))).count()
}

#[tokio::test]
async fn a_message_is_said_where_its_author_looked() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.");
    let first = ask(&engine, &expecting("m1", "one", LeafId::Start), &model).await.unwrap();
    assert_eq!((first.text.as_str(), first.conflict), ("One.", None));
    let second = expecting("m2", "two", first.leaf.into());
    assert_eq!(ask(&engine, &second, &model).await.unwrap().text, "Two.");
}

#[tokio::test]
async fn a_message_for_another_place_is_not_said_now_nor_later() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("One.").says("Two.");
    let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
    let second = ask(&engine, &message("m2", "cli:room:a", "two"), &model).await.unwrap();
    let id = first.session_id;
    let late = expecting("late", "too late", first.leaf.into());
    let report = ask(&engine, &late, &model).await.unwrap();
    assert_eq!(report.conflict, Some(LeafId::from(second.leaf)));
    assert_eq!((report.text.as_str(), report.end), ("", None));
    assert!(engine.desk.unclosed(id).await.unwrap().is_empty());
    let events = house.events(id);
    let last = events.last().unwrap();
    assert_eq!((last.body.type_name(), last.ingress_key.as_ref()), ("notice", Some(&late.key)));

    // Delivered again: the same answer, in this process and the next, wherever the leaf is by then.
    let file = house.file(id);
    assert_eq!(ask(&engine, &late, &model).await.unwrap(), report);
    assert_eq!(house.file(id), file);
    engine.branch(&branch(&house, id, first.leaf.into()), &Unwatched).await.unwrap();
    drop(engine);
    let engine = house.engine().await;
    assert_eq!(ask(&engine, &late, &model).await.unwrap(), report);
    assert_eq!((n_messages(&house, id), model.bodies().len()), (2, 2));
}

#[tokio::test]
async fn of_two_messages_for_the_same_place_one_is_said() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("Zero.").says("Yes.").says("Never.");
    let first = ask(&engine, &message("m0", "cli:room:a", "zero"), &model).await.unwrap();
    let one = expecting("m1", "one", first.leaf.into());
    let two = expecting("m2", "two", first.leaf.into());
    let (one, two) = tokio::join!(ask(&engine, &one, &model), ask(&engine, &two, &model));
    let reports = [one.unwrap(), two.unwrap()];
    let (said, declined): (Vec<&Report>, Vec<&Report>) =
        reports.iter().partition(|it| it.conflict.is_none());
    assert_eq!((said.len(), declined.len()), (1, 1), "{reports:?}");
    assert_eq!(said[0].text, "Yes.");
    assert_eq!(declined[0].conflict, Some(LeafId::from(said[0].leaf)));
    assert_eq!((n_messages(&house, first.session_id), model.bodies().len()), (2, 2));
}

#[tokio::test]
async fn a_message_that_a_later_one_brought_along_is_told_that_it_was_not_said() {
    let house = House::new();
    let engine = house.engine().await;
    let model = ScriptedModel::new([]).says("Zero.").says("Two.");
    let first = ask(&engine, &message("m0", "cli:room:a", "zero"), &model).await.unwrap();
    let one = engine.accept(&expecting("m1", "one", LeafId::Start), Target::Current).await.unwrap();
    let two = engine.accept(&message("m2", "cli:room:a", "two"), Target::Current).await.unwrap();
    let cancel = CancellationToken::new();
    let run = Run { provider: &model, watcher: &Unwatched, cancel: &cancel };
    assert_eq!(engine.run(&two, run).await.unwrap().text, "Two.");
    assert_eq!(engine.run(&one, run).await.unwrap().conflict, Some(LeafId::from(first.leaf)));
}

#[tokio::test]
async fn kill_at_every_write_of_a_conflict_never_says_the_message() {
    let mut n_kills = 0;
    for at in 1.. {
        let mut house = House::new();
        let engine = house.engine().await;
        let model = ScriptedModel::new([]).says("One.");
        let first = ask(&engine, &message("m1", "cli:room:a", "one"), &model).await.unwrap();
        let late = expecting("late", "too late", LeafId::Start);
        house.files.plan(house.files.count() + at, Fault::Kill { written: Written::Half });
        let killed = ask(&engine, &late, &model).await.is_err();
        drop(engine);
        house.files = house.files.reboot(CrashModel::PowerCut);
        let engine = house.engine().await;
        let report = ask(&engine, &late, &model).await.unwrap();
        assert_eq!(report.conflict, Some(LeafId::from(first.leaf)), "{at}");
        let id = first.session_id;
        assert_eq!((n_messages(&house, id), model.bodies().len()), (1, 1), "{at}");
        assert_eq!(house.outline(id).matches("notice").count(), 1, "{at}");
        assert!(engine.desk.unclosed(id).await.unwrap().is_empty(), "{at}");
        if !killed {
            break;
        }
        n_kills += 1;
    }
    assert!(n_kills >= 1, "{n_kills}");
}
