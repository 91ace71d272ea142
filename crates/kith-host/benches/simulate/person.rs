//! What people do: say things, take them back, go elsewhere, look, and set the clock.

use kith_engine::feed::ThreadKey;
use kith_host::call::Follower;
use kith_host::caller::Caller;
use kith_host::calls::feed::TurnItem;
use kith_host::calls::message::{
    Acknowledgement, CancelTurn, MessageTarget, RetryTurn, SendMessage,
};
use kith_host::calls::queue::{EditQueue, QueueChange};
use kith_host::calls::session::{
    CompactSession, CreateDialog, ListSessions, ReadProgress, RemoveSession, RenameSession,
    RepairSession, ShowSession, VerifyProgress, VerifySession,
};
use kith_host::calls::tree::{BranchSession, CloneSession};
use kith_testkit::clock::START;
use kith_vocab::clock::Clock;
use kith_vocab::event::control::Queue;
use kith_vocab::ids::{LeafId, SessionId, ThreadId};
use kith_vocab::ingress::RunningBehavior;
use tokio_util::sync::CancellationToken;

use super::chance::Chance;
use super::client::words;
use super::command::SimCommand;
use super::journal::short;
use super::oracle::{Oracle, SessionView, WaitsFor};
use super::plan::Plan;
use super::scene::Scene;
use super::settings::AGENT_IDS;

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
        0..38 => say(scene),
        38..41 => compact(scene).await,
        41..48 => say_again(scene),
        48..55 => cancel(scene).await,
        55..61 => retry(scene).await,
        61..66 => take_next(scene).await,
        66..72 => edit_queue(scene).await,
        72..78 => branch(scene).await,
        78..82 => clone(scene).await,
        82..85 => remove(scene).await,
        85..87 => rename(scene).await,
        87..89 => create(scene).await,
        89 => scene.choose_models_anew(),
        90..92 => repeat(scene).await,
        92 => repair(scene).await,
        93..95 => look(scene).await,
        95..97 => watch(scene),
        97..99 => watch_thread(scene),
        99 => scene.follow_house(),
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

fn some_thread(plan: &Plan, chance: &mut Chance) -> ThreadKey {
    let thread_id = format!("cli:room:{}", chance.below(plan.n_threads)).parse().unwrap();
    let agent_id = AGENT_IDS[chance.index(usize::try_from(plan.n_agents).unwrap_or(1))];
    ThreadKey { agent_id: agent_id.to_owned(), thread_id }
}

/// Draws a message and the session it is meant for.
fn draw_message(scene: &Scene) -> SendMessage {
    let mut guard = scene.world.lock();
    let world = &mut *guard;
    let (plan, chance, oracle) = (&world.plan, &mut world.chance, &mut world.oracle);
    oracle.n_keys += 1;
    let client_message_id = format!("m{}", oracle.n_keys);
    let ThreadKey { agent_id, thread_id } = some_thread(plan, chance);
    let mut agent_id = (agent_id != AGENT_IDS[0] || chance.percent(50)).then_some(agent_id);
    let mut target = MessageTarget::Current;
    let mut expected_leaf = None;
    if chance.percent(plan.other_sessions) {
        target = MessageTarget::New;
        if chance.percent(70)
            && let Some(id) = some_session(oracle, chance)
        {
            target = MessageTarget::Session(id.to_string());
            agent_id = None;
            if chance.percent(20) {
                let view = &oracle.sessions[&id];
                let stale = some_event(Some(view), chance);
                let is_stale = chance.percent(20);
                expected_leaf = Some(if is_stale { stale } else { view.leaf_id() });
            }
        }
    }
    let running_behavior =
        if chance.percent(35) { RunningBehavior::Steer } else { RunningBehavior::FollowUp };
    let models = scene.models();
    let names = models.names();
    let model = chance.percent(50).then(|| names[chance.index(names.len())].to_owned());
    let text = if chance.percent(3) {
        "long ".repeat(20_000)
    } else {
        format!("message {client_message_id}")
    };
    let mut expects = models.expected(model.as_deref());
    if chance.percent(2) {
        "some-other-model".clone_into(&mut expects.model);
    }
    SendMessage {
        client_message_id,
        text,
        agent_id,
        thread_id,
        target,
        cwd: "/work".to_owned(),
        model,
        expects,
        expected_leaf,
        running_behavior,
        ack: Acknowledgement::Completed,
        attachments: Vec::new(),
    }
}

