//! The parts of a request and where they stand in its bytes.

use kith_providers::media::{MediaBytes, base64};
use kith_providers::render::{self, RenderError};
use kith_vocab::block::Media;
use kith_vocab::conversation::{ElementKind, Message, ModelRequest, ResultPartKind};
use kith_vocab::event::models::Wire;
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::snapshot::{Section, SectionKind, ToolSpec};

use crate::state::State;

/// A part of a request, in the order: sections of the system prompt, tools, content of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPart {
    pub source: PartSource,
    /// The text; of an image or file its hash.
    pub text: String,
    /// What the vendor's form around it depends on: the tool of a call, whether it failed, the type of
    /// a file.
    label: String,
    form: PartForm,
}

/// Where a part comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartSource {
    /// A section of the frozen instructions, with the files it was made of.
    Section {
        kind: SectionKind,
        files: Vec<String>,
    },
    Tool {
        name: String,
    },
    Event {
        id: EventId,
        event_type: &'static str,
    },
    /// A fixed text of the runtime that is in no event.
    Runtime,
}

/// How a part's text stands in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartForm {
    Text,
    /// A JSON value, written as it is or, by some vendors, as a string.
    Json,
    /// The bytes of an image or file in base64.
    Media,
}

/// The bytes of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodySpan {
    pub start: usize,
    pub end: usize,
    /// The number of the part.
    pub part: usize,
}

/// The parts of a request that have bytes.
pub(super) fn parts_of(state: &State, request: &ModelRequest<'_>) -> Vec<RequestPart> {
    let mut parts = Vec::new();
    let mut add = |source, text, label, form| {
        parts.push(RequestPart { source, text, label, form });
    };
    for section in sections(state) {
        let files = section.sources.iter().flatten().filter_map(|source| source.path.clone());
        let source = PartSource::Section { kind: section.kind, files: files.collect() };
        let text = section.rendered_block.clone();
        add(source, text, String::new(), PartForm::Text);
    }
    for tool in request.tools {
        let source = PartSource::Tool { name: tool.name.clone() };
        let (description, schema) = (tool.description.clone(), tool.input_schema.as_str());
        add(source.clone(), description, String::new(), PartForm::Text);
        add(source, schema.to_owned(), String::new(), PartForm::Json);
    }
    for message in &request.messages {
        each_content(message, &mut |from, text, label, form| {
            let event = from.and_then(|id| state.tree.get(id));
            let source = match (from, event) {
                (Some(id), Some(event)) => {
                    PartSource::Event { id, event_type: event.body.type_name() }
                }
                (Some(id), None) => PartSource::Event { id, event_type: "event" },
                (None, _) => PartSource::Runtime,
            };
            add(source, text, label, form);
        });
    }
    parts.retain(|part| !part.text.is_empty());
    parts
}

/// Finds where each part stands. The vendor's form between the parts is found by rendering the same
/// request with marks in their place.
pub(super) fn spans(
    wire: Wire,
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    body: &[u8],
    parts: &[RequestPart],
) -> Result<Vec<BodySpan>, RenderError> {
    let marked = MarkedRequest::of(request, media, parts);
    let messages = marked.messages.iter().collect();
    let (system, tools) = (marked.system.as_str(), marked.tools.as_slice());
    let request = ModelRequest { system, tools, messages, ..request.clone() };
    let form = render::render(wire, &request, &marked.media)?;
    let form = String::from_utf8_lossy(&form);
    let mut places: Vec<MarkPlace> = (0..parts.len())
        .filter_map(|part| MarkPlace::find(&form, part, parts[part].form, &marked.media))
        .collect();
    places.sort_by_key(|place| place.start);
    let (mut spans, mut at, mut form_at) = (Vec::new(), 0, 0);
    for place in places {
        let between = &form.as_bytes()[form_at..place.start];
        let text = place.written(&parts[place.part].text, media);
        if !starts_with(body, at, between)
            || !starts_with(body, at + between.len(), text.as_bytes())
        {
            // The form depends on the text in a way that is not known; no more can be said for sure.
            return Ok(spans);
        }
        let start = at + between.len();
        at = start + text.len();
        form_at = place.end;
        spans.push(BodySpan { start, end: at, part: place.part });
    }
    Ok(spans)
}

