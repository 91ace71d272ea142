//! How files and names are written into a prompt.
//!
//! A file is a block that names its path. Names come from disks, where anything goes, so none of
//! them can break a line, open a tag or hide a character.

use kith_vocab::invisible::is_deceptive;

/// A name longer than this is cut.
pub(crate) const NAME_CHARS_MAX: usize = 1024;

const CLOSING: &str = "</file";

/// The block of one file. Both are in it as they are: the path comes from [`one_line`], the
/// content from [`without_closing_marks`].
pub(crate) fn file_block(shown_path: &str, content: &str) -> String {
    let line_end = if content.ends_with('\n') { "" } else { "\n" };
    format!("<file path=\"{shown_path}\">\n{content}{line_end}</file>")
}

/// Text that cannot close the block it is put in: `</file` becomes `<\/file`.
pub(crate) fn without_closing_marks(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, _) in text.match_indices("</") {
        let end = start + CLOSING.len();
        if text.get(start..end).is_some_and(|mark| mark.eq_ignore_ascii_case(CLOSING)) {
            safe.push_str(&text[copied..start]);
            safe.push_str("<\\/");
            copied = start + "</".len();
        }
    }
    safe.push_str(&text[copied..]);
    safe
}

/// A name as one harmless line.
pub(crate) fn one_line(name: &str, chars_max: usize) -> String {
    let mut line = String::with_capacity(name.len());
    for (n_chars, ch) in name.chars().enumerate() {
        if n_chars == chars_max {
            line.push('…');
            break;
        }
        match ch {
            '<' => line.push_str("&lt;"),
            '>' => line.push_str("&gt;"),
            '"' => line.push_str("&quot;"),
            _ if is_deceptive(ch) => line.extend(ch.escape_unicode()),
            _ => line.push(ch),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_cannot_close_its_block() {
        check("a </file> b", "<file path=\"x\">\na <\\/file> b\n</file>");
        check("</FILE></File >\n", "<file path=\"x\">\n<\\/FILE><\\/File >\n</file>");
        check("</fil é</", "<file path=\"x\">\n</fil é</\n</file>");
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(one_line("a\nb\"<c>\u{202e}", 99), "a\\u{a}b&quot;&lt;c&gt;\\u{202e}");
        assert_eq!(one_line("é👩‍💻é", 4), "é👩‍💻…");
        assert_eq!(one_line("four", 4), "four");
    }

    #[track_caller]
    fn check(content: &str, block: &str) {
        assert_eq!(file_block("x", &without_closing_marks(content)), block);
    }
}
