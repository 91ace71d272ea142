//! Whose yes a reply tells of: that of the person who writes, or somebody else's.
//!
//! A word for a yes is none in "I run it", "my friend approved it", "please approve", "yeah, right" or
//! "…"; the words around it tell. Whatever is found here is asked back and never refused for it.

use super::lexer::Token;
use super::lexicon::{Strength, WordKind, YesSense};
use super::{Unclear, is_no, is_strong_yes, is_yes, kind, targets};

/// Why a yes in the reply is not one of the person who wrote it.
pub(super) fn not_own_yes(tokens: &[Token]) -> Option<Unclear> {
    let is_enough = |it: &&Token| kind(it) == Some(WordKind::Enough);
    let is_hesitant = tokens.contains(&Token::TrailingOff)
        || tokens.iter().filter(is_enough).count() > 1
        || is_mockery(tokens);
    if is_hesitant {
        return Some(Unclear::Doubt);
    }
    let person = tokens.iter().position(|it| kind(it) == Some(WordKind::Person));
    if person.is_some_and(|at| tokens[at..].iter().any(is_strong_yes)) {
        return Some(Unclear::Quoted);
    }
    if has_afterthought(tokens) {
        return Some(Unclear::WhichOne);
    }
    let mut clauses = tokens.split(|it| *it == Token::Separator);
    let is_found = clauses
        .any(|clause| (0..clause.len()).any(|at| leans(clause, at)) || tells_of_another(clause));
    is_found.then_some(Unclear::Unknown)
}

/// "Yeah, right", "oh, great", "just great".
fn is_mockery(tokens: &[Token]) -> bool {
    let bare: Vec<&Token> = tokens.iter().filter(|it| **it != Token::Separator).collect();
    let right = bare.iter().position(|it| kind(it) == Some(WordKind::Right));
    let is_behind_yes = right.is_some_and(|at| bare[..at].iter().any(|it| says_yes(it)));
    is_behind_yes
        || bare.windows(2).any(|pair| {
            let is_said_so = matches!(kind(pair[0]), Some(WordKind::Sigh | WordKind::Only));
            is_said_so
                && (sense(pair[1]) == Some(YesSense::Lone)
                    || kind(pair[1]) == Some(WordKind::Right))
        })
}

/// "7QX approved, K3M": what comes after the answer has none.
fn has_afterthought(tokens: &[Token]) -> bool {
    let mut answered = Vec::new();
    for clause in tokens.split(|it| *it == Token::Separator) {
        let first_yes = clause.iter().position(says_yes);
        if let Some(at) = first_yes {
            answered.extend(targets(&clause[..at]));
        }
        let last_yes = clause.iter().rposition(says_yes).filter(|_| !answered.is_empty());
        let is_list = first_yes.is_some_and(|at| targets(&clause[..at]).is_empty());
        let rest = &clause[last_yes.map_or(0, |at| at + 1)..];
        let is_other = |it: &usize| !answered.contains(it);
        if !answered.is_empty() && !is_list && targets(rest).iter().any(is_other) {
            return true;
        }
    }
    false
}

/// "That one approved this": something, an approving verb, and what was approved.
fn tells_of_another(clause: &[Token]) -> bool {
    let is_thing = |it: &Token| matches!(kind(it), Some(WordKind::Thing | WordKind::It));
    let Some(at) = clause.iter().position(says_yes) else { return false };
    sense(&clause[at]) == Some(YesSense::Approving)
        && clause[..at].iter().any(is_thing)
        && clause[at + 1..].iter().any(is_thing)
}

