//! Reads a reply to pending approvals: yes, no, unclear, or no answer at all.
//!
//! [`read_reply`] is pure and needs no model: same words and same questions, same verdict. A yes is
//! read only if every word of the reply is known and none of them doubts, denies, asks, quotes or
//! sets a condition; whatever is left over makes the reply unclear. So a mistake of this file is a
//! question too many, never a command that nobody allowed.

mod duration;
mod lexer;
mod lexicon;
mod speaker;

use lexer::{Token, is_code, looks_like_a_name, tokens};
use lexicon::{NamedAction, Strength, WordKind};
use serde::{Deserialize, Serialize};
use speaker::{join_negations, not_own_yes, plain};

/// A longer reply is no answer, or an unclear one.
pub const REPLY_CHARS_MAX: usize = 400;
/// By words, an approval stands for a day at most.
pub const GRANT_MINUTES_MAX: u32 = 24 * 60;
/// A weak word in the middle of a longer text does not make it an answer.
const SHORT_REPLY_TOKENS_MAX: usize = 6;
/// Words that hedge are an answer only if there is little else.
const HEDGE_TOKENS_MAX: usize = 4;
/// A condition before a yes is an answer only in a short text.
const CONDITIONAL_TOKENS_MAX: usize = 8;

/// A question that waits for an answer, as far as a reply can name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingApproval {
    pub approval_id: String,
    pub code: String,
    pub tool: String,
    pub summary: String,
    pub command: Option<String>,
    pub paths: Vec<String>,
}

/// What a reply says about the pending approvals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyReading {
    Allow {
        approvals: Vec<String>,
        /// Those that the same reply denies.
        denied: Vec<String>,
        grant: Option<GrantWish>,
    },
    Deny {
        approvals: Vec<String>,
        /// Whether the reply also says why.
        has_reason: bool,
    },
    /// It is about the approvals and cannot be taken for a decision.
    AskBack(Unclear),
    NotAnAnswer,
}

/// A wish not to be asked again for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantWish {
    /// The first words of the command, or the path.
    pub pattern: Vec<String>,
    pub minutes: u32,
}

/// Why a reply is asked back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// Several approvals are pending, and it does not say which.
    WhichOne,
    /// It names something that is not pending.
    UnknownName,
    /// It is a question.
    Question,
    /// It sets a condition or makes an exception.
    Condition,
    Doubt,
    /// It quotes someone, or the question.
    Quoted,
    /// It says yes and no.
    Mixed,
    /// It has no end, or one that is more than a day away.
    TooLong,
    /// What it names cannot be allowed for a while, only once.
    OnceOnly,
    /// Some of its words are not understood.
    Unknown,
}

/// Reads what a person wrote while these approvals are pending.
pub fn read_reply(text: &str, pending: &[PendingApproval]) -> ReplyReading {
    if pending.is_empty() || text.trim().is_empty() {
        return ReplyReading::NotAnAnswer;
    }
    let is_too_long = text.chars().nth(REPLY_CHARS_MAX).is_some();
    let beginning: String = text.chars().take(REPLY_CHARS_MAX).collect();
    let Some(tokens) = tokens(&beginning, pending) else {
        return ReplyReading::AskBack(Unclear::Quoted);
    };
    let tokens: Vec<Token> = tokens.into_iter().flat_map(|it| resolved(it, pending)).collect();
    let not_own = not_own_yes(&tokens);
    let tokens = join_negations(plain(tokens));
    if !is_answer(&tokens) {
        return ReplyReading::NotAnAnswer;
    }
    if is_too_long {
        return ReplyReading::AskBack(Unclear::Unknown);
    }
    ReplyTokens { tokens, pending, not_own }.read()
}

fn kind(token: &Token) -> Option<WordKind> {
    match token {
        Token::Word(kind) => Some(*kind),
        _ => None,
    }
}

fn is_yes(token: &Token) -> bool {
    matches!(token, Token::Word(WordKind::Yes(..)))
}

fn is_strong_yes(token: &Token) -> bool {
    matches!(token, Token::Word(WordKind::Yes(Strength::Strong, _)))
}

fn is_no(token: &Token) -> bool {
    matches!(token, Token::Word(WordKind::No(_)))
}

