//! `kith ask`: sends a message and prints the answer.

use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::Arc;

use kith_host::attachments::read_files;
use kith_host::call::{Follow, Reply, Response};
use kith_host::calls::feed::TurnItem;
use kith_host::calls::message::{
    Acknowledgement, MessageAnswer, MessageOutcome, MessageReply, MessageTarget, ModelName,
    SendMessage, TurnEnd,
};
use kith_host::calls::session::CreateDialog;
use kith_host::client::Client;
use kith_host::clock::SystemClock;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_host::house::House;
use kith_host::models::DEMO_LABEL;
use kith_host::words::short;
use kith_vocab::clock::Clock;
use kith_vocab::event::messages::StopReason;
use kith_vocab::header::Priming;
use kith_vocab::ingress::{MESSAGE_BYTES_MAX, RunningBehavior};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::session_name::named_session;
use super::{
    CommandResult, client_of, counted, house_of, leave, new, print_form, print_notes, remote,
    settings_of, thread_of,
};
use crate::program::args::{Ask, GlobalArgs, ModelArg, leaf_of};
use crate::program::screen::{Live, Quiet, Screen, StreamJson};
use crate::program::signals::StopSignal;
use crate::program::ui::{self, EXIT_EARLY};

pub(crate) async fn run(shared: &GlobalArgs, model: ModelArg, args: Ask) -> CommandResult {
    run_as(shared, model, args, RunningBehavior::FollowUp).await
}

/// Sends a message that waits for the end of a running turn, or steers it.
pub(super) async fn run_as(
    shared: &GlobalArgs,
    model: ModelArg,
    args: Ask,
    running_behavior: RunningBehavior,
) -> CommandResult {
    let model = args.model.model.clone().or(model.model);
    let house = house_of(shared)?;
    // Arguments are checked before the house is touched.
    let watch = settings_of(shared, &house)?;
    let settings = watch.last_good();
    let expected = remote::expected_model(shared, model.as_deref(), &watch).await?;
    // A session belongs to an agent; only a message to a thread must name one.
    let agent_id = match (&args.session, shared.named_agent()) {
        (Some(_), None) => None,
        _ => Some(settings.team.choose(shared.agent())?.id.clone()),
    };
    let message = message(&house, &args, model, expected.name)?;
    let message = match message.target {
        // Only this client knows where it stands.
        MessageTarget::Session(session) => {
            let session = named_session(shared, Some(session)).await?;
            SendMessage { target: MessageTarget::Session(session), ..message }
        }
        _ => message,
    };
    let attachments = read_files(&args.attach, expected.wire)?;
    let mut message = SendMessage { agent_id, running_behavior, attachments, ..message };
    let dialog = primed_dialog(shared, &house, &message, &args)?;
    let client = client_of(shared, house);
    let mut stop = StopSignal::listen()?;
    if let Some(dialog) = dialog {
        match primed_session(&client, dialog).await {
            Ok(session) => message.target = MessageTarget::Session(session),
            Err(error) => {
                leave(client, &mut stop).await;
                return Err(error);
            }
        }
    }

    let shown = TurnDisplay::new(shared.json, args.stream_json);
    let sent = send(&client, message, shown.screen(), &mut stop).await;
    shown.end_line();
    let printed = sent.and_then(|told| {
        let code = print(&told, &shown, &stop)?;
        if expected.by_default {
            ui::note(DEMO_LABEL);
        }
        Ok(code)
    });
    // The answer is printed; clients that attached meanwhile are still answered.
    leave(client, &mut stop).await;
    printed
}

/// The request for the session that `--prime` asks for. Scripts that cannot be used are refused here,
/// before anything is made.
fn primed_dialog(
    shared: &GlobalArgs,
    house: &House,
    message: &SendMessage,
    args: &Ask,
) -> Result<Option<CreateDialog>, CallError> {
    let Some(agent_id) = message.agent_id.clone().filter(|_| !args.prime.is_empty()) else {
        return Ok(None);
    };
    let script_refs = new::script_refs(shared, house, &agent_id, args.prime.clone())?;
    let priming = Priming { script_refs, show_in_ui: true };
    Ok(Some(new::dialog(house, agent_id, message.thread_id.clone(), priming)))
}

