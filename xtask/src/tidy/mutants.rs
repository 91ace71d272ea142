//! Patches that remove guards still apply to the code, and the tests they name exist.

use super::Violation;
use super::tree::Tree;
use crate::mutants::{FOLDER, patch};

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let patches = tree.files().filter(|file| file.path.starts_with(FOLDER));
    patches.filter_map(|file| Some((file, problem(tree, &file.text)?))).map(violation).collect()
}

fn violation((file, problem): (&super::tree::File, String)) -> Violation {
    Violation::new(&file.path, 1, format!("{problem}; make the patch anew, or remove it"))
}

fn problem(tree: &Tree, text: &str) -> Option<String> {
    let mutant = match patch::parse("", text) {
        Ok(mutant) => mutant,
        Err(problem) => return Some(problem),
    };
    let Some(code) = tree.text(&mutant.path) else {
        return Some(format!("changes `{}`, which does not exist", mutant.path));
    };
    if let Err(problem) = mutant.apply(code) {
        return Some(problem);
    }
    let is_there = |test: &&String| {
        let declaration = format!("fn {test}(");
        tree.rust_files().any(|file| file.text.contains(&declaration))
    };
    let missing = mutant.tests.iter().find(|test| !is_there(test))?;
    Some(format!("names the test `{missing}`, which does not exist"))
}
