//! Keys and pastes, as terminals send them.

use kith_vocab::ingress::MESSAGE_BYTES_MAX;

const ESCAPE: u8 = 0x1b;
const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
/// A longer sequence is none that we know.
const SEQUENCE_BYTES_MAX: usize = 32;
/// More of a paste is not kept: no message may be longer.
const PASTE_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TerminalInput {
    Key(KeyPress),
    Paste(String),
    Resized,
    /// The terminal was closed.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyPress {
    pub(crate) key: Key,
    pub(crate) ctrl: bool,
    pub(crate) alt: bool,
    pub(crate) shift: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    PageUp,
    PageDown,
    End,
    Escape,
}

impl KeyPress {
    pub(crate) const fn plain(key: Key) -> KeyPress {
        KeyPress { key, ctrl: false, alt: false, shift: false }
    }

    pub(crate) const fn ctrl(letter: char) -> KeyPress {
        KeyPress { ctrl: true, ..KeyPress::plain(Key::Char(letter)) }
    }
}

/// Reads keys out of bytes. A sequence may come in pieces.
#[derive(Default)]
pub(crate) struct KeyParser {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl KeyParser {
    /// Whether bytes wait for more of their kind.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Reads what the bytes hold. `is_all`: nothing more has come for a while, so an escape at the end is
    /// the key and not the beginning of a sequence. A character or a sequence that is cut goes on with
    /// the next bytes, whenever they come.
    pub(crate) fn advance(&mut self, bytes: &[u8], is_all: bool) -> Vec<TerminalInput> {
        self.pending.extend_from_slice(bytes);
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.pending.len() {
            let rest = &self.pending[at..];
            let n_bytes = match &mut self.paste {
                Some(paste) => match end_of_paste(rest) {
                    PasteEnd::Found(n_text) => {
                        add_to(paste, &rest[..n_text]);
                        let text = String::from_utf8_lossy(paste).into_owned();
                        found.push(TerminalInput::Paste(text));
                        self.paste = None;
                        n_text + PASTE_END.len()
                    }
                    PasteEnd::Maybe(n_text) => {
                        add_to(paste, &rest[..n_text]);
                        at += n_text;
                        break;
                    }
                },
                None if rest.starts_with(PASTE_BEGIN) => {
                    self.paste = Some(Vec::new());
                    PASTE_BEGIN.len()
                }
                None => match next_key(rest, is_all) {
                    NextKey::Found(key, n_bytes) => {
                        found.push(TerminalInput::Key(key));
                        n_bytes
                    }
                    NextKey::Unknown(n_bytes) => n_bytes,
                    NextKey::Unfinished => break,
                },
            };
            at += n_bytes.max(1);
        }
        self.pending.drain(..at.min(self.pending.len()));
        found
    }
}

fn add_to(paste: &mut Vec<u8>, bytes: &[u8]) {
    let room = PASTE_BYTES_MAX.saturating_sub(paste.len());
    paste.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

enum PasteEnd {
    /// So many bytes stand before it.
    Found(usize),
    /// So many bytes are text for certain.
    Maybe(usize),
}

fn end_of_paste(bytes: &[u8]) -> PasteEnd {
    let mut at = 0;
    while let Some(place) = bytes[at..].iter().position(|byte| *byte == ESCAPE) {
        at += place;
        let rest = &bytes[at..];
        if rest.starts_with(PASTE_END) {
            return PasteEnd::Found(at);
        }
        if PASTE_END.starts_with(rest) {
            return PasteEnd::Maybe(at);
        }
        at += 1;
    }
    PasteEnd::Maybe(bytes.len())
}

enum NextKey {
    /// The key, and how many bytes it has.
    Found(KeyPress, usize),
    /// So many bytes mean nothing to us.
    Unknown(usize),
    Unfinished,
}

fn next_key(bytes: &[u8], is_all: bool) -> NextKey {
    let plain = |key, n_bytes| NextKey::Found(KeyPress::plain(key), n_bytes);
    match bytes {
        [ESCAPE] if is_all => plain(Key::Escape, 1),
        [] | [ESCAPE] => NextKey::Unfinished,
        [ESCAPE, b'[' | b'O', ..] => sequence(bytes),
        // The key was pressed twice.
        [ESCAPE, ESCAPE, ..] => plain(Key::Escape, 1),
        [ESCAPE, rest @ ..] => match next_key(rest, is_all) {
            NextKey::Found(key, n_bytes) => {
                NextKey::Found(KeyPress { alt: true, ..key }, n_bytes + 1)
            }
            NextKey::Unknown(n_bytes) => NextKey::Unknown(n_bytes + 1),
            NextKey::Unfinished => NextKey::Unfinished,
        },
        [b'\r', ..] => plain(Key::Enter, 1),
        [b'\t', ..] => plain(Key::Tab, 1),
        [0x7f | 0x08, ..] => plain(Key::Backspace, 1),
        [byte @ 0x01..=0x1a, ..] => NextKey::Found(KeyPress::ctrl(char::from(byte - 1 + b'a')), 1),
        [0x1f, ..] => NextKey::Found(KeyPress::ctrl('_'), 1),
        [byte, ..] if *byte < 0x20 => NextKey::Unknown(1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> NextKey {
    let end = bytes.len().min(4);
    let (text, is_cut) = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => (text, false),
        Err(error) => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            (text, error.error_len().is_none() && end == bytes.len())
        }
    };
    match text.chars().next() {
        Some(ch) => NextKey::Found(KeyPress::plain(Key::Char(ch)), ch.len_utf8()),
        None if is_cut => NextKey::Unfinished,
        None => NextKey::Unknown(1),
    }
}

/// A sequence such as `ESC [ 1 ; 5 C`: parameters, then a letter that ends it.
fn sequence(bytes: &[u8]) -> NextKey {
    // The Linux console sends `ESC [ [ A` for F1.
    if let [ESCAPE, b'[', b'[', rest @ ..] = bytes {
        return if rest.is_empty() { NextKey::Unfinished } else { NextKey::Unknown(4) };
    }
    let is_end = |byte: &u8| (0x40..=0x7e).contains(byte);
    let Some(n_parameters) = bytes[2..].iter().take(SEQUENCE_BYTES_MAX).position(is_end) else {
        let is_too_long = bytes.len() > SEQUENCE_BYTES_MAX;
        return if is_too_long { NextKey::Unknown(bytes.len()) } else { NextKey::Unfinished };
    };
    let n_bytes = n_parameters + 3;
    let parameters = std::str::from_utf8(&bytes[2..2 + n_parameters]).unwrap_or_default();
    let mut numbers = parameters.split(';').map(|it| it.parse::<u32>().ok());
    let first = numbers.next().flatten();
    let modifiers = numbers.next().flatten().unwrap_or(1).saturating_sub(1);
    let key = match (bytes[2 + n_parameters], first) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', Some(1 | 7)) => Key::Home,
        (b'F', _) | (b'~', Some(4 | 8)) => Key::End,
        (b'~', Some(3)) => Key::Delete,
        (b'~', Some(5)) => Key::PageUp,
        (b'~', Some(6)) => Key::PageDown,
        (b'Z', _) => Key::BackTab,
        // Terminals that tell Shift-Enter and Ctrl-Enter apart.
        (b'u', Some(13)) => Key::Enter,
        (b'u', Some(27)) => Key::Escape,
        (b'M', None) if bytes[1] == b'O' => Key::Enter,
        _ => return NextKey::Unknown(n_bytes),
    };
    let has = |bit: u32| modifiers & bit != 0;
    NextKey::Found(KeyPress { key, shift: has(1), alt: has(2), ctrl: has(4) }, n_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<TerminalInput> {
        KeyParser::default().advance(bytes, true)
    }

    fn key(key: Key) -> TerminalInput {
        TerminalInput::Key(KeyPress::plain(key))
    }

    #[test]
    fn keys_are_read_as_terminals_send_them() {
        assert_eq!(keys(b"\x1b[A\x1bOB"), [key(Key::Up), key(Key::Down)]);
        assert_eq!(
            keys("a你\r".as_bytes()),
            [key(Key::Char('a')), key(Key::Char('你')), key(Key::Enter)]
        );
        assert_eq!(keys(b"\x03"), [TerminalInput::Key(KeyPress::ctrl('c'))]);
        assert_eq!(keys(b"\x1b"), [key(Key::Escape)]);
        let alt = KeyPress { alt: true, ..KeyPress::plain(Key::Enter) };
        assert_eq!(keys(b"\x1b\r"), [TerminalInput::Key(alt)]);
        let ctrl = KeyPress { ctrl: true, ..KeyPress::plain(Key::Left) };
        assert_eq!(keys(b"\x1b[1;5D"), [TerminalInput::Key(ctrl)]);
        let shift = KeyPress { shift: true, ..KeyPress::plain(Key::Enter) };
        assert_eq!(keys(b"\x1b[13;2u"), [TerminalInput::Key(shift)]);
        assert_eq!(keys(b"\x1b[<0;1;1Mx"), [key(Key::Char('x'))], "a click means nothing");
        assert_eq!(keys(b"\x1b[[Ax"), [key(Key::Char('x'))], "nor does F1");
        assert_eq!(
            keys(b"\x1b[200~a\x1b[A\nb\x1b[201~c"),
            [TerminalInput::Paste("a\x1b[A\nb".to_owned()), key(Key::Char('c'))]
        );
    }

    #[test]
    fn a_key_that_comes_in_two_pieces_is_one_key() {
        let mut parser = KeyParser::default();
        assert_eq!(parser.advance(b"\x1b", false), []);
        assert!(parser.is_waiting());
        assert_eq!(parser.advance(b"[A", true), [key(Key::Up)]);
        assert_eq!(parser.advance(&"你".as_bytes()[..2], true), []);
        assert_eq!(parser.advance(&"你".as_bytes()[2..], true), [key(Key::Char('你'))]);
        assert_eq!(parser.advance(b"\x1b[20", true), []);
        let paste = parser.advance(b"0~a\nb\x1b[201~", true);
        assert_eq!(paste, [TerminalInput::Paste("a\nb".to_owned())]);
    }

    #[test]
    fn a_paste_that_is_too_long_is_kept_to_the_limit() {
        let mut parser = KeyParser::default();
        parser.advance(PASTE_BEGIN, false);
        let piece = vec![b'a'; MESSAGE_BYTES_MAX / 8];
        for _ in 0..10 {
            parser.advance(&piece, false);
        }
        let found = parser.advance(PASTE_END, true);
        assert!(
            matches!(&found[..], [TerminalInput::Paste(text)] if text.len() == PASTE_BYTES_MAX)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_read_alike(
            parts in prop::collection::vec(prop_oneof![
                "\\PC{0,4}".prop_map(String::into_bytes),
                Just(b"\x1b[1;5C".to_vec()),
                Just(b"\x1b[200~two\nlines\x1b[201~".to_vec()),
                Just(b"\x1b[3~\r\x03".to_vec()),
            ], 0..12),
            cuts in prop::collection::vec(1_usize..7, 0..40),
        ) {
            let bytes = parts.concat();
            let whole = keys(&bytes);
            let mut parser = KeyParser::default();
            let (mut rest, mut found) = (&bytes[..], Vec::new());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                found.extend(parser.advance(piece, false));
                rest = after;
            }
            found.extend(parser.advance(rest, true));
            prop_assert_eq!(found, whole);
        }

        #[test]
        fn hostile_bytes_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut parser = KeyParser::default();
            parser.advance(&bytes, true);
            prop_assert!(parser.pending.len() <= bytes.len());
        }
    }
}
