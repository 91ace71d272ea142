//! A blob in pages.

use std::fs;

use kith_vocab::digest::sha256_hex;
use tempfile::TempDir;

use super::*;
use crate::call::Follower;
use crate::caller::{CLI, Caller};
use crate::error::ErrorCode;
use crate::house::House;
use crate::routes;

struct TestBlobs {
    _dir: TempDir,
    house: House,
}

impl TestBlobs {
    fn new() -> TestBlobs {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let house = House { dir: cwd.clone(), cwd, user_home: None };
        fs::create_dir_all(house.kith_dir().join("blobs")).unwrap();
        TestBlobs { _dir: dir, house }
    }

    fn put(&self, bytes: &[u8]) -> String {
        let sha256 = sha256_hex(bytes);
        fs::write(self.house.kith_dir().join("blobs").join(&sha256), bytes).unwrap();
        sha256
    }

    async fn read(&self, sha256: &str, offset: u64) -> Result<BlobPage, CallError> {
        let side = Arc::new(ReadSide::open(self.house.clone()).await);
        let call = ReadBlob { sha256: sha256.to_owned(), offset };
        let follower = Follower::<()>::none();
        let answer = routes::reads().answer(&side, Caller::owner(CLI), call, follower).await;
        answer.map(|it| it.data)
    }

    async fn check_refused(&self, sha256: &str, offset: u64, expected: &str) {
        let error = self.read(sha256, offset).await.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidRequest, expected));
    }
}

#[tokio::test]
async fn the_pages_of_a_blob_are_the_blob() {
    let blobs = TestBlobs::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(BLOB_PAGE_BYTES_MAX * 5 / 2).collect();
    for bytes in [&bytes[..], &bytes[..BLOB_PAGE_BYTES_MAX], b"short", b""] {
        let sha256 = blobs.put(bytes);
        let (mut read, mut next, mut n_pages) = (Vec::new(), Some(0), 0);
        while let Some(offset) = next {
            let page = blobs.read(&sha256, offset).await.unwrap();
            assert_eq!(page.bytes, bytes.len() as u64);
            let data = STANDARD.decode(&page.data).unwrap();
            assert!(data.len() <= BLOB_PAGE_BYTES_MAX);
            read.extend(data);
            (next, n_pages) = (page.next_offset, n_pages + 1);
        }
        assert!(read == bytes, "{} bytes", bytes.len());
        assert_eq!(n_pages, bytes.len().div_ceil(BLOB_PAGE_BYTES_MAX).max(1));
    }
}

#[tokio::test]
async fn only_a_hash_names_a_blob() {
    let blobs = TestBlobs::new();
    let sha256 = blobs.put(b"words");
    fs::write(blobs.house.kith_dir().join("secret"), "no").unwrap();
    let upper = sha256.to_uppercase();
    let longer = format!("{sha256}0");
    let climbing = format!("../secret{}", "/".repeat(55));
    for name in ["", "../secret", "/etc/passwd", &sha256[1..], &longer, &upper, &climbing] {
        let expected = "`sha256` must be 64 hex digits in lower case";
        blobs.check_refused(name, 0, expected).await;
    }
    let absent = sha256_hex(b"others");
    let expected = format!("no long text of this house has the hash `{absent}`");
    blobs.check_refused(&absent, 0, &expected).await;
    assert_eq!(blobs.read(&sha256, 5).await.unwrap().data, "");
    for offset in [6, u64::MAX] {
        let expected = "`offset` must be at most 5, the size of the text";
        blobs.check_refused(&sha256, offset, expected).await;
    }
    // What lies there must have the hash it is named by.
    fs::write(blobs.house.kith_dir().join("blobs").join(&sha256), "other words").unwrap();
    let error = blobs.read(&sha256, 0).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::FilesystemError);
}
