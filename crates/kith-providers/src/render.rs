//! A request as the bytes of a vendor's wire.
//!
//! [`render`] is pure: the same request gives the same bytes, today and when a log is verified. So
//! nothing here looks at the time, the environment or a random number, and every map is written in
//! a fixed order.

use std::borrow::Cow;
use std::fmt;
use std::io;

use kith_vocab::block::{Media, Thinking};
use kith_vocab::bounded::BoundedBytes;
use kith_vocab::conversation::{
    CallResult, ElementKind, ModelRequest, ResultPart, ResultPartKind, Role,
};
use kith_vocab::event::models::Wire;
use kith_vocab::snapshot::ToolSpec;

use crate::media::{MEDIA_BYTES_MAX, MediaBytes, ShownMedia, media_of, shown, shown_below};
use crate::parameters::{PARAMETERS_MAX, Parameters};
use crate::{anthropic, openai_chat, openai_responses, tool_name};

/// The result of a tool without output: several vendors refuse an empty text.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// Roles, ids and brackets around one text of a request.
const ENVELOPE_BYTES_USUAL: usize = 160;

/// The text of a message without any content: vendors refuse an empty one.
pub(crate) const NO_TEXT: &str = "(no text)";

#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Without its instructions the model would not be this agent.
    #[error("refusing to send a request without a system prompt")]
    NoSystemPrompt,
    #[error("the parameters of model `{model}` are not a JSON object")]
    Parameters { model: String, source: serde_json::Error },
    /// Overriding such a key would make the body say something else than the log does.
    #[error("parameter `{key}` of model `{model}` is set by Kith itself; remove it")]
    ReservedParameter { model: String, key: String },
    #[error("parameter `{key}` of model `{model}` is given twice; remove one")]
    RepeatedParameter { model: String, key: String },
    #[error("model `{model}` has more than {PARAMETERS_MAX} parameters")]
    TooManyParameters { model: String },
    #[error("tool name `{name}` is too long to send; the limit is 64 characters")]
    ToolName { name: String },
    #[error("a {element} is not allowed in a message of the {role}")]
    Misplaced { element: &'static str, role: &'static str },
    #[error(
        "the images and files of the conversation have {} MiB together, and a request may carry \
         {}; go back with `kith session branch`, or start over with `kith ask --new`",
        .bytes.div_ceil(1024 * 1024),
        MEDIA_BYTES_MAX / (1024 * 1024)
    )]
    TooMuchMedia { bytes: u64 },
    #[error("the request could not be written as JSON")]
    Write(#[source] serde_json::Error),
}

/// The body of the request, byte for byte as it must be sent.
///
/// `media` has the bytes of what [`media_of`] names. What is missing there is told in words, so that a
/// session goes on whose image is lost.
pub fn render(
    wire: Wire,
    request: &ModelRequest<'_>,
    media: &MediaBytes,
) -> Result<Vec<u8>, RenderError> {
    let mut body = Vec::with_capacity(bytes_expected(request));
    render_to(wire, request, media, &mut body)?;
    Ok(body)
}

/// Like [`render`]; for a body longer than `bytes_max` only its length is returned, as `Err`.
pub fn render_up_to(
    wire: Wire,
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    bytes_max: usize,
) -> Result<Result<Vec<u8>, u64>, RenderError> {
    let mut body = BoundedBytes::new(bytes_expected(request), bytes_max);
    render_to(wire, request, media, &mut body)?;
    Ok(body.finish())
}

/// Like [`render`], writing to `writer` instead of one buffer.
pub fn render_to(
    wire: Wire,
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    if request.system.trim().is_empty() {
        return Err(RenderError::NoSystemPrompt);
    }
    check_places(request)?;
    // Without any bytes all of them are told in words.
    if !media.is_empty() {
        media_of(wire, request)?;
    }
    match wire {
        Wire::OpenaiChat => openai_chat::render(request, media, writer),
        Wire::Anthropic => anthropic::render(request, media, writer),
        Wire::OpenaiResponses => openai_responses::render(request, media, writer),
    }
}

/// The version of the code that makes the bytes of this wire.
///
/// It changes with *any* change of the bytes that [`render`] makes of some request, or of the request
/// that is made of some log, however small: a body made by another version is then reported as such
/// and not as a forgery. `testdata/bodies` holds a body of each version.
pub fn renderer_version(wire: Wire) -> u32 {
    match wire {
        Wire::OpenaiChat | Wire::Anthropic => 5,
        Wire::OpenaiResponses => 1,
    }
}

/// What the body of every wire is written from.
pub(crate) struct RequestParts<'a, T> {
    pub(crate) request: &'a ModelRequest<'a>,
    pub(crate) media: &'a MediaBytes,
    pub(crate) parameters: Parameters<'a>,
    pub(crate) tools: Vec<T>,
}

