//! What a host and its clients say to each other: one JSON object per line.
//!
//! The first line of a client is a `hello`; then come requests, each with an id of the client's,
//! and the host answers each once. In between it pushes what it sees of the turn.

use std::io;

use kith_vocab::event::Event;
use kith_vocab::json::Json;
use kith_vocab::provider::Delta;
use kith_vocab::tagged_enum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

use crate::client::{Answer, Outcome, Request, Told};
use crate::report::{Blame, Report};

pub(crate) const PROTOCOL: u32 = 1;
/// A longer line is refused and its connection closed.
pub(crate) const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Greeting {
    Hello { protocol: u32, client_id: String },
}

/// What a client sends after its greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    pub(crate) request_id: String,
    #[serde(flatten)]
    pub(crate) wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Wanted {
    Request(Box<Request>),
    Stop(Stop),
}

/// Stops the request of that id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Stop {
    Cancel {},
}

tagged_enum! {
    /// What a host sends.
    pub(crate) enum Said {
        Hello(HostHello) = "hello",
        Response(Response) = "response",
        Error(Failure) = "error",
        Event(EventPush) = "event",
        Delta(DeltaPush) = "delta",
        Alive(Alive) = "alive",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostHello {
    pub(crate) protocol: u32,
}

/// Said when there is nothing else to say, so that a host that is stopped can be told from one that
/// is busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Alive {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Response {
    pub(crate) request_type: String,
    pub(crate) request_id: String,
    pub(crate) ok: bool,
    /// The form of the request's answer.
    pub(crate) data: Json,
    pub(crate) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<Outcome>,
}

/// A [`Report`] on its way to another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    pub(crate) ok: bool,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) blame: Blame,
    pub(crate) hints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventPush {
    pub(crate) request_id: String,
    pub(crate) event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeltaPush {
    pub(crate) request_id: String,
    pub(crate) delta: DeltaSaid,
}

/// A [`Delta`] that owns its words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DeltaSaid {
    Text(String),
    Thinking(String),
    Tool(String),
}

impl From<Delta<'_>> for DeltaSaid {
    fn from(delta: Delta<'_>) -> DeltaSaid {
        match delta {
            Delta::Text(text) => DeltaSaid::Text(text.to_owned()),
            Delta::Thinking(text) => DeltaSaid::Thinking(text.to_owned()),
            Delta::CallBegun { tool } => DeltaSaid::Tool(tool.to_owned()),
        }
    }
}

impl DeltaSaid {
    pub(crate) fn as_delta(&self) -> Delta<'_> {
        match self {
            DeltaSaid::Text(text) => Delta::Text(text),
            DeltaSaid::Thinking(text) => Delta::Thinking(text),
            DeltaSaid::Tool(tool) => Delta::CallBegun { tool },
        }
    }
}

