//! Long texts and whole outputs, by the hash that an event names them by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::call;

/// Reads a page of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadBlob {
    /// 64 hex digits in lower case.
    pub sha256: String,
    /// The first byte of the page.
    #[serde(default)]
    pub offset: u64,
}

call!(Read "read_blob", ReadBlob => BlobPage);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlobPage {
    /// The size of the whole blob.
    pub bytes: u64,
    /// The bytes of the page in base64, with padding. A character may be cut at its end.
    pub data: String,
    /// Where the next page begins; absent at the end of the blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}
