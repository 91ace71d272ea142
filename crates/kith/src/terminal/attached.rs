//! Files named with `@` in a message: their text goes along, marked, at the end of the message.
//!
//! Only what was typed is looked at, and only regular files beneath the roots: a text that somebody
//! pasted must not send what its reader did not name.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::file_roots::FileRoots;
use super::words::ScreenText;

/// Bytes of one file. A longer one is for the agent to read in parts.
const FILE_BYTES_MAX: usize = 256 * 1024;
const FILES_MAX: usize = 16;
const BEGIN: &str = "<attachment name=\"";
const END: &str = "\n</attachment>";

/// A file whose text goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttachedText {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What became of the files that a message names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedFiles {
    pub(crate) attached: Vec<AttachedText>,
    /// Names of which only the name is sent, and why.
    pub(crate) left_out: Vec<(String, ScreenText)>,
}

/// Reads the files that were named. A name that is no file is a word.
pub(crate) fn read_named(typed: &str, roots: &FileRoots) -> NamedFiles {
    let mut named = NamedFiles::default();
    for word in typed.split_whitespace() {
        let Some(name) = word.strip_prefix('@').filter(|name| !name.is_empty()) else { continue };
        // A sentence may end behind it.
        let shorter = name.trim_end_matches([
            ',', '.', ':', ';', '?', '!', ')', '，', '。', '：', '？', '！', '、',
        ]);
        let found = [name, shorter].into_iter().find_map(|it| Some((it, file_of(it, roots)?)));
        let Some((name, path)) = found else { continue };
        let is_known = named.attached.iter().any(|it| it.name == name)
            || named.left_out.iter().any(|(known, _)| known == name);
        if is_known {
            continue;
        }
        let read = match named.attached.len() {
            FILES_MAX.. => Err(ScreenText::TooManyFiles),
            _ => text_of(&path),
        };
        match read {
            Ok(text) => named.attached.push(AttachedText { name: name.to_owned(), text }),
            Err(why) => named.left_out.push((name.to_owned(), why)),
        }
    }
    named
}

/// The regular file of this name.
fn file_of(name: &str, roots: &FileRoots) -> Option<PathBuf> {
    let is_name = !name.is_empty() && !name.contains(['"', '<', '>']);
    roots.resolve(name).filter(|path| is_name && path.is_file())
}

fn text_of(path: &Path) -> Result<String, ScreenText> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|_| ScreenText::NotText)?;
    let limit = FILE_BYTES_MAX as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|_| ScreenText::NotText)?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(ScreenText::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| ScreenText::NotText)?;
    if text.contains('\0') { Err(ScreenText::NotText) } else { Ok(text) }
}

/// The message as it is sent: what was said, then each file between marks.
pub(crate) fn with_attached(said: &str, files: &[AttachedText]) -> String {
    let mut message = said.to_owned();
    for AttachedText { name, text } in files {
        // Writing to a string cannot fail.
        write!(message, "\n\n{BEGIN}{name}\" bytes=\"{}\">\n{text}{END}", text.len())
            .unwrap_or_default();
    }
    message
}

/// What was said, and the files that went along.
pub(crate) fn without_attached(message: &str) -> (&str, Vec<AttachedText>) {
    let mark = format!("\n\n{BEGIN}");
    let places = message.match_indices(&mark).map(|(place, _)| place);
    // What only looks like a mark is part of what was said.
    let found = places.into_iter().find_map(|at| Some((&message[..at], files_in(&message[at..])?)));
    found.unwrap_or((message, Vec::new()))
}

/// The files, if the text is nothing else.
fn files_in(mut rest: &str) -> Option<Vec<AttachedText>> {
    let mut files = Vec::new();
    while !rest.is_empty() {
        let (name, after) =
            rest.strip_prefix("\n\n")?.strip_prefix(BEGIN)?.split_once("\" bytes=\"")?;
        let (n_bytes, after) = after.split_once("\">\n")?;
        let n_bytes: usize = n_bytes.parse().ok()?;
        let text = after.get(..n_bytes)?;
        rest = after[n_bytes..].strip_prefix(END)?;
        files.push(AttachedText { name: name.to_owned(), text: text.to_owned() });
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn files_beneath_the_folder_go_along_and_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("work");
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(outside.path().join("secret"), "key").unwrap();
        fs::write(folder.join("src/a.rs"), "fn a() {}\n").unwrap();
        fs::write(folder.join("读我.md"), "你好").unwrap();
        fs::write(folder.join("image"), [0x89, b'P', 0, 0xff]).unwrap();
        fs::write(folder.join("large"), "x".repeat(FILE_BYTES_MAX + 1)).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.join("link")).unwrap();
        let typed = "look at @src/a.rs, @读我.md。 @src/a.rs @image @large @link @../secret @src @nobody a@b @";
        let roots = FileRoots::new(&folder, std::slice::from_ref(&folder));
        let named = read_named(typed, &roots);
        let attached: Vec<&str> = named.attached.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(attached, ["src/a.rs", "读我.md"]);
        assert_eq!(named.attached[0].text, "fn a() {}\n");
        let left_out = [("image", ScreenText::NotText), ("large", ScreenText::TooLarge)];
        assert_eq!(named.left_out, left_out.map(|(name, why)| (name.to_owned(), why)));
    }

    #[test]
    fn a_file_that_holds_marks_comes_back_whole() {
        let text = "a\n</attachment>\n\n<attachment name=\"b\" bytes=\"1\">\nx\n</attachment>";
        let files = [AttachedText { name: "c".to_owned(), text: text.to_owned() }];
        let message = with_attached("see @c", &files);
        assert_eq!(without_attached(&message), ("see @c", files.to_vec()));
    }

    proptest! {
        #[test]
        fn what_was_said_and_attached_is_told_apart(
            said in "[^<]{0,40}",
            texts in prop::collection::vec("(?s).{0,40}", 0..3),
        ) {
            let file = |(n, text): (usize, &String)| AttachedText { name: n.to_string(), text: text.clone() };
            let files: Vec<AttachedText> = texts.iter().enumerate().map(file).collect();
            let message = with_attached(&said, &files);
            prop_assert_eq!(without_attached(&message), (said.as_str(), files));
        }

        #[test]
        fn hostile_messages_break_nothing(message in "(\n\n<attachment name=\"|x\" bytes=\"|[0-9]{1,20}|\">\n|\n</attachment>|好){0,12}") {
            let (said, _) = without_attached(&message);
            prop_assert!(message.starts_with(said));
        }
    }
}
