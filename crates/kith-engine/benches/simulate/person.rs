//! What people do: say things, take them back, go elsewhere, look, and set the clock.

use kith_engine::command::{CommandAction, QueueEdit};
use kith_engine::engine::BranchCommand;
use kith_sessions::desk::Target;
use kith_testkit::clock::START;
use kith_vocab::block::Block;
use kith_vocab::clock::Clock;
use kith_vocab::event::Body;
use kith_vocab::event::control::{Queue, SessionTitleUpdated, TitleSource};
use kith_vocab::event::messages::{Author, IngressRef, Trust};
use kith_vocab::header::Audience;
use kith_vocab::ids::{LeafId, SessionId};
use kith_vocab::ingress::{IngressContent, IngressEvent, RunningBehavior};

use super::chance::Chance;
use super::journal::short;
use super::model::{MODEL_NAMES, model_ref};
use super::oracle::{Oracle, SessionView};
use super::scene::{Scene, words};

/// One person, from the beginning of a life to the last thing they do in it.
pub(crate) async fn live(scene: Scene) {
    let n_actions = {
        let mut world = scene.world.lock();
        let most = world.plan.n_actions;
        world.chance.between(1, most)
    };
    for _ in 0..n_actions {
        pause(&scene).await;
        if scene.world.is_dead() {
            return;
        }
        act(&scene).await;
    }
}

/// Between two actions little time passes, or much.
async fn pause(scene: &Scene) {
    let ms = scene.world.draw(|chance| match chance.below(10) {
        0..4 => 0,
        4..8 => chance.magnitude(13),
        _ => chance.magnitude(23),
    });
    if ms > 0 {
        scene.clock.sleep(ms).await;
    }
    scene.world.step().await;
}

async fn act(scene: &Scene) {
    let number = {
        let mut world = scene.world.lock();
        let jumps = world.plan.clock_jumps;
        if world.chance.percent(jumps) { 100 } else { world.chance.below(100) }
    };
    match number {
        0..42 => say(scene).await,
        42..50 => say_again(scene).await,
        50..58 => cancel(scene).await,
        58..64 => {
            with_session(scene, |_, _| Some(CommandAction::Retry { key: None, attended: true }))
                .await
        }
        64..69 => with_session(scene, |_, _| Some(CommandAction::TakeNext)).await,
        69..76 => with_session(scene, edit_queue).await,
        76..82 => branch(scene).await,
        82..86 => clone(scene).await,
        86..89 => remove(scene).await,
        89..92 => with_session(scene, retitle).await,
        92..96 => repeat(scene).await,
        96..100 => watch(scene),
        _ => set_clock(scene),
    }
}

fn some_session(oracle: &Oracle, chance: &mut Chance) -> Option<SessionId> {
    let ids: Vec<SessionId> = oracle.sessions.keys().copied().collect();
    chance.pick(&ids).copied()
}

fn some_event(view: Option<&SessionView>, chance: &mut Chance) -> LeafId {
    let tree = view.map_or(&[][..], |view| &view.tree);
    match chance.pick(tree) {
        Some(id) if !chance.percent(15) => LeafId::Event(*id),
        _ => LeafId::Start,
    }
}

/// Draws a message and the session it is meant for.
fn draw_message(scene: &Scene) -> (IngressEvent, Target) {
    let mut guard = scene.world.lock();
    let world = &mut *guard;
    let (plan, chance, oracle) = (&world.plan, &mut world.chance, &mut world.oracle);
    oracle.n_keys += 1;
    let key = format!("m{}", oracle.n_keys);
    let mut thread_id = format!("cli:room:{}", chance.below(plan.n_threads)).parse().unwrap();
    let mut target = Target::Current;
    if chance.percent(plan.other_sessions) {
        target = Target::New;
        if chance.percent(70)
            && let Some(id) = some_session(oracle, chance)
            && let Some(thread) = oracle.sessions[&id].thread.clone()
        {
            (target, thread_id) = (Target::Session(id), thread);
        }
    }
    let expected_leaf = match target {
        Target::Session(id) if chance.percent(20) => {
            let view = oracle.sessions.get(&id);
            let stale = some_event(view, chance);
            Some(view.map_or(stale, SessionView::leaf_id))
                .filter(|_| chance.percent(80))
                .or(Some(stale))
        }
        _ => None,
    };
    let running_behavior =
        if chance.percent(35) { RunningBehavior::Steer } else { RunningBehavior::FollowUp };
    let mut names = MODEL_NAMES.to_vec();
    if chance.percent(50) {
        names.reverse();
    }
    names.truncate(chance.index(2) + 1);
    let text = if chance.percent(3) { "long ".repeat(20_000) } else { format!("message {key}") };
    let event = IngressEvent {
        key: format!("cli:local:{key}"),
        agent_id: "main".to_owned(),
        thread_id,
        audience: Audience::Owner,
        client_id: "cli".to_owned(),
        author: Author { user_id: "owner".to_owned(), display_name: "owner".to_owned() },
        trust: Trust::Owner,
        ingress: IngressRef {
            platform: "cli".to_owned(),
            account: "local".to_owned(),
            message_id: key.clone(),
            correlation_id: key,
        },
        ts: 1,
        cwd: "/work".to_owned(),
        expected_leaf,
        running_behavior,
        models: names.into_iter().map(model_ref).collect(),
        attended: true,
        language: None,
        content: IngressContent::Text { text },
    };
    (event, target)
}

