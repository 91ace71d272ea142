//! `POST /api/chat` and `GET /api/chat/<id>/stream`: the AI SDK's UI message stream, for `useChat`.
//!
//! A chat's id is the id of a thread, or any short name, which is the thread `web:room:<name>`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONNECTION, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use kith_engine::ui_message::UiChunk;
use kith_vocab::ids::ThreadId;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::HttpState;
use super::api::{BODY_MS_MAX, caller_of, read_body, read_form};
use super::event_stream::EventBody;
use super::query::{decoded, query_of};
use super::reply::{self, HttpProblem, ReplyBody};
use crate::caller::{Caller, WEB};
use crate::calls::message::SentFile;
use crate::error::CallError;
use crate::host::chat::{ChatAnswer, ChatChange, ChatMessage, ChatName, ChatRequest, ChatStream};
use crate::protocol::REQUEST_BYTES_MAX;
use crate::serve::ServerState;

/// The name under which the host counts a chat among what it must finish.
const CHAT: &str = "chat";
/// Bytes of a chat's id, and of the id of a message.
const CHAT_ID_BYTES_MAX: usize = 128;
/// How often a stream that has nothing to say shows that it is there.
const CHAT_ALIVE_EVERY_MS: u64 = 5_000;
/// Events that wait for the connection.
const CHAT_EVENTS_WAITING_MAX: usize = 16;

/// A request of `useChat`. Only the last message and answers to questions that wait are read from it:
/// the history is the house's own.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatForm {
    /// A thread id, or a name of letters, digits, `-`, `_` and `.`.
    id: String,
    messages: Vec<ChatMessageForm>,
    #[serde(default)]
    trigger: ChatTrigger,
    /// The message that is edited, answered or asked for again.
    #[serde(default)]
    message_id: Option<String>,
    /// Whom the chat is with; without it, the default agent.
    #[serde(default)]
    agent_id: Option<String>,
    /// A model of the house, by its name in the settings.
    #[serde(default)]
    model: Option<String>,
    /// The folder in which a new conversation begins; without it, the house.
    #[serde(default)]
    cwd: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ChatTrigger {
    #[default]
    SubmitMessage,
    RegenerateMessage,
}

#[derive(Deserialize, JsonSchema)]
struct ChatMessageForm {
    id: String,
    role: ChatRole,
    #[serde(default)]
    parts: Vec<ChatPartForm>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChatRole {
    System,
    User,
    Assistant,
}

/// What of a part is read; everything else in it is the client's own affair.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ChatPartForm {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    /// Of a file: a `data:` URL.
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    filename: Option<String>,
    #[serde(default)]
    approval: Option<ChatApprovalForm>,
}

#[derive(Deserialize, JsonSchema)]
struct ChatApprovalForm {
    id: String,
    #[serde(default)]
    approved: Option<bool>,
    #[serde(default)]
    reason: Option<String>,
}

/// Answers a message, or goes on after answers to questions.
pub(super) async fn send(
    request: Request<Incoming>,
    state: &Arc<HttpState>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    let caller = caller_of(request.headers())?;
    let until = state.access.until_logout(request.headers());
    let body = read_body(request, REQUEST_BYTES_MAX, BODY_MS_MAX).await?;
    let form: ChatForm = read_form(CHAT, &body)?;
    let request = form.into_request()?;
    let (stream, token) = begin(&state.server, caller, request).await?;
    Ok(stream_response(stream, token, until, state))
}

/// Does what a request asks for, on its own: a client that leaves in the middle must not leave the
/// conversation moved back without its message, or half of its answers given.
async fn begin(
    server: &ServerState,
    caller: Caller,
    request: ChatRequest,
) -> Result<(ChatStream, TaskTrackerToken), HttpProblem> {
    let token = server.admit(CHAT).ok_or_else(HttpProblem::ending)?;
    let host = Arc::clone(&server.host);
    let beginning = tokio::spawn(async move {
        let stream = host.begin_chat(&caller, request).await;
        stream.map(|stream| (stream, token))
    });
    Ok(beginning.await.map_err(|_| CallError::failed_request())??)
}

/// Tells the running turn of a chat again, from its beginning.
pub(super) async fn resume(
    id: &str,
    request: &Request<Incoming>,
    state: &Arc<HttpState>,
) -> Result<Response<ReplyBody>, HttpProblem> {
    let caller = caller_of(request.headers())?;
    let [agent_id] = query_of(request.uri(), ["agentId"])?;
    let chat = chat_name(decoded(id)?, agent_id)?;
    let until = state.access.until_logout(request.headers());
    let token = state.server.admit(CHAT).ok_or_else(HttpProblem::ending)?;
    match state.server.host.resume_chat(&caller, &chat).await? {
        Some(stream) => Ok(stream_response(stream, token, until, state)),
        None => Ok(reply::no_content()),
    }
}

/// The id of a chat in a path that asks for its stream.
pub(super) fn id_in(path: &str) -> Option<&str> {
    let id = path.strip_prefix("/api/chat/")?.strip_suffix("/stream")?;
    (!id.is_empty() && !id.contains('/')).then_some(id)
}

