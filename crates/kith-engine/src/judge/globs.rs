//! Patterns of rules: `*` for any characters, `?` for one, and in paths `**` across folders.

/// Compares a text without folders: `*` matches everything.
pub(super) fn matches_text(pattern: &str, text: &str) -> bool {
    // Most words of a pattern are compared with every word of a command, and are plain.
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    matches(pattern, text, FolderRule::Ignored)
}

/// Compares a path: `*` stays within a folder. A pattern that does not start at the root may match
/// anywhere beneath it.
pub(super) fn matches_path(pattern: &str, path: &str) -> bool {
    let is_anchored = pattern.starts_with('/') || pattern.starts_with("**");
    let anywhere = format!("**/{pattern}");
    let pattern = if is_anchored { pattern } else { &anywhere };
    matches(pattern, path, FolderRule::Separate)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FolderRule {
    Separate,
    Ignored,
}

/// By a table of which beginnings match, in time proportional to both lengths.
fn matches(pattern: &str, text: &str, folders: FolderRule) -> bool {
    let text: Vec<char> = text.chars().collect();
    let mut reachable = vec![false; text.len() + 1];
    reachable[0] = true;
    let mut rest = pattern.chars().peekable();
    while let Some(ch) = rest.next() {
        let mut next = vec![false; text.len() + 1];
        if ch == '*' {
            let crosses = rest.next_if_eq(&'*').is_some() || folders == FolderRule::Ignored;
            // `**/x` also matches `x` itself.
            let is_optional =
                crosses && folders == FolderRule::Separate && rest.next_if_eq(&'/').is_some();
            let mut is_open = false;
            for at in 0..=text.len() {
                is_open |= reachable[at];
                next[at] =
                    is_open && (!is_optional || at == 0 || reachable[at] || text[at - 1] == '/');
                if at < text.len() && !crosses && text[at] == '/' {
                    is_open = false;
                }
            }
        } else {
            for at in 0..text.len() {
                let fits = text[at] == ch
                    || (ch == '?' && (text[at] != '/' || folders == FolderRule::Ignored));
                next[at + 1] = reachable[at] && fits;
            }
        }
        reachable = next;
    }
    reachable[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_folder_unless_doubled() {
        for (pattern, path, expected) in [
            ("**/.env", "/a/b/.env", true),
            ("**/.env", "/.env", true),
            (".env", "/a/.env", true),
            (".env", "/a/x.env", false),
            ("docs/*.md", "/a/docs/x.md", true),
            ("docs/*.md", "/a/docs/x/y.md", false),
            ("docs/**", "/a/docs/x/y.md", true),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/?", "/a/b", true),
        ] {
            assert_eq!(matches_path(pattern, path), expected, "{pattern} {path}");
        }
        assert!(matches_text("*.example.org", "a.b.example.org"));
        assert!(!matches_text("*.example.org", "example.org.evil"));
        assert!(matches_text("*", "a/b"));
    }
}
