use proptest::prelude::*;

use super::*;

#[test]
fn front_matter_says_name_and_description() {
    check("---\nname: Tidy up\ndescription: Sorts notes.\n---\nText.\n", "Tidy up | Sorts notes.");
    check("---\ndescription: \"a: b\"\nname: x\n---\n", "x | a: b");
    check("---\r\nname: x\r\ndescription: d\r\n---\r\nText.\r\n", "x | d");
    check("\u{feff}---\nname: x\ndescription: d\n---\n", "x | d");
    check("---\ndescription: >-\n  on two\n  lines\n---\n", "- | on two lines");
    check("---\nlicense: MIT\nmetadata:\n  a: [1, 2]\ndescription: d\n---\n", "- | d");
}

#[test]
fn first_paragraph_stands_in_for_a_description() {
    check("# Tidy\n\nSorts notes\nby date.\n\nMore.\n", "- | Sorts notes by date.");
    check("Sorts.\n# Next\n", "- | Sorts.");
    check("<!-- not\n\nthis -->\n\nSorts.\n", "- | Sorts.");
    check("---\nname: x\n---\n\nSorts.\n", "x | Sorts.");
    check("---\nname:\ndescription: \"  \"\n---\nSorts.\n", "- | Sorts.");
}

#[test]
fn a_skill_that_says_nothing_is_refused() {
    let nowhere =
        "line 1: has no description, so it is not listed; add `description: …` to its front matter";
    for text in ["", "\n\n", "# Only a heading\n", "<!-- a comment -->", "---\nname: x\n---\n# x\n"]
    {
        check(text, nowhere);
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    check(
        "---\nname: x\n",
        "line 1: has a front matter that is not closed, so it is ignored; close it with a line `---`",
    );
    check(
        "---\nname: x\ndescription: [a]\n---\n",
        "line 3: is ignored: `description` must be text; put it in quotes",
    );
    check("---\nname: 5\n---\nd\n", "line 2: is ignored: `name` must be text; put it in quotes");
    let name = "line 2: is ignored: `name` must be one line of at most 64 visible characters";
    check("---\nname: \"a\\nb\"\n---\nd\n", name);
    check("---\nname: \"a\\u202eb\"\n---\nd\n", name);
    check(&format!("---\nname: {}\n---\nd\n", "x".repeat(65)), name);
    check("---\nname: x\nname: y\n---\nd\n", "line 3: is ignored: duplicate key `name`");
    check(
        "---\nname: &a x\n---\nd\n",
        "line 2: is ignored: anchors and aliases (`&`, `*`) are not allowed in front matter; \
         write the value out",
    );
    check(
        "---\ndescription: Sorts: by date\n---\n",
        "line 2: is ignored: the front matter is not YAML: mapping values are not allowed in this \
         context; quote a text that contains `: `",
    );
    let long = format!("---\nx: {}\n---\nd\n", "y".repeat(SKILL_FRONT_MATTER_BYTES_MAX));
    check(
        &long,
        "line 1: has a front matter of more than 16384 bytes, so it is ignored; move text below it",
    );
    let not_text = manifest(b"one\ntwo\n\xff").unwrap_err();
    assert_eq!((not_text.line, not_text.problem), (3, ManifestProblem::NotUtf8));
}

#[test]
fn a_long_description_is_cut_and_told() {
    let most = "é".repeat(SKILL_DESCRIPTION_CHARS_MAX);
    let whole = manifest(format!("---\nname: x\ndescription: {most}\n---\n").as_bytes()).unwrap();
    assert_eq!((whole.description, whole.issue), (most.clone(), None));

    let long = format!("---\nname: x\ndescription: {most}é\n---\n");
    let read = manifest(long.as_bytes()).unwrap();
    assert_eq!(read.description.chars().count(), SKILL_DESCRIPTION_CHARS_MAX);
    assert!(read.description.ends_with("é…"));
    let issue = ManifestIssue { line: 3, problem: ManifestProblem::DescriptionTooLong };
    assert_eq!(read.issue, Some(issue));

    let paragraph = manifest(format!("---\nname: x\n---\n{most}é\n").as_bytes()).unwrap();
    assert_eq!(paragraph.issue.unwrap().line, 4);
}

#[test]
fn a_description_is_one_visible_line() {
    check("---\ndescription: \"a\\n- b\\x1b[2J\\u202ec\"\n---\n", "- | a - b\\u{1b}[2J\\u{202e}c");
    check("a\u{2028}b \u{200b} c\n", "- | a b \\u{200b} c");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_any(&bytes)?;
    }

    #[test]
    fn any_front_matter_is_read_or_refused(
        inside in "(name|description|x)?[:\\-\\[\\]{}&*!|>'\"#\\\\ \\n\\tab0é\u{202e}]{0,120}",
        body in "[#<!\\->` \\nab]{0,60}",
    ) {
        check_any(format!("---\n{inside}\n---\n{body}").as_bytes())?;
        check_any(format!("---\ndescription: {inside}\n---\n{body}").as_bytes())?;
    }
}

fn check_any(bytes: &[u8]) -> Result<(), TestCaseError> {
    match manifest(bytes) {
        Ok(read) => {
            prop_assert!(!read.description.is_empty());
            prop_assert!(read.description.chars().count() <= SKILL_DESCRIPTION_CHARS_MAX);
            let name = read.display_name.unwrap_or_default();
            prop_assert!(!name.chars().chain(read.description.chars()).any(is_deceptive));
        }
        Err(issue) => {
            let n_lines = bytes.split(|&byte| byte == b'\n').count();
            prop_assert!((1..=n_lines).contains(&issue.line), "{issue:?}");
        }
    }
    Ok(())
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let found = match manifest(text.as_bytes()) {
        Ok(read) => {
            assert_eq!(read.issue, None);
            format!("{} | {}", read.display_name.as_deref().unwrap_or("-"), read.description)
        }
        Err(issue) => format!("line {}: {}", issue.line, issue.problem),
    };
    assert_eq!(found, expected);
}
