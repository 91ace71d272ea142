//! The images and files of a request.
//!
//! The log names them by the hash of their bytes, so the bytes are an argument of rendering: the
//! same hashes give the same body. What a wire cannot show is told in words, and so is what its
//! vendor would refuse: one such image would make every later request of the session fail.

use std::collections::BTreeMap;
use std::fmt;

use base64::display::Base64Display;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use kith_vocab::block::Media;
use kith_vocab::conversation::{ElementKind, ModelRequest, ResultPartKind, Role};
use kith_vocab::event::models::Wire;
use serde::{Serialize, Serializer};

use crate::render::RenderError;

/// Bytes of all media of one request together, before they are encoded. Each use counts.
pub const MEDIA_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// Bytes of one image for Anthropic, which refuses one whose base64 has more than 5 MiB.
const ANTHROPIC_IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024 / 4 * 3;

const NOT_SHOWN: &str = "not shown on this wire";

/// The bytes of blobs, by their hash. One that the model's server has refused has none.
pub type MediaBytes = BTreeMap<String, Vec<u8>>;

/// How a wire shows one image or file.
pub(crate) enum ShownMedia<'a> {
    Image(EncodedMedia<'a>),
    Pdf(EncodedMedia<'a>),
    Note(MediaNote<'a>),
}

#[derive(Clone, Copy)]
pub(crate) struct EncodedMedia<'a> {
    pub(crate) media: &'a Media,
    bytes: &'a [u8],
}

/// An image, a sound or a file in words.
pub(crate) struct MediaNote<'a> {
    media: &'a Media,
    why: &'static str,
}

/// The media whose bytes this wire sends. Refused when they are too many together.
pub fn media_of<'a>(wire: Wire, request: &ModelRequest<'a>) -> Result<Vec<&'a Media>, RenderError> {
    // No wire takes media in an answer.
    let of_users = request.messages.iter().filter(|message| message.role == Role::User);
    let elements = of_users.flat_map(|message| &message.elements);
    let media = elements.flat_map(|element| match &element.kind {
        ElementKind::Media(media) => vec![media],
        ElementKind::Result(result) => {
            let parts = result.parts.iter().filter_map(|part| match &part.kind {
                ResultPartKind::Media(media) => Some(media),
                ResultPartKind::Text(_) => None,
            });
            parts.collect()
        }
        _ => Vec::new(),
    });
    let sent: Vec<&Media> = media.filter(|media| form(wire, media).is_ok()).collect();
    let n_bytes = sent.iter().map(|media| media.bytes).fold(0, u64::saturating_add);
    if n_bytes > MEDIA_BYTES_MAX {
        return Err(RenderError::TooMuchMedia { bytes: n_bytes });
    }
    Ok(sent)
}

/// The bytes of an image or file as every wire sends them.
pub fn base64(bytes: &[u8]) -> String {
    Base64Display::new(bytes, &STANDARD).to_string()
}

/// How this wire shows it.
pub(crate) fn shown<'a>(wire: Wire, media: &'a Media, bytes: &'a MediaBytes) -> ShownMedia<'a> {
    let note = |why| ShownMedia::Note(MediaNote { media, why });
    let form = match form(wire, media) {
        Ok(form) => form,
        Err(why) => return note(why),
    };
    let Some(bytes) = bytes.get(&media.blob) else { return note("lost, not shown") };
    if bytes.is_empty() {
        return note("refused by this model's server, not shown");
    }
    let encoded = EncodedMedia { media, bytes };
    match form {
        MediaForm::Image if is_image(&media.media_type, bytes) => ShownMedia::Image(encoded),
        MediaForm::Pdf if bytes.starts_with(b"%PDF-") => ShownMedia::Pdf(encoded),
        MediaForm::Image | MediaForm::Pdf => note("not valid, not shown"),
    }
}

/// A note for an answer, which no wire lets carry media.
pub(crate) fn not_shown(media: &Media) -> MediaNote<'_> {
    MediaNote { media, why: NOT_SHOWN }
}

/// A note for the place where an image would stand, if its wire shows it elsewhere.
pub(crate) fn shown_below(media: &Media) -> MediaNote<'_> {
    MediaNote { media, why: "shown below the results" }
}

enum MediaForm {
    Image,
    Pdf,
}

/// The form in which a wire takes it, by its type and size alone; or why it does not.
fn form(wire: Wire, media: &Media) -> Result<MediaForm, &'static str> {
    match media.media_type.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => match wire {
            Wire::Anthropic if media.bytes > ANTHROPIC_IMAGE_BYTES_MAX => {
                Err("too large for this wire, not shown")
            }
            _ => Ok(MediaForm::Image),
        },
        // Few servers that speak Chat Completions take files.
        "application/pdf" if wire != Wire::OpenaiChat => Ok(MediaForm::Pdf),
        _ => Err(NOT_SHOWN),
    }
}

/// The type of an image or PDF by its first bytes, whatever its name says. `None`: it is neither.
pub fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
    let images = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let image = images.into_iter().find(|media_type| is_image(media_type, bytes));
    image.or_else(|| bytes.starts_with(b"%PDF-").then_some("application/pdf"))
}

/// Why this wire would not show it, in words that follow its name; `None` if it does.
pub fn why_not_shown(wire: Wire, media: &Media) -> Option<&'static str> {
    match form(wire, media) {
        Ok(_) => None,
        Err(NOT_SHOWN) => Some("is a file that the model's wire cannot carry"),
        Err(_) => Some("is larger than the model's vendor takes"),
    }
}

fn is_image(media_type: &str, bytes: &[u8]) -> bool {
    match media_type {
        "image/png" => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
        "image/jpeg" => bytes.starts_with(b"\xff\xd8\xff"),
        "image/gif" => bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a"),
        "image/webp" => bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
        _ => false,
    }
}

impl<'a> EncodedMedia<'a> {
    pub(crate) fn base64(&self) -> Base64Display<'a, 'static, GeneralPurpose> {
        Base64Display::new(self.bytes, &STANDARD)
    }
}

/// As a `data:` URL.
impl fmt::Display for EncodedMedia<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{};base64,{}", self.media.media_type, self.base64())
    }
}

impl fmt::Display for MediaNote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Media { media_type, bytes, .. } = self.media;
        let sort = match media_type.split('/').next() {
            Some("image") => "image",
            Some("audio") => "audio",
            _ => "file",
        };
        write!(f, "[{sort} {media_type}, {bytes} bytes, {}]", self.why)
    }
}

/// Writes a value that displays as several pieces as one JSON string, without joining them first.
pub(crate) struct InOneText<T>(pub(crate) T);

impl<T: fmt::Display> Serialize for InOneText<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
