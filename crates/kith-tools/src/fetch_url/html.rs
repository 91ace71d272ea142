//! HTML as text: what a person would read, in the order of the page.
//!
//! Not a browser. It knows which elements are never read, which begin a new line, and where a link
//! leads; whatever else a page holds is passed over. One pass, so that no page takes long.

/// Elements whose content nobody reads.
const SKIPPED: [&str; 6] = ["script", "style", "noscript", "template", "svg", "iframe"];

/// Elements that stand on lines of their own.
#[rustfmt::skip]
const BLOCKS: &[&str] = &[
    "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset",
    "figcaption", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li",
    "main", "nav", "p", "pre", "section", "title", "tr",
];

/// Characters that are written by name.
#[rustfmt::skip]
const ENTITIES: &[(&str, &str)] = &[
    ("amp", "&"), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("apos", "'"), ("nbsp", " "),
    ("mdash", "—"), ("ndash", "–"), ("hellip", "…"), ("laquo", "«"), ("raquo", "»"), ("copy", "©"),
    ("middot", "·"), ("bull", "•"),
];

/// Bytes of a tag in which quotes are looked at. More would let a page of quotes take long.
const TAG_BYTES_MAX: usize = 1024;
/// The longest name of a character, with what surrounds it.
const ENTITY_BYTES_MAX: usize = 12;

pub(super) fn to_text(html: &str) -> String {
    let mut page = PageText::default();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        page.add_text(&rest[..start]);
        rest = &rest[start..];
        if !begins_tag(rest) {
            page.add_text("<");
            rest = &rest[1..];
            continue;
        }
        let end = tag_end(rest);
        let tag = Tag::of(&rest[..end]);
        rest = &rest[end..];
        if !tag.is_closing && SKIPPED.contains(&tag.name.as_str()) {
            rest = after_element(rest, &tag.name);
        } else {
            page.add_tag(&tag);
        }
    }
    page.add_text(rest);
    page.finish()
}

/// Whether a `<` begins a tag; otherwise it is a sign of the text, as in `a < b`.
fn begins_tag(text: &str) -> bool {
    let next = text.as_bytes().get(1);
    next.is_none_or(|it| it.is_ascii_alphabetic() || matches!(it, b'/' | b'!' | b'?'))
}

/// Where a tag or a comment ends; at the end of the text if it does not.
fn tag_end(text: &str) -> usize {
    let end_of = |mark: &str| text.find(mark).map_or(text.len(), |at| at + mark.len());
    if text.starts_with("<!--") {
        return end_of("-->");
    }
    // A `>` within quotes belongs to the value of an attribute.
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().take(TAG_BYTES_MAX) {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => (),
        }
    }
    // The quotes do not pair, or it is very long.
    end_of(">")
}

/// What follows the end of an element.
fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let start = from + at;
        let rest = &text[start + 2..];
        if rest.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name)) {
            return &text[start + tag_end(&text[start..])..];
        }
        from = start + 2;
    }
    ""
}

struct Tag {
    name: String,
    is_closing: bool,
    href: Option<String>,
}

impl Tag {
    fn of(text: &str) -> Tag {
        let inner = text.trim_start_matches('<').trim_end_matches('>');
        let is_closing = inner.starts_with('/');
        let inner = inner.trim_start_matches('/');
        let name = inner.split(|ch: char| !ch.is_ascii_alphanumeric()).next().unwrap_or_default();
        let name = name.to_ascii_lowercase();
        let href = if name == "a" { attribute(inner, "href=") } else { None };
        Tag { name, is_closing, href }
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    // The same places in both texts: only ASCII letters are changed.
    let at = tag.to_ascii_lowercase().find(name)? + name.len();
    let value = &tag[at..];
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split(|ch: char| ch.is_ascii_whitespace()).next()?,
    };
    Some(decoded(value))
}

#[derive(Default)]
struct PageText {
    text: String,
    links: Vec<Option<String>>,
    /// How many elements around are `pre`, whose blanks and line ends count.
    n_preformatted: usize,
}

