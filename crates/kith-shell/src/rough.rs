//! Commands that a text may hold, found without understanding it.
//!
//! For rules that deny or ask: where a script is too long or too strange to be read, what looks like
//! a command counts as one.

/// More commands than this are not looked at.
pub const ROUGH_COMMANDS_MAX: usize = 100_000;

/// Words before a command that are none.
const KEYWORDS: [&str; 10] =
    ["!", "if", "then", "else", "elif", "while", "until", "do", "time", "coproc"];

/// The words between operators, brackets and line ends, without quotes and backslashes.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let parts = text.split([';', '&', '|', '\n', '\r', '(', ')', '{', '}', '`']);
    parts.map(words).filter(|it| !it.is_empty()).take(ROUGH_COMMANDS_MAX).collect()
}

fn words(part: &str) -> Vec<String> {
    let bare = |word: &str| word.replace(['\'', '"', '\\'], "");
    let is_before = |word: &String| {
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
        });
        is_assignment || word.is_empty() || KEYWORDS.contains(&word.as_str())
    };
    part.split_whitespace().map(bare).skip_while(is_before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_command_is_one() {
        let found = |text: &str| -> Vec<String> {
            commands(text).into_iter().map(|it| it.join(" ")).collect()
        };
        assert_eq!(found("a b; c && d|e"), ["a b", "c", "d", "e"]);
        assert_eq!(found("X=1 g'i't \"push\"\n! if r\\m x"), ["git push", "rm x"]);
        assert_eq!(found("$(git push) `ls`"), ["$", "git push", "ls"]);
    }
}
