use super::*;
use std::sync::Mutex;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Progress for Lines {
    fn line(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn a_short_output_is_whole() {
    let lines = Lines::default();
    let output = CommandOutput::read(&b"one\ntwo\n"[..], &lines).unwrap();
    assert_eq!(output.finish().unwrap(), ("one\ntwo\n".to_owned(), None));
    assert_eq!(*lines.0.lock().unwrap(), ["two"]);
}

#[test]
fn a_long_output_keeps_both_ends_and_the_whole_in_a_file() {
    let long = (0..20_000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let output = CommandOutput::read(long.as_bytes(), &Lines::default()).unwrap();
    let (text, spill) = output.finish().unwrap();
    let spill = spill.unwrap();
    assert!(text.len() <= TOOL_OUTPUT_BYTES_MAX, "{} bytes", text.len());
    assert!(text.starts_with("line 0\n") && text.ends_with("line 19999\n"), "{text}");
    assert_eq!(fs::read_to_string(&spill.path).unwrap(), long);
    assert_eq!(spill.sha256, kith_vocab::digest::sha256_hex(long.as_bytes()));
    assert_eq!(spill.bytes, long.len() as u64);
    // 16 random bytes, so that nobody can wait for it under its name.
    let name = spill.path.file_name().unwrap().to_str().unwrap();
    assert_eq!(name.strip_prefix("kith-output-").map(str::len), Some(32));
    fs::remove_file(spill.path).unwrap();
}

#[test]
fn an_output_without_end_is_read_to_the_limit() {
    let output = CommandOutput::read(io::repeat(b'y'), &Lines::default()).unwrap();
    assert!(output.is_too_long);
    let (_, spill) = output.finish().unwrap();
    let spill = spill.unwrap();
    assert!(spill.bytes < COMMAND_OUTPUT_BYTES_MAX + CHUNK_BYTES_MAX as u64);
    fs::remove_file(spill.path).unwrap();
}
