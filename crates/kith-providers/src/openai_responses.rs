//! OpenAI Responses, without the vendor's storage.
//!
//! Every request carries the whole conversation (`store: false`): a server that added what it kept
//! itself would show the model something that the log cannot prove. Reasoning comes back encrypted
//! and is sent back to the model that wrote it.

mod stream;
mod wire;

use std::io;

use kith_vocab::conversation::ModelRequest;

use crate::media::MediaBytes;
use crate::render::RenderError;

pub(crate) use stream::ResponsesReader;

pub(crate) fn render(
    request: &ModelRequest<'_>,
    media: &MediaBytes,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    wire::render(request, media, writer)
}