async fn say(scene: &Scene) {
    let (event, target) = draw_message(scene);
    scene.world.lock().oracle.sent.push((event.clone(), target));
    deliver(scene, event, target).await;
}

/// Platforms deliver twice, and people whose program died try again.
async fn say_again(scene: &Scene) {
    let again = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        world.chance.pick(&world.oracle.sent).cloned()
    };
    match again {
        Some((event, target)) => deliver(scene, event, target).await,
        None => say(scene).await,
    }
}

async fn deliver(scene: &Scene, event: IngressEvent, target: Target) {
    let key = event.key.clone();
    let names: Vec<&str> = event.models.iter().map(|it| it.name.as_str()).collect();
    let behavior = event.running_behavior;
    let place = match target {
        Target::Session(id) => short(id),
        other => format!("{other:?}"),
    };
    scene.world.note(format!("says {key} in {} {place} {names:?} {behavior:?}", event.thread_id));
    if scene.world.draw(|chance| chance.percent(50)) {
        let sent = scene.within(&key, scene.client.send(&event, target)).await;
        if let Some(Err(error)) = sent {
            scene.world.note(format!("{key} not accepted: {}", words(&error)));
        }
        return;
    }
    match scene.within(&key, scene.client.ask(&event, target)).await {
        Some(Ok((accepted, follower))) => {
            scene.world.note(format!("{key} accepted for {}", short(accepted.session_id)));
            wait_for_end(scene, key, follower);
        }
        Some(Err(error)) => {
            scene.world.note(format!("{key} not accepted or not followed: {}", words(&error)));
        }
        None => (),
    }
}

/// Lets somebody wait for what comes of the message. They may leave before it does.
fn wait_for_end(scene: &Scene, key: String, follower: kith_engine::engine::RowFollower) {
    let scene = scene.clone();
    let patience = scene.world.draw(|chance| chance.percent(30).then(|| chance.magnitude(16)));
    tokio::spawn(async move {
        if let Some(ms) = patience {
            tokio::select! {
                biased;
                _ = follower.end() => (),
                () = scene.clock.sleep(ms) => (),
            }
            return;
        }
        let number = scene.world.lock().chance.next();
        scene.world.lock().oracle.waiting.insert((number, key.clone()));
        let end = follower.end().await;
        let mut world = scene.world.lock();
        world.oracle.waiting.remove(&(number, key.clone()));
        match end {
            Ok(report) => world.note(format!("{key} came to {:?}", report.end)),
            Err(error) => world.note(format!("{key} is not followed any more: {}", words(&error))),
        }
    });
}

async fn cancel(scene: &Scene) {
    let key = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        let of_message = world.chance.percent(50);
        let sent = world.chance.pick(&world.oracle.sent);
        let accepted = sent.map(|(event, _)| event.key.clone()).filter(|_| of_message);
        accepted.and_then(|key| Some((*world.oracle.accepted.get(&key)?, key)))
    };
    match key {
        Some((id, key)) => scene.command(id, CommandAction::Cancel { key: Some(key) }).await,
        None => with_session(scene, |_, _| Some(CommandAction::Cancel { key: None })).await,
    }
}

