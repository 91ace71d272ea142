//! What is refused in `kith.toml`, where, and with what advice; and what comes of the rest.

mod page;

use std::fs;

use kith_home::trust::record_trust;
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use tempfile::TempDir;

use super::file::{SettingsMistake, parse};
use super::*;
use crate::price::Price;

/// The line, the complaint and the hint, or nothing.
#[track_caller]
fn check_of(scope: FileScope, text: &str, expected: &str) {
    let found = match parse(text, scope) {
        Ok(_) => String::new(),
        Err(SettingsMistake { line, message, hint }) => {
            let hint = hint.map(|hint| format!(" | {hint}")).unwrap_or_default();
            format!("{line}: {message}{hint}")
        }
    };
    assert_eq!(found, expected, "for:\n{text}");
}

#[track_caller]
fn check(text: &str, expected: &str) {
    check_of(FileScope::House, text, expected);
}

/// A house and its user, with these settings.
fn loaded(house: &str, user: &str) -> (TempDir, Result<Settings, String>) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("house")).unwrap();
    fs::create_dir_all(root.join("user/.kith")).unwrap();
    fs::write(root.join("house/kith.toml"), house).unwrap();
    fs::write(root.join("user/.kith/config.toml"), user).unwrap();
    let cwd = root.join("house");
    record_trust(&root.join("user"), &cwd, 1).unwrap();
    let house = House { dir: cwd.clone(), cwd, user_home: Some(root.join("user")) };
    let shown = root.display().to_string();
    let settings = Settings::load(&house).map_err(|report| report.to_string().replace(&shown, ""));
    (dir, settings)
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_one() {
    check("use = \"demo\"\n", "1: unknown key `use` | `use` belongs below `[models]`");
    check("\n[model]\n", "2: unknown key `model` | did you mean `models`?");
    check("[models]\nusee = \"x\"\n", "2: unknown key `usee` in `[models]` | did you mean `use`?");
    check(
        "[models.a]\nwire = \"demo\"\nbase_url = \"x\"\n",
        "3: unknown key `base_url` in `[models.a]` | did you mean `baseUrl`?",
    );
    check(
        "[limits]\nsomething = 1\n",
        "2: unknown key `something` in `[limits]` | valid keys: steps, repeats, wall, tokens, cost",
    );
    check(
        "\"a\\nb\" = 1\n",
        "1: unknown key `a\u{fffd}b` | valid keys: agent, agents, house, identity, models, limits, \
         budget, policy, approvals, projects, skills, ui, telemetry",
    );
    check(
        "[sandbox]\nenv = [\"PATH\"]\n",
        "1: unknown key `sandbox` | valid keys: agent, agents, house, identity, models, limits, budget, policy, \
         approvals, projects, skills, ui, telemetry",
    );
}

