//! The form of Anthropic Messages.
//!
//! Only requests are made here so far. The cache markers it sets are no part of what is compared
//! between two requests: they move with the conversation, its content does not.

mod wire;

use std::io;

use kith_vocab::conversation::ModelRequest;

use crate::parameters::Parameters;
use crate::render::RenderError;

pub(crate) fn render(
    request: &ModelRequest<'_>,
    writer: impl io::Write,
) -> Result<(), RenderError> {
    let parameters = Parameters::of(request, &wire::RESERVED_KEYS)?;
    wire::render(request, &parameters, writer)
}
