//! What is refused in `kith.toml`, where, and with what advice.

use super::*;

/// The line, the complaint and the hint, or nothing.
#[track_caller]
fn check(text: &str, expected: &str) {
    let found = match Config::parse(text) {
        Ok(_) => String::new(),
        Err(mistake) => {
            let line = 1 + text[..mistake.at].matches('\n').count();
            let hint = mistake.hint.map(|hint| format!(" | {hint}")).unwrap_or_default();
            format!("{line}: {}{hint}", mistake.message)
        }
    };
    assert_eq!(found, expected, "for:\n{text}");
}

#[test]
fn what_is_obeyed_is_accepted() {
    check("", "");
    check("[models]\nuse = \"demo\"\n", "");
    check("[models.a]\nwire = \"openai_chat\"\napiKey = \"${A_KEY}\"\n", "");
    check("[models.a]\nwire = \"demo\"\n[models.a.parameters]\nanything = { goes = [1, 2] }\n", "");
}

#[test]
fn a_misspelt_name_is_refused_with_the_nearest_one() {
    check("\n[model]\n", "2: there is no `model` in the settings | did you mean `models`?");
    check("[models]\nusee = \"x\"\n", "2: there is no `usee` in `[models]` | did you mean `use`?");
    check(
        "[models.a]\nwire = \"demo\"\nbase_url = \"x\"\n",
        "3: there is no `base_url` in a model | did you mean `baseUrl`?",
    );
    check(
        "[models.a]\nsomething = 1\n",
        "2: there is no `something` in a model | there are: wire, baseUrl, apiKey, model, \
         contextWindow, maxTokens, parameters",
    );
}

#[test]
fn what_would_not_be_obeyed_is_refused() {
    let hint = "put a `#` before it, so that nobody relies on it";
    check(
        "[policy]\ndeny = [\"rm\"]\n",
        &format!("1: `policy` is not obeyed by this version yet | {hint}"),
    );
    check(
        "[models]\nfallbacks = []\n",
        &format!("2: `fallbacks` is not obeyed by this version yet | {hint}"),
    );
}

#[test]
fn a_wrong_type_is_refused_with_its_line() {
    check(
        "[models.a]\nwire = \"demo\"\ncontextWindow = \"big\"\n",
        "3: invalid type: string \"big\", expected u64",
    );
    check("models = 3\n", "1: invalid type: integer `3`, expected a table of models");
}

#[test]
fn a_key_in_plain_text_is_refused_and_not_repeated() {
    for key in ["sk-123", "${}", "${A B}", "x${A}"] {
        check(
            &format!("[models.a]\nwire = \"demo\"\napiKey = \"{key}\"\n"),
            "3: a key must not stand here in plain text | write `apiKey = \"${NAME}\"` and set \
             NAME in the environment",
        );
    }
}

#[test]
fn the_distance_of_two_names_is_counted_in_letters() {
    assert_eq!(distance("", "abc"), 3);
    assert_eq!(distance("baseurl", "baseUrl"), 0);
    assert_eq!(distance("base_url", "baseUrl"), 1);
    assert_eq!(distance("wier", "wire"), 2);
}