/// Whether the word at this place makes the yes of the clause another's, or no yes.
fn leans(clause: &[Token], at: usize) -> bool {
    let (before, after) = (&clause[..at], &clause[at + 1..]);
    let is_light = |it: &&Token| {
        let kinds = [WordKind::Filler, WordKind::Thing, WordKind::All, WordKind::Every];
        kind(it).is_some_and(|it| kinds.contains(&it) || it == WordKind::Both)
            || matches!(it, Token::Target { .. })
    };
    let next = after.iter().find(|it| !is_light(it)).and_then(sense);
    let is_filler = |it: &&Token| kind(it) == Some(WordKind::Filler);
    match kind(&clause[at]) {
        Some(WordKind::Me) => next != Some(YesSense::Approving),
        Some(WordKind::You) => next != Some(YesSense::Deed),
        Some(WordKind::Person | WordKind::CallSign) => after.iter().any(says_yes),
        Some(WordKind::It | WordKind::They) => {
            matches!(next, Some(YesSense::Approving | YesSense::Deed))
        }
        Some(WordKind::Polite) => after.iter().any(|it| sense(it) == Some(YesSense::Approving)),
        // "The run" and "命令执行" are names of something.
        Some(WordKind::Thing) => after.first().is_some_and(|it| {
            matches!(kind(it), Some(WordKind::Yes(Strength::Faint, YesSense::Deed)))
        }),
        Some(WordKind::Of) => !after.iter().all(|it| is_filler(&it)),
        Some(WordKind::Ask) => {
            let is_object = before.iter().any(|it| sense(it) == Some(YesSense::Approving));
            !is_object || after.iter().any(says_yes)
        }
        Some(WordKind::Yes(_, YesSense::Lone) | WordKind::Right) => {
            let is_free = |it: &Token| {
                matches!(it, Token::Target { .. } | Token::Minutes(_) | Token::QuestionMark)
                    || says_yes(it)
                    || is_no(it)
                    || matches!(
                        kind(it),
                        Some(
                            WordKind::All
                                | WordKind::Every
                                | WordKind::Both
                                | WordKind::Polite
                                | WordKind::Negation
                                | WordKind::Only
                                | WordKind::Frame
                        )
                    )
            };
            let last = before.iter().rfind(|it| !is_filler(it));
            let first = after.iter().find(|it| !is_filler(it));
            let is_deed = first.and_then(sense) == Some(YesSense::Deed);
            is_deed || [last, first].into_iter().flatten().any(|it| !is_free(it))
        }
        _ => false,
    }
}

fn sense(token: &Token) -> Option<YesSense> {
    match kind(token)? {
        WordKind::Yes(_, sense) => Some(sense),
        _ => None,
    }
}

fn says_yes(token: &Token) -> bool {
    matches!(
        kind(token),
        Some(WordKind::Yes(..) | WordKind::Right | WordKind::CallSign | WordKind::Enough)
    )
}

/// The tokens without what only this file looks at.
pub(super) fn plain(tokens: Vec<Token>) -> Vec<Token> {
    let plain = |token: Token| match token {
        Token::TrailingOff => Token::Separator,
        Token::Word(kind) => Token::Word(match kind {
            WordKind::Thing
            | WordKind::Me
            | WordKind::You
            | WordKind::Person
            | WordKind::It
            | WordKind::Polite
            | WordKind::Of
            | WordKind::Ask
            | WordKind::Sigh => WordKind::Filler,
            WordKind::They => WordKind::All,
            WordKind::Right => WordKind::Yes(Strength::Faint, YesSense::Lone),
            WordKind::CallSign | WordKind::Enough => WordKind::Yes(Strength::Weak, YesSense::Plain),
            other => other,
        }),
        other => other,
    };
    tokens.into_iter().map(plain).collect()
}

/// A yes right behind a negation is a no, and a no right behind one is unclear.
pub(super) fn join_negations(tokens: Vec<Token>) -> Vec<Token> {
    let mut joined: Vec<Token> = Vec::new();
    for token in tokens {
        let before = joined.iter().rposition(|it| kind(it) != Some(WordKind::Filler));
        let negates = before.is_some_and(|place| {
            is_no(&joined[place]) || kind(&joined[place]) == Some(WordKind::Negation)
        });
        match (before, &token) {
            (Some(place), it) if negates && is_yes(it) => {
                joined[place] = Token::Word(WordKind::No(Strength::Weak));
            }
            // "not AGENTS.md"
            (Some(place), Token::Target { .. })
                if kind(&joined[place]) == Some(WordKind::Negation)
                    && joined[..place].iter().all(|it| kind(it) == Some(WordKind::Filler)) =>
            {
                joined[place] = Token::Word(WordKind::No(Strength::Weak));
                joined.push(token);
            }
            (Some(place), Token::Word(WordKind::No(Strength::Strong))) if negates => {
                joined[place] = Token::Word(WordKind::Idiom);
            }
            _ => joined.push(token),
        }
    }
    joined
}
