//! Marks that only the runtime may write, and how others' text is kept from looking like them.
//!
//! A model does not parse, it reads: white space, a slash, capitals, invisible characters and
//! letters of other alphabets that look the same make no difference to it, so they make none here.
//! What could pass for a mark loses its bracket to a character reference (`<` becomes `&lt;`); the
//! rest is kept, and no two texts become the same one.

use std::borrow::Cow;

use kith_vocab::invisible::is_invisible;

/// What may stand for `<`.
const ANGLES: [char; 7] =
    ['<', '\u{ff1c}', '\u{fe64}', '\u{2039}', '\u{2329}', '\u{27e8}', '\u{3008}'];

/// The envelope of a reminder.
pub(crate) const REMINDER: &str = "system-reminder";
/// How the marks of an untrusted block begin.
pub(crate) const UNTRUSTED: &str = "untrusted";

/// What makes a bracket a mark when it follows: as [`plain`] spells it, and without brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    after_angle: &'static [&'static str],
    after_square: &'static [&'static str],
}

/// For the owner's own text, which may hold anything but the envelope it stands in.
pub(crate) const ENVELOPE: Marks = Marks { after_angle: &[REMINDER], after_square: &[] };

/// For a primed thought, which must not end before its end.
pub(crate) const THOUGHT: Marks = Marks { after_angle: &["thought"], after_square: &[] };

/// For tool results whatever their trust: the marks that the runtime itself writes.
pub(crate) const RUNTIME: Marks = Marks { after_angle: &[REMINDER, UNTRUSTED], after_square: &[] };

/// For everyone else's: also the marks of their own block, and the tokens by which models tell
/// who speaks.
pub(crate) const ALL: Marks = Marks {
    after_angle: &[
        REMINDER,
        UNTRUSTED,
        "|",
        "system>",
        "assistant>",
        "human>",
        "sys>",
        "start-of-turn",
        "end-of-turn",
        "s>",
        "bos>",
        "eos>",
    ],
    after_square: &["inst]", "system-prompt]", "available-tools]", "tool-calls]", "tool-results]"],
};

/// Borrowed if nothing in it had to be escaped.
pub(crate) fn escape<'a>(text: &'a str, marks: &Marks) -> Cow<'a, str> {
    let mut escaped = String::new();
    // What of the text has not been copied, and from where in it to look on.
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find(|ch| ch == '&' || is_bracket(ch)).map(|at| from + at) {
        let (bracket, n_bytes) = bracket_in(&rest[at..]);
        let (found, after) = rest[at..].split_at(n_bytes);
        let Some(bracket) = bracket.filter(|it| marks.follow(*it, after)) else {
            from = at + n_bytes;
            continue;
        };
        escaped.push_str(&rest[..at]);
        match found.strip_prefix('&') {
            None => {
                escaped.push('&');
                escaped.push_str(&reference_to(bracket));
            }
            // It is written as a reference already; were it left, two texts would become one.
            Some(reference) => {
                escaped.push_str("&amp;");
                escaped.push_str(reference);
            }
        }
        (rest, from) = (after, 0);
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    escaped.push_str(rest);
    Cow::Owned(escaped)
}

impl Marks {
    fn follow(&self, bracket: char, text: &str) -> bool {
        let names = if bracket == '[' { self.after_square } else { self.after_angle };
        let is_before_a_name = |ch: char| {
            ch.is_whitespace()
                || matches!(ch, '/' | '\\' | '\u{2044}' | '\u{ff0f}')
                || plain(ch).is_none()
        };
        let text = text.trim_start_matches(is_before_a_name);
        names.iter().any(|name| {
            let mut said = text.chars().filter_map(plain);
            name.chars().all(|wanted| said.next() == Some(wanted))
        })
    }
}

fn is_bracket(ch: char) -> bool {
    ch == '[' || ANGLES.contains(&ch)
}

/// The bracket at the start of the text, as itself or as a reference, and how many bytes it takes.
/// An `&` that begins no such reference is one byte of nothing.
fn bracket_in(text: &str) -> (Option<char>, usize) {
    let Some(mut name) = text.strip_prefix('&') else {
        let bracket = text.chars().next();
        return (bracket, bracket.map_or(0, char::len_utf8));
    };
    while let Some(inner) = name.strip_prefix("amp;") {
        name = inner;
    }
    let n_before = text.len() - name.len();
    for bracket in ANGLES.into_iter().chain(['[']) {
        let reference = reference_to(bracket);
        if name.starts_with(&reference) {
            return (Some(bracket), n_before + reference.len());
        }
    }
    (None, 1)
}

fn reference_to(bracket: char) -> String {
    if bracket == '<' { "lt;".to_owned() } else { format!("#{};", u32::from(bracket)) }
}

/// The small Latin letter or the sign that a character looks like; `None` if it shows nothing.
fn plain(ch: char) -> Option<char> {
    let code = u32::from(ch);
    let seen = match ch {
        _ if is_invisible(ch) => return None,
        // Full-width forms, and the alphabets for mathematics.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(code - 0xfee0).unwrap_or(ch),
        '\u{1d400}'..='\u{1d6a3}' => {
            let letter = (code - 0x1d400) % 52;
            char::from_u32(if letter < 26 { 0x41 + letter } else { 0x47 + letter }).unwrap_or(ch)
        }
        '_' | '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        _ if ch.is_whitespace() => '-',
        _ => ch.to_lowercase().next().unwrap_or(ch),
    };
    Some(match seen.to_ascii_lowercase() {
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' => 'e',
        'һ' => 'h',
        'і' | 'ı' | 'ι' => 'i',
        'м' => 'm',
        'ո' | 'п' => 'n',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'у' | 'γ' => 'y',
        '¦' | 'ǀ' | '│' => '|',
        other => other,
    })
}

#[cfg(test)]
pub(crate) mod tests;
