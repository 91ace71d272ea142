//! Fetches long texts that a host sends only as hashes, before an item is passed on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kith_sessions::line::LINE_BYTES_MAX;
use kith_sessions::named_texts::{NamedText, named_texts, put_back_texts};
use kith_vocab::digest::sha256_hex;
use kith_vocab::json::Json;

use super::request::OpenRequest;
use super::{AskFailure, unreadable};
use crate::call::Call;
use crate::calls::session::{BlobPage, ReadBlob};
use crate::error::ErrorCode;
use crate::protocol::HostFrame;

/// The id of the request for a page, beside the request whose items come.
const FETCH_ID: &str = "2";

impl OpenRequest<'_> {
    /// The item with its texts whole.
    pub(super) async fn put_back(&mut self, item: Json) -> Result<Json, AskFailure> {
        let named = named_texts(item.as_str());
        if named.is_empty() {
            return Ok(item);
        }
        // As of a line of a log: each place takes its text, also if it is the same one.
        let n_bytes = named.iter().fold(0_u64, |sum, it| sum.saturating_add(it.bytes));
        if n_bytes > LINE_BYTES_MAX as u64 {
            let flaw = format!("it refers to {n_bytes} bytes of text, more than {LINE_BYTES_MAX}");
            return Err(unreadable(flaw));
        }
        let mut texts = BTreeMap::new();
        for NamedText { sha256, bytes } in named {
            if let Entry::Vacant(vacant) = texts.entry(sha256) {
                let text = self.fetch(vacant.key(), bytes).await?;
                vacant.insert(text);
            }
        }
        let whole = put_back_texts(item.as_str(), &texts);
        let whole = whole.ok_or_else(|| unreadable("a long text does not fit its field"))?;
        Json::of_text(whole).map_err(unreadable)
    }

    async fn fetch(&mut self, sha256: &str, n_bytes: u64) -> Result<String, AskFailure> {
        let mut bytes = Vec::new();
        let mut next = Some(0);
        while let Some(offset) = next {
            let page = self.page(ReadBlob { sha256: sha256.to_owned(), offset }).await?;
            bytes.extend(STANDARD.decode(&page.data).map_err(unreadable)?);
            // A host that sends nothing, or more than it said, would go on for ever.
            let is_expected = bytes.len() as u64 <= n_bytes;
            next = page.next_offset.filter(|&it| it > offset && is_expected);
        }
        // The sum above holds for what came, and not for what was said of it.
        if bytes.len() as u64 != n_bytes || sha256_hex(&bytes) != sha256 {
            let flaw = format!(
                "the text `{sha256}` does not match its hash or its length of {n_bytes} bytes"
            );
            return Err(unreadable(flaw));
        }
        String::from_utf8(bytes).map_err(unreadable)
    }

    async fn page(&mut self, call: ReadBlob) -> Result<BlobPage, AskFailure> {
        self.send(ReadBlob::NAME, FETCH_ID, Json::of(&call)).await?;
        loop {
            match self.receive().await? {
                HostFrame::Response(it) if it.request_id == FETCH_ID => {
                    return it.data.read().map_err(unreadable);
                }
                HostFrame::Error(it) if it.request_id.as_deref() == Some(FETCH_ID) => {
                    return Err(match it.error.code {
                        // Removed with its session since it was named: ask where to go on.
                        ErrorCode::InvalidRequest => AskFailure::Disconnected,
                        _ => AskFailure::Refused(it.error),
                    });
                }
                HostFrame::Hello(_) | HostFrame::Alive(_) => (),
                frame => self.hold(frame)?,
            }
        }
    }
}
