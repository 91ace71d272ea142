use super::*;
use kith_testkit::files::{CrashModel, Fault, MemoryFiles};

const FOLDER: &str = "/house/.kith/blobs";
const OPERATIONS_MAX: usize = 15;

#[test]
fn bytes_are_kept_under_their_hash() {
    let (files, blobs) = house();
    let name = blobs.put(b"hello").unwrap();
    assert_eq!(name, sha256_hex(b"hello"));
    assert_eq!(files.paths(), [Path::new(FOLDER).join(&name)]);
    assert_eq!(blobs.read(&name).unwrap(), b"hello");
    assert_eq!(blobs.put(b"").and_then(|name| blobs.read(&name)).unwrap(), b"");
}

#[test]
fn what_is_there_is_not_written_again() {
    let (files, blobs) = house();
    let name = blobs.put(b"hello").unwrap();
    let before = files.n_calls();
    blobs.put(b"hello").unwrap();
    // It is read and the folder is synced.
    assert_eq!(files.n_calls() - before, 2);
    assert_eq!(blobs.read(&name).unwrap(), b"hello");
}

#[test]
fn a_read_that_a_signal_interrupts_goes_on() {
    struct Interrupted(u32);
    impl Read for Interrupted {
        fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0.is_multiple_of(2) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            (&b"hello"[..if self.0 == 3 { 5 } else { 0 }]).read(chunk)
        }
    }
    let mut bytes = Vec::new();
    let mut each = |chunk: &[u8]| io::Write::write_all(&mut bytes, chunk);
    each_chunk(Interrupted(1), &mut each).unwrap();
    assert_eq!(bytes, b"hello");
}

#[test]
fn a_spoilt_blob_is_made_again() {
    for spoilt in [&b"hell"[..], b"hullo", b"hello!", b""] {
        let (files, blobs) = house();
        let name = blobs.put(b"hello").unwrap();
        files.write_raw(Path::new(FOLDER).join(&name), spoilt);
        let error = blobs.read(&name).unwrap_err();
        assert!(matches!(error, LogError::BadBlob { .. }), "{error}");
        blobs.put(b"hello").unwrap();
        assert_eq!(blobs.read(&name).unwrap(), b"hello");
    }
}

#[test]
fn whatever_fails_whenever_a_kept_blob_is_there() {
    for fault in [Fault::Fail, Fault::ShortWrite, Fault::Torn, Fault::Offline] {
        for n in 0..OPERATIONS_MAX {
            let (files, blobs) = house();
            files.fail_at(n, fault);
            let mut kept = blobs.put(b"hello").is_ok();
            check_kept(&files, kept, fault, n);
            files.heal();
            kept |= blobs.put(b"hello").is_ok();
            assert!(kept, "{fault:?} at {n}");
            check_kept(&files, kept, fault, n);
            let beside = files.paths().into_iter().filter(|it| it.extension().is_some());
            assert!(beside.count() <= usize::from(fault == Fault::Offline), "{fault:?} at {n}");
        }
    }
}

