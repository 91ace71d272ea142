//! The protocol between a host and its clients: one JSON object per line.
//!
//! The first line of a client is a `hello`; then come requests, each with an id of the client's,
//! and the host answers each once. Before that it sends the items of a follow. The body of a
//! request is kept as text until the call's own type reads it, and so is the answer.
//!
//! An event in an item is as it stands in the session's log: a text of more than 64 KiB that the log
//! keeps in a blob is named, `{"blob", "bytes", "preview"}`, and its pages are read by `read_blob`,
//! also from a host that is ending.

use std::io;

use kith_vocab::json::Json;
use kith_vocab::tagged_enum;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};

use crate::caller::Caller;
use crate::error::CallError;

pub const PROTOCOL: u32 = 3;
/// A longer line is refused and its connection closed.
pub const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of a request, which may carry attachments as base64 beside a long text.
pub const REQUEST_BYTES_MAX: usize = 48 * 1024 * 1024;
/// Maximum length of the name that a client gives itself.
const CLIENT_ID_BYTES_MAX: usize = 64;
/// The type of a request that stops another one.
pub const CANCEL: &str = "cancel";

tagged_enum! {
    /// The first line of a client.
    pub enum Greeting {
        Hello(ClientHello) = "hello",
    }
}

/// What a client says of itself. What it may do follows from the way it came, not from this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientHello {
    pub protocol: u32,
    pub client_id: String,
    /// Whether somebody is there who can be asked.
    #[serde(default = "yes")]
    pub attended: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

fn yes() -> bool {
    true
}

impl ClientHello {
    pub fn of(caller: &Caller) -> ClientHello {
        ClientHello {
            protocol: PROTOCOL,
            client_id: caller.client_id.clone(),
            attended: caller.attended,
            language: caller.language.clone(),
        }
    }

    /// Who speaks over a socket that only the owner of the house can open. What a client calls
    /// itself stands in every event it causes, so it must be short.
    pub fn into_caller(self) -> Result<Caller, CallError> {
        let is_name = |it: &str| {
            !it.is_empty() && it.len() <= CLIENT_ID_BYTES_MAX && !it.contains(char::is_control)
        };
        if !is_name(&self.client_id) || !self.language.as_deref().is_none_or(is_name) {
            let message = format!(
                "`clientId` and `language` must have 1 to {CLIENT_ID_BYTES_MAX} bytes, without \
                 control characters"
            );
            return Err(CallError::invalid(message));
        }
        let caller = Caller::owner(self.client_id).speaking(self.language);
        Ok(if self.attended { caller } else { caller.unattended() })
    }
}

/// What a client sends after its greeting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestFrame {
    /// The name of a call, or [`CANCEL`].
    #[serde(rename = "type")]
    pub name: String,
    pub request_id: String,
    #[serde(default = "Json::empty_object")]
    pub body: Json,
}

tagged_enum! {
    /// What a host sends.
    pub enum HostFrame {
        Hello(HostHello) = "hello",
        Response(ResponseFrame) = "response",
        Error(ErrorFrame) = "error",
        Item(ItemFrame) = "item",
        Alive(KeepAlive) = "alive",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostHello {
    pub protocol: u32,
}

/// Sent when there is nothing else to send, so that a host that is stopped can be told from one
/// that is busy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeepAlive {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseFrame {
    pub request_type: String,
    pub request_id: String,
    pub ok: bool,
    /// The answer of the call.
    pub data: Json,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorFrame {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub ok: bool,
    #[serde(flatten)]
    pub error: CallError,
}

/// An item of a follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemFrame {
    pub request_type: String,
    pub request_id: String,
    pub item: Json,
}

impl HostFrame {
    pub fn error(request_id: Option<String>, error: CallError) -> HostFrame {
        HostFrame::Error(ErrorFrame { request_id, ok: false, error })
    }
}

/// The lines that come from the other side.
pub struct Frames<R> {
    reader: R,
    /// What has come of the next line. It is kept here so that nothing of it is lost when whoever
    /// waits for it turns to something else.
    line: Vec<u8>,
}

impl<R: AsyncBufRead + Unpin> Frames<R> {
    pub fn new(reader: R) -> Frames<R> {
        Frames { reader, line: Vec::new() }
    }

    /// Reads the next line and what it says; `None` at the end.
    pub async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                // A line that was cut off is as good as none: the other side is gone.
                return Ok(None);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let n_taken = end.map_or(available.len(), |end| end + 1);
            if self.line.len() + n_taken > REQUEST_BYTES_MAX {
                return Err(invalid(format!("longer than {REQUEST_BYTES_MAX} bytes")));
            }
            self.line.extend_from_slice(&available[..n_taken]);
            self.reader.consume(n_taken);
            if end.is_some() {
                break;
            }
        }
        let line = std::mem::take(&mut self.line);
        read_frame(&line).map(Some)
    }
}

/// Reads a frame, which must be an object: serde would also take an array for one, value by value.
pub(crate) fn read_frame<T: DeserializeOwned>(frame: &[u8]) -> io::Result<T> {
    let no_message = || invalid(format!("not a message of protocol {PROTOCOL}"));
    if frame.trim_ascii_start().starts_with(b"[") {
        return Err(no_message());
    }
    serde_json::from_slice(frame).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => no_message(),
        _ => invalid(format!("not JSON: {error}")),
    })
}

/// The line that says this; `None` if it would be longer than a line may be.
pub fn frame(said: &impl Serialize) -> Option<Vec<u8>> {
    line_of(said).filter(|line| line.len() <= FRAME_BYTES_MAX)
}

fn line_of(said: &impl Serialize) -> Option<Vec<u8>> {
    let mut line = serde_json::to_vec(said).ok()?;
    line.push(b'\n');
    Some(line)
}

/// What is sent in place of an answer that no line can hold.
pub(crate) fn answer_too_long() -> CallError {
    CallError::invalid(format!("the answer is longer than {FRAME_BYTES_MAX} bytes"))
        .hint("run the command without `--from-host`, or read the session in pages")
}

/// Writes the line of a client.
pub async fn write_frame(
    writer: &mut (impl AsyncWrite + Unpin),
    said: &impl Serialize,
) -> io::Result<()> {
    writer.write_all(&request_line(said)?).await?;
    writer.flush().await
}

/// The line of a client; refused if it would be longer than a request may be.
pub fn request_line(said: &impl Serialize) -> io::Result<Vec<u8>> {
    let line = line_of(said).filter(|line| line.len() <= REQUEST_BYTES_MAX);
    line.ok_or_else(|| invalid(format!("it would be longer than {REQUEST_BYTES_MAX} bytes")))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests;
