//! Splits a reply into words that are known, names of what is pending, and the rest.

use kith_vocab::invisible::is_invisible;

use super::duration::duration_at;
use super::lexicon::{WordKind, could_be_reply_words, longest};
use super::{PendingApproval, REPLY_CHARS_MAX};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(WordKind),
    /// A pending approval, by its index, and the words of its command if they were used.
    Target {
        index: usize,
        words: Option<Vec<String>>,
    },
    /// Words that name more than one pending approval.
    Ambiguous,
    /// A length of time in minutes.
    Minutes(u32),
    /// Quoted text that names nothing that is pending.
    Quoted {
        has_answer: bool,
    },
    QuestionMark,
    Separator,
    /// "…": what comes before it is not said to the end.
    TrailingOff,
    /// Anything else, with its text.
    Unknown(String),
}

/// Traditional characters, and in the same places the simplified ones.
const TRADITIONAL: &str = "絕執運這個們嗎為說過還對沒問題準許繼續鐘時內來開請謝應該後當點給讓間與兩條項僅餘從決會個號無議規駁別麼麼誰條權認萬幾約動開選檢並裡";
const SIMPLIFIED: &str = "绝执运这个们吗为说过还对没问题准许继续钟时内来开请谢应该后当点给让间与两条项仅余从决会个号无议规驳别么么谁条权认万几约动开选检并里";

/// A character as it is compared: lower case, of ordinary width, simplified.
pub(super) fn fold(ch: char) -> char {
    let narrow = match ch {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(ch) - 0xfee0).unwrap_or(ch),
        '\u{3000}' | '\u{a0}' | '\t' | '\r' => ' ',
        '’' | '‘' | '`' | '´' => '\'',
        _ => ch,
    };
    let simple = TRADITIONAL.chars().zip(SIMPLIFIED.chars()).find(|(it, _)| *it == narrow);
    let simple = simple.map_or(narrow, |(_, it)| it);
    simple.to_lowercase().next().unwrap_or(simple)
}

pub(super) fn is_latin(ch: char) -> bool {
    ch.is_alphanumeric() && !is_ideograph(ch)
}