fn stream_response(
    stream: ChatStream,
    token: TaskTrackerToken,
    until: CancellationToken,
    state: &Arc<HttpState>,
) -> Response<ReplyBody> {
    let (sender, receiver) = mpsc::channel(CHAT_EVENTS_WAITING_MAX);
    let over = state.server.over.clone();
    state.server.connections.spawn(async move {
        tokio::select! {
            biased;
            () = over.cancelled() => (),
            () = until.cancelled() => (),
            // The client has left; the turn goes on, and can be asked for again.
            () = sender.closed() => (),
            () = tell(stream, &sender) => (),
        }
        drop(token);
    });
    let kind = HeaderValue::from_static("text/event-stream");
    let mut response = reply::response(StatusCode::OK, kind, EventBody(receiver).boxed_unsync());
    let headers = response.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-cache"),
        (CONNECTION, "keep-alive"),
        (HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn tell(mut stream: ChatStream, sender: &mpsc::Sender<Bytes>) {
    let alive_every = Duration::from_millis(CHAT_ALIVE_EVERY_MS);
    loop {
        let next = tokio::time::timeout(alive_every, stream.next()).await;
        let (bytes, is_last) = match next {
            Err(_) => (Bytes::from_static(b": alive\n\n"), false),
            Ok(Some(chunks)) => (events_of(&chunks), false),
            Ok(None) => (Bytes::from_static(b"data: [DONE]\n\n"), true),
        };
        if sender.send(bytes).await.is_err() || is_last {
            return;
        }
    }
}

fn events_of(chunks: &[UiChunk]) -> Bytes {
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend_from_slice(b"data: ");
        // Our own types are JSON, and JSON has no line breaks of its own.
        events.extend(serde_json::to_vec(chunk).unwrap_or_default());
        events.extend_from_slice(b"\n\n");
    }
    Bytes::from(events)
}

fn chat_name(id: String, agent_id: Option<String>) -> Result<ChatName, HttpProblem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = !id.is_empty() && id.len() <= CHAT_ID_BYTES_MAX && id.bytes().all(is_plain);
    let thread = if is_name { format!("{WEB}:room:{id}") } else { id.clone() };
    let thread_id: ThreadId = thread.parse().map_err(|_| {
        HttpProblem::bad_request(&format!(
            "the id of a chat is a thread id, or 1 to {CHAT_ID_BYTES_MAX} letters, digits, `-`, `_` and `.`"
        ))
    })?;
    Ok(ChatName { id, thread_id, agent_id })
}

impl ChatForm {
    fn into_request(self) -> Result<ChatRequest, HttpProblem> {
        let chat = chat_name(self.id, self.agent_id)?;
        let answers = self.messages.iter().flat_map(answers_in).collect();
        let change = match (self.trigger, self.message_id) {
            (ChatTrigger::RegenerateMessage, id) => ChatChange::Regenerate(id),
            (ChatTrigger::SubmitMessage, Some(id)) => ChatChange::Edit(id),
            (ChatTrigger::SubmitMessage, None) => ChatChange::Append,
        };
        let last = self.messages.into_iter().next_back();
        let said = last.filter(|it| it.role == ChatRole::User).map(said_by).transpose()?;
        Ok(ChatRequest { chat, said, answers, change, model: self.model, cwd: self.cwd })
    }
}

fn answers_in(message: &ChatMessageForm) -> impl Iterator<Item = ChatAnswer> {
    let approvals = message.parts.iter().filter_map(|part| part.approval.as_ref());
    approvals.filter_map(|it| {
        Some(ChatAnswer {
            approval_id: it.id.clone(),
            approved: it.approved?,
            reason: it.reason.clone().filter(|reason| !reason.is_empty()),
        })
    })
}

fn said_by(message: ChatMessageForm) -> Result<ChatMessage, HttpProblem> {
    if message.id.is_empty() || message.id.len() > CHAT_ID_BYTES_MAX {
        let problem = format!("the id of a message must have 1 to {CHAT_ID_BYTES_MAX} bytes");
        return Err(HttpProblem::bad_request(&problem));
    }
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for part in message.parts {
        match part.kind.as_str() {
            "text" => texts.extend(part.text),
            "file" => files.push(sent_file(part)?),
            // Other parts are shown to people; a person's message has none that says something.
            _ => (),
        }
    }
    Ok(ChatMessage { id: message.id, text: texts.join("\n"), files })
}

fn sent_file(part: ChatPartForm) -> Result<SentFile, HttpProblem> {
    let url = part.url.unwrap_or_default();
    // Nothing is fetched for a client: an address could lead anywhere.
    let data = url.strip_prefix("data:").and_then(|it| it.split_once(";base64,"));
    let Some((_, data)) = data else {
        return Err(HttpProblem::bad_request("a file must be a `data:` URL in base64"));
    };
    let name = part.filename.unwrap_or_else(|| "file".to_owned());
    Ok(SentFile { name, data: data.to_owned() })
}

#[cfg(test)]
mod tests;
