//! `kith model test`: one short turn that shows what works with a model.
//!
//! It is a turn like any other, in a thread of its own, `system:probe:<model>`. Its session is removed
//! when it is over: what it used stays in the books, and nobody finds a conversation they never had.

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kith_host::calls::feed::{AnswerDeltaKind, TurnItem};
use kith_host::calls::message::{Acknowledgement, MessageTarget, SendMessage};
use kith_host::calls::models::FactOrigin;
use kith_host::calls::session::RemoveSession;
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::CallError;
use kith_host::models::{ChosenModel, ModelRegistry};
use kith_host::settings::watch::SettingsWatch;
use kith_vocab::block::Block;
use kith_vocab::clock::Clock;
use kith_vocab::event::Body;
use kith_vocab::event::models::FailureKind;
use kith_vocab::ids::ThreadId;
use kith_vocab::ingress::RunningBehavior;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::model::window_in_words;
use super::{CommandResult, client_of, exit_of_check, house_of, leave, print_form, print_notes};
use crate::program::args::GlobalArgs;
use crate::program::signals::StopSignal;
use crate::program::ui;

/// How often removing the session is tried.
const REMOVE_TRIES_MAX: usize = 20;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

const PROBE: &str = "call the tool list_files with {\"path\":\".\"}";

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestForm {
    model: String,
    checks: Vec<ModelCheck>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ModelCheck {
    check: &'static str,
    /// `null`: it could not be checked.
    ok: Option<bool>,
    detail: String,
}

/// Observations of the turn.
#[derive(Clone, Debug, Default)]
struct Probe {
    has_streamed: bool,
    has_answered: bool,
    has_called: bool,
    failure: Option<(FailureKind, String)>,
}

pub(super) async fn run(shared: &GlobalArgs, name: Option<String>) -> CommandResult {
    let house = house_of(shared)?;
    let watch = SettingsWatch::open(&house)?;
    let settings = watch.last_good();
    let chosen = ModelRegistry::new(Arc::clone(&watch)).choose(name.as_deref(), &settings)?;
    let model = chosen.refs.first().map(|it| it.name.clone()).unwrap_or_default();
    let message = SendMessage {
        client_message_id: SystemClock.new_id().to_string(),
        text: PROBE.to_owned(),
        agent_id: Some(settings.team.choose(shared.agent())?.id.clone()),
        thread_id: thread_of(&model)?,
        target: MessageTarget::New,
        cwd: house.cwd.display().to_string(),
        model: name,
        expects: chosen.name.clone(),
        expected_leaf: None,
        running_behavior: RunningBehavior::FollowUp,
        ack: Acknowledgement::Completed,
        attachments: Vec::new(),
    };
    let client = client_of(shared, house);
    let mut stop = StopSignal::listen()?;
    let (seen, cancel) = (Arc::new(Mutex::new(Probe::default())), CancellationToken::new());
    let watch = (Arc::clone(&seen), cancel.clone());
    let see = move |item: TurnItem| {
        let mut probe = watch.0.lock().unwrap_or_else(PoisonError::into_inner);
        probe.see(&item);
        if probe.failure.is_some() {
            // A test neither waits for another attempt nor asks another model.
            watch.1.cancel();
        }
    };
    let asked = tokio::select! {
        answer = client.follow(message, see, cancel) => answer,
        _ = stop.received() => Err(CallError::stopped("stopped")),
    };
    if let Ok(told) = &asked {
        let session = told.data.answer.session_id.to_string();
        remove(&client, session).await;
    }
    leave(client, &mut stop).await;
    let told = asked?;
    let probe = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let checks = checks_of(&probe, &chosen);
    print_notes(&told.notes);
    Ok(print(shared, &TestForm { model, checks }))
}

/// Removes the session of the test. A turn that was stopped may need a moment to rest.
async fn remove(client: &Client, session: String) {
    for _ in 0..REMOVE_TRIES_MAX {
        let call = RemoveSession { session: session.clone() };
        if client.call(call).await.is_ok() {
            return;
        }
        tokio::time::sleep(REMOVE_PAUSE).await;
    }
    ui::note(&format!("the session of the test was not removed; `kith session rm {session}` does"));
}

/// The thread of a test. Control characters of the model's name are left out.
fn thread_of(model: &str) -> Result<ThreadId, CallError> {
    let name: String = model.chars().filter(|ch| !ch.is_control()).take(200).collect();
    format!("system:probe:{name}").parse().map_err(|error| CallError::invalid(format!("{error}")))
}

fn print(shared: &GlobalArgs, form: &TestForm) -> ExitCode {
    let is_sound = form.checks.iter().all(|it| it.ok == Some(true));
    if shared.json {
        print_form(is_sound, form);
    } else {
        for ModelCheck { check, ok, detail } in &form.checks {
            let word = match ok {
                Some(true) if !detail.is_empty() => {
                    ui::line(&format!("{check:<14}{detail}"));
                    continue;
                }
                Some(true) => "yes",
                Some(false) => "no",
                None => "not checked",
            };
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            ui::line(&format!("{check:<14}{word}{detail}"));
        }
    }
    exit_of_check(is_sound)
}

impl Probe {
    fn see(&mut self, item: &TurnItem) {
        match item {
            TurnItem::Event(event) => match &event.body {
                Body::AssistantMessage(it) => {
                    self.has_answered = true;
                    let is_call = |block: &Block| matches!(block, Block::ToolCall(_));
                    self.has_called |= it.message.content.iter().any(is_call);
                }
                Body::ModelFailed(it) => {
                    self.failure.get_or_insert((it.kind, it.message.to_string()));
                }
                _ => (),
            },
            TurnItem::Delta(delta) => self.has_streamed |= delta.kind != AnswerDeltaKind::Progress,
            TurnItem::Running(deltas) => self.has_streamed |= !deltas.is_empty(),
            TurnItem::Note(_) => (),
        }
    }
}

fn checks_of(probe: &Probe, chosen: &ChosenModel) -> Vec<ModelCheck> {
    let failed = probe.failure.as_ref();
    let is = |kinds: &[FailureKind]| failed.is_some_and(|(kind, _)| kinds.contains(kind));
    let why = || failed.map(|(_, message)| message.clone()).unwrap_or_default();
    let check = |check, ok: Option<bool>, detail: &str| {
        let detail = if ok == Some(false) { detail.to_owned() } else { String::new() };
        ModelCheck { check, ok, detail }
    };
    let reached = if is(&[FailureKind::Network, FailureKind::Timeout, FailureKind::Loading]) {
        Some(false)
    } else {
        // A request that a budget refuses is not sent.
        (probe.has_answered || failed.is_some() && !is(&[FailureKind::Budget])).then_some(true)
    };
    let accepted = match reached {
        Some(true) if is(&[FailureKind::Auth]) => Some(false),
        Some(true) => Some(true),
        _ => None,
    };
    let streams = match accepted {
        Some(true) => Some(probe.has_answered && probe.has_streamed),
        _ => None,
    };
    let calls = probe.has_answered.then_some(probe.has_called);
    let window = chosen.provider.choice().context_window;
    let size = match chosen.context_window_from {
        FactOrigin::Unknown if chosen.name.server.is_some() => format!(
            "{}; if it is another, set `contextWindow` in kith.toml",
            window_in_words(window, FactOrigin::Unknown)
        ),
        FactOrigin::Unknown => format!("{window} tokens"),
        from => window_in_words(window, from),
    };
    vec![
        check(
            "reachable",
            reached,
            &format!("{}; check that its server runs and `baseUrl`", why()),
        ),
        check("key accepted", accepted, &format!("{}; set another key", why())),
        check(
            "streams",
            streams,
            &format!("{}; check `model` and `wire`", nothing_if_empty(why())),
        ),
        check(
            "calls a tool",
            calls,
            "it answered in words; use a model made for tool calls (llama.cpp's server needs \
             `--jinja`)",
        ),
        ModelCheck { check: "context size", ok: Some(true), detail: size },
    ]
}

fn nothing_if_empty(why: String) -> String {
    if why.is_empty() { "its answer came in one piece".to_owned() } else { why }
}
