//! What Tab offers: commands behind `/`, their arguments, and files beneath the roots behind `@`.

use std::fs;

use super::file_roots::FileRoots;

/// Candidates that are offered at once.
const OFFERED_MAX: usize = 6;
/// Entries of a folder that are looked at.
const ENTRIES_MAX: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completions {
    /// Where the word that is completed begins.
    pub(crate) from: usize,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) chosen: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// What replaces the word.
    pub(crate) text: String,
    pub(crate) about: String,
}

/// What can follow commands: entries fetched for the one that is being typed.
pub(crate) type Arguments<'a> = dyn Fn(&str) -> Vec<Candidate> + 'a;

/// What could stand where the cursor is. `commands` are names without the slash and what they do.
pub(crate) fn completions(
    before_cursor: &str,
    commands: &[(&str, &str)],
    arguments: &Arguments<'_>,
    roots: &FileRoots,
) -> Option<Completions> {
    let candidates;
    let from;
    if let Some(name) = before_cursor.strip_prefix('/')
        && !name.contains(char::is_whitespace)
    {
        from = 0;
        let fitting = commands.iter().filter(|(command, _)| command.starts_with(name));
        let candidate = |(command, about): &(&str, &str)| Candidate {
            text: format!("/{command}"),
            about: (*about).to_owned(),
        };
        candidates = fitting.map(candidate).collect::<Vec<_>>();
    } else if let Some((command, typed)) = argument_of(before_cursor) {
        from = before_cursor.len() - typed.len();
        let typed = typed.to_lowercase();
        let mut all = arguments(command);
        all.retain(|it| {
            it.text.to_lowercase().starts_with(&typed) || it.about.to_lowercase().contains(&typed)
        });
        // A whole argument needs no completion.
        all.retain(|it| it.text.to_lowercase() != typed);
        candidates = all;
    } else {
        let word_start = before_cursor
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before_cursor[at..].chars().next().map_or(0, char::len_utf8));
        let path = before_cursor[word_start..].strip_prefix('@')?;
        from = word_start;
        candidates = files(path, roots);
    }
    if candidates.is_empty() {
        return None;
    }
    Some(Completions { from, candidates, chosen: 0 })
}

/// The command whose argument is being typed, and what there is of it.
pub(crate) fn argument_of(before_cursor: &str) -> Option<(&str, &str)> {
    let (command, typed) = before_cursor.strip_prefix('/')?.split_once(' ')?;
    let is_one_line = !before_cursor.contains('\n');
    is_one_line.then_some((command, typed.trim_start()))
}

/// The files whose names begin so: of the folder that is named, and of every root while none is.
fn files(path: &str, roots: &FileRoots) -> Vec<Candidate> {
    let (parent, beginning) = path.rfind('/').map_or(("", path), |at| path.split_at(at + 1));
    let mut names = names_in(parent, beginning, roots);
    let others = roots.others();
    match (parent, beginning) {
        ("", "") => names.extend(others),
        ("", _) => names.extend(others.iter().flat_map(|it| names_in(it, beginning, roots))),
        // The way to a root that lies elsewhere.
        _ => names.extend(others.into_iter().filter(|it| it.starts_with(path) && it != path)),
    }
    let candidate = |name: String| Candidate { text: format!("@{name}"), about: String::new() };
    names.into_iter().map(candidate).collect()
}

fn names_in(parent: &str, beginning: &str, roots: &FileRoots) -> Vec<String> {
    let Some(folder) = roots.resolve(if parent.is_empty() { "." } else { parent }) else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for entry in entries.take(ENTRIES_MAX).flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_hidden = name.starts_with('.') && !beginning.starts_with('.');
        if is_hidden || !name.to_lowercase().starts_with(&beginning.to_lowercase()) {
            continue;
        }
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        let name = format!("{parent}{name}{}", if is_folder { "/" } else { "" });
        // The house's own files are not offered.
        if roots.resolve(&name).is_some() {
            names.push(name);
        }
    }
    names.sort();
    names
}

impl Completions {
    pub(crate) fn next(&mut self) {
        self.chosen = (self.chosen + 1) % self.candidates.len().max(1);
    }

    pub(crate) fn previous(&mut self) {
        self.chosen = (self.chosen + self.candidates.len() - 1) % self.candidates.len().max(1);
    }

    pub(crate) fn chosen(&self) -> Option<&Candidate> {
        self.candidates.get(self.chosen)
    }

