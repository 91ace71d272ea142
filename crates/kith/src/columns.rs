//! How wide text is in a terminal: a Chinese character takes two columns, an accent none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The columns that a line of text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The beginning of the text that fits, with `…` if something is left out.
pub(crate) fn fitted(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut taken = 1;
    for ch in text.chars() {
        taken += ch.width().unwrap_or(1);
        if taken > columns_max {
            break;
        }
        fitted.push(ch);
    }
    format!("{}…", fitted.trim_end())
}

#[cfg(test)]
mod tests;