impl Said {
    pub(crate) fn answer(request: &Request, request_id: String, answer: &Answer) -> Said {
        let (data, notes, outcome) = match answer {
            Answer::Message(told, outcome) => {
                (Json::of(&told.form), told.notes.clone(), Some(outcome.clone()))
            }
            Answer::Created(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Sessions(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Session(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Verification(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Prompt(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Renamed(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Repaired(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Found(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Removed(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Tree(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Branched(told) | Answer::Cloned(told) => {
                (Json::of(&told.form), told.notes.clone(), None)
            }
            Answer::ThreadsMade(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Repositories(told) => (Json::of(&told.form), told.notes.clone(), None),
            Answer::Trusted(told) => (Json::of(&told.form), told.notes.clone(), None),
        };
        let request_type = request.type_name().to_owned();
        Said::Response(Response { request_type, request_id, ok: true, data, notes, outcome })
    }

    pub(crate) fn failure(request_id: Option<String>, report: &Report) -> Said {
        Said::Error(Failure {
            request_id,
            ok: false,
            code: report.code.to_owned(),
            message: report.message(),
            blame: report.blame,
            hints: report.hints.clone(),
            line: report.line,
        })
    }
}

impl Response {
    /// The answer to a request of this kind.
    pub(crate) fn read(self, request: &Request) -> Result<Answer, serde_json::Error> {
        let notes = self.notes;
        Ok(match request {
            Request::SendMessage(_) => {
                let outcome = self.outcome.unwrap_or(Outcome::Answered);
                Answer::Message(Told { form: self.data.read()?, notes }, outcome)
            }
            Request::CreateDialog(_) => Answer::Created(Told { form: self.data.read()?, notes }),
            Request::ListSessions {} => Answer::Sessions(Told { form: self.data.read()?, notes }),
            Request::ShowSession { .. } => Answer::Session(Told { form: self.data.read()?, notes }),
            Request::VerifySession { .. } => {
                Answer::Verification(Told { form: self.data.read()?, notes })
            }
            Request::GetPrompt { .. } => Answer::Prompt(Told { form: self.data.read()?, notes }),
            Request::RenameSession { .. } => {
                Answer::Renamed(Told { form: self.data.read()?, notes })
            }
            Request::RepairSession { .. } => {
                Answer::Repaired(Told { form: self.data.read()?, notes })
            }
            Request::SearchSessions { .. } => {
                Answer::Found(Told { form: self.data.read()?, notes })
            }
            Request::RemoveSession { .. } => {
                Answer::Removed(Told { form: self.data.read()?, notes })
            }
            Request::ShowTree { .. } => Answer::Tree(Told { form: self.data.read()?, notes }),
            Request::BranchSession { .. } => {
                Answer::Branched(Told { form: self.data.read()?, notes })
            }
            Request::CloneSession { .. } => Answer::Cloned(Told { form: self.data.read()?, notes }),
            Request::WorkOnThreads { .. } => {
                Answer::ThreadsMade(Told { form: self.data.read()?, notes })
            }
            Request::ListRepositories {} => {
                Answer::Repositories(Told { form: self.data.read()?, notes })
            }
            Request::TrustRepository { .. } | Request::DistrustRepository { .. } => {
                Answer::Trusted(Told { form: self.data.read()?, notes })
            }
        })
    }
}

/// The lines that come from the other side.
pub(crate) struct Frames<R> {
    reader: R,
    /// What has come of the next line. It is kept here so that nothing of it is lost when whoever
    /// waits for it turns to something else.
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Frames<R> {
    pub(crate) fn new(reader: R) -> Frames<R> {
        Frames { reader, line: Vec::new() }
    }

    /// Reads the next line and what it says; `None` at the end.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                // A line that was cut off is as good as none: the other side is gone.
                return Ok(None);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let n_taken = end.map_or(available.len(), |end| end + 1);
            if self.line.len() + n_taken > FRAME_BYTES_MAX {
                return Err(invalid(format!("it is longer than {FRAME_BYTES_MAX} bytes")));
            }
            self.line.extend_from_slice(&available[..n_taken]);
            self.reader.consume(n_taken);
            if end.is_some() {
                break;
            }
        }
        let line = std::mem::take(&mut self.line);
        serde_json::from_slice(&line).map(Some).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => {
                invalid(format!("it is not among the words of protocol {PROTOCOL}"))
            }
            _ => invalid(format!("it is not JSON: {error}")),
        })
    }
}

/// The line that says this; `None` if it would be longer than a line may be.
pub(crate) fn frame(said: &impl Serialize) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(said).ok()?;
    line.push(b'\n');
    (line.len() <= FRAME_BYTES_MAX).then_some(line)
}

pub(crate) async fn write_frame(
    writer: &mut (impl AsyncWrite + Unpin),
    said: &impl Serialize,
) -> io::Result<()> {
    let too_long = || invalid(format!("it would be longer than {FRAME_BYTES_MAX} bytes"));
    writer.write_all(&frame(said).ok_or_else(too_long)?).await?;
    writer.flush().await
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests;
