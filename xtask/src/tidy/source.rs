//! Rust source as the rules read it: code, comments and literals apart.
//!
//! A rule that looks for a word must not trip over a sentence or a test fixture that mentions it,
//! so the text is split once and each rule reads the part it means. This is a scanner and no
//! parser: it knows where comments and literals end, and nothing else.

/// Three views of one text. All have its length and its line breaks; what does not belong to a
/// view is blank, so a position in one is a position in all.
pub(crate) struct Source {
    pub(crate) code: String,
    pub(crate) comments: String,
    /// `code` without the items under `#[cfg(test)]`.
    pub(crate) production: String,
    /// Where each string and character stands: its first byte and the one after its last.
    pub(crate) literals: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    pub(crate) fn of(text: &str) -> Source {
        let mut kinds = Vec::with_capacity(text.len());
        let mut literals = Vec::new();
        while kinds.len() < text.len() {
            let (kind, end) = token(text, kinds.len());
            if kind == Kind::Literal {
                literals.push((kinds.len(), end));
            }
            kinds.resize(end, kind);
        }
        let code = view(text, &kinds, Kind::Code);
        let production = without_tests(&code);
        Source { comments: view(text, &kinds, Kind::Comment), code, production, literals }
    }
}

/// The line, counted from 1, on which this byte stands.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Every whole word of the text with its position. A path, a lifetime or a number is several.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_word_char)?;
        let rest = &code[start..];
        at = start + rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
        Some((start, &code[start..at]))
    })
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The position after the bracket that closes the one opened here, or the end of the text.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return offset + 1;
        }
    }
    code.len()
}

fn token(text: &str, start: usize) -> (Kind, usize) {
    let rest = &text[start..];
    if rest.starts_with("//") {
        return (Kind::Comment, start + rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment_end(text, start));
    }
    if rest.starts_with('"') {
        return (Kind::Literal, quoted_end(text, start + 1, b'"'));
    }
    if let Some(hashes) = raw_string_hashes(text, start) {
        let body = start + 1 + hashes + 1;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = text[body..].find(&end).map_or(text.len() - body, |at| at + end.len());
        return (Kind::Literal, body + length);
    }
    if let Some(end) = char_literal_end(text, start) {
        return (Kind::Literal, end);
    }
    (Kind::Code, start + rest.chars().next().map_or(1, char::len_utf8))
}

fn block_comment_end(text: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn quoted_end(text: &str, body: usize, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut at = body;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// How many `#` a raw string that starts here has; none when no raw string starts here.
fn raw_string_hashes(text: &str, start: usize) -> Option<usize> {
    let rest = text[start..].strip_prefix('r')?;
    let before = text[..start].chars().next_back();
    // The `r` of `for"` or of a name is none; that of `br"` and `cr"` is.
    let in_a_word = before.is_some_and(|c| is_word_char(c) && c != 'b' && c != 'c');
    let hashes = rest.bytes().take_while(|&byte| byte == b'#').count();
    (!in_a_word && rest[hashes..].starts_with('"')).then_some(hashes)
}

/// Tells `'a'` from the lifetime `'a`.
fn char_literal_end(text: &str, start: usize) -> Option<usize> {
    let rest = text[start..].strip_prefix('\'')?;
    let first = rest.chars().next()?;
    if first == '\\' {
        return Some(quoted_end(text, start + 1, b'\''));
    }
    let after = start + 1 + first.len_utf8();
    text[after..].starts_with('\'').then_some(after + 1)
}

fn view(text: &str, kinds: &[Kind], wanted: Kind) -> String {
    let bytes = text.bytes().zip(kinds);
    let kept = bytes.map(|(byte, &kind)| if kind == wanted || byte == b'\n' { byte } else { b' ' });
    // Tokens begin and end between characters, so a view cuts no character in two.
    String::from_utf8_lossy(&kept.collect::<Vec<u8>>()).into_owned()
}

fn without_tests(code: &str) -> String {
    let mut production = code.to_owned();
    for (start, mark) in code.match_indices("#[cfg(test)]") {
        let end = item_end(code, start + mark.len());
        let blank: String =
            code[start..end].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
        production.replace_range(start..end, &blank);
    }
    production
}

/// The end of the item that begins after an attribute: its `;` or its block.
fn item_end(code: &str, start: usize) -> usize {
    let mut at = start;
    while at < code.len() {
        match code.as_bytes()[at] {
            b';' => return at + 1,
            b'{' => return closing(code, at),
            b'(' | b'[' => at = closing(code, at),
            _ => at += 1,
        }
    }
    code.len()
}

#[cfg(test)]
mod tests;