#[test]
fn a_wrong_value_is_refused_with_its_line_and_not_repeated() {
    check("models = 3\n", "1: `models` must be a table");
    check("[agents]\nux = \"agents/ux\"\n", "2: `agents.ux` must be a table");
    check("[policy]\ndeny = \"rm\"\n", "2: `policy.deny` must be a list");
    check(
        "[policy]\ndeny = [\n  \"rm\",\n  7,\n]\n",
        "4: `policy.deny` must be a rule such as `\"exec_shell(git push *)\"`, or a table with `rule`, \
         `matches` and `not`",
    );
    check(
        "[models.a]\nwire = \"demo\"\ncontextWindow = \"sk-123, expected x\"\n",
        "3: `models.a.contextWindow` must be a whole number from 1 to 100000000",
    );
    check(
        "[ui]\nlanguage = \"zz\"\n",
        "2: `ui.language` must be one of `\"auto\"`, `\"en\"`, `\"zh\"` | did you mean `\"zh\"`?",
    );
    check(
        "[models.a]\nwire = \"openaichat\"\n",
        "2: `models.a.wire` must be one of `\"openai_chat\"`, `\"anthropic\"`, \
         `\"openai_responses\"`, `\"demo\"` | did you mean `\"openai_chat\"`?",
    );
    check(
        "[models.a]\nwire = 3\n",
        "2: `models.a.wire` must be one of `\"openai_chat\"`, `\"anthropic\"`, \
         `\"openai_responses\"`, `\"demo\"`",
    );
    check("[models.a]\nmodel = \"m\"\n", "1: `[models.a]` is missing `wire`");
    check(
        "[models.a]\nwire = \"demo\"\nprice = { input = 1 }\n",
        "3: `[models.a.price]` is missing `output`",
    );
    check(
        "[models.b]\nwire = \"anthropic\"\n[models.a]\nmodel = \"m\"\nwire = \"openai_chat\"\n",
        "3: `models.a` needs `baseUrl`: many servers speak `openai_chat` | write `baseUrl = \
         \"http://localhost:11434/v1\"` for a server on this machine, or `baseUrl = \
         \"https://api.openai.com/v1\"` for OpenAI",
    );
    check(
        "[models.a]\nwire = \"openai_chat\"\nbaseUrl = \"http://h:1/v1/chat/completions\"\n",
        "3: `models.a.baseUrl` must not contain the path of a request | write `baseUrl = \
         \"http://h:1/v1\"`",
    );
    check(
        "[models.a]\nwire = \"anthropic\"\nbaseUrl = \"https://h/v1/messages\"\n",
        "3: `models.a.baseUrl` must not contain the path of a request | write `baseUrl = \
         \"https://h\"`",
    );
    for (text, path) in [
        ("agent = 3\n", "agent"),
        ("identity = 3\n", "identity"),
        ("agent = { identity = \"x\" }\n", "agent.identity"),
        ("agents = 3\n", "agents"),
        ("limits = []\n", "limits"),
        ("[[policy]]\n", "policy"),
        ("[[models]]\n", "models"),
        ("[models.a]\nprice = 3\nwire = \"demo\"\n", "models.a.price"),
        ("[models.a]\nparameters = 3\nwire = \"demo\"\n", "models.a.parameters"),
    ] {
        let line = text.matches('\n').count().min(2);
        check(text, &format!("{line}: `{path}` must be a table"));
    }
    check("[models\n", "1: unclosed table, expected `]`");
}

#[test]
fn numbers_durations_and_texts_are_held_to_their_limits() {
    for text in ["0", "1001", "-1", "99999999999999999999", "true", "1.5"] {
        check(
            &format!("[limits]\nsteps = {text}\n"),
            "2: `limits.steps` must be a whole number from 1 to 1000",
        );
    }
    check("[limits]\nsteps = 0x10\n", "");
    for text in ["\"0s\"", "\"25h\"", "\"soon\"", "\"\"", "5"] {
        check(
            &format!("[limits]\nwall = {text}\n"),
            "2: `limits.wall` must be a duration from `\"1s\"` to `\"1d\"`, such as `\"90s\"` or \
             `\"1h30m\"`",
        );
    }
    for value in ["", " ", "a\\nb", &"x".repeat(501)] {
        check(
            &format!("[models]\nuse = \"{value}\"\n"),
            "2: `models.use` must be one line of text, at most 500 characters",
        );
    }
    check(
        &format!("[models.{}]\nwire = \"demo\"\n", "m".repeat(65)),
        &format!("1: `{}` is not a name of 1 to 64 characters without spaces", "m".repeat(65)),
    );
    check(
        "[agents.UX]\nhome = \"ux\"\n",
        "1: `UX` is not an agent id: 1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`",
    );
}

#[test]
fn a_secret_in_plain_text_is_refused_and_not_repeated() {
    for plain in ["sk-123", "${}", "${A B}", "x${A}", ""] {
        check(
            &format!("[models.a]\nwire = \"demo\"\napiKey = \"{plain}\"\n"),
            "3: `models.a.apiKey` must not be written in plain text | set an environment variable \
             and write `\"${NAME}\"`",
        );
    }
    check("[models.a]\nwire = \"demo\"\napiKey = \"${A_1}\"\n", "");
    for url in ["https://me:pw@host/v1", "https://host/v1?key=abc", "https://h/?api_key=abc"] {
        check(
            &format!("[models.a]\nwire = \"demo\"\nbaseUrl = \"{url}\"\n"),
            "3: `models.a.baseUrl` must not contain a password or key | write the key as `apiKey = \
             \"${NAME}\"`",
        );
    }
    check(
        "[models.a]\nwire = \"demo\"\nbaseUrl = \"localhost:80\"\n",
        "3: `models.a.baseUrl` must be an address that begins with `http://` or `https://`",
    );
}