    /// How many are not shown.
    pub(crate) fn n_hidden(&self) -> Option<usize> {
        self.candidates.len().checked_sub(OFFERED_MAX).filter(|n| *n > 0)
    }

    /// Those around the chosen one, and whether each is it.
    pub(crate) fn offered(&self) -> impl Iterator<Item = (&Candidate, bool)> {
        let first = self.chosen.saturating_sub(OFFERED_MAX - 1);
        let shown = self.candidates.iter().enumerate().skip(first).take(OFFERED_MAX);
        shown.map(|(n, candidate)| (candidate, n == self.chosen))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const COMMANDS: [(&str, &str); 3] = [("new", "a"), ("resume", "b"), ("retry", "c")];

    fn arguments(command: &str) -> Vec<Candidate> {
        let candidate = |(text, about): &(&str, &str)| Candidate {
            text: (*text).to_owned(),
            about: (*about).to_owned(),
        };
        let all = [("ab12", "Fix the parser"), ("cd34", "读诗")];
        if command == "resume" { all.iter().map(candidate).collect() } else { Vec::new() }
    }

    fn offered(typed: &str, folder: &Path) -> Vec<String> {
        let roots = FileRoots::new(folder, &[folder.to_owned()]);
        offered_of(typed, &roots)
    }

    fn offered_of(typed: &str, roots: &FileRoots) -> Vec<String> {
        let found = completions(typed, &COMMANDS, &arguments, roots);
        found.map_or_else(Vec::new, |it| it.candidates.into_iter().map(|it| it.text).collect())
    }

    #[test]
    fn commands_and_files_beneath_the_folder_are_offered() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        for file in ["README.md", ".hidden", "src/main.rs", "读我.md"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let path = folder.path();
        assert_eq!(offered("/re", path), ["/resume", "/retry"]);
        assert_eq!(offered("/resume ", path), ["ab12", "cd34"]);
        assert_eq!(offered("/resume c", path), ["cd34"]);
        assert_eq!(offered("/resume parser", path), ["ab12"]);
        assert_eq!(offered("/resume 诗", path), ["cd34"]);
        assert_eq!(offered("/resume ab12", path), Vec::<String>::new());
        assert_eq!(offered("/new x", path), Vec::<String>::new());
        assert_eq!(offered("look at @", path), ["@README.md", "@src/", "@读我.md"]);
        assert_eq!(offered("@src/m", path), ["@src/main.rs"]);
        assert_eq!(offered("看 @读", path), ["@读我.md"]);
        assert_eq!(offered("@.h", path), ["@.hidden"]);
        assert_eq!(offered("@../", path), Vec::<String>::new());
        assert_eq!(offered("@/etc/", path), Vec::<String>::new());
        assert_eq!(offered("mail a@b", path), Vec::<String>::new());
    }

    #[test]
    fn files_beneath_every_root_are_offered_and_none_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        for folder in ["project/src", "home/.kith"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        for file in ["project/lib.md", "project/src/main.rs", "home/USER.md", "home/.kith/x"] {
            fs::write(dir.join(file), "").unwrap();
        }
        let roots =
            FileRoots::new(&dir.join("project/src"), &[dir.join("project"), dir.join("home")]);
        let home = dir.join("home").display().to_string();
        let at = |name: &str| format!("@{home}/{name}");
        assert_eq!(offered_of("@", &roots), ["@main.rs".to_owned(), "@../".to_owned(), at("")]);
        assert_eq!(offered_of("@li", &roots), ["@../lib.md"]);
        assert_eq!(offered_of("@us", &roots), [at("USER.md")]);
        assert_eq!(offered_of("@../", &roots), ["@../lib.md", "@../src/"]);
        assert_eq!(offered_of(&at(""), &roots), [at("USER.md")]);
        assert_eq!(offered_of(&at(".k"), &roots), Vec::<String>::new());
        assert_eq!(offered_of(&format!("@{}/ho", dir.display()), &roots), [at("")]);
        assert_eq!(offered_of("@../../", &roots), Vec::<String>::new());
    }

    #[test]
    fn the_chosen_one_goes_round() {
        let mut found =
            completions("/", &COMMANDS, &arguments, &FileRoots::new(Path::new("/"), &[])).unwrap();
        found.previous();
        assert_eq!(found.chosen().unwrap().text, "/retry");
        found.next();
        assert_eq!(found.chosen().unwrap().text, "/new");
    }
}
