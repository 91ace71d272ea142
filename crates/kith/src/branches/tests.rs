//! Drawings of small trees, in a language of one word per event.

use kith_testkit::clock::{START, numbered_id};

use super::*;

fn id(number: u64) -> EventId {
    EventId::from_uuid(numbered_id(START, number))
}

/// `u1<0=text` is message 1 after event 0 (`0`: at the start), `m` an answer; `!2` is the leaf.
fn view(words: &str, leaf: u64) -> TreeView {
    let event = |number: u64| (number > 0).then(|| id(number));
    let mut nodes = Vec::new();
    for word in words.split(" | ") {
        let (name, text) = word.split_once('=').unwrap();
        let (number, parent) = name[1..].split_once('<').unwrap();
        let kind = match &name[..1] {
            "u" => "user_message",
            "m" => "assistant_message",
            _ => "tool_result",
        };
        nodes.push(TreeNode {
            event_id: id(number.parse().unwrap()),
            parent_id: event(parent.parse().unwrap()),
            kind: kind.to_owned(),
            text: text.to_owned(),
            ts: String::new(),
            on_path: false,
        });
    }
    let mut at = event(leaf);
    while let Some(place) = at {
        let node = nodes.iter_mut().find(|node| node.event_id == place).unwrap();
        node.on_path = true;
        at = node.parent_id;
    }
    TreeView {
        session_id: "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1".parse().unwrap(),
        leaf: event(leaf),
        nodes,
    }
}

fn check(words: &str, leaf: u64, expected: &str) {
    let lines = drawn(&view(words, leaf)).join("\n");
    assert_eq!(lines, expected.replace("\n        ", "\n"), "{lines}");
}

#[test]
fn a_turn_is_a_line_that_names_its_end() {
    check(
        "u1<0=hello | m2<1=Hi. | u3<2=go | m4<3= | r5<4=read done | m6<5=There.",
        6,
        "● start
        ● 00000002  hello -> Hi.
        ● 00000006  go -> There.  <- here",
    );
}

#[test]
fn branches_stand_beside_the_turn_they_start_from() {
    check(
        "u1<0=a | m2<1=b | u3<2=c | m4<3=d | u5<4=e | m6<5=f | u7<2=x | m8<7=y | u9<4=z",
        8,
        "● start
        ● 00000002  a -> b
        ├─○ 00000004  c -> d
        │ ├─○ 00000006  e -> f
        │ ○ 00000009  z
        ● 00000008  x -> y  <- here",
    );
}

#[test]
fn the_leaf_is_marked_where_nothing_follows() {
    check(
        "u1<0=a | m2<1=b | u3<2=c | m4<3=d",
        2,
        "● start
        ● 00000002  a -> b  <- here
        ○ 00000004  c -> d",
    );
    check(
        "u1<0=a | m2<1=b",
        0,
        "● start  <- here
        ○ 00000002  a -> b",
    );
}

#[test]
fn branches_from_the_start_stand_beside_it() {
    check(
        "u1<0=a | m2<1=b | u3<0=c | m4<3=d",
        4,
        "● start
        ├─○ 00000002  a -> b
        ● 00000004  c -> d  <- here",
    );
}

#[test]
fn a_line_is_never_wider_than_it_may_be() {
    let wide = "把文件列出来".repeat(20);
    let words = format!("u1<0={wide} | m2<1={wide} | u3<2=short | m4<3={wide}");
    let lines = drawn(&view(&words, 4));
    for line in &lines {
        assert!(line.width() <= LINE_COLUMNS_MAX, "{} {line}", line.width());
    }
    assert!(lines[1].contains("… -> 把") && lines[3 - 1].ends_with("…  <- here"), "{lines:#?}");
}

#[test]
fn deep_branches_are_not_indented_further() {
    // Each branch has a branch of its own, a hundred deep.
    let mut words = vec!["u1<0=0".to_owned()];
    for n in 1..100_u64 {
        words.push(format!("m{}<{}=b", 2 * n + 1, 2 * n - 1));
        words.push(format!("u{}<{}=a", 2 * n, 2 * n - 1));
    }
    let lines = drawn(&view(&words.join(" | "), 0));
    assert_eq!(lines.len(), 200);
    assert!(lines.iter().all(|line| line.width() <= LINE_COLUMNS_MAX), "{lines:#?}");
}

#[test]
fn a_wide_character_takes_two_columns_and_an_accent_none() {
    assert_eq!("abc".width(), 3);
    assert_eq!("四 words".width(), 8);
    assert_eq!("。！（）가あア".width(), 14);
    assert_eq!("e\u{301}a\u{200d}".width(), 2);
    assert_eq!("🙂".width(), 2);
    assert_eq!("— … é ●├─".width(), 9);
}

#[test]
fn a_text_is_cut_where_it_no_longer_fits() {
    assert_eq!(fitted("abc", 3), "abc");
    assert_eq!(fitted("abcd", 3), "ab…");
    assert_eq!(fitted("把文件列出来", 12), "把文件列出来");
    assert_eq!(fitted("把文件列出来", 11), "把文件列出…");
    assert_eq!(fitted("把文件列出来", 10), "把文件列…");
    assert_eq!(fitted("one two", 5), "one…");
    for columns_max in 1..12 {
        assert!(fitted("把a文b件c列d", columns_max).width() <= columns_max);
    }
}