#[test]
fn a_secret_among_the_parameters_is_found_at_any_depth() {
    for (parameter, key) in [
        ("api_key = \"sk-secret\"", Some("api_key")),
        ("api_key = \"${KEY}\"", Some("api_key")),
        ("extra = { X-Auth-Token = \"sk-secret\" }", Some("X-Auth-Token")),
        ("tools = [{ headers = { authorization = \"sk-secret\" } }]", Some("authorization")),
        ("token = [\"sk-secret\"]", Some("token")),
        ("max_tokens = 7", None),
        ("user = \"somebody\"", None),
    ] {
        let text = format!("[models.a]\nwire = \"demo\"\n[models.a.parameters]\n{parameter}\n");
        let expected = key.map(|key| {
            format!(
                "3: `models.a.parameters` must not contain `{key}`: parameters are written into the \
                 log | write the key as `apiKey = \"${{NAME}}\"` of the model"
            )
        });
        check(&text, &expected.unwrap_or_default());
    }
}

#[test]
fn parameters_are_what_json_can_represent() {
    let refused = "2: `models.a.parameters` contains a value that JSON cannot represent (a date, NaN or \
                   infinity) or is nested too deeply";
    let parameters =
        |value: &str| format!("[models.a]\nparameters = {{ a = {value} }}\nwire = \"demo\"\n");
    let deep = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    check(&parameters(&deep(30)), "");
    for value in ["2026-01-01", "nan", "inf", &deep(32)] {
        check(&parameters(value), refused);
    }
}

#[test]
fn what_concerns_one_house_or_all_of_them_stands_where_it_belongs() {
    check(
        "[identity]\nname = \"Ada\"\n",
        "1: `[identity]` belongs in `~/.kith/config.toml`: it is for all agents | in `kith.toml` \
         write `[agent.identity]` or `[agents.<id>.identity]`",
    );
    check_of(
        FileScope::User,
        "[agents.ux]\nhome = \"ux\"\n",
        "1: `[agents]` belongs in the `kith.toml` of a house | `[identity]` is for all agents",
    );
    let (_dir, settings) = loaded("[agents.ux]\nid = \"xu\"\n", "");
    assert_eq!(
        settings.unwrap_err(),
        "error: `/house/kith.toml` line 2: `agents.ux.id` is not `ux`\n\
         hint: the name of the table is the agent's id; leave `id` out\n"
    );
}

#[test]
fn without_settings_the_defaults_hold() {
    let (_dir, settings) = loaded("", "");
    let settings = settings.unwrap();
    assert_eq!(settings.limits, Limits::default());
    assert_eq!((settings.language, settings.policy), (None, RuleSet::default()));
    assert_eq!(settings.models, ConfiguredModels::default());
    assert_eq!(settings.keys.len(), 0);
}

#[test]
fn the_nearer_file_wins_key_by_key_and_a_model_is_taken_whole() {
    let house = "[limits]\nsteps = 7\n[models.a]\nwire = \"demo\"\n[ui]\nlanguage = \"auto\"\n";
    let user = "[limits]\nsteps = 9\nwall = \"2m\"\ncost = 0.5\n\
                [models]\nuse = \"a\"\nfallbacks = [\"b\"]\n\
                [models.a]\nwire = \"anthropic\"\nmodel = \"far\"\n[models.b]\nwire = \"demo\"\n\
                [ui]\nlanguage = \"zh\"\n\
                [skills]\nextra = [\"skills\", \"~/more\", \"/abs\"]\n[policy]\nmode = \"deny\"\n\
                [approvals]\nexpires = \"2h\"\n";
    let (dir, settings) = loaded(house, user);
    let settings = settings.unwrap();
    assert_eq!((settings.limits.steps, settings.limits.wall_ms), (7, 120_000));
    assert_eq!((settings.limits.cost_micros, settings.limits.repeats), (Some(500_000), 5));
    let models = &settings.models;
    assert_eq!(models.named["a"].model, None);
    assert_eq!((models.chosen.as_deref(), models.named.len()), (Some("a"), 2));
    assert_eq!((settings.language, models.fallbacks.as_slice()), (None, &["b".to_owned()][..]));
    assert_eq!(settings.policy.mode, JudgeMode::Deny);
    assert_eq!(settings.approvals.expires_ms, 2 * 60 * 60 * 1000);
    let user = dir.path().canonicalize().unwrap().join("user");
    let extra = [user.join(".kith/skills"), user.join("more"), "/abs".into()];
    assert_eq!(settings.extra_skills, extra);
    let keys: Vec<&str> = settings.keys.iter().map(String::as_str).collect();
    let expected = "approvals.expires limits.cost limits.steps limits.wall models.a.wire models.b.wire \
                    models.fallbacks models.use policy.mode skills.extra ui.language";
    assert_eq!(keys.join(" "), expected);
}