#[track_caller]
fn check_kept(files: &MemoryFiles, kept: bool, fault: Fault, n: usize) {
    for model in CrashModel::EACH {
        let found = blobs_of(&files.after(model)).read(&sha256_hex(b"hello"));
        match found {
            Ok(bytes) => assert_eq!(bytes, b"hello"),
            // A blob with its name has all its bytes.
            Err(LogError::BlobNotFound { .. }) => assert!(!kept, "{fault:?} at {n}, {model:?}"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_name_that_a_failed_sync_left_is_not_relied_upon() {
    let (files, blobs) = house();
    // Make the folder, then fail to sync it.
    blobs.put(b"first").unwrap();
    files.fail_at(6, Fault::Fail);
    let error = blobs.put(b"hello").unwrap_err();
    assert!(matches!(error, LogError::PutBlob { .. }), "{error}");
    let name = Path::new(FOLDER).join(sha256_hex(b"hello"));
    assert!(files.paths().contains(&name), "the sync was not what failed");
    files.heal();
    let before = files.n_calls();
    blobs.put(b"hello").unwrap();
    assert!(files.n_calls() - before > 2, "it was taken for durable");
}

#[test]
fn what_crashes_left_half_made_is_passed_by() {
    let (files, blobs) = house();
    let name = sha256_hex(b"hello");
    for n in 1..BLOB_TRIES_MAX {
        files.write_raw(Path::new(FOLDER).join(format!("{name}.tmp-{n}")), b"he");
    }
    blobs.put(b"hello").unwrap();
    assert_eq!(blobs.read(&name).unwrap(), b"hello");
}

#[test]
fn a_name_that_is_no_hash_reaches_no_file() {
    let (files, blobs) = house();
    files.write_raw(Path::new("/house/.kith/state.db"), b"secret");
    for name in ["../state.db", "", "x", &"A".repeat(64), &"0".repeat(63)] {
        let error = blobs.read(name).unwrap_err();
        assert!(error.to_string().contains("not a SHA-256"), "{error}");
        check_text(&blobs, name, 6, "is not named by a SHA-256 in lower-case hex");
    }
}

#[test]
fn a_text_is_what_its_line_says_or_damage() {
    let (files, blobs) = house();
    let name = blobs.put("hé".as_bytes()).unwrap();
    check_text(&blobs, &name, 3, "hé");
    check_text(&blobs, &name, 2, "does not have the 2 bytes that the line says");
    check_text(&blobs, &name, 4, "does not have the 4 bytes that the line says");
    check_text(&blobs, &name, u64::MAX, "is too long");
    check_text(&blobs, &sha256_hex(b"other"), 3, "is missing");
    let binary = blobs.put(b"\xff\xfe").unwrap();
    check_text(&blobs, &binary, 2, "is not UTF-8");
    files.write_raw(Path::new(FOLDER).join(&name), "hè".as_bytes());
    check_text(&blobs, &name, 3, "does not match the hash in its name");
}

#[test]
fn a_blob_that_cannot_be_read_is_not_damage() {
    let (files, blobs) = house();
    let name = blobs.put(b"hello").unwrap();
    files.fail_at(0, Fault::Fail);
    let named = BlobRef { blob: name.clone(), bytes: 5, preview: String::new() };
    assert!(matches!(blobs.text(&named), Err(BadLine::Io(_))));
    files.fail_at(0, Fault::Fail);
    assert!(matches!(blobs.read(&name), Err(LogError::ReadBlob { .. })));
}

#[test]
fn a_blob_that_is_too_long_is_refused() {
    let (files, blobs) = house();
    let too_long = vec![0; usize::try_from(BLOB_BYTES_MAX).unwrap() + 1];
    let error = blobs.put(&too_long).unwrap_err();
    assert!(matches!(error, LogError::BlobTooLong { .. }), "{error}");
    assert!(files.paths().is_empty());
}

#[track_caller]
fn check_text(blobs: &Blobs, name: &str, bytes: u64, expected: &str) {
    let named = BlobRef { blob: name.to_owned(), bytes, preview: String::new() };
    let actual = match blobs.text(&named) {
        Ok(text) => text,
        Err(BadLine::Flaw(flaw)) => {
            assert_eq!((flaw.code, flaw.whole), (DamageCode::BadBlob, true));
            let problem = flaw.detail.strip_prefix(&format!("the blob `{name}` "));
            problem.unwrap_or(&flaw.detail).to_owned()
        }
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(actual, expected);
}

fn house() -> (MemoryFiles, Blobs) {
    let files = MemoryFiles::default();
    (files.clone(), blobs_of(&files))
}

fn blobs_of(files: &MemoryFiles) -> Blobs {
    Blobs::new(Arc::new(files.clone()), PathBuf::from(FOLDER))
}
