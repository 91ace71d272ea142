//! Models behind their vendors' wires: what is sent, how it is sent, what comes back.
//!
//! No ready client is used, because the log must prove every byte that was sent: rendering is a
//! pure function, and a provider posts exactly the bytes it is given. Read in this order:
//!
//! - [`render`]: a request as the bytes of a vendor's wire.
//! - `tool_name`: any tool name in the alphabet of the vendors, and back.
//! - `parameters`: a model's parameters in their order.
//! - `anthropic`: the form of Anthropic Messages.
//! - [`openai_chat`]: OpenAI Chat Completions: the form, the stream and the provider.
//! - `sse`: Server-Sent Events from bytes cut anywhere.
//! - `fault`: why there is no answer, in one sentence.
//! - [`client`]: the one place that makes an HTTP client.
//! - [`endpoint`]: the address of a model, checked, and its digest.
//! - [`secret`]: a key that cannot be printed.
//! - [`demo`]: the built-in model that needs no key and no network.

mod anthropic;
pub mod client;
pub mod demo;
pub mod endpoint;
pub mod openai_chat;
pub mod render;
pub mod secret;

mod fault;
mod parameters;
mod sse;
mod tool_name;
