//! Characters that a reader does not see.
//!
//! Text from outside can hide instructions in them, make two names look alike, or turn the order of
//! the letters that follow. Every crate asks this one list, so that none of them knows fewer.

/// Whether the character shows nothing, or changes the direction of what follows. Control
/// characters are not among them: callers differ in which of those they keep.
pub fn is_invisible(ch: char) -> bool {
    matches!(ch,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether the character should be spelled out where a name or a text is shown: a control character
/// or an invisible one. Joiners and the two selectors of emoji are let through, because Persian
/// words, Indian scripts and many emoji are written with them and they can neither move text nor
/// carry a message.
pub fn is_deceptive(ch: char) -> bool {
    let is_part_of_writing = matches!(ch, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    ch.is_control() || (is_invisible(ch) && !is_part_of_writing)
}

/// Whether the letter looks like an ASCII letter and is none: from another alphabet, or of another
/// width or style.
pub fn is_lookalike(ch: char) -> bool {
    matches!(ch,
        'А' | 'В' | 'Е' | 'К' | 'М' | 'Н' | 'О' | 'Р' | 'С' | 'Т' | 'У' | 'Х' | 'Ѕ' | 'І' | 'Ј'
        | 'а' | 'в' | 'е' | 'к' | 'м' | 'о' | 'р' | 'с' | 'т' | 'у' | 'х' | 'ѕ' | 'і' | 'ј' | 'һ'
        | 'ԁ' | 'ԛ' | 'ԝ' | 'ӏ' | 'Α' | 'Β' | 'Ε' | 'Ζ' | 'Η' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Ο' | 'Ρ'
        | 'Τ' | 'Υ' | 'Χ' | 'α' | 'ι' | 'κ' | 'ν' | 'ο' | 'ρ' | 'υ' | 'ɑ' | 'ɡ' | 'ɩ' | 'ı'
        | '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2215}' | '\u{2044}'
        | '\u{29f8}' | '\u{2024}' | '\u{a789}' | '\u{2236}')
}

/// The text with everything spelled out that a reader would not see or would take for something else.
/// Line ends stay; look-alikes are spelled out in words that also have ASCII letters.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let has_ascii = piece.chars().any(|ch| ch.is_ascii_alphanumeric());
        for ch in piece.chars() {
            let is_hidden = is_deceptive(ch) || (has_ascii && is_lookalike(ch));
            if is_hidden && ch != '\n' {
                shown.extend(['\\', 'u']);
                shown.extend(format!("{{{:X}}}", u32::from(ch)).chars());
            } else {
                shown.push(ch);
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_without_width_and_marks_of_direction_are_invisible() {
        let spans = [
            ('\u{ad}', '\u{ad}'),
            ('\u{200b}', '\u{200f}'),
            ('\u{2028}', '\u{202e}'),
            ('\u{2060}', '\u{206f}'),
            ('\u{fe00}', '\u{fe0f}'),
            ('\u{feff}', '\u{feff}'),
            ('\u{e0000}', '\u{e0fff}'),
        ];
        for (first, last) in spans {
            assert!((first..=last).all(is_invisible), "{first:?}");
        }
        assert!("aé四 \u{a0}\n🙂e\u{301}".chars().all(|ch| !is_invisible(ch)));
    }

    #[test]
    fn what_a_reader_would_not_see_is_spelled_out() {
        let check = |text: &str, shown: &str| assert_eq!(visible(text), shown);
        check("rm \u{202e}txt.x\u{1b}[2K", "rm \\u{202E}txt.x\\u{1B}[2K");
        check("cat p\u{430}sswd", "cat p\\u{430}sswd");
        check("cat README.md\nпривет мир", "cat README.md\nпривет мир");
        check("运行测试 a\u{200b}b", "运行测试 a\\u{200B}b");
    }

    #[test]
    fn what_words_and_emoji_are_written_with_is_not_deceptive() {
        assert!("نمی\u{200c}خواهم 👩\u{200d}💻 ❤\u{fe0f}".chars().all(|ch| !is_deceptive(ch)));
        for ch in "\u{1b}\n\t\u{7f}\u{9b}\u{200b}\u{200e}\u{202e}\u{2066}\u{fe00}\u{e0041}".chars()
        {
            assert!(is_deceptive(ch), "{ch:?}");
        }
    }
}
