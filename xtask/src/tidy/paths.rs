//! The paths a Rust file names: what it imports and what it writes out in full.

use super::source::{is_word_char, words};

/// A path with the position where it (or the `use` it comes from) stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub(crate) offset: usize,
    pub(crate) path: String,
}

/// Every path a `use` brings in, with groups written out: `use a::{b, c}` is `a::b` and `a::c`.
pub(crate) fn imported(code: &str) -> Vec<NamedPath> {
    let mut paths = Vec::new();
    for (offset, word) in words(code) {
        let rest = &code[offset + word.len()..];
        // `impl Trait + use<'a>` captures and imports nothing.
        if word != "use" || rest.trim_start().starts_with('<') {
            continue;
        }
        let tree = &rest[..rest.find(';').unwrap_or(rest.len())];
        let mut found = Vec::new();
        expand("", tree, &mut found);
        paths.extend(found.into_iter().map(|path| NamedPath { offset, path }));
    }
    paths
}

/// Every path with at least two segments that stands in the code as one piece.
pub(crate) fn written(code: &str) -> Vec<NamedPath> {
    let mut paths: Vec<NamedPath> = Vec::new();
    let mut end_of_last = None;
    for (offset, word) in words(code) {
        let joins = end_of_last.is_some_and(|end: usize| &code[end..offset] == "::");
        match paths.last_mut() {
            Some(last) if joins => {
                last.path.push_str("::");
                last.path.push_str(word);
            }
            _ => paths.push(NamedPath { offset, path: word.to_owned() }),
        }
        end_of_last = Some(offset + word.len());
    }
    paths.retain(|it| it.path.contains("::"));
    paths
}

fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree);
        let name: String = name.chars().filter(|c| is_word_char(*c) || ":*".contains(*c)).collect();
        if !name.is_empty() {
            let path = format!("{prefix}{name}");
            found.push(path.strip_suffix("::self").map_or(path.clone(), str::to_owned));
        }
        return;
    };
    let head: String = head.chars().filter(|c| !c.is_whitespace()).collect();
    let prefix = format!("{prefix}{head}");
    let group = group.rsplit_once('}').map_or(group, |(inside, _)| inside);
    for branch in branches(group) {
        expand(&prefix, branch, found);
    }
}

/// Splits at the commas that stand in no inner group.
fn branches(group: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_i32;
    let mut start = 0;
    for (offset, byte) in group.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&group[start..offset]);
                start = offset + 1;
            }
            _ => (),
        }
    }
    parts.push(&group[start..]);
    parts
}

#[cfg(test)]
mod tests;
