//! Long texts that a host only names, fetched from it before an item is given on.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kith_sessions::BLOB_BYTES_MAX;
use kith_sessions::named_texts::{NamedText, named_texts, put_back_texts};
use kith_vocab::digest::sha256_hex;
use kith_vocab::json::Json;

use super::{AskFailure, Connected, Timeouts, failure_of, greet, send, unreadable};
use crate::call::Call;
use crate::caller::Caller;
use crate::calls::blob::{BlobPage, ReadBlob};
use crate::protocol::HostFrame;

/// Where the texts are fetched: over a connection of their own, beside the items that still come.
#[derive(Clone, Copy)]
pub(super) struct NamedTexts<'a> {
    pub(super) path: &'a Path,
    pub(super) caller: &'a Caller,
    pub(super) timeouts: Timeouts,
}

impl NamedTexts<'_> {
    /// The item with its texts whole.
    pub(super) async fn put_back(self, item: Json) -> Result<Json, AskFailure> {
        let named = named_texts(item.as_str());
        if named.is_empty() {
            return Ok(item);
        }
        let mut connected = greet(self.path, self.caller, self.timeouts).await?;
        let mut texts = BTreeMap::new();
        for NamedText { sha256, bytes } in named {
            if bytes > BLOB_BYTES_MAX {
                return Err(unreadable(format!("it names a text of {bytes} bytes")));
            }
            if let Entry::Vacant(vacant) = texts.entry(sha256) {
                let text = self.fetch(&mut connected, vacant.key(), bytes).await?;
                vacant.insert(text);
            }
        }
        let whole = put_back_texts(item.as_str(), &texts);
        let whole = whole.ok_or_else(|| unreadable("a text is not what its place takes"))?;
        Json::of_text(whole).map_err(unreadable)
    }

    async fn fetch(
        self,
        connected: &mut Connected,
        sha256: &str,
        n_bytes: u64,
    ) -> Result<String, AskFailure> {
        let mut bytes = Vec::new();
        let mut next = Some(0);
        while let Some(offset) = next {
            let page = self.page(connected, ReadBlob { sha256: sha256.to_owned(), offset }).await?;
            bytes.extend(STANDARD.decode(&page.data).map_err(unreadable)?);
            // A host that sends nothing, or more than it said, would go on for ever.
            let is_expected = bytes.len() as u64 <= n_bytes;
            next = page.next_offset.filter(|&it| it > offset && is_expected);
        }
        if sha256_hex(&bytes) != sha256 {
            return Err(unreadable(format!("the text `{sha256}` does not have that hash")));
        }
        String::from_utf8(bytes).map_err(unreadable)
    }

    async fn page(
        self,
        (frames, writer): &mut Connected,
        call: ReadBlob,
    ) -> Result<BlobPage, AskFailure> {
        send(writer, ReadBlob::NAME, Json::of(&call), self.timeouts).await?;
        loop {
            let frame = tokio::time::timeout(self.timeouts.silence, frames.next::<HostFrame>());
            match frame.await.map_err(|_| AskFailure::Silent)?.map_err(failure_of)? {
                None => return Err(AskFailure::Disconnected),
                Some(HostFrame::Response(it)) => return it.data.read().map_err(unreadable),
                Some(HostFrame::Error(frame)) => return Err(AskFailure::Refused(frame.error)),
                Some(HostFrame::Item(_) | HostFrame::Hello(_) | HostFrame::Alive(_)) => (),
            }
        }
    }
}
