//! What is refused in `kith.toml`, where, and with what advice; and what comes of the rest.

use std::fmt::Write;
use std::path::Path;

use proptest::prelude::{ProptestConfig, any, prop, proptest};
use tempfile::TempDir;

use super::schema::{Key, TOP, Table};
use super::*;

/// The line, the complaint and the hint, or nothing.
#[track_caller]
fn check_of(whose: Whose, text: &str, expected: &str) {
    let file: Arc<Path> = Path::new("kith.toml").into();
    let found = match check(text, &file, whose) {
        Ok(_) => String::new(),
        Err(Mistake { line, message, hint }) => {
            let hint = hint.map(|hint| format!(" | {hint}")).unwrap_or_default();
            format!("{line}: {message}{hint}")
        }
    };
    assert_eq!(found, expected, "for:\n{text}");
}

#[track_caller]
fn check_house(text: &str, expected: &str) {
    check_of(Whose::House, text, expected);
}

/// A house and its user, with these settings.
fn loaded(house: &str, user: &str) -> (TempDir, Result<Config, String>) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("house")).unwrap();
    fs::create_dir_all(root.join("user/.kith")).unwrap();
    fs::write(root.join("house/kith.toml"), house).unwrap();
    fs::write(root.join("user/.kith/config.toml"), user).unwrap();
    let cwd = root.join("house");
    let house = House { dir: cwd.clone(), cwd, user_home: Some(root.join("user")), is_named: true };
    let shown = root.display().to_string();
    let config = Config::load(&house).map_err(|report| report.to_string().replace(&shown, ""));
    (dir, config)
}

#[test]
fn every_key_of_every_table_is_accepted_with_a_value_of_its_kind() {
    let mut text = String::new();
    let mut n_keys = 0;
    example(&TOP, "", &mut text, &mut n_keys);
    assert!(n_keys > 100, "{n_keys}");
    for (whose, foreign) in
        [(Whose::House, &schema::USER_ONLY[..]), (Whose::User, &schema::HOUSE_ONLY)]
    {
        let own: Vec<&str> = text
            .split_inclusive("\n\n")
            .filter(|table| {
                !foreign.iter().any(|it| {
                    table.starts_with(&format!("[{it}]")) || table.starts_with(&format!("[{it}."))
                })
            })
            .collect();
        check_of(whose, &own.concat(), "");
    }
}

#[test]
fn every_key_of_every_table_refuses_a_value_of_another_kind() {
    each_key(&TOP, "", &mut |path, key| {
        let (table, _) = path.rsplit_once('.').unwrap();
        let wrong = match &key.kind {
            kind::Kind::Flag => "\"yes\"",
            _ => "true",
        };
        let text = format!("[{table}]\n{} = {wrong}\n", key.name);
        let whose = if path.starts_with("identity") { Whose::User } else { Whose::House };
        let file: Arc<Path> = Path::new("kith.toml").into();
        let mistake = check(&text, &file, whose).unwrap_err();
        assert_eq!(mistake.line, 2, "{text}");
        assert!(mistake.message.starts_with(&format!("`{path}` must be ")), "{}", mistake.message);
    });
}

#[test]
fn a_misspelt_name_is_refused_with_the_nearest_one() {
    check_house("\n[model]\n", "2: there is no `model` in the settings | did you mean `models`?");
    check_house(
        "[models]\nusee = \"x\"\n",
        "2: there is no `usee` in `[models]` | did you mean `use`?",
    );
    check_house(
        "[models.a]\nwire = \"demo\"\nbase_url = \"x\"\n",
        "3: there is no `base_url` in `[models.a]` | did you mean `baseUrl`?",
    );
    check_house(
        "[limits]\nsomething = 1\n",
        "2: there is no `something` in `[limits]` | there are: steps, repeats, wall, tokens, cost",
    );
    check_house(
        "[agents]\nux = \"agents/ux\"\n",
        "2: there is no `ux` in `[agents]` | here stand tables, `[agents.<id>]`",
    );
    check_house(
        "[channels.telegramm]\n",
        "1: there is no `telegramm` in `[channels]` | did you mean `telegram`?",
    );
    check_house(
        "\"a\\nb\" = 1\n",
        "1: there is no `a\u{fffd}b` in the settings | there are: agent, agents, identity, models, \
         limits, budget, policy, approvals, sandbox, memory, heartbeat, skills, channels, voice, \
         peers, daemon, ui, store",
    );
}

