use serde_json::Value;

use super::*;

#[test]
fn the_examples_hold() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("../../testdata/identity.json")).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let identity = Identity::of(case["file"].as_str().unwrap());
        for (key, want) in case["want"].as_object().unwrap() {
            assert_eq!(spoken(&identity, key), want.as_str(), "{key} of {}", case["file"]);
        }
    }
}

#[test]
fn every_field_has_its_labels() {
    let text = "name: n\nrole: r\n目标：g\n声音：v\nEmoji: 🎸\ncreature: c\nvibe: s\n\
                avatar: `a.png`\n";
    let identity = Identity::of(text);
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
    let identity = Identity::of("name: Luna\nname:\nname: _(pick a name)_\n# name: heading\n");
    assert_eq!(identity.display_name(), "Luna");
}

fn spoken<'a>(identity: &'a Identity, key: &str) -> Option<&'a str> {
    let field = match key {
        "name" => return Some(identity.display_name()),
        "source" => return Some(identity.source.as_str()),
        "role" => &identity.role,
        "goal" => &identity.goal,
        "voice" => &identity.voice,
        "emoji" => &identity.emoji,
        "type" => &identity.kind,
        "style" => &identity.style,
        "avatar" => &identity.avatar,
        _ => panic!("no such field: {key}"),
    };
    field.as_deref()
}
