//! One word of a script: its value without quotes, as far as that can be told.

mod braces;

/// A word as the program receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The value without quotes and backslashes; of a word that is not known, its text as written.
    pub text: String,
    pub form: WordForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordForm {
    /// The program receives exactly this text.
    Literal,
    /// The text begins with `~` for the user's home.
    Home,
    /// The shell replaces the text by names of files, or by several words.
    Pattern,
    /// The value depends on what happens when the script runs.
    Unknown,
}

impl Word {
    pub fn literal(text: impl Into<String>) -> Word {
        Word { text: text.into(), form: WordForm::Literal }
    }

    pub fn is_literal(&self) -> bool {
        self.form == WordForm::Literal
    }

    /// Reads a word that stays one word: a target of a redirection, the value of a variable.
    pub fn read(source: &str) -> Word {
        match Word::read_all(source).as_slice() {
            [word] => word.clone(),
            _ => Word::unknown(source),
        }
    }

    /// Reads a word as it is written in a script. Braces make several words of one.
    pub fn read_all(source: &str) -> Vec<Word> {
        match braces::expand(source) {
            Some(sources) => {
                sources.iter().map(|it| read(it).unwrap_or_else(|| Word::unknown(source))).collect()
            }
            None => vec![Word::unknown(source)],
        }
    }

    fn unknown(source: &str) -> Word {
        Word { text: source.to_owned(), form: WordForm::Unknown }
    }
}

/// `None`: the value cannot be told from the text.
fn read(source: &str) -> Option<Word> {
    let mut text = String::with_capacity(source.len());
    let mut form = WordForm::Literal;
    let mut chars = source.chars().peekable();
    if source == "~" || source.starts_with("~/") {
        form = WordForm::Home;
    } else if source.starts_with('~') {
        return None;
    }
    while let Some(ch) = chars.next() {
        match ch {
            '\\' => match chars.next()? {
                // A line that goes on: nothing is left of it.
                '\n' => (),
                escaped => text.push(escaped),
            },
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    quoted => text.push(quoted),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        '\n' => (),
                        escaped @ ('"' | '\\' | '$' | '`') => text.push(escaped),
                        other => text.extend(['\\', other]),
                    },
                    '$' => text.push_str(dollar(&mut chars)?),
                    '`' => return None,
                    quoted => text.push(quoted),
                }
            },
            '$' => text.push_str(dollar(&mut chars)?),
            '*' | '?' | '[' => {
                form = WordForm::Pattern;
                text.push(ch);
            }
            '`' | '|' | '&' | ';' | '<' | '>' | '(' | ')' => return None,
            _ if ch.is_whitespace() => return None,
            _ => text.push(ch),
        }
    }
    if form == WordForm::Pattern && source.starts_with('~') {
        return None;
    }
    // `a=~/x` and `PATH=a:~/x` are replaced as well.
    if source.contains("=~") || source.contains(":~") {
        return None;
    }
    Some(Word { text, form })
}

/// Of all that can follow a dollar sign, only the status of the last command is harmless: it is
/// a number. A dollar sign that nothing follows is itself.
fn dollar(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<&'static str> {
    match chars.peek() {
        Some('?') => {
            chars.next();
            Some("$?")
        }
        None | Some('"' | ' ' | '/' | '|' | ')' | '%' | '^' | ',' | '.' | ':' | '\\') => Some("$"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
