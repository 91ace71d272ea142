use serde_json::Value;

use super::*;

#[test]
fn the_examples_hold() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../testdata/identity.json")).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let identity = of(case["file"].as_str().unwrap());
        for (key, want) in case["want"].as_object().unwrap() {
            assert_eq!(spoken(&identity, key), want.as_str(), "{key} of {}", case["file"]);
        }
    }
}

#[test]
fn every_field_has_its_labels() {
    let text = "name: n\nrole: r\n目标：g\n声音：v\nEmoji: 🎸\ncreature: c\nvibe: s\n\
                avatar: `a.png`\n";
    let identity = of(text);
    for (key, want) in [
        ("name", "n"),
        ("role", "r"),
        ("goal", "g"),
        ("voice", "v"),
        ("emoji", "🎸"),
        ("type", "c"),
        ("style", "s"),
        ("avatar", "a.png"),
    ] {
        assert_eq!(spoken(&identity, key), Some(want));
    }
}

#[test]
fn a_blank_line_does_not_take_the_name_away() {
    let identity = of("name: Luna\nname:\nname: _(pick a name)_\n# name: heading\n");
    assert_eq!(identity.display_name(), "Luna");
}

#[test]
fn the_first_that_gives_a_name_wins_and_says_so() {
    check("", "", "", "Assistant from default");
    check("", "", "name: File", "File from IDENTITY.md");
    check("", "House", "name: File", "House from kith.toml");
    check("User", "House", "name: File", "User from ~/.kith/config.toml");
    check("User", "", "", "User from ~/.kith/config.toml");
    check("  ", "", "name: File", "File from IDENTITY.md");
}

#[test]
fn each_field_comes_from_the_first_that_has_it() {
    let configured = ConfiguredIdentity {
        global: IdentityFields { name: Some("User".to_owned()), ..IdentityFields::default() },
        agent: IdentityFields { emoji: Some("🦉".to_owned()), ..IdentityFields::default() },
    };
    let identity = Identity::resolve(&configured, "name: File\nrole: Scribe\nemoji: 🎸\n");
    for (key, want) in [("name", "User"), ("emoji", "🦉"), ("role", "Scribe")] {
        assert_eq!(spoken(&identity, key), Some(want));
    }
}

#[test]
fn what_settings_say_stands_in_one_line() {
    let agent = IdentityFields { role: Some("a\nb".to_owned()), ..IdentityFields::default() };
    let configured = ConfiguredIdentity { agent, ..ConfiguredIdentity::default() };
    let role = Identity::resolve(&configured, "").fields.role.unwrap();
    assert!(!role.contains('\n'), "{role:?}");
}

/// The names that the user's settings, the house's settings and IDENTITY.md give.
#[track_caller]
fn check(global: &str, agent: &str, file: &str, expected: &str) {
    let named = |name: &str| IdentityFields {
        name: Some(name.to_owned()).filter(|it| !it.is_empty()),
        ..IdentityFields::default()
    };
    let configured = ConfiguredIdentity { global: named(global), agent: named(agent) };
    let identity = Identity::resolve(&configured, file);
    let found = format!("{} from {}", identity.display_name(), identity.source.as_str());
    assert_eq!(found, expected);
}

fn of(text: &str) -> Identity {
    Identity::resolve(&ConfiguredIdentity::default(), text)
}

fn spoken<'a>(identity: &'a Identity, key: &str) -> Option<&'a str> {
    let field = match key {
        "name" => return Some(identity.display_name()),
        "source" => return Some(identity.source.as_str()),
        "role" => &identity.fields.role,
        "goal" => &identity.fields.goal,
        "voice" => &identity.fields.voice,
        "emoji" => &identity.fields.emoji,
        "type" => &identity.fields.kind,
        "style" => &identity.fields.style,
        "avatar" => &identity.fields.avatar,
        _ => panic!("no such field: {key}"),
    };
    field.as_deref()
}

#[test]
fn usual_chinese_labels_are_understood() {
    for text in ["名字: 小雨", "姓名：小雨", "- **名称**：小雨"] {
        assert_eq!(of(text).display_name(), "小雨", "{text}");
    }
    let identity =
        of("名字：小雨\n角色：管家\n目标：家里井井有条\n语气：温和\n类型：猫\n风格：简短\n");
    for (key, value) in [
        ("role", "管家"),
        ("goal", "家里井井有条"),
        ("voice", "温和"),
        ("type", "猫"),
        ("style", "简短"),
    ] {
        assert_eq!(spoken(&identity, key), Some(value));
    }
}
