use std::collections::HashMap;

use super::*;

#[test]
fn names_that_vendors_take_stay_as_they_are() {
    check("read_file", "read_file");
    check("mcp-files_2", "mcp-files_2");
    check("ESC-x", "ESC-x");
    check(&"a".repeat(64), &"a".repeat(64));
}

#[test]
fn other_names_are_escaped() {
    check("", "esc-");
    check("files/read", "esc-files-2fread");
    check("a.b-c", "esc-a-2eb-2dc");
    check("读", "esc--e8-af-bb");
    check("esc-a", "esc-esc-2da");
}

#[test]
fn no_two_names_share_a_form() {
    // Every string of up to five letters over the letters that could confuse the scheme.
    let letters = ['-', 'e', 's', 'c', '2', 'd', '/', '读'];
    let mut names = vec![String::new()];
    let mut longest = vec![String::new()];
    for _ in 0..5 {
        longest = longest
            .iter()
            .flat_map(|name| letters.iter().map(move |letter| format!("{name}{letter}")))
            .collect();
        names.extend(longest.iter().cloned());
    }
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in names
        .iter()
        .flat_map(|name| [name.clone(), format!("esc-{name}")])
        .collect::<Vec<_>>()
        .leak()
    {
        let form = escape(name).unwrap().into_owned();
        assert!(
            form.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
            "{form}"
        );
        assert_eq!(unescape(&form), *name, "form `{form}`");
        if let Some(other) = seen.insert(form.clone(), name) {
            assert_eq!(other, name, "form `{form}`");
        }
    }
}

#[test]
fn what_is_no_form_is_a_name_the_model_made_up() {
    for made_up in ["esc-a-zz", "esc-a-2", "esc-a-2F", "esc-read", "esc--ff", "esc--+1", "x/y"] {
        assert_eq!(unescape(made_up), made_up);
    }
}

#[test]
fn long_names_are_refused_in_the_list_and_cut_in_a_call() {
    for long in ["a".repeat(65), "读".repeat(21), ".".repeat(1000)] {
        assert_eq!(escape(&long), None);
        assert_eq!(escape_called(&long).len(), TOOL_NAME_BYTES_MAX);
    }
    assert!(escape(&"读".repeat(6)).is_some());
}

#[track_caller]
fn check(name: &str, form: &str) {
    assert_eq!(escape(name).as_deref(), Some(form));
    assert_eq!(escape_called(name), form);
    assert_eq!(unescape(form), name);
}
