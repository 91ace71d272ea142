//! Braces of a word: `{a,b}c` is `ac bc`, before anything else of the word is read.

/// More words than this are not made of one.
const BRACE_WORDS_MAX: usize = 64;
/// Maximum nesting of braces within a word.
const BRACE_DEPTH_MAX: usize = 8;

/// The words that the shell makes of one, still with their quotes. `None`: too many, or a form of
/// braces that is not read here.
pub(super) fn expand(source: &str) -> Option<Vec<String>> {
    expand_within(source, BRACE_DEPTH_MAX)
}

fn expand_within(source: &str, depth: usize) -> Option<Vec<String>> {
    let Some(group) = first_group(source) else { return Some(vec![source.to_owned()]) };
    let depth = depth.checked_sub(1)?;
    let (head, tail) = (&source[..group.open], &source[group.close + 1..]);
    let mut middles = Vec::new();
    for part in group.parts(source)? {
        middles.extend(expand_within(&part, depth)?);
    }
    let tails = expand_within(tail, depth)?;
    if middles.len() * tails.len() > BRACE_WORDS_MAX {
        return None;
    }
    let mut words = Vec::new();
    for middle in &middles {
        words.extend(tails.iter().map(|tail| format!("{head}{middle}{tail}")));
    }
    Some(words)
}

/// A pair of braces that the shell expands, by the places of its marks.
struct BraceGroup {
    open: usize,
    close: usize,
    commas: Vec<usize>,
}

impl BraceGroup {
    fn parts(&self, source: &str) -> Option<Vec<String>> {
        if self.commas.is_empty() {
            return range(&source[self.open + 1..self.close]);
        }
        let mut parts = Vec::new();
        let mut start = self.open + 1;
        for end in self.commas.iter().copied().chain([self.close]) {
            parts.push(source[start..end].to_owned());
            start = end + 1;
        }
        Some(parts)
    }
}

/// `1..3`; letters, steps and leading zeros are not read here.
fn range(text: &str) -> Option<Vec<String>> {
    let (first, last) = text.split_once("..")?;
    let number = |text: &str| {
        let is_plain = text == "0" || !text.starts_with('0');
        text.parse::<u32>().ok().filter(|_| is_plain && !text.starts_with('+'))
    };
    let (first, last) = (number(first)?, number(last)?);
    let n = usize::try_from(last.checked_sub(first)?).ok()?;
    (n < BRACE_WORDS_MAX).then(|| (first..=last).map(|it| it.to_string()).collect())
}

fn first_group(source: &str) -> Option<BraceGroup> {
    let marks = marks(source);
    for (n, (open, ch)) in marks.iter().enumerate() {
        if *ch != '{' {
            continue;
        }
        let mut depth = 0_usize;
        let mut commas = Vec::new();
        for (at, ch) in &marks[n + 1..] {
            match ch {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '}' => {
                    let has_range = source[*open..*at].contains("..");
                    if commas.is_empty() && !has_range {
                        break;
                    }
                    return Some(BraceGroup { open: *open, close: *at, commas });
                }
                ',' if depth == 0 => commas.push(*at),
                _ => (),
            }
        }
    }
    None
}

/// Braces and commas outside quotes; of `${`, none.
fn marks(source: &str) -> Vec<(usize, char)> {
    let mut marks = Vec::new();
    let mut chars = source.char_indices().peekable();
    while let Some((at, ch)) = chars.next() {
        match ch {
            '\\' => {
                chars.next();
            }
            '\'' => while chars.next().is_some_and(|(_, it)| it != '\'') {},
            '"' => {
                while let Some((_, it)) = chars.next() {
                    match it {
                        '"' => break,
                        '\\' => {
                            chars.next();
                        }
                        _ => (),
                    }
                }
            }
            '$' => {
                chars.next_if(|(_, it)| *it == '{');
            }
            '{' | '}' | ',' => marks.push((at, ch)),
            _ => (),
        }
    }
    marks
}