/// Words whose meaning depends on what is pending.
fn resolved(token: Token, pending: &[PendingApproval]) -> Vec<Token> {
    match (token, pending) {
        (Token::Word(WordKind::NoneOf), _) => {
            vec![Token::Word(WordKind::No(Strength::Weak)), Token::Word(WordKind::All)]
        }
        // "yes, deploy it" is a yes to a deployment and to nothing else.
        (Token::Word(WordKind::Act(action)), [only]) if does(only, action) => {
            vec![Token::Word(WordKind::Filler)]
        }
        (Token::Word(WordKind::Act(_)), _) => vec![Token::Unknown(String::new())],
        (token, _) => vec![token],
    }
}

fn does(pending: &PendingApproval, action: NamedAction) -> bool {
    let texts = [pending.command.as_deref().unwrap_or_default(), &pending.summary, &pending.tool];
    let words = texts.iter().flat_map(|it| it.split(|ch: char| !ch.is_ascii_alphanumeric()));
    words.into_iter().any(|word| action.marks().iter().any(|it| it.eq_ignore_ascii_case(word)))
}

/// Whether the reply is about the approvals at all.
fn is_answer(tokens: &[Token]) -> bool {
    let is_unknown = |it: &Token| matches!(it, Token::Unknown(_));
    let is_verdict = |it: &Token| is_yes(it) || is_no(it) || kind(it) == Some(WordKind::Unsure);
    let is_telling = |it: &Token| match it {
        Token::Word(WordKind::Yes(strength, _) | WordKind::No(strength)) => {
            *strength != Strength::Faint
        }
        Token::Word(WordKind::Unsure) => true,
        _ => false,
    };
    let is_strong = |it: &Token| match it {
        Token::Word(WordKind::Yes(strength, _) | WordKind::No(strength)) => {
            *strength == Strength::Strong
        }
        Token::Quoted { has_answer } => *has_answer,
        _ => false,
    };
    let names = tokens.iter().any(|it| matches!(it, Token::Target { .. } | Token::Ambiguous));
    let n_words = tokens.iter().filter(|it| **it != Token::Separator).count();
    let is_all_known = !tokens.iter().any(is_unknown);
    if tokens.iter().any(is_strong)
        || is_hedge(tokens, n_words)
        || (tokens.contains(&Token::QuestionMark) && tokens.iter().any(is_telling))
        || (is_all_known && (names || tokens.iter().any(is_verdict)))
        || (n_words <= SHORT_REPLY_TOKENS_MAX && tokens.iter().any(is_telling))
    {
        return true;
    }
    clauses(tokens).any(|clause| {
        let head = clause.iter().find(|it| kind(it) != Some(WordKind::Filler));
        let is_known = !clause.iter().any(is_unknown);
        head.is_some_and(|head| {
            is_telling(head) || (is_known && is_verdict(head)) || kind(head) == Some(WordKind::Only)
        })
    })
}

/// Whether the reply only puts off, doubts or sets a condition. It is asked back, never a yes.
fn is_hedge(tokens: &[Token], n_words: usize) -> bool {
    let hedges = |it: &Token| {
        matches!(
            kind(it),
            Some(
                WordKind::Doubt
                    | WordKind::Forever
                    | WordKind::Negation
                    | WordKind::Condition
                    | WordKind::Exception
                    | WordKind::All
                    | WordKind::Every
                    | WordKind::Both
            )
        )
    };
    let is_bare = |it: &&Token| **it != Token::Separator && kind(it) != Some(WordKind::Filler);
    let is_all_known = !tokens.iter().any(|it| matches!(it, Token::Unknown(_)));
    let ends_with_yes = tokens.iter().rfind(is_bare).is_some_and(is_yes);
    let has_hedge = tokens.iter().any(hedges);
    has_hedge
        && ((is_all_known && n_words <= HEDGE_TOKENS_MAX)
            || (ends_with_yes && n_words <= CONDITIONAL_TOKENS_MAX))
}

fn clauses(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    tokens.split(|it| *it == Token::Separator).filter(|clause| !clause.is_empty())
}

struct ReplyTokens<'a> {
    tokens: Vec<Token>,
    pending: &'a [PendingApproval],
    /// Why a yes in it is not the yes of the person who wrote it.
    not_own: Option<Unclear>,
}

