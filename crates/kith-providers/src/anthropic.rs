//! Anthropic Messages.
//!
//! The cache markers of a request are no part of what is compared between two requests: they move
//! with the conversation, its content does not.

mod stream;
mod wire;

use std::io;

use kith_vocab::conversation::ModelRequest;

use crate::media::MediaBytes;
use crate::render::RenderError;

pub(crate) use stream::AnthropicReader;

pub(crate) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    wire::render(request, media, writer)
}
