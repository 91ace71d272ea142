//! How wide text is in a terminal: a Chinese character takes two columns, an accent none.

/// Characters that take two columns, in rising order.
const WIDE: [(u32, u32); 14] = [
    (0x1100, 0x115f),   // Hangul beginnings
    (0x231a, 0x231b),   // watches
    (0x23e9, 0x23ec),   // arrows of players
    (0x25fd, 0x25fe),   // squares
    (0x2614, 0x2615),   // umbrella, cup
    (0x2e80, 0x303e),   // radicals and punctuation
    (0x3041, 0x33ff),   // kana, compatibility
    (0x3400, 0x4dbf),   // ideographs
    (0x4e00, 0xa4cf),   // ideographs, Yi
    (0xa960, 0xa97c),   // Hangul
    (0xac00, 0xd7a3),   // Hangul
    (0xf900, 0xfaff),   // ideographs
    (0xfe30, 0xff60),   // forms for vertical and full width
    (0x1f300, 0x3fffd), // pictures, further ideographs
];

/// Marks that stand on the character before them, and what joins or chooses one.
const NARROWEST: [(u32, u32); 8] = [
    (0x300, 0x36f),
    (0x483, 0x489),
    (0x591, 0x5bd),
    (0x610, 0x61a),
    (0x64b, 0x65f),
    (0x200b, 0x200d),
    (0x20d0, 0x20f0),
    (0xfe00, 0xfe0f),
];

fn is_in(ranges: &[(u32, u32)], ch: char) -> bool {
    let code = u32::from(ch);
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

fn width_of(ch: char) -> usize {
    match ch {
        _ if is_in(&NARROWEST, ch) => 0,
        '\u{ffe0}'..='\u{ffe6}' => 2,
        _ if is_in(&WIDE, ch) => 2,
        _ => 1,
    }
}

/// The columns that a line of text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// The beginning of the text that fits, with `…` if something is left out.
pub(crate) fn fitted(text: &str, columns_max: usize) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut taken = 1;
    for ch in text.chars() {
        taken += width_of(ch);
        if taken > columns_max {
            break;
        }
        fitted.push(ch);
    }
    format!("{}…", fitted.trim_end())
}

#[cfg(test)]
mod tests;