impl PageText {
    fn add_text(&mut self, raw: &str) {
        for ch in decoded(raw).chars() {
            if self.n_preformatted > 0 {
                self.add_preformatted(ch);
            } else if !ch.is_whitespace() {
                self.text.push(ch);
            } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }

    /// At most one empty line in a row, and none at the beginning.
    fn add_preformatted(&mut self, ch: char) {
        let is_surplus = self.text.is_empty() || self.text.ends_with("\n\n");
        if ch != '\r' && !(ch == '\n' && is_surplus) {
            self.text.push(ch);
        }
    }

    fn add_tag(&mut self, tag: &Tag) {
        if tag.name == "a" {
            self.add_link(tag);
        }
        if tag.name == "pre" {
            let n = self.n_preformatted;
            self.n_preformatted = if tag.is_closing { n.saturating_sub(1) } else { n + 1 };
        }
        if BLOCKS.contains(&tag.name.as_str()) {
            self.break_line(if tag.name == "br" || tag.name == "li" { 1 } else { 2 });
            if tag.name == "li" && !tag.is_closing {
                self.text.push_str("- ");
            }
        } else if matches!(tag.name.as_str(), "td" | "th") && !tag.is_closing {
            self.add_text(" ");
        }
    }

    fn add_link(&mut self, tag: &Tag) {
        if !tag.is_closing {
            self.links.push(tag.href.clone());
            return;
        }
        let target = self.links.pop().flatten();
        if let Some(target) = target.filter(|it| it.starts_with("http") || it.starts_with('/')) {
            self.text.extend([" (", &target, ")"]);
        }
    }

    /// At most one empty line in a row.
    fn break_line(&mut self, n_breaks: usize) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        let n_there = self.text.bytes().rev().take_while(|&byte| byte == b'\n').count();
        if !self.text.is_empty() {
            self.text.extend(std::iter::repeat_n('\n', n_breaks.saturating_sub(n_there)));
        }
    }

    fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }
}

/// Text with the characters that are written by name or number.
fn decoded(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(start) = rest.find('&') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let window = &rest[..rest.floor_char_boundary(ENTITY_BYTES_MAX)];
        let found = window.find(';').and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (decoded, end) = found.unwrap_or_else(|| ("&".to_owned(), 1));
        text.push_str(&decoded);
        rest = &rest[end..];
    }
    text.push_str(rest);
    text
}

fn entity(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse().ok(), |it| u32::from_str_radix(it, 16).ok());
        return char::from_u32(code?).map(String::from);
    }
    ENTITIES.iter().find(|it| it.0 == name).map(|it| it.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(to_text(html), format!("{expected}\n"), "{html}");
    }

    #[test]
    fn a_page_is_read_as_a_person_would() {
        check(
            "<h1>Title</h1><p>One  <b>two</b>\n three</p><p>Next</p>",
            "Title\n\nOne two three\n\nNext",
        );
        check("<ul><li>a</li><li>b</li></ul>", "- a\n- b");
        check(
            "see <a href=\"https://x.org/?a=1&amp;b\">this</a>!",
            "see this (https://x.org/?a=1&b)!",
        );
        check("a &lt;b&gt; &#65;&#x42; &unknown; & c", "a <b> AB &unknown; & c");
        check("a<pre>\nif b:\n    <b>c</b>\n</pre>d", "a\n\nif b:\n    c\n\nd");
        check("<p>if a < b and 1 <2</p><p>c > d</p>", "if a < b and 1 <2\n\nc > d");
        check("<a title='a > b' href=/x>y</a> <b title=\"'>z", "y (/x) z");
        check("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\n\nc");
    }

    #[test]
    fn what_nobody_reads_is_left_out() {
        check("a<script>if (x < 1) '</p>'</SCRIPT >b<style>p{}</style><!-- <p>c --> d", "ab d");
        check("a<script>never ends", "a");
    }

    #[test]
    fn broken_pages_are_bounded_and_never_panic() {
        for html in [
            "<",
            "<a",
            "<a href=",
            "<a href='",
            "&",
            "&#x;",
            "&#xffffffff;",
            "</",
            "<!--",
            "é&é;<é>",
        ] {
            to_text(html);
        }
        let long = "<a href=\"".repeat(100_000);
        to_text(&long);
        let nested = "<div>".repeat(100_000);
        assert_eq!(to_text(&nested), "\n");
        to_text(&"<script></scrip".repeat(20_000));
        to_text(&"<a \">\"".repeat(5_000));
    }
}