#[test]
fn of_several_mistakes_the_first_is_told() {
    check_house(
        "[ui]\nlanguage = \"zz\"\n[agent]\nhome = 3\n",
        "2: `ui.language` must be one of `\"auto\"`, `\"en\"`, `\"zh\"` | did you mean `\"zh\"`?",
    );
}

#[test]
fn a_wrong_type_is_refused_with_its_line() {
    check_house(
        "[models.a]\nwire = \"demo\"\ncontextWindow = \"big\"\n",
        "3: `models.a.contextWindow` must be a whole number from 1 to 100000000, not a text",
    );
    check_house("models = 3\n", "1: `models` must be a table, not a whole number");
    check_house(
        "[policy]\ndeny = \"rm\"\n",
        "2: `policy.deny` must be a list, each a text of one line, 1 to 500 characters, not a text",
    );
    check_house(
        "[policy]\ndeny = [\n  \"rm\",\n  7,\n]\n",
        "4: `policy.deny` must be a text of one line, 1 to 500 characters, not a whole number",
    );
    check_house(
        "[models.a]\nparameters = { seen = 2026-01-01 }\n",
        "2: `models.a.parameters` holds a date, a number that is none, or too many tables in tables",
    );
}

#[test]
fn numbers_durations_words_and_addresses_are_held_to_their_limits() {
    let steps = "2: `limits.steps` must be a whole number from 1 to 1000";
    for text in ["0", "1001", "-1", "99999999999999999999"] {
        check_house(&format!("[limits]\nsteps = {text}\n"), steps);
    }
    check_house("[limits]\nsteps = 0x10\n", "");
    let wall = "2: `limits.wall` must be a duration from `\"1s\"` to `\"1d\"`, such as `\"90s\"` or `\"1h30m\"`";
    for text in ["0s", "25h", "soon", ""] {
        check_house(&format!("[limits]\nwall = \"{text}\"\n"), wall);
    }
    check_house(
        "[models.a]\nwire = \"openaichat\"\n",
        "2: `models.a.wire` must be one of `\"openai_chat\"`, `\"anthropic\"`, \
         `\"openai_responses\"`, `\"demo\"` | did you mean `\"openai_chat\"`?",
    );
    check_house(
        "[models.a]\nbaseUrl = \"localhost:80\"\n",
        "2: `models.a.baseUrl` must be an address that begins with `http://` or `https://`",
    );
    check_house(
        "[daemon]\nlisten = \"4747\"\n",
        "2: `daemon.listen` must be a host and a port, such as `127.0.0.1:4747`",
    );
    check_house(
        "[heartbeat]\ntarget = \"home\"\n",
        "2: `heartbeat.target` must be a thread, `platform:scopeType:scopeId`",
    );
}

#[test]
fn what_is_too_long_too_deep_or_no_text_is_refused() {
    let text = "must be a text of one line, 1 to 500 characters";
    for value in ["", " ", "a\\nb", &"x".repeat(501)] {
        let settings = format!("[models]\nuse = \"{value}\"\n");
        check_house(&settings, &format!("2: `models.use` {text}"));
    }
    let rules = |n: usize| format!("[policy]\ndeny = [{}]\n", "\"x\",".repeat(n));
    check_house(&rules(1000), "");
    check_house(&rules(1001), "2: `policy.deny` has more than 1000 items");
    let deep = |n: usize| {
        let value = format!("{}1{}", "[".repeat(n), "]".repeat(n));
        format!("[models.a]\nparameters = {{ a = {value} }}\n")
    };
    check_house(&deep(30), "");
    check_house(
        &deep(31),
        "2: `models.a.parameters` holds a date, a number that is none, or too many tables in tables",
    );
    check_house(
        &format!("[models.{}]\n", "m".repeat(65)),
        &format!(
            "1: `{}` must be a name of 1 to 64 letters, without spaces or control characters",
            "m".repeat(65)
        ),
    );
}

#[test]
fn a_secret_in_plain_text_is_refused_wherever_it_belongs_and_not_repeated() {
    let mut n_secrets = 0;
    each_key(&TOP, "", &mut |path, key| {
        if !matches!(key.kind, kind::Kind::Secret) {
            return;
        }
        n_secrets += 1;
        let (table, name) = path.rsplit_once('.').unwrap();
        for plain in ["sk-123", "${}", "${A B}", "x${A}", ""] {
            check_house(
                &format!("[{table}]\n{name} = \"{plain}\"\n"),
                &format!(
                    "2: `{path}` is secret and must not stand here in plain text | write `{name} = \"${{NAME}}\"` \
                     and set NAME in the environment"
                ),
            );
        }
        check_house(&format!("[{table}]\n{name} = \"${{A_1}}\"\n"), "");
    });
    assert_eq!(n_secrets, 9);
    check_house(
        "[models.a]\nbaseUrl = \"https://me:pw@host/v1\"\n",
        "2: `models.a.baseUrl` must not hold a password | leave out what stands before the `@`; keys \
         have a setting of their own",
    );
    check_house("[store]\nurl = \"postgres://host/kith\"\n", "");
    check_house("[store]\nurl = \"${DATABASE_URL}\"\n", "");
    check_house(
        "[store]\nurl = \"postgres://u:p@host/kith\"\n",
        "2: `store.url` is secret and must not stand here in plain text | write `url = \"${NAME}\"` and set NAME \
         in the environment",
    );
}

