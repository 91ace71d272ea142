//! OpenAI Chat Completions, and every server that speaks it.

mod stream;
mod wire;

use std::io;

use kith_vocab::conversation::ModelRequest;

use crate::media::MediaBytes;
use crate::parameters::Parameters;
use crate::render::RenderError;

pub(crate) use stream::ChatReader;

pub(crate) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let parameters = Parameters::of(request, &wire::RESERVED_KEYS)?;
    wire::render(request, &parameters, media, writer)
}