#[test]
fn a_price_is_kept_in_micro_usd_and_the_cache_costs_as_input_unless_set() {
    let text =
        "[models.a]\nwire = \"demo\"\nprice = { input = 0.15, output = 2, cacheRead = 0.075 }\n";
    let (_dir, settings) = loaded(text, "");
    let price = settings.unwrap().models.named["a"].price.unwrap();
    let expected =
        Price { input: 150_000, output: 2_000_000, cache_read: 75_000, cache_write: 150_000 };
    assert_eq!(Price::from(price), expected);
}

#[test]
fn the_examples_of_a_rule_are_checked_when_it_is_read() {
    let rule = |examples: &str| {
        format!("[policy]\nallow = [\n  {{ rule = \"exec_shell(git push *)\", {examples} }},\n]\n")
    };
    let (_dir, settings) =
        loaded(&rule("matches = [\"git push origin\"], not = [\"git pull\"]"), "");
    assert_eq!(settings.unwrap().policy.allow[0].text, "exec_shell(git push *)");
    check(
        &rule("matches = [\"git pull\"]"),
        "3: `policy.allow` has the rule `exec_shell(git push *)`, which does not match its example `git pull`",
    );
    check(
        &rule("not = [\"ls && git push\"]"),
        "3: `policy.allow` has the rule `exec_shell(git push *)`, which matches `ls && git push`, an \
         example of what it must not match",
    );
    check(
        "[policy]\ndeny = [\"a b\"]\n",
        "2: `policy.deny` has no rule: a rule is a tool with or without a \
         pattern, such as `exec_shell(git push *)`, `write_file(docs/**)` or `fetch_url`",
    );
}

#[test]
fn the_page_in_the_documentation_is_made_from_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = page::page();
    if env::var_os("KITH_WRITE_PAGE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let hint = "`KITH_WRITE_PAGE=1 cargo test -p kith-host the_page` writes it anew";
    assert!(fs::read_to_string(&path).unwrap_or_default() == page, "{hint}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn whatever_stands_in_the_file_it_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        reads_or_refuses(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn whatever_resembles_settings_is_read_or_refused(
        pieces in prop::collection::vec(0..PIECES.len(), 0..24),
    ) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        reads_or_refuses(&text);
    }
}

const PIECES: [&str; 30] = [
    "[",
    "]",
    "[[",
    "]]",
    "\n",
    " = ",
    ".",
    "\"",
    "'",
    "{",
    "}",
    ",",
    "models",
    "use",
    "limits",
    "steps",
    "agents",
    "ux",
    "home",
    "wall",
    "1h",
    "${A}",
    "apiKey",
    "-1",
    "1e999",
    "nan",
    "true",
    "2026-01-01",
    "é\u{202e}",
    "price",
];

fn reads_or_refuses(text: &str) {
    for scope in [FileScope::House, FileScope::User] {
        if let Err(mistake) = parse(text, scope) {
            assert!(mistake.line <= 1 + text.matches('\n').count(), "{text:?}");
        }
    }
}

#[test]
fn a_collector_is_an_address_without_secrets() {
    let with = |endpoint: &str| loaded("", &format!("[telemetry]\nendpoint = \"{endpoint}\"\n")).1;
    let settings = with("http://127.0.0.1:4318").unwrap();
    let endpoint = settings.telemetry_endpoint.as_ref().map(|it| it.as_str().to_owned());
    assert_eq!(endpoint.as_deref(), Some("http://127.0.0.1:4318"));
    let url = crate::diagnostics::configured_traces_url(&settings);
    assert_eq!(url.as_deref(), Some("http://127.0.0.1:4318/v1/traces"));
    assert_eq!(loaded("", "").1.unwrap().telemetry_endpoint, None);
    for bad in ["ftp://x", "http://u:p@x", "http://x?key=1", "x"] {
        let refused = with(bad).unwrap_err();
        assert!(refused.contains("begins with `http://`"), "{refused}");
        assert!(!refused.contains("u:p"), "{refused}");
    }
}