#[test]
fn what_is_about_one_house_or_all_of_them_stands_where_it_belongs() {
    check_house(
        "[identity]\nname = \"Ada\"\n",
        "1: `identity` belongs in `~/.kith/config.toml`, for every agent | here it is \
         `[agent.identity]`, or `[agents.<id>.identity]`",
    );
    check_of(
        Whose::User,
        "[agents.ux]\nhome = \"ux\"\n",
        "1: `agents` belongs in the `kith.toml` of a house | for every agent there is `[identity]`",
    );
    check_house(
        "[agents.UX]\nhome = \"ux\"\n",
        "1: `UX` must be an agent id: 1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`",
    );
}

#[test]
fn without_settings_the_defaults_hold() {
    let (_dir, config) = loaded("", "");
    let config = config.unwrap();
    assert_eq!(config.limits, Limits::default());
    assert_eq!((config.language, config.policy), (None, Rules::default()));
    assert_eq!(config.models.chosen, None);
}

#[test]
fn the_nearer_wins_key_by_key() {
    let house = "[limits]\nsteps = 7\n[models.a]\nmodel = \"near\"\n[ui]\nlanguage = \"auto\"\n";
    let user = "[limits]\nsteps = 9\nwall = \"2m\"\ncost = 0.5\n[models]\nuse = \"a\"\n\
                [models.a]\nwire = \"demo\"\nmodel = \"far\"\n[ui]\nlanguage = \"zh\"\n\
                [skills]\nextra = [\"skills\", \"~/more\", \"/abs\"]\n[policy]\nmode = \"deny\"\n";
    let (dir, config) = loaded(house, user);
    let config = config.unwrap();
    assert_eq!((config.limits.steps, config.limits.wall_ms), (7, 120_000));
    assert_eq!((config.limits.cost_micros, config.limits.repeats), (Some(500_000), 5));
    let model = &config.models.named["a"];
    assert_eq!((model.wire.as_str(), model.model.as_deref()), ("demo", Some("near")));
    assert_eq!((config.models.chosen.as_deref(), config.language), (Some("a"), None));
    assert!(config.policy.denies_all);
    let user = dir.path().canonicalize().unwrap().join("user");
    let extra = [user.join(".kith/skills"), user.join("more"), "/abs".into()];
    assert_eq!(config.skills.extra, extra);
}

#[test]
fn what_only_shows_when_all_is_known_is_refused_with_its_line() {
    let failed = |house: &str| loaded(house, "").1.unwrap_err();
    assert_eq!(
        failed("[models.a]\nmodel = \"m\"\n"),
        "error: `/house/kith.toml` line 2: `models.a` has no `wire`\n\
         hint: `wire = \"openai_chat\"` suits most servers\n"
    );
    assert_eq!(
        failed("[models.a]\nwire = \"demo\"\nprice = { input = 1 }\n"),
        "error: `/house/kith.toml` line 3: `models.a.price` has no `output`\n\
         hint: both are needed to tell what an answer costs\n"
    );
    assert_eq!(
        failed("[agents.ux]\nid = \"xu\"\n"),
        "error: `/house/kith.toml` line 2: `agents.ux.id` is not `ux`\n\
         hint: the name of the table is the agent's id; leave `id` out\n"
    );
}

#[test]
fn a_price_is_kept_in_micro_usd_and_the_cache_costs_as_input_unless_said() {
    let text =
        "[models.a]\nwire = \"demo\"\nprice = { input = 0.15, output = 2, cacheRead = 0.075 }\n";
    let (_dir, config) = loaded(text, "");
    let price = config.unwrap().models.named["a"].price.unwrap();
    let expected =
        Price { input: 150_000, output: 2_000_000, cache_read: 75_000, cache_write: 150_000 };
    assert_eq!(price, expected);
}

