//! Models behind their vendors' wires: what is sent, how it is sent, what comes back.
//!
//! No ready client is used, because the log must prove every byte that was sent: rendering is a
//! pure function, and a provider posts exactly the bytes it is given. Read in this order:
//!
//! - [`render`]: a request as the bytes of a vendor's wire.
//! - [`media`]: the images and files of a request.
//! - `tool_name`: any tool name in the alphabet of the vendors, and back.
//! - `parameters`: a model's parameters in their order.
//! - `openai_chat`, `anthropic`, `openai_responses`: for each wire the JSON of requests and events,
//!   and the reader of its events.
//! - `answer`: an answer growing out of events, with the rules that hold on every wire.
//! - `text_piece`: streamed text that may be cut in the middle of a character.
//! - `sse`: Server-Sent Events from bytes cut anywhere.
//! - `exchange`: one answer read from its stream.
//! - [`http_provider`]: a model behind a server, on any wire.
//! - `fault`, `status`, `vendor_error`: why there is no answer, in one sentence.
//! - [`client`]: the one place that makes an HTTP client; a TLS connection for another protocol:
//!   [`client::remote_socket`].
//! - [`guarded_fetch`]: a page of the public web, for a tool.
//! - [`local_servers`]: model servers on this machine.
//! - [`telemetry`]: posts spans to the collector that the owner named.
//! - [`endpoint`]: the address of a model, checked, and its digest.
//! - [`demo`]: the built-in model that needs no key and no network.

pub mod client;
pub mod demo;
pub mod endpoint;
pub mod guarded_fetch;
pub mod http_provider;
pub mod local_servers;
pub mod media;
pub mod render;
pub mod telemetry;

mod answer;
mod anthropic;
mod exchange;
mod fault;
mod openai_chat;
mod openai_responses;
mod parameters;
mod sse;
mod status;
mod text_piece;
mod tool_name;
mod vendor_error;