fn say(scene: &Scene) {
    let message = draw_message(scene);
    let caller = scene.client.caller.clone();
    scene.world.lock().oracle.sent.push((caller.clone(), message.clone()));
    deliver(scene, caller, message);
}

/// Platforms deliver twice, and people whose program died try again.
fn say_again(scene: &Scene) {
    let again = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        world.chance.pick(&world.oracle.sent).cloned()
    };
    let Some((caller, mut message)) = again else { return say(scene) };
    message.expects = scene.models().expected(message.model.as_deref());
    deliver(scene, caller, message);
}

/// Sends the message. Its author waits for what comes of it, and may stop it before.
fn deliver(scene: &Scene, caller: Caller, message: SendMessage) {
    let key = caller.message_key(&message.client_message_id);
    let place = match &message.target {
        MessageTarget::Session(id) => id[id.len() - 4..].to_owned(),
        other => format!("{other:?}"),
    };
    let (model, behavior) = (&message.model, message.running_behavior);
    let thread_id = &message.thread_id;
    scene.world.note(format!("says {key} in {thread_id} {place} {model:?} {behavior:?}"));
    let stops_after = scene.world.draw(|chance| chance.percent(12).then(|| chance.magnitude(16)));
    let mut scene = scene.clone();
    scene.client.caller = caller;
    let world = scene.world.clone();
    world.spawn(async move {
        let cancel = CancellationToken::new();
        let follower = Follower::<TurnItem>::new(|_, _| Ok(()), cancel.clone());
        let work = scene.client.ask(message, follower);
        let stopping = async {
            let Some(ms) = stops_after else { return std::future::pending().await };
            scene.clock.sleep(ms).await;
            scene.world.note(format!("{key} is stopped by its author"));
            cancel.cancel();
            std::future::pending().await
        };
        let work = async {
            tokio::select! {
                biased;
                answer = work => answer,
                never = stopping => never,
            }
        };
        let answer = scene.waiting(WaitsFor::Message(key.clone()), work).await;
        match answer {
            Ok(reply) => scene.world.note(format!("{key} came to {:?}", reply.answer.end)),
            Err(error) => scene.world.note(format!("{key} is refused: {}", words(&error))),
        }
    });
}

async fn cancel(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    let call = CancelTurn { session: id.to_string(), cancel_id: scene.new_event_id() };
    scene.command(SimCommand::Cancel(id, call)).await;
}

async fn compact(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    let (session, compact_id) = (id.to_string(), scene.new_event_id());
    scene
        .command(SimCommand::Compact(id, CompactSession { session, compact_id, model: None }))
        .await;
}

async fn retry(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    let call = RetryTurn { session: id.to_string(), retry_id: scene.new_event_id() };
    scene.command(SimCommand::Retry(id, call)).await;
}

fn drawn_session(scene: &Scene) -> Option<SessionId> {
    let mut guard = scene.world.lock();
    let world = &mut *guard;
    some_session(&world.oracle, &mut world.chance)
}

async fn take_next(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    scene.take_next(id).await;
}

async fn edit_queue(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        let id = some_session(&world.oracle, &mut world.chance);
        id.and_then(|id| Some((id, draw_edit(&world.oracle.sessions[&id], &mut world.chance)?)))
    };
    let Some((id, (queue, change))) = drawn else { return };
    let (session, edit_id) = (id.to_string(), scene.new_event_id());
    let call = EditQueue { session, edit_id, queue, change };
    scene.command(SimCommand::EditQueue(id, call)).await;
}

fn draw_edit(view: &SessionView, chance: &mut Chance) -> Option<(Queue, QueueChange)> {
    let queue = if chance.percent(70) { Queue::FollowUp } else { Queue::Steer };
    let item = chance.pick(view.queue(queue))?.clone();
    let (item_id, seen) = (item.id, item.updated_at);
    let updated_at = chance.percent(50).then_some(seen);
    let change = match chance.below(3) {
        0 => {
            let text = format!("edited {}", chance.below(100));
            QueueChange::Replace { item_id, updated_at: seen, text }
        }
        1 => QueueChange::Remove { item_id, updated_at },
        _ => {
            let to = u32::try_from(chance.index(3)).unwrap_or_default();
            QueueChange::Move { item_id, updated_at, to }
        }
    };
    Some((queue, change))
}

