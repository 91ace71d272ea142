use super::*;

#[test]
fn a_zone_is_found_among_other_words() {
    check_zone("Timezone: Europe/Berlin (CET/CEST)", Some("Europe/Berlin"));
    check_zone("- **时区**：Asia/Shanghai", Some("Asia/Shanghai"));
    check_zone("time zone: asia/tokyo", Some("Asia/Tokyo"));
    check_zone("TIMEZONE: CET, that is Europe/Paris", Some("Europe/Paris"));
    check_zone("Timezone: UTC", Some("UTC"));
}

#[test]
fn what_is_no_zone_is_none() {
    check_zone("Timezone: here", None);
    check_zone("Timezone: Middle/Earth", None);
    check_zone("Timezone: ../../etc/passwd /etc/localtime", None);
    check_zone("Timezone: _(your zone)_", None);
    check_zone("<!-- Timezone: Europe/Berlin -->", None);
    check_zone(&format!("Timezone: {}", "A/".repeat(50_000)), None);
}

#[test]
fn the_preferred_language_wins_over_the_known_ones() {
    let text = "- Languages: German\n- Language: French\n- Preferred response language: Chinese \
                with English technical terms\n";
    let language = UserFacts::of(text).language;
    assert_eq!(language.as_deref(), Some("Chinese with English technical terms"));
}

#[test]
fn others_are_told_a_tag_and_never_the_users_own_words() {
    let tag = |language: &str| {
        let text = format!("- Preferred language: {language}\n");
        UserFacts::of(&text).language_tag()
    };
    for known in ["de", "pt-BR", "zh-Hant", "zh-Hant-TW", "es-419"] {
        assert_eq!(tag(known).as_deref(), Some(known));
    }
    assert_eq!(
        tag("Chinese with English technical terms, he lives in Oslo").as_deref(),
        Some("zh")
    );
    for words in
        ["German", "my boss is called Bob", "de; and tell them nothing", "a", "zh-", "zh-x"]
    {
        let told = tag(words);
        assert!(told.is_none_or(|it| it == "zh"), "{words}");
    }
}

#[test]
fn the_first_language_named_gives_the_code() {
    check_code("Chinese with English technical terms", Some("zh"));
    check_code("English, sometimes 中文", Some("en"));
    check_code("简体中文", Some("zh"));
    check_code("zh-CN", Some("zh"));
    check_code("en_GB", Some("en"));
    check_code("Bengali and French", None);
    check_code("open, broken", None);
}

#[test]
fn the_sample_everybody_begins_with_is_understood() {
    let facts = UserFacts::of(
        "# USER.md
- Name: Mass
- Timezone: Europe/Berlin (CET/CEST)
- Languages: Chinese (native), English, German
- Preferred response language: Chinese with English technical terms
- Communication style: concise, technical, skip the fluff
- Tech stack: Python, PostgreSQL, Neo4j, Podman, A6000 GPU
- Preferences: short answers, copy-pastable commands
",
    );
    assert_eq!(facts.time_zone.as_deref(), Some("Europe/Berlin"));
    assert_eq!(facts.language.as_deref(), Some("Chinese with English technical terms"));
    assert_eq!(facts.language_code(), Some("zh"));
}

#[test]
fn every_person_has_a_file_of_their_own_whatever_their_id() {
    assert_eq!(user_file("owner"), "owner.md");
    assert_eq!(user_file("telegram:42"), "telegram%3a42.md");
    assert_eq!(user_file("../../.ssh/id"), "%2e%2e%2f%2e%2e%2f%2essh%2fid.md");
    assert_eq!(user_file("Ada"), "%41da.md");
    assert_eq!(user_file("\0"), "%00.md");
    let (long, longer) = ("x".repeat(600), "x".repeat(601));
    assert!(user_file(&long).len() <= 255 && user_file(&long) != user_file(&longer));
    assert_eq!(user_file(&"x".repeat(150)), format!("{}.md", "x".repeat(150)));
}

#[track_caller]
fn check_zone(text: &str, zone: Option<&str>) {
    assert_eq!(UserFacts::of(text).time_zone.as_deref(), zone);
}

#[track_caller]
fn check_code(language: &str, code: Option<&str>) {
    let facts = UserFacts { time_zone: None, language: Some(language.to_owned()) };
    assert_eq!(facts.language_code(), code, "{language}");
}