fn starts_with(body: &[u8], at: usize, text: &[u8]) -> bool {
    body.get(at..).is_some_and(|rest| rest.starts_with(text))
}

/// A request with a mark in place of each part.
struct MarkedRequest {
    system: String,
    tools: Vec<ToolSpec>,
    messages: Vec<Message>,
    /// The marks of images and files, as the bytes of blobs with the mark's name.
    media: MediaBytes,
}

impl MarkedRequest {
    fn of(request: &ModelRequest<'_>, media: &MediaBytes, parts: &[RequestPart]) -> MarkedRequest {
        let mut next = 0;
        let mut mark = |text: &str| {
            let is_part = !text.is_empty();
            let marked = is_part.then(|| mark(next));
            next += usize::from(is_part);
            marked
        };
        let n_sections = parts.iter().filter(|it| matches!(it.source, PartSource::Section { .. }));
        let sections: Vec<String> = n_sections.filter_map(|part| mark(&part.text)).collect();
        let system = sections.join(SECTION_BREAK);
        let mut tools = request.tools.to_vec();
        for tool in &mut tools {
            if let Some(marked) = mark(&tool.description) {
                tool.description = marked;
            }
            if let Some(marked) = mark(tool.input_schema.as_str()) {
                tool.input_schema = marked_json(&marked);
            }
        }
        let mut marked_media = MediaBytes::new();
        let mut mark_media = |it: &mut Media, marked: Option<String>| {
            let Some(marked) = marked else { return };
            if let Some(bytes) = media.get(&it.blob) {
                marked_media.insert(marked.clone(), marked_bytes(bytes, &marked));
            }
            it.blob = marked;
        };
        let mut messages: Vec<Message> = request.messages.iter().map(|it| (*it).clone()).collect();
        for element in messages.iter_mut().flat_map(|it| &mut it.elements) {
            match &mut element.kind {
                ElementKind::Text(text) | ElementKind::Meta(text) => {
                    if let Some(marked) = mark(&whole(text)) {
                        *text = marked.as_str().into();
                    }
                }
                ElementKind::Thinking { thinking, .. } => {
                    let texts = [Some(&mut thinking.text), thinking.signature.as_mut()];
                    for text in texts.into_iter().chain([thinking.redacted.as_mut()]).flatten() {
                        if let Some(marked) = mark(text) {
                            *text = marked.into();
                        }
                    }
                }
                ElementKind::Call(call) => {
                    if let Some(marked) = mark(call.input.as_str()) {
                        call.input = marked_json(&marked);
                    }
                }
                ElementKind::Result(result) => {
                    for part in &mut result.parts {
                        match &mut part.kind {
                            ResultPartKind::Text(text) => {
                                if let Some(marked) = mark(&whole(text)) {
                                    *text = marked.as_str().into();
                                }
                            }
                            ResultPartKind::Media(it) => {
                                let marked = mark(&it.blob);
                                mark_media(it, marked);
                            }
                        }
                    }
                }
                ElementKind::Media(it) => {
                    let marked = mark(&it.blob);
                    mark_media(it, marked);
                }
            }
        }
        MarkedRequest { system, tools, messages, media: marked_media }
    }
}

/// Between two sections of the system prompt.
const SECTION_BREAK: &str = "\n\n";

/// A mark that no escaping changes and that no text holds by chance.
fn mark(part: usize) -> String {
    format!("KITHPART{part:09}TRAPHTIK")
}

fn marked_json(mark: &str) -> Json {
    Json::of(&serde_json::json!({ mark: 0 }))
}