/// Creates a session with the history of scripts, and says so.
async fn primed_session(client: &Client, dialog: CreateDialog) -> Result<String, CallError> {
    let told = client.call(dialog).await?;
    print_notes(&told.notes);
    let (id, primed) = (told.data.session_id, counted(told.data.primed as u64, "event"));
    ui::note(&format!("started session {} with {primed} primed", short(id)));
    Ok(id.to_string())
}

/// How a turn is shown while it runs.
pub(super) struct TurnDisplay {
    as_json: bool,
    streams_json: bool,
    live: Arc<Live>,
    screen: Arc<dyn Screen>,
}

impl TurnDisplay {
    pub(super) fn new(json: bool, stream_json: bool) -> TurnDisplay {
        let as_json = json || stream_json;
        // In a pipe the text streams too; calls are told to people only.
        let live = Arc::new(if ui::is_interactive() { Live::default() } else { Live::piped() });
        let screen: Arc<dyn Screen> = match (stream_json, as_json || ui::is_quiet()) {
            (true, _) => Arc::new(StreamJson),
            (false, false) => {
                live.begin_waiting();
                live.clone()
            }
            (false, true) => Arc::new(Quiet::default()),
        };
        TurnDisplay { as_json, streams_json: stream_json, live, screen }
    }

    pub(super) fn screen(&self) -> Arc<dyn Screen> {
        Arc::clone(&self.screen)
    }

    pub(super) fn end_line(&self) {
        self.live.end_line();
    }
}

/// The last line of `--stream-json`.
#[derive(Serialize)]
struct StreamedAnswer<'a> {
    #[serde(rename = "type")]
    line_type: &'static str,
    #[serde(flatten)]
    answer: &'a MessageAnswer,
}

pub(super) fn print(
    told: &Response<MessageReply>,
    shown: &TurnDisplay,
    stop: &StopSignal,
) -> CommandResult {
    let MessageReply { answer, outcome } = &told.data;
    if let Some(error) = failure_of(outcome, stop) {
        print_notes(&told.notes);
        if *outcome == MessageOutcome::Withdrawn {
            return Err(error);
        }
        let id = short(answer.session_id);
        return Err(error.hint(format!(
            "your message is saved: `kith retry --session {id}` asks again, `kith session show {id}` \
             shows it"
        )));
    }
    if let MessageOutcome::Stopped(why) = outcome {
        tell_stopped(answer.end, why);
    }
    if shown.streams_json {
        print_form(true, &StreamedAnswer { line_type: "answer", answer });
    } else if shown.as_json {
        print_form(true, answer);
    } else if !shown.live.has_shown_text() && !answer.text.trim().is_empty() {
        ui::line(answer.text.trim_end());
    }
    print_notes(&told.notes);
    let is_early = answer.end != TurnEnd::Done || answer.stop_reason == Some(StopReason::MaxTokens);
    Ok(if is_early { ExitCode::from(EXIT_EARLY) } else { ExitCode::SUCCESS })
}

/// Says why a turn rests. A question is no note: `--quiet` must not keep it back.
pub(super) fn tell_stopped(end: TurnEnd, why: &str) {
    match end {
        TurnEnd::Waiting => ui::error_line(why),
        _ => ui::note(why),
    }
}

/// The error for a turn without an answer. A turn that this person stopped ends with the exit code of
/// Ctrl-C; one that another client stopped is a refused request.
pub(super) fn failure_of(outcome: &MessageOutcome, stop: &StopSignal) -> Option<CallError> {
    let (stopped, withdrawn) =
        ("the turn was stopped", "your message was withdrawn before it was answered");
    match outcome {
        MessageOutcome::Failed(reason) => {
            let (blame, code) = (Blame::Environment, ErrorCode::ModelFailed);
            Some(CallError::new(blame, code, reason.as_str()))
        }
        MessageOutcome::Cancelled if stop.was_received() => Some(CallError::stopped(stopped)),
        MessageOutcome::Cancelled => Some(CallError::request(ErrorCode::Cancelled, stopped)),
        MessageOutcome::Withdrawn if stop.was_received() => Some(CallError::stopped(withdrawn)),
        MessageOutcome::Withdrawn => Some(CallError::request(ErrorCode::Cancelled, withdrawn)),
        MessageOutcome::Stopped(_) | MessageOutcome::Answered | MessageOutcome::Accepted => None,
    }
}

