//! The owner's time zone and language, from USER.md.
//!
//! They set windows, dates and the language of notices. They are also all of USER.md that anyone
//! but the owner may cause the agent to be told.

use std::path::Path;

use kith_vocab::digest::{hex, sha256_hex};

use crate::error::HomeError;
use crate::fields::{Field, fields, last_of};
use crate::{prompt_file, time_zone};

/// The longest IANA name has 32 characters.
const ZONE_NAME_CHARS_MAX: usize = 64;

/// A longer one is shortened, and ends with its hash: disks take names of 255 bytes.
const USER_KEY_CHARS_MAX: usize = 150;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFacts {
    /// An IANA name.
    pub time_zone: Option<String>,
    /// As the user put it: `Chinese with English technical terms`.
    pub language: Option<String>,
}

impl UserFacts {
    pub fn of(text: &str) -> UserFacts {
        let fields = fields(text);
        let zone =
            last_of(&fields, &["timezone", "time zone", "time-zone", "tz", "时区", "所在时区"]);
        UserFacts { time_zone: zone.and_then(|it| zone_in(&it)), language: language(&fields) }
    }

    /// The facts about the owner of the agent that lives here.
    pub fn read(home: &Path) -> Result<UserFacts, HomeError> {
        Ok(UserFacts::of(&prompt_file::read_text(&home.join("USER.md"))?))
    }

    /// The language as others may be told it: a tag and never the user's own words.
    pub fn language_tag(&self) -> Option<String> {
        let written = self.language.as_deref().map(str::trim).filter(|it| is_language_tag(it));
        written.or(self.language_code()).map(str::to_owned)
    }

    /// `zh` or `en`, whichever the language names first.
    pub fn language_code(&self) -> Option<&'static str> {
        const NAMES: [(&str, &str); 10] = [
            ("chinese", "zh"),
            ("mandarin", "zh"),
            ("中文", "zh"),
            ("汉语", "zh"),
            ("普通话", "zh"),
            ("zh", "zh"),
            ("english", "en"),
            ("英文", "en"),
            ("英语", "en"),
            ("en", "en"),
        ];
        let language = self.language.as_ref()?.to_lowercase();
        let words = language.split(|ch: char| !ch.is_alphanumeric());
        // Chinese has no spaces between words, so its names are looked for inside one.
        let names = |word: &str, name: &str| {
            if name.is_ascii() { word == name } else { word.contains(name) }
        };
        words
            .filter_map(|word| NAMES.iter().find(|(name, _)| names(word, name)))
            .map(|&(_, code)| code)
            .next()
    }
}

/// Whether the text is a language with at most a script and a region: `de`, `zh-Hant`, `pt-BR`.
fn is_language_tag(text: &str) -> bool {
    let letters =
        |part: &str, len| part.len() == len && part.bytes().all(|it| it.is_ascii_alphabetic());
    let mut parts = text.split('-');
    let is_language = parts.next().is_some_and(|it| letters(it, 2) || letters(it, 3));
    let mut parts = parts.peekable();
    parts.next_if(|it| letters(it, 4));
    parts.next_if(|it| letters(it, 2) || it.len() == 3 && it.bytes().all(|it| it.is_ascii_digit()));
    is_language && parts.next().is_none()
}

/// The name of the file that holds what is known about a person. Ids come from platforms and may
/// be anything; no two of them share a name, also on a disk that ignores case.
pub fn user_file(user_id: &str) -> String {
    let mut key = String::new();
    for byte in user_id.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => key.push(char::from(byte)),
            _ => key.extend(["%", &hex(&[byte])]),
        }
    }
    if key.len() > USER_KEY_CHARS_MAX {
        // A name that was not shortened never has a dash after its percent sign.
        key.truncate(USER_KEY_CHARS_MAX);
        key.push_str("%-");
        key.push_str(&sha256_hex(user_id.as_bytes()));
    }
    format!("{key}.md")
}

/// The name of a time zone as the database spells it, if it knows it.
pub fn known_zone(name: &str) -> Option<String> {
    if name.is_empty() || name.len() > ZONE_NAME_CHARS_MAX {
        return None;
    }
    time_zone::named(name)?.iana_name().map(str::to_owned)
}

/// Finds the name in `Europe/Berlin (CET/CEST)`. A place goes before an abbreviation, which names
/// an offset and so would miss daylight saving.
fn zone_in(value: &str) -> Option<String> {
    let is_name = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '/' | '_' | '-' | '+');
    let words: Vec<&str> = value.split(|ch| !is_name(ch)).filter(|it| !it.is_empty()).collect();
    let (places, others): (Vec<&str>, Vec<&str>) = words.iter().partition(|it| it.contains('/'));
    places.into_iter().chain(others).find_map(known_zone)
}

/// `Languages: …` lists what the user can read and is not a preference.
fn language(fields: &[Field]) -> Option<String> {
    const PREFERRED: [&str; 8] = [
        "preferred response language",
        "preferred language",
        "response language",
        "首选语言",
        "偏好语言",
        "回复语言",
        "常用语言",
        "回答语言",
    ];
    last_of(fields, &PREFERRED).or_else(|| last_of(fields, &["language", "语言"]))
}

#[cfg(test)]
mod tests;