impl ReplyTokens<'_> {
    fn read(&self) -> ReplyReading {
        let has = |wanted: WordKind| self.tokens.iter().any(|it| kind(it) == Some(wanted));
        let says_no = self.tokens.iter().any(is_no);
        let says_yes = self.tokens.iter().any(is_yes);
        if let Some(unclear) = self.not_plain() {
            return ReplyReading::AskBack(unclear);
        }
        if says_no && let Some(denied) = self.denial() {
            return denied;
        }
        let unclear = if has(WordKind::Question) {
            Some(Unclear::Question)
        } else if has(WordKind::Condition) {
            Some(Unclear::Condition)
        } else if has(WordKind::Doubt) {
            Some(Unclear::Doubt)
        } else if has(WordKind::Forever) {
            Some(Unclear::TooLong)
        } else {
            None
        };
        if let Some(unclear) = unclear {
            return ReplyReading::AskBack(unclear);
        }
        if says_no && says_yes {
            return ReplyReading::AskBack(Unclear::Mixed);
        }
        if says_no {
            return ReplyReading::AskBack(Unclear::Unknown);
        }
        let is_only = has(WordKind::Only) && !targets(&self.tokens).is_empty();
        if says_yes || is_only {
            self.permission().unwrap_or_else(ReplyReading::AskBack)
        } else {
            ReplyReading::AskBack(Unclear::Unknown)
        }
    }

    /// What makes any reply unclear, a yes and a no alike.
    fn not_plain(&self) -> Option<Unclear> {
        self.tokens.iter().find_map(|it| match it {
            Token::QuestionMark => Some(Unclear::Question),
            Token::Word(WordKind::Unsure) => Some(Unclear::Doubt),
            Token::Word(WordKind::Exception) => Some(Unclear::Condition),
            Token::Word(WordKind::Idiom) => Some(Unclear::Unknown),
            Token::Quoted { .. } => Some(Unclear::Quoted),
            Token::Ambiguous => Some(Unclear::WhichOne),
            _ => None,
        })
    }

    /// A refusal: what is refused stands before the first mark of punctuation, a reason after it.
    fn denial(&self) -> Option<ReplyReading> {
        let mut is_first =
            |it: &&Token| !matches!(it, Token::Separator | Token::Word(WordKind::Because));
        let n_head = self.tokens.iter().take_while(&mut is_first).count();
        let (head, reason) = self.tokens.split_at(n_head);
        let is_strong = |it: &Token| *it == Token::Word(WordKind::No(Strength::Strong));
        let no = head.iter().position(is_no)?;
        let is_plain = |it: &Token| match it {
            Token::Target { .. } => true,
            Token::Word(kind) => matches!(
                kind,
                WordKind::No(_)
                    | WordKind::Filler
                    | WordKind::All
                    | WordKind::Every
                    | WordKind::Both
                    | WordKind::And
            ),
            _ => false,
        };
        // "deny it looks wrong" needs no comma; "no idea" is not a refusal.
        let n_plain = head.iter().take_while(|it| is_plain(it)).count();
        let is_denial =
            n_plain == head.len() || (n_plain > no && head[..n_plain].iter().any(is_strong));
        let takes_back = clauses(reason).any(|clause| {
            let head = clause.iter().find(|it| kind(it) != Some(WordKind::Filler));
            let is_known = !clause.iter().any(|it| matches!(it, Token::Unknown(_)));
            (head.is_some_and(is_yes) && is_known)
                || (clause.len() <= 3 && clause.iter().any(is_yes))
                || clause.iter().any(is_strong_yes)
                || clause.iter().any(|it| kind(it) == Some(WordKind::Only))
        });
        if !is_denial || takes_back || head[n_plain..].iter().any(is_yes) {
            return None;
        }
        // "deny Q9Q" is about something that is not pending.
        let is_other_code = |it: &Token| matches!(it, Token::Unknown(text) if is_code(text));
        if head[n_plain..].iter().any(is_other_code) {
            return Some(ReplyReading::AskBack(Unclear::UnknownName));
        }
        let approvals = match self.meant_by(&head[..n_plain]) {
            Ok(approvals) => approvals,
            Err(unclear) => return Some(ReplyReading::AskBack(unclear)),
        };
        let has_reason = n_plain < head.len()
            || reason.iter().any(|it| !matches!(it, Token::Separator) && !is_no(it));
        Some(ReplyReading::Deny { approvals, has_reason })
    }

    fn permission(&self) -> Result<ReplyReading, Unclear> {
        if let Some(unclear) = self.not_own {
            return Err(unclear);
        }
        let minutes = self.tokens.iter().find_map(|it| match it {
            Token::Minutes(minutes) => Some(*minutes),
            _ => None,
        });
        for token in &self.tokens {
            match token {
                Token::Word(WordKind::Frame) if minutes.is_some() => (),
                Token::Target { .. }
                | Token::Separator
                | Token::Minutes(_)
                | Token::Word(
                    WordKind::Yes(..)
                    | WordKind::Filler
                    | WordKind::All
                    | WordKind::Every
                    | WordKind::Both
                    | WordKind::Only
                    | WordKind::And,
                ) => (),
                Token::Unknown(text) if looks_like_a_name(text) => {
                    return Err(Unclear::UnknownName);
                }
                _ => return Err(Unclear::Unknown),
            }
        }
        let has = |wanted: WordKind| self.tokens.iter().any(|it| kind(it) == Some(wanted));
        let targets = targets(&self.tokens);
        if let Some(minutes) = minutes {
            return self.permission_for(minutes, &targets);
        }
        let allowed = self.meant_by(&self.tokens)?;
        let mut denied = Vec::new();
        if has(WordKind::Only) {
            if targets.is_empty() && self.pending.len() > 1 {
                return Err(Unclear::WhichOne);
            }
            let others = self.pending.iter().map(|it| it.approval_id.clone());
            denied = others.filter(|it| !allowed.contains(it)).collect();
        }
        Ok(ReplyReading::Allow { approvals: allowed, denied, grant: None })
    }

    /// A yes for a while: now, and for the same words until the time is over.
    fn permission_for(&self, minutes: u32, targets: &[usize]) -> Result<ReplyReading, Unclear> {
        let n_durations = self.tokens.iter().filter(|it| matches!(it, Token::Minutes(_))).count();
        let is_framed = self.tokens.contains(&Token::Word(WordKind::Frame));
        if self.tokens.contains(&Token::Word(WordKind::Only)) || !is_framed || n_durations > 1 {
            return Err(Unclear::Unknown);
        }
        if minutes == 0 || minutes > GRANT_MINUTES_MAX {
            return Err(Unclear::TooLong);
        }
        // "allow everything for an hour" is more than anybody was asked about.
        if targets.is_empty() && self.tokens.contains(&Token::Word(WordKind::Every)) {
            return Err(Unclear::WhichOne);
        }
        let index = match (targets, self.pending) {
            ([index], _) => *index,
            ([], [_]) => 0,
            _ => return Err(Unclear::WhichOne),
        };
        let named = self.tokens.iter().find_map(|it| match it {
            Token::Target { words, .. } => words.clone(),
            _ => None,
        });
        let it = &self.pending[index];
        let own = || match (&it.command, it.paths.as_slice()) {
            (Some(command), _) => command.split_whitespace().map(str::to_owned).collect(),
            (None, [path]) => vec![path.clone()],
            (None, _) => Vec::new(),
        };
        let pattern: Vec<String> = named.unwrap_or_else(own);
        let is_whole_plain = it.command.as_deref().is_none_or(is_plain_words);
        if pattern.is_empty() || !is_whole_plain {
            return Err(Unclear::OnceOnly);
        }
        let approvals = vec![it.approval_id.clone()];
        let grant = Some(GrantWish { pattern, minutes });
        Ok(ReplyReading::Allow { approvals, denied: Vec::new(), grant })
    }

    /// The approvals that the words are about.
    fn meant_by(&self, words: &[Token]) -> Result<Vec<String>, Unclear> {
        let has = |wanted: WordKind| words.iter().any(|it| kind(it) == Some(wanted));
        let targets = targets(words);
        let ids = |indices: &[usize]| {
            indices.iter().map(|index| self.pending[*index].approval_id.clone()).collect()
        };
        let every: Vec<usize> = (0..self.pending.len()).collect();
        let means_all = has(WordKind::All) || has(WordKind::Every) || has(WordKind::Both);
        if !targets.is_empty() {
            let is_contradiction = means_all && targets.len() != every.len();
            return if is_contradiction { Err(Unclear::WhichOne) } else { Ok(ids(&targets)) };
        }
        if has(WordKind::Both) && self.pending.len() != 2 {
            return Err(Unclear::WhichOne);
        }
        if means_all || self.pending.len() == 1 {
            return Ok(ids(&every));
        }
        Err(Unclear::WhichOne)
    }
}

/// The approvals that the words name, by index.
fn targets(words: &[Token]) -> Vec<usize> {
    let mut targets: Vec<usize> = words
        .iter()
        .filter_map(|it| match it {
            Token::Target { index, .. } => Some(*index),
            _ => None,
        })
        .collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Whether a shell would read the text as plain words, without quotes, variables or operators.
pub fn is_plain_words(text: &str) -> bool {
    let is_plain = |ch: char| {
        ch.is_ascii_alphanumeric()
            || matches!(ch, ' ' | '_' | '.' | '/' | ':' | '=' | '@' | '%' | '+' | ',' | '-')
    };
    !text.trim().is_empty() && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests;