#[test]
fn every_setting_tells_where_it_stands_and_whether_it_is_obeyed() {
    let (_dir, config) = loaded("[limits]\nsteps = 7\n\n[sandbox]\nenv = [\"A\"]\n", "");
    let config = config.unwrap();
    let told: Vec<_> =
        config.settings().into_iter().map(|it| (it.name, it.place.line, it.stage)).collect();
    let expected = [
        ("limits.steps".to_owned(), 2, Stage::Obeyed),
        ("sandbox.env".to_owned(), 5, Stage::Later("the sandbox")),
    ];
    assert_eq!(told, expected);
}

#[test]
fn the_page_in_the_documentation_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let page = page::page();
    if std::env::var_os("KITH_WRITE_PAGE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let told = "`KITH_WRITE_PAGE=1 cargo nextest run -p kith-agent the_page` writes it anew";
    assert!(fs::read_to_string(&path).unwrap_or_default() == page, "{told}");
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
    let file: Arc<Path> = Path::new("kith.toml").into();
    for whose in [Whose::House, Whose::User] {
        match check(text, &file, whose) {
            Ok(tree) => assert!(tree.settings().iter().all(|(_, it)| it.place.line >= 1)),
            Err(mistake) => assert!(mistake.line <= 1 + text.matches('\n').count(), "{text:?}"),
        }
    }
}

/// Calls `each` with the full name of every key that is no table.
fn each_key(table: &Table, prefix: &str, each: &mut dyn FnMut(&str, &Key)) {
    for key in table.keys {
        let path = format!("{prefix}{}", key.name);
        match &key.kind {
            kind::Kind::Table(inner) => each_key(inner, &format!("{path}."), each),
            _ => each(&path, key),
        }
    }
    if let Some(named) = &table.named {
        each_key(named.table, &format!("{prefix}one."), each);
    }
}

/// Settings with every key, a blank line after each table.
fn example(table: &Table, path: &str, text: &mut String, n_keys: &mut usize) {
    let mut own = String::new();
    for key in table.keys {
        if !matches!(key.kind, kind::Kind::Table(_)) {
            *n_keys += 1;
            writeln!(own, "{} = {}", key.name, value_of(&key.kind)).unwrap();
        }
    }
    if !own.is_empty() {
        writeln!(text, "[{path}]\n{own}").unwrap();
    }
    let beneath =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for key in table.keys {
        if let kind::Kind::Table(inner) = &key.kind {
            example(inner, &beneath(key.name), text, n_keys);
        }
    }
    if let Some(named) = &table.named {
        example(named.table, &beneath("one"), text, n_keys);
    }
}

fn value_of(kind: &kind::Kind) -> String {
    use kind::Kind;
    match kind {
        Kind::Flag => "false".to_owned(),
        Kind::Count(min, _) => min.to_string(),
        Kind::Usd(_) => "0.5".to_owned(),
        Kind::Span(min, _) => format!("\"{}\"", form::span_in_words(*min)),
        Kind::Word(words) => format!("\"{}\"", words[0]),
        Kind::Secret | Kind::Database => "\"${A}\"".to_owned(),
        Kind::Url(schemes) => format!("\"{}://host:80/v1\"", schemes[0]),
        Kind::Address => "\"127.0.0.1:80\"".to_owned(),
        Kind::Aid => "\"luna.aid.pub\"".to_owned(),
        Kind::Thread => "\"telegram:dm:1\"".to_owned(),
        Kind::Id => "7".to_owned(),
        Kind::Free => "{ a = [1, 2.5, \"x\"] }".to_owned(),
        Kind::List(kind) => format!("[{}]", value_of(kind)),
        Kind::Text | Kind::Host | Kind::Path | Kind::Folder | Kind::AgentId | Kind::Variable => {
            "\"one\"".to_owned()
        }
        Kind::Table(_) => unreachable!("tables stand apart"),
    }
}

#[test]
fn a_secret_among_the_parameters_is_refused_and_not_repeated() {
    for (key, is_secret) in [
        ("api_key = \"sk-secret\"", true),
        ("extra = { X-Auth-Token = \"sk-secret\" }", true),
        ("max_tokens = 7", false),
        ("user = \"somebody\"", false),
    ] {
        let text = format!("[models.a]\nwire = \"demo\"\n[models.a.parameters]\n{key}\n");
        let (_dir, config) = loaded(&text, "");
        match config {
            Ok(_) => assert!(!is_secret, "{key}"),
            Err(error) => {
                assert!(is_secret && error.contains("line 4") && !error.contains("sk-"), "{error}");
            }
        }
    }
}