/// The mark as an image or file of the same type: a renderer looks at the first bytes.
fn marked_bytes(bytes: &[u8], mark: &str) -> Vec<u8> {
    let first = bytes.iter().take(MEDIA_TYPE_BYTES);
    first.chain(mark.as_bytes()).copied().collect()
}

/// The bytes at the beginning of an image or file that tell its type.
const MEDIA_TYPE_BYTES: usize = 12;

/// Where the mark of a part stands in the form.
struct MarkPlace {
    start: usize,
    end: usize,
    part: usize,
    /// How the text stands there.
    writing: Writing,
}

#[derive(Clone, Copy)]
enum Writing {
    AsIs,
    Escaped,
    Base64,
}

impl MarkPlace {
    /// `None` if the vendor is not sent the part, such as the thoughts of another model.
    fn find(form: &str, part: usize, kind: PartForm, media: &MediaBytes) -> Option<MarkPlace> {
        let mark = mark(part);
        let candidates = match kind {
            PartForm::Text => vec![(mark, Writing::Escaped)],
            PartForm::Json => {
                let json = marked_json(&mark);
                let escaped = escaped(json.as_str());
                vec![(json.as_str().to_owned(), Writing::AsIs), (escaped, Writing::Escaped)]
            }
            PartForm::Media => vec![(base64(media.get(&mark)?), Writing::Base64)],
        };
        candidates.into_iter().find_map(|(text, writing)| {
            let start = form.find(&text)?;
            Some(MarkPlace { start, end: start + text.len(), part, writing })
        })
    }

    fn written(&self, text: &str, media: &MediaBytes) -> String {
        match self.writing {
            Writing::AsIs => text.to_owned(),
            Writing::Escaped => escaped(text),
            Writing::Base64 => media.get(text).map(|bytes| base64(bytes)).unwrap_or_default(),
        }
    }
}

/// The text within the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Json::of(&text);
    let quoted = quoted.as_str();
    quoted[1..quoted.len() - 1].to_owned()
}

fn sections(state: &State) -> impl Iterator<Item = &Section> {
    let sections = state.snapshot.iter().flat_map(|snapshot| &snapshot.sections);
    sections.filter(|section| !section.rendered_block.is_empty())
}

fn whole(text: &kith_vocab::text::FramedText) -> String {
    let [before, middle, after] = text.pieces();
    format!("{before}{middle}{after}")
}

/// Calls `each` with the source, text, label and form of everything in a message.
fn each_content(
    message: &Message,
    each: &mut dyn FnMut(Option<EventId>, String, String, PartForm),
) {
    for element in &message.elements {
        let from = element.from;
        match &element.kind {
            ElementKind::Text(text) | ElementKind::Meta(text) => {
                each(from, whole(text), String::new(), PartForm::Text);
            }
            ElementKind::Thinking { thinking, .. } => {
                let texts = [Some(&thinking.text), thinking.signature.as_ref()];
                for text in texts.into_iter().chain([thinking.redacted.as_ref()]).flatten() {
                    each(from, text.to_string(), String::new(), PartForm::Text);
                }
            }
            ElementKind::Call(call) => {
                each(from, call.input.as_str().to_owned(), call.tool.clone(), PartForm::Json);
            }
            ElementKind::Result(result) => {
                for part in &result.parts {
                    let from = part.from.or(from);
                    let failed = if result.failed { "failed" } else { "" };
                    match &part.kind {
                        ResultPartKind::Text(text) => {
                            each(from, whole(text), failed.to_owned(), PartForm::Text);
                        }
                        ResultPartKind::Media(it) => {
                            let label = format!("{failed}{}", Json::of(it).as_str());
                            each(from, it.blob.clone(), label, PartForm::Media);
                        }
                    }
                }
            }
            ElementKind::Media(it) => {
                each(from, it.blob.clone(), Json::of(it).as_str().to_owned(), PartForm::Media);
            }
        }
    }
}
