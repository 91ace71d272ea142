//! What may not stay: unfinished code, tests that do not run, paths of the machine it was built on.

use std::path::Path;

use super::Violation;
use super::source::line_of;
use super::tree::{RustFile, Tree};

/// In code. Strings and comments may speak of them.
const IN_CODE: [(&str, &str); 3] = [
    ("todo!(", "finish it, or leave the feature out"),
    ("unimplemented!(", "finish it, or leave the feature out"),
    ("#[ignore", "make the test run, or let it do less without `KITH_SLOW_TESTS`"),
];

/// In comments. In two parts, because a comment with the word would be a violation here too.
const IN_COMMENTS: &str = concat!("FIX", "ME");

/// Folders in which a path is nobody's: tests and examples may name them.
const PUBLIC_FOLDERS: [&str; 9] =
    ["/", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/var"];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let unfinished = tree.rust_files().flat_map(check_rust);
    let root = machine_path(&tree.root);
    let parent = tree.root.parent().and_then(machine_path);
    let machine = [root, parent].into_iter().flatten().collect::<Vec<String>>();
    let paths = tree.files().filter_map(|file| {
        let offset = machine.iter().find_map(|path| find_path(&file.text, path))?;
        let text = "names a folder of the machine it was written on; use a relative path";
        Some(Violation::new(&file.path, line_of(&file.text, offset), text))
    });
    unfinished.chain(paths).collect()
}

fn check_rust(file: RustFile) -> Vec<Violation> {
    let code = &file.source.code;
    let in_code = IN_CODE.iter().flat_map(|(mark, advice)| {
        code.match_indices(mark).map(move |(offset, _)| (offset, *mark, *advice))
    });
    let in_comments = file.source.comments.match_indices(IN_COMMENTS);
    let in_comments =
        in_comments.map(|(offset, mark)| (offset, mark, "mend it, or open an issue and say so"));
    in_code
        .chain(in_comments)
        .map(|(offset, mark, advice)| {
            let text = format!("`{mark}` is left over; {advice}");
            Violation::new(file.path, line_of(code, offset), text)
        })
        .collect()
}

/// The folder as text that gives a machine away, if it does.
fn machine_path(folder: &Path) -> Option<String> {
    let path = folder.to_string_lossy().into_owned();
    (!PUBLIC_FOLDERS.contains(&path.as_str())).then_some(path)
}

/// Where the path stands as a path of its own: not as the end of a longer one (`<tmp>/w/x` and
/// `{home}/w/x` are longer ones), and not as the beginning of another name.
fn find_path(text: &str, path: &str) -> Option<usize> {
    let continues_a_path = |c: char| c.is_alphanumeric() || "_-./~*>})]".contains(c);
    let stands_alone = |offset: &usize| {
        let before = text[..*offset].chars().next_back();
        !before.is_some_and(continues_a_path) && text[offset + path.len()..].starts_with('/')
    };
    text.match_indices(path).map(|(offset, _)| offset).find(stands_alone)
}
