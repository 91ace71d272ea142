//! The language in which a person is told things: `[ui] language`, else the one that USER.md names
//! for the owner, else that of the person's client, else English.

use std::env;
use std::path::Path;

use kith_home::user::UserFacts;

use crate::settings::Settings;

const ENGLISH: &str = "en";

/// The language of this process's locale as a tag such as `zh-CN`; `None` if it names none.
pub fn of_locale() -> Option<String> {
    let named = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter();
    let value = named.filter_map(|name| env::var(name).ok()).find(|value| !value.is_empty());
    value.as_deref().and_then(tag)
}

/// `zh-CN` of `zh_CN.UTF-8`; `None` of `C` and `POSIX`.
fn tag(locale: &str) -> Option<String> {
    let name = locale.split(['.', '@']).next().unwrap_or_default();
    let is_named = name.chars().all(|ch| ch.is_ascii_alphanumeric() || "_-".contains(ch));
    (is_named && !["", "C", "POSIX"].contains(&name)).then(|| name.replace('_', "-"))
}

/// The language that the settings or the owner's own file name.
pub(crate) fn chosen(settings: &Settings, home: Option<&Path>) -> Option<String> {
    let set = settings.language.map(str::to_owned);
    // Nothing is worth losing over the language in which it is told.
    let of_user = || UserFacts::read(home?).ok()?.language_code().map(str::to_owned);
    set.or_else(of_user)
}

/// The language for a person who speaks to an agent through a client of this language.
pub fn for_person(settings: &Settings, agent_id: Option<&str>, client: Option<&str>) -> String {
    let home = settings.team.choose(agent_id).ok().map(|member| member.home.as_path());
    let of_client = || client.map(str::to_owned);
    chosen(settings, home).or_else(of_client).unwrap_or_else(|| ENGLISH.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_names_a_language_or_none() {
        for (locale, expected) in [
            ("zh_CN.UTF-8", Some("zh-CN")),
            ("zh", Some("zh")),
            ("de_DE@euro", Some("de-DE")),
            ("en_US.UTF-8", Some("en-US")),
            ("C", None),
            ("C.UTF-8", None),
            ("POSIX", None),
            ("", None),
            ("zh\u{1b}[2J", None),
        ] {
            assert_eq!(tag(locale).as_deref(), expected, "{locale}");
        }
    }
}