impl<'a, T> RequestParts<'a, T> {
    /// `reserved` are the keys that the wire writes itself, `tool` makes its form of a tool.
    pub(crate) fn new(
        request: &'a ModelRequest<'a>,
        media: &'a MediaBytes,
        reserved: &[&str],
        tool: impl Fn(Cow<'a, str>, &'a ToolSpec) -> T,
    ) -> Result<RequestParts<'a, T>, RenderError> {
        let parameters = Parameters::of(request, reserved)?;
        let tools = request.tools.iter().map(|it| Ok(tool(listed_tool_name(&it.name)?, it)));
        let tools = tools.collect::<Result<_, _>>()?;
        Ok(RequestParts { request, media, parameters, tools })
    }
}

/// The thinking of an element, if the model that is asked wrote it: no other may see it.
pub(crate) fn own_thinking<'a>(
    request: &ModelRequest<'_>,
    element: &'a ElementKind,
) -> Option<&'a Thinking> {
    match element {
        ElementKind::Thinking { thinking, provider, model } => {
            (provider == request.provider && model == request.model).then_some(thinking)
        }
        _ => None,
    }
}

/// The result of a call as one text.
pub(crate) struct ResultText<'a> {
    pub(crate) result: &'a CallResult,
    pub(crate) media: &'a MediaBytes,
    pub(crate) wire: Wire,
}

impl fmt::Display for ResultText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_empty = true;
        for part in &self.result.parts {
            match &part.kind {
                ResultPartKind::Text(text) => {
                    is_empty &= text.is_empty();
                    text.fmt(f)?;
                }
                ResultPartKind::Media(it) => {
                    is_empty = false;
                    match shown(self.wire, it, self.media) {
                        ShownMedia::Note(note) => note.fmt(f)?,
                        ShownMedia::Image(_) | ShownMedia::Pdf(_) => shown_below(it).fmt(f)?,
                    }
                }
            }
        }
        if is_empty { f.write_str(NO_OUTPUT) } else { Ok(()) }
    }
}

/// About as many bytes as the body will have. Growing into it step by step would copy it each time.
fn bytes_expected(request: &ModelRequest<'_>) -> usize {
    let tools = request.tools.iter();
    let tools = tools.map(|it| it.description.len() + it.input_schema.as_str().len());
    let elements = request.messages.iter().flat_map(|message| &message.elements);
    let elements = elements.map(|element| match &element.kind {
        ElementKind::Text(text) | ElementKind::Meta(text) => text.len(),
        ElementKind::Thinking { thinking, .. } => thinking.text.len(),
        ElementKind::Call(call) => call.input.as_str().len(),
        ElementKind::Result(result) => result.parts.iter().map(part_bytes).sum(),
        ElementKind::Media(media) => encoded_bytes(media),
    });
    let n_parts = request.tools.len() + elements.clone().count() + 1;
    let text_bytes = request.system.len() + tools.sum::<usize>() + elements.sum::<usize>();
    // A line break takes two bytes in JSON, and there is one in some eight of them at most.
    text_bytes + text_bytes / 8 + n_parts * ENVELOPE_BYTES_USUAL
}

fn part_bytes(part: &ResultPart) -> usize {
    match &part.kind {
        ResultPartKind::Text(text) => text.len(),
        ResultPartKind::Media(media) => encoded_bytes(media),
    }
}

/// About as many as its base64 has, whether it is sent or not.
fn encoded_bytes(media: &Media) -> usize {
    // The limit of a whole request: a number in a log may be any.
    usize::try_from(media.bytes.min(MEDIA_BYTES_MAX)).unwrap_or_default() / 3 * 4
}

/// The name of a listed tool in the alphabet of the vendors.
fn listed_tool_name(name: &str) -> Result<Cow<'_, str>, RenderError> {
    tool_name::escape(name)
        .ok_or_else(|| RenderError::ToolName { name: name.chars().take(80).collect() })
}

// The engine promises this. If it is ever wrong, a refusal is better than a request in which a
// person appears to have called a tool.
fn check_places(request: &ModelRequest<'_>) -> Result<(), RenderError> {
    for message in &request.messages {
        for element in &message.elements {
            let misplaced = |element, role| Err(RenderError::Misplaced { element, role });
            match (message.role, &element.kind) {
                (Role::User, ElementKind::Call(_)) => return misplaced("call", "user"),
                (Role::User, ElementKind::Thinking { .. }) => return misplaced("thought", "user"),
                (Role::Assistant, ElementKind::Result(_)) => {
                    return misplaced("tool result", "assistant");
                }
                _ => (),
            }
        }
    }
    Ok(())
}

/// The name of a wire in logs and settings.
pub fn wire_name(wire: Wire) -> &'static str {
    match wire {
        Wire::OpenaiChat => "openai_chat",
        Wire::Anthropic => "anthropic",
        Wire::OpenaiResponses => "openai_responses",
    }
}

#[cfg(test)]
mod tests;
