//! Lengths of time in a reply: "10 minutes", "an hour", "半小时".

use super::lexer::ends_word;

const HOUR: u32 = 60;
/// Days are read so that they can be refused for being too long.
const DAY: u32 = 24 * HOUR;

#[rustfmt::skip]
const UNITS: &[(&str, u32)] = &[
    ("minutes", 1), ("minute", 1), ("mins", 1), ("min", 1), ("m", 1), ("hours", HOUR),
    ("hour", HOUR), ("hrs", HOUR), ("hr", HOUR), ("h", HOUR), ("days", DAY), ("day", DAY),
    ("weeks", 7 * DAY), ("week", 7 * DAY), ("分钟", 1), ("分", 1), ("刻钟", 15), ("个小时", HOUR),
    ("个钟头", HOUR), ("个钟", HOUR), ("小时", HOUR), ("钟头", HOUR), ("天", DAY), ("个星期", 7 * DAY),
    ("周", 7 * DAY),
];

#[rustfmt::skip]
const NUMBERS: &[(&str, u32)] = &[
    ("a", 1), ("an", 1), ("one", 1), ("two", 2), ("three", 3), ("four", 4), ("five", 5), ("six", 6),
    ("seven", 7), ("eight", 8), ("nine", 9), ("ten", 10), ("twelve", 12), ("fifteen", 15),
    ("twenty", 20), ("thirty", 30), ("forty", 40), ("forty-five", 45), ("sixty", 60),
    ("ninety", 90),
];

/// Whole phrases whose number is not in front of a unit.
#[rustfmt::skip]
const PHRASES: &[(&str, u32)] = &[
    ("half an hour", 30), ("half hour", 30), ("a quarter of an hour", 15),
    ("an hour and a half", 90), ("半个小时", 30), ("半小时", 30), ("半个钟头", 30), ("半个钟", 30), ("一个半小时", 90),
    ("两个半小时", 150), ("半天", 12 * HOUR),
];

/// The length of the duration at the beginning of the text in characters, and in minutes.
pub(super) fn duration_at(text: &[char]) -> Option<(usize, u32)> {
    let at = |place: usize, phrase: &str| {
        let n = phrase.chars().count();
        let fits = text.get(place..).is_some_and(|rest| {
            rest.len() >= n && phrase.chars().zip(rest).all(|(wanted, it)| wanted == *it)
        });
        fits.then_some(place + n)
    };
    for (phrase, minutes) in PHRASES {
        if let Some(end) = at(0, phrase).filter(|end| ends_word(text, *end)) {
            return Some((end, *minutes));
        }
    }
    let (end, number) = number_at(text)?;
    let place = if text.get(end) == Some(&' ') { end + 1 } else { end };
    let mut best: Option<(usize, u32)> = None;
    for (unit, minutes) in UNITS {
        let found = at(place, unit).filter(|end| ends_word(text, *end));
        if let Some(end) = found.filter(|end| best.is_none_or(|(longest, _)| *end > longest)) {
            best = Some((end, number.saturating_mul(*minutes)));
        }
    }
    best
}

fn number_at(text: &[char]) -> Option<(usize, u32)> {
    let n_digits = text.iter().take_while(|ch| ch.is_ascii_digit()).count();
    if n_digits > 0 {
        let digits: String = text[..n_digits].iter().collect();
        return Some((n_digits, digits.parse().unwrap_or(u32::MAX)));
    }
    let words = NUMBERS.iter().filter_map(|(word, number)| {
        let n = word.chars().count();
        let fits = text.len() > n && word.chars().zip(text).all(|(wanted, it)| wanted == *it);
        (fits && text[n] == ' ').then_some((n, *number))
    });
    words.max().or_else(|| chinese_number(text))
}

/// A number up to ninety-nine: 五, 十, 十五, 二十, 四十五.
fn chinese_number(text: &[char]) -> Option<(usize, u32)> {
    let digit = |place: usize| {
        let ch = text.get(place)?;
        if *ch == '两' {
            return Some(2);
        }
        "一二三四五六七八九".chars().zip(1u32..).find(|(it, _)| it == ch).map(|(_, n)| n)
    };
    let is_ten = |place: usize| text.get(place) == Some(&'十');
    match digit(0) {
        Some(tens) if is_ten(1) => {
            Some(digit(2).map_or((2, tens * 10), |ones| (3, tens * 10 + ones)))
        }
        Some(ones) => Some((1, ones)),
        None if is_ten(0) => Some(digit(1).map_or((1, 10), |ones| (2, 10 + ones))),
        None => None,
    }
}
