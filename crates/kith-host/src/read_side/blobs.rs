//! Long texts and whole outputs, read in pages.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kith_vocab::digest::is_sha256_hex;

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::session::{BlobPage, ReadBlob};
use crate::error::CallError;

/// Maximum size of a page before base64. The whole blob is read and hashed for each page, so pages
/// are as long as a line allows.
const BLOB_PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

pub async fn read_blob(side: Arc<ReadSide>, call: ReadBlob) -> Reply<BlobPage> {
    // Before it becomes part of a path.
    if !is_sha256_hex(&call.sha256) {
        return Err(CallError::invalid("`sha256` must be 64 hex digits in lower case"));
    }
    let bytes = match side.journal.read_blob(&call.sha256).await {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => {
            let message = format!("no long text of this house has the hash `{}`", call.sha256);
            return Err(
                CallError::invalid(message).hint("take the hash from an event of a session")
            );
        }
        Err(error) => return Err(error.into()),
    };
    let page = usize::try_from(call.offset).ok().and_then(|offset| bytes.get(offset..));
    let Some(page) = page else {
        let message = format!("`offset` must be at most {}, the size of the text", bytes.len());
        return Err(CallError::invalid(message));
    };
    let page = &page[..page.len().min(BLOB_PAGE_BYTES_MAX)];
    let (end, n_bytes) = (call.offset + page.len() as u64, bytes.len() as u64);
    let next_offset = (end < n_bytes).then_some(end);
    Ok(Response::new(BlobPage { bytes: n_bytes, data: STANDARD.encode(page), next_offset }))
}

#[cfg(test)]
mod tests;