async fn rename(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    let title = scene.world.draw(|chance| format!("title {}", chance.below(100)));
    let call = RenameSession { session: id.to_string(), title };
    try_to(scene, format!("rename {}", short(id)), scene.client.call(call)).await;
}

/// Does something that is answered at once, and notes what came of it. True if it was done.
async fn try_to<T>(
    scene: &Scene,
    what: String,
    work: impl Future<Output = Result<T, kith_host::error::CallError>>,
) -> Option<T> {
    scene.world.note(what.clone());
    match scene.within(&what, work).await? {
        Ok(answer) => Some(answer),
        Err(error) => {
            scene.world.note(format!("not done: {what}: {}", words(&error)));
            None
        }
    }
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
    let (session, to) = (id.to_string(), place.to_string());
    let call = BranchSession { session, to, expected_leaf, branch_id: scene.new_event_id() };
    scene.command(SimCommand::Branch(id, call)).await;
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
    let (session, at) = (source.to_string(), at.map(|at| at.to_string()));
    let call = CloneSession { session, at, clone_id: scene.new_session_id() };
    scene.command(SimCommand::Clone(source, call)).await;
}

async fn remove(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    let call = RemoveSession { session: id.to_string() };
    let done = try_to(scene, format!("remove {}", short(id)), scene.client.call(call)).await;
    scene.world.lock().tally.removals += u64::from(done.is_some());
}

/// Begins a session before anything is said in it.
async fn create(scene: &Scene) {
    let ThreadKey { agent_id, thread_id } = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        some_thread(&world.plan, &mut world.chance)
    };
    let session_id = scene.new_session_id();
    let thread_id: ThreadId = thread_id;
    let cwd = "/work".to_owned();
    let agent_id = Some(agent_id);
    let call = CreateDialog {
        session_id: Some(session_id),
        agent_id,
        thread_id: Some(thread_id),
        cwd: Some(cwd),
        priming: None,
    };
    try_to(scene, format!("create {}", short(session_id)), scene.client.call(call)).await;
}

/// Looks at what there is, without changing anything.
async fn look(scene: &Scene) {
    let Some(id) = drawn_session(scene) else { return };
    let session = id.to_string();
    match scene.world.draw(|chance| chance.below(3)) {
        0 => {
            let call = ListSessions { agent_id: None };
            let work = scene.client.ask(call, Follower::<ReadProgress>::none());
            try_to(scene, "list".to_owned(), work).await;
        }
        1 => {
            let call = ShowSession { session };
            try_to(scene, "show".to_owned(), scene.client.call(call)).await;
        }
        _ => {
            let follower = Follower::<VerifyProgress>::none();
            let work = scene.client.ask(VerifySession { session }, follower);
            let verified = try_to(scene, "verify".to_owned(), work).await;
            if verified.is_some_and(|it| !it.mismatches.is_empty()) {
                scene.world.violate(format!("a request of session {id} is not rebuilt"));
            }
        }
    }
}

/// Has a damaged session copied, as far as it can be read. Mostly it is whole.
async fn repair(scene: &Scene) {
    let id = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        let damaged: Vec<SessionId> = world.oracle.damaged.keys().copied().collect();
        let damaged = world.chance.pick(&damaged).copied();
        damaged.or_else(|| some_session(&world.oracle, &mut world.chance))
    };
    let Some(id) = id else { return };
    let call = RepairSession { session: id.to_string() };
    try_to(scene, format!("repair {}", short(id)), scene.client.call(call)).await;
}

/// Gives an earlier command again, under its id: its author does not know what came of it.
async fn repeat(scene: &Scene) {
    let drawn = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        world.chance.pick(&world.oracle.commands).cloned()
    };
    if let Some(command) = drawn {
        scene.give(command).await;
    }
}

fn watch(scene: &Scene) {
    if let Some(id) = drawn_session(scene) {
        scene.watch(id);
    }
}

fn watch_thread(scene: &Scene) {
    let thread = {
        let mut guard = scene.world.lock();
        let world = &mut *guard;
        some_thread(&world.plan, &mut world.chance)
    };
    scene.watch_thread(thread);
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
