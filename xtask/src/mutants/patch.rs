//! A patch of `xtask/mutants/`: three lines about it, then a diff of one file as `git diff` writes it.
//!
//! ```text
//! Guard: a batch is synced before it is acknowledged
//! Target: kith-sessions --lib
//! Tests: whatever_fails_whenever_nothing_acknowledged_is_lost
//! --- a/crates/kith-sessions/src/log.rs
//! +++ b/crates/kith-sessions/src/log.rs
//! @@ -1,3 +1,3 @@
//! …
//! ```
//!
//! Line numbers are not looked at: what a hunk replaces must stand in the file exactly once, so a
//! patch lives on when the code around it moves, and is refused when it could mean two places.

/// A guard, the patch that removes it, and the tests that fail without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    pub(crate) guard: String,
    /// What `cargo test --package` takes: the package and which of its programs.
    pub(crate) target: String,
    pub(crate) tests: Vec<String>,
    /// The file that is changed, below the root.
    pub(crate) path: String,
    hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hunk {
    old: Vec<String>,
    new: Vec<String>,
}

pub(crate) fn parse(name: &str, text: &str) -> Result<Mutant, String> {
    let field = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        value.filter(|it| !it.is_empty()).ok_or_else(|| format!("has no line `{key} …`"))
    };
    let mut hunks: Vec<Hunk> = Vec::new();
    for line in text.lines() {
        if line.starts_with("@@ ") {
            hunks.push(Hunk::default());
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        match mark {
            " " => {
                hunk.old.push(rest.to_owned());
                hunk.new.push(rest.to_owned());
            }
            "-" => hunk.old.push(rest.to_owned()),
            "+" => hunk.new.push(rest.to_owned()),
            _ => return Err(format!("has a line that is none of a diff: `{line}`")),
        }
    }
    if hunks.is_empty() {
        return Err("has no hunk `@@ … @@`".to_owned());
    }
    Ok(Mutant {
        name: name.to_owned(),
        guard: field("Guard:")?.to_owned(),
        target: field("Target:")?.to_owned(),
        tests: field("Tests:")?.split(',').map(|it| it.trim().to_owned()).collect(),
        path: field("+++ b/")?.to_owned(),
        hunks,
    })
}

impl Mutant {
    /// The file without the guard.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let mut lines: Vec<&str> = text.lines().collect();
        for hunk in &self.hunks {
            let n = hunk.old.len();
            let stands_at = |at: &usize| lines[*at..*at + n].iter().eq(hunk.old.iter());
            let places: Vec<usize> =
                (0..(lines.len() + 1).saturating_sub(n)).filter(stands_at).collect();
            let [at] = places[..] else {
                let first = hunk.old.iter().map(|it| it.trim()).find(|it| !it.is_empty());
                return Err(format!(
                    "does not apply: the lines around `{}` stand {} times in `{}`",
                    first.unwrap_or_default(),
                    places.len(),
                    self.path
                ));
            };
            lines.splice(at..at + n, hunk.new.iter().map(String::as_str));
        }
        Ok(lines.join("\n") + "\n")
    }
}

#[cfg(test)]
mod tests;
