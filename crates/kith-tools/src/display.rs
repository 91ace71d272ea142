//! Names and numbers as the model reads them.
//!
//! A file may be called anything, a line break or a change of writing direction included. Shown as
//! it is, such a name could pass for a line of our own, so what cannot be seen is spelled out.

use kith_vocab::invisible::is_deceptive;

/// Longer names are cut in messages; no honest path is longer.
pub(crate) const NAME_CHARS_MAX: usize = 200;

/// The name with invisible characters spelled out, cut to [`NAME_CHARS_MAX`].
pub(crate) fn name(text: &str) -> String {
    words(text, NAME_CHARS_MAX)
}

/// The text with invisible characters spelled out, cut to a number of characters.
pub(crate) fn words(text: &str, chars_max: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(chars_max));
    for (index, ch) in text.chars().enumerate() {
        if index == chars_max {
            shown.push('…');
            break;
        }
        if is_deceptive(ch) {
            shown.extend(ch.escape_unicode());
        } else {
            shown.push(ch);
        }
    }
    shown
}

/// A line of a file with what could pass for the end of a line spelled out.
pub(crate) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for ch in text.chars() {
        if (ch.is_control() && ch != '\t') || matches!(ch, '\u{2028}' | '\u{2029}') {
            shown.extend(ch.escape_unicode());
        } else {
            shown.push(ch);
        }
    }
    shown
}

/// `2,000,000`: digits in groups of three, because long rows of digits are misread.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 line`, `2 lines`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