fn is_ideograph(ch: char) -> bool {
    matches!(ch, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a word that stops before `end` is not cut in two.
pub(super) fn ends_word(text: &[char], end: usize) -> bool {
    let (Some(last), Some(next)) = (end.checked_sub(1).and_then(|it| text.get(it)), text.get(end))
    else {
        return true;
    };
    // "it's" and "re-run" are one word.
    let joins = |ch: char| is_latin(ch) || matches!(ch, '\'' | '_' | '-');
    !(is_latin(*last) && joins(*next))
}

/// Reads the tokens of a reply. `None` if it holds characters that reorder what a reader sees.
pub(super) fn tokens(text: &str, pending: &[PendingApproval]) -> Option<Vec<Token>> {
    if text.chars().any(|ch| matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')) {
        return None;
    }
    let original: Vec<char> = collapse(text);
    let folded: Vec<char> = original.iter().copied().map(fold).collect();
    let mut lexer =
        Lexer { original, folded, names: names_of(pending), place: 0, tokens: Vec::new() };
    while lexer.place < lexer.folded.len() {
        lexer.take();
    }
    Some(lexer.tokens)
}

/// Drops what has no width and writes every run of blanks as one.
fn collapse(text: &str) -> Vec<char> {
    let mut chars: Vec<char> = Vec::new();
    for ch in text.trim().chars().filter(|ch| !is_invisible(*ch)) {
        let is_blank = fold(ch) == ' ';
        let follows_blank = matches!(chars.last(), None | Some(' ' | '\n'));
        match ch {
            '\n' => {
                if chars.last() == Some(&' ') {
                    chars.pop();
                }
                chars.push('\n');
            }
            _ if is_blank && follows_blank => (),
            _ if is_blank => chars.push(' '),
            _ => chars.push(ch),
        }
    }
    chars
}

struct Lexer {
    original: Vec<char>,
    folded: Vec<char>,
    names: Vec<TargetName>,
    place: usize,
    tokens: Vec<Token>,
}

const QUOTES: [(char, char); 7] =
    [('"', '"'), ('\'', '\''), ('“', '”'), ('「', '」'), ('『', '』'), ('《', '》'), ('„', '“')];

impl Lexer {
    fn take(&mut self) {
        let ch = self.folded[self.place];
        let is_line_start = self.place == 0 || self.folded[self.place - 1] == '\n';
        if is_line_start && ch == '>' {
            let rest = &self.folded[self.place..];
            let n = rest.iter().position(|ch| *ch == '\n').unwrap_or(rest.len());
            return self.push(self.quoted(self.place, n), n);
        }
        if ch == ' ' {
            self.place += 1;
            return;
        }
        if self.take_quoted() {
            return;
        }
        let word = longest(&self.folded, self.place);
        let n_word = word.map_or(0, |(n, _)| n);
        if let Some((n, token)) = self.target_at(n_word) {
            return self.push(token, n);
        }
        if let Some((n, minutes)) = duration_at(&self.folded[self.place..]) {
            return self.push(Token::Minutes(minutes), n);
        }
        if let Some((n, kind)) = word {
            return self.push(Token::Word(kind), n);
        }
        if ch == '?' {
            return self.push(Token::QuestionMark, 1);
        }
        let n_same = self.folded[self.place..].iter().take_while(|it| **it == ch).count();
        if ch == '…' || (n_same > 1 && matches!(ch, '.' | '。')) {
            return self.push(Token::TrailingOff, n_same);
        }
        // "~~yes~~" is struck out; "好的~~" is not.
        let follows = self.folded.get(self.place + n_same);
        if ch == '~' && n_same > 1 && follows.is_some_and(|it| *it != ' ' && !is_separator(*it)) {
            return self.push(Token::Quoted { has_answer: false }, n_same);
        }
        if is_separator(ch) {
            return self.push(Token::Separator, 1);
        }
        let n = self.unknown_len();
        let text = self.original[self.place..self.place + n].iter().collect();
        self.push(Token::Unknown(text), n);
    }

    fn push(&mut self, token: Token, n: usize) {
        self.tokens.push(token);
        self.place += n.max(1);
    }

    /// A word of letters, digits and the marks of paths and options; an ideograph stands alone.
    fn unknown_len(&self) -> usize {
        let is_part = |ch: &&char| {
            is_latin(**ch) || matches!(ch, '_' | '-' | '/' | '.' | '\'' | '@' | '=' | '~' | '+')
        };
        self.folded[self.place..].iter().take_while(is_part).count().max(1)
    }

    /// Takes quoted text. It is a target if it is the name of one, and nothing else.
    fn take_quoted(&mut self) -> bool {
        let ch = self.original[self.place];
        let opening = if matches!(ch, '`' | '‘' | '´') { '\'' } else { ch };
        let Some((_, closing)) = QUOTES.iter().find(|(open, _)| *open == opening) else {
            return false;
        };
        // An apostrophe inside a word is no quote.
        if opening == '\'' && self.place > 0 && is_latin(self.folded[self.place - 1]) {
            return false;
        }
        let rest = &self.folded[self.place + 1..];
        let ends = |(n, it): (usize, &char)| {
            let is_apostrophe = *it == '\'' && rest.get(n + 1).is_some_and(|next| is_latin(*next));
            (*it == fold(*closing) && !is_apostrophe).then_some(n)
        };
        let Some(n) = rest.iter().enumerate().find_map(ends) else { return false };
        let inner: String = self.original[self.place + 1..][..n].iter().collect();
        let token =
            self.target_named(inner.trim()).unwrap_or_else(|| self.quoted(self.place + 1, n));
        self.push(token, n + 2);
        true
    }

    /// Quoted text of this length, and whether it has an answer in it.
    fn quoted(&self, start: usize, n: usize) -> Token {
        let is_answer = |place: usize| {
            let starts_word = !is_latin(self.folded[place - 1]) || !is_latin(self.folded[place]);
            let word = longest(&self.folded, place).filter(|_| starts_word);
            word.is_some_and(|(_, kind)| matches!(kind, WordKind::Yes(..) | WordKind::No(_)))
        };
        Token::Quoted { has_answer: (start.max(1)..start + n).any(is_answer) }
    }

    fn target_named(&self, inner: &str) -> Option<Token> {
        let chars: Vec<char> = inner.chars().collect();
        let folded: Vec<char> = chars.iter().copied().map(fold).collect();
        let (n, token) = best_target(&self.names, &chars, &folded, 0, Naming::Quoted)?;
        (n == chars.len()).then_some(token)
    }

    fn target_at(&self, n_word: usize) -> Option<(usize, Token)> {
        let starts_inside = self.place > 0
            && is_latin(self.folded[self.place - 1])
            && is_latin(self.folded[self.place]);
        if starts_inside {
            return None;
        }
        let found =
            best_target(&self.names, &self.original, &self.folded, self.place, Naming::Plain)?;
        (found.0 >= n_word).then_some(found)
    }
}

fn is_separator(ch: char) -> bool {
    "\n,.;:!，。；：！、…~～—-·()".contains(ch)
}

/// Whether a word has the form of the codes that approvals have.
pub(super) fn is_code(word: &str) -> bool {
    let is_mixed = word.chars().any(|ch| ch.is_ascii_digit())
        && word.chars().any(|ch| ch.is_ascii_uppercase());
    is_mixed
        && (3..=6).contains(&word.len())
        && word.chars().all(|ch| ch.is_ascii_uppercase() || ch.is_ascii_digit())
}

/// Whether a word that is not known could be a code, a path or an option.
pub(super) fn looks_like_a_name(word: &str) -> bool {
    let is_code = word.len() <= 6
        && word.chars().all(|ch| ch.is_ascii_uppercase() || ch.is_ascii_digit())
        && !word.is_empty();
    is_code || word.contains(['/', '.', '_', '-'])
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Plain,
    /// What stands in quotes is a name and cannot be part of the reply itself.
    Quoted,
}

/// A way to name a pending approval.
struct TargetName {
    index: usize,
    text: Vec<char>,
    /// Commands and paths are compared as they are written, everything else folded.
    is_exact: bool,
    /// The words of the command, if these are what it is named by.
    words: Option<Vec<String>>,
    /// Outside quotes the name could also be part of the reply itself.
    needs_quotes: bool,
}

/// Every name of every pending approval.
fn names_of(pending: &[PendingApproval]) -> Vec<TargetName> {
    let mut names = Vec::new();
    for (index, it) in pending.iter().enumerate() {
        let mut add = |text: &str, is_exact: bool, words: Option<Vec<String>>| {
            let text: Vec<char> =
                if is_exact { text.chars().collect() } else { text.chars().map(fold).collect() };
            let needs_quotes = could_be_reply_words(&text.iter().collect::<String>());
            if !text.is_empty() {
                names.push(TargetName { index, text, is_exact, words, needs_quotes });
            }
        };
        add(&it.code, false, None);
        add(&it.approval_id, true, None);
        let words: Vec<&str> = it.command.iter().flat_map(|it| it.split_whitespace()).collect();
        // One word of several does not say which command is meant.
        for n_words in words.len().min(2)..=words.len() {
            let name = words[..n_words].join(" ");
            // No reply has room for this name, nor for a longer one.
            if name.chars().nth(REPLY_CHARS_MAX).is_some() {
                break;
            }
            let owned = words[..n_words].iter().map(|word| (*word).to_owned()).collect();
            add(&name, true, Some(owned));
        }
        for path in &it.paths {
            add(path, true, Some(vec![path.clone()]));
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.contains('.') && name.len() >= 3 {
                add(name, true, Some(vec![path.clone()]));
            }
        }
        let summary = it.summary.split_whitespace().collect::<Vec<_>>().join(" ");
        if summary.contains(' ') || summary.chars().count() >= 6 {
            add(&summary, false, None);
        }
        if pending.iter().filter(|other| other.tool == it.tool).count() == 1 {
            add(&it.tool, false, None);
        }
    }
    names
}

/// The longest name that the text has at `place`, and its length.
fn best_target(
    names: &[TargetName],
    original: &[char],
    folded: &[char],
    place: usize,
    naming: Naming,
) -> Option<(usize, Token)> {
    let mut best: Option<(usize, Token)> = None;
    for name in names.iter().filter(|it| naming == Naming::Quoted || !it.needs_quotes) {
        let here = if name.is_exact { &original[place..] } else { &folded[place..] };
        let n = name.text.len();
        let is_shorter = best.as_ref().is_some_and(|(longest, _)| *longest > n);
        if is_shorter || !here.starts_with(&name.text) || !ends_target(folded, place + n) {
            continue;
        }
        let token = Token::Target { index: name.index, words: name.words.clone() };
        best = Some(match best {
            Some((longest, Token::Target { index, words })) if longest == n => {
                if index == name.index {
                    // The words of its command say more than its summary.
                    (n, Token::Target { index, words: words.or_else(|| name.words.clone()) })
                } else {
                    (n, Token::Ambiguous)
                }
            }
            Some((longest, Token::Ambiguous)) if longest == n => (n, Token::Ambiguous),
            _ => (n, token),
        });
    }
    best
}

/// Whether the name of a command or a path may end here: not inside a word, an option or a path.
fn ends_target(text: &[char], end: usize) -> bool {
    let Some(next) = text.get(end) else { return true };
    let after = text.get(end + 1);
    let goes_on = is_latin(*next)
        || matches!(
            next,
            '_' | '-' | '/' | '=' | '*' | '~' | '$' | '\\' | '@' | '|' | '&' | '<' | '>'
        );
    // A full stop or a colon ends a sentence, unless a name goes on behind it.
    let joins = matches!(next, '.' | ':') && after.is_some_and(|ch| is_latin(*ch) || *ch == '/');
    !goes_on && !joins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_has_no_more_names_than_a_reply_can_hold() {
        let command = Some("a ".repeat(32 * 1024));
        let pending = PendingApproval { command, ..PendingApproval::default() };
        assert!(names_of(&[pending]).len() <= REPLY_CHARS_MAX);
    }
}
