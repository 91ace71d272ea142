//! OpenAI Chat Completions, and every server that speaks it.

mod stream;
mod wire;

use std::io;

use kith_vocab::conversation::ModelRequest;

use crate::media::MediaBytes;
use crate::render::RenderError;

pub(crate) use stream::ChatReader;

pub(crate) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    wire::render(request, media, writer)
}