/// Sends a message or retries a turn, and shows it. The first Ctrl-C stops the turn in order; the second
/// does not wait for that. The text so far is kept either way.
pub(super) async fn send<C: Follow<Answer = MessageReply, Item = TurnItem>>(
    client: &Client,
    message: C,
    screen: Arc<dyn Screen>,
    stop: &mut StopSignal,
) -> Reply<MessageReply> {
    follow_until_stopped(client, message, screen, stop).await.unwrap_or_else(|| {
        Err(CallError::stopped("quit without waiting for the turn to end")
            .hint("the next message finishes it"))
    })
}

/// Shows the progress of a call. The first Ctrl-C asks the host to stop it; `None` after the second.
pub(super) async fn follow_until_stopped<C: Follow<Item = TurnItem>>(
    client: &Client,
    call: C,
    screen: Arc<dyn Screen>,
    stop: &mut StopSignal,
) -> Option<Reply<C::Answer>> {
    let cancel = CancellationToken::new();
    let show = move |item: TurnItem| screen.show(&item);
    let call = client.follow(call, show, cancel.clone());
    tokio::pin!(call);
    loop {
        tokio::select! {
            answer = &mut call => return Some(answer),
            _ = stop.received() => {
                if cancel.is_cancelled() {
                    return None;
                }
                cancel.cancel();
            }
        }
    }
}

fn message(
    house: &House,
    args: &Ask,
    model: Option<String>,
    expects: ModelName,
) -> Result<SendMessage, CallError> {
    let thread_id = thread_of(house, args.thread.as_deref())?;
    let target = match (&args.session, args.new) {
        (Some(session), _) => MessageTarget::Session(session.clone()),
        (None, true) => MessageTarget::New,
        (None, false) => MessageTarget::Current,
    };
    let expected_leaf = leaf_of(args.expected_leaf.as_deref())?;
    let client_message_id = match &args.message_id {
        None => SystemClock.new_id().to_string(),
        Some(id) if id.trim().is_empty() => {
            return Err(CallError::usage("the message id is empty")
                .hint("omit `--message-id`, or give it a value"));
        }
        Some(id) => id.clone(),
    };
    let cwd = house.cwd.display().to_string();
    let text =
        if args.is_whole { checked_text(args.text.join(" ")) } else { sent_text(&args.text) }?;
    Ok(SendMessage {
        client_message_id,
        text,
        agent_id: None,
        thread_id,
        target,
        cwd,
        model,
        expects,
        expected_leaf,
        running_behavior: RunningBehavior::FollowUp,
        ack: Acknowledgement::Completed,
        attachments: Vec::new(),
    })
}

/// The words, or stdin where there are none.
pub(super) fn message_text(words: &[String]) -> Result<String, CallError> {
    let text = match words {
        [] if ui::input_is_terminal() => {
            return Err(
                CallError::usage("no message was given").hint("for example `kith ask \"hello\"`")
            );
        }
        [] => from_stdin()?,
        [dash] if dash == "-" => from_stdin()?,
        words => words.join(" "),
    };
    checked_text(text)
}

/// The words of a message, and what is piped in after them.
fn sent_text(words: &[String]) -> Result<String, CallError> {
    let is_alone = words.is_empty() || words == ["-"];
    if is_alone || !ui::input_is_piped() {
        return message_text(words);
    }
    let mut text = words.join(" ");
    let piped = from_stdin()?;
    if !piped.trim().is_empty() {
        text = format!("{text}\n\n{}", piped.trim_end_matches('\n'));
    }
    checked_text(text)
}

fn checked_text(text: String) -> Result<String, CallError> {
    if text.trim().is_empty() {
        return Err(
            CallError::usage("the message is empty").hint("for example `kith ask \"hello\"`")
        );
    }
    check_length(text.len())?;
    Ok(text)
}

pub(super) fn check_length(bytes: usize) -> Result<(), CallError> {
    if bytes <= MESSAGE_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the message is longer than {MESSAGE_BYTES_MAX} bytes");
    Err(CallError::invalid(message).hint("put it in a file and ask the agent to read it"))
}

fn from_stdin() -> Result<String, CallError> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MESSAGE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(CallError::filesystem)?;
    // A message over the limit may be cut within a character; it is refused for its length, not for that.
    check_length(bytes.len())?;
    as_text(bytes)
}

pub(super) fn as_text(bytes: Vec<u8>) -> Result<String, CallError> {
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!("stdin is not valid UTF-8 (byte {})", place + 1);
        CallError::invalid(message).hint("convert it with `iconv -t UTF-8`")
    })
}