async fn with_session(
    scene: &Scene,
    draw: impl FnOnce(&SessionView, &mut Chance) -> Option<CommandAction>,
) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        let id = some_session(&world.oracle, &mut world.chance);
        id.and_then(|id| Some((id, draw(&world.oracle.sessions[&id], &mut world.chance)?)))
    };
    if let Some((id, action)) = drawn {
        scene.command(id, action).await;
    }
}

fn edit_queue(view: &SessionView, chance: &mut Chance) -> Option<CommandAction> {
    let queue = if chance.percent(70) { Queue::FollowUp } else { Queue::Steer };
    let item = chance.pick(view.queue(queue))?.clone();
    let (item_id, seen) = (item.id, item.updated_at);
    let updated_at = chance.percent(50).then_some(seen);
    let edit = match chance.below(3) {
        0 => {
            let content = vec![Block::text(format!("edited {}", chance.below(100)))];
            QueueEdit::Replace { item_id, updated_at: seen, content }
        }
        1 => QueueEdit::Remove { item_id, updated_at },
        _ => QueueEdit::Move { item_id, updated_at, to: chance.index(3) },
    };
    Some(CommandAction::EditQueue { queue, edit })
}

#[expect(clippy::unnecessary_wraps, reason = "it is drawn like the other actions")]
fn retitle(_: &SessionView, chance: &mut Chance) -> Option<CommandAction> {
    let title = format!("title {}", chance.below(100));
    let body = Body::SessionTitleUpdated(SessionTitleUpdated { title, source: TitleSource::User });
    Some(CommandAction::Append(Box::new(body)))
}

async fn branch(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        some_session(&world.oracle, &mut world.chance).map(|id| {
            let view = &world.oracle.sessions[&id];
            let place = some_event(Some(view), &mut world.chance);
            let expected_leaf = world.chance.percent(40).then(|| view.leaf_id());
            (id, place, expected_leaf)
        })
    };
    let Some((id, place, expected_leaf)) = drawn else { return };
    let (client_id, user_id) = ("sim".to_owned(), "owner".to_owned());
    let command = BranchCommand { id: scene.new_event_id(), client_id, user_id, expected_leaf };
    scene.world.note(format!("branches {}", short(id)));
    let moved = scene.within("a branch", scene.client.branch(id, place, command)).await;
    let mut world = scene.world.lock();
    match moved {
        Some(Ok(_)) => world.tally.branches += 1,
        Some(Err(error)) => world.note(format!("not branched: {}", words(&error))),
        None => (),
    }
}

async fn clone(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        some_session(&world.oracle, &mut world.chance).map(|id| {
            let view = &world.oracle.sessions[&id];
            let place = some_event(Some(view), &mut world.chance);
            (id, world.chance.percent(50).then_some(place))
        })
    };
    let Some((source, at)) = drawn else { return };
    let id = scene.new_session_id();
    scene.world.note(format!("clones {} as {}", short(source), short(id)));
    let cloned = scene.within("a clone", scene.client.clone_session(source, at, id)).await;
    let mut world = scene.world.lock();
    match cloned {
        Some(Ok(_)) => world.tally.clones += 1,
        Some(Err(error)) => world.note(format!("not cloned: {}", words(&error))),
        None => (),
    }
}

async fn remove(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        some_session(&world.oracle, &mut world.chance)
    };
    let Some(id) = drawn else { return };
    scene.world.note(format!("removes {}", short(id)));
    let removed = scene.within("a removal", scene.client.remove(id)).await;
    let mut world = scene.world.lock();
    match removed {
        Some(Ok(())) => world.tally.removals += 1,
        Some(Err(error)) => world.note(format!("not removed: {}", words(&error))),
        None => (),
    }
}

/// Gives an earlier command again, under its id: its author does not know what came of it.
async fn repeat(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        world.chance.pick(&world.oracle.commands).cloned()
    };
    if let Some((id, command)) = drawn {
        scene.give(id, command).await;
    }
}

fn watch(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        some_session(&world.oracle, &mut world.chance)
    };
    if let Some(id) = drawn {
        scene.watch(id);
    }
}

fn set_clock(scene: &Scene) {
    let now = scene.clock.now();
    let mut world = scene.world.lock();
    world.tally.clock_jumps += 1;
    let by = world.chance.magnitude(30);
    let is_forward = world.chance.percent(50);
    let time = if is_forward { now + by } else { now.saturating_sub(by).max(START) };
    world.note(format!("the clock is set from {now} to {time}"));
    drop(world);
    scene.clock.jump_to(time);
}
