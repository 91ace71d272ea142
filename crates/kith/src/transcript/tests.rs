//! Reminders as a person sees them.

use kith_testkit::transcript::transcript as log_of;
use kith_vocab::event::messages::{HarnessItem, Trust};

use super::*;

#[test]
fn a_primed_history_is_shown_and_of_a_long_one_its_end() {
    let id = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1".parse().unwrap();
    assert_eq!(beginning(&[], id), None);
    let two = log_of("primed user: hello | primed model: hi").events;
    let shown = beginning(&two, id);
    assert!(shown.is_some_and(|it| it.ends_with("agent (primed):\n  hi")));

    let lines = vec!["primed model: Ready."; BEGINNING_ENTRIES_MAX + 2];
    let shown = beginning(&log_of(&lines.join(" | ")).events, id).unwrap();
    assert_eq!(shown.matches("Ready.").count(), BEGINNING_ENTRIES_MAX);
    assert!(shown.starts_with("(2 earlier entries; see `kith session show "), "{shown}");
}

#[test]
fn reminders_are_shown_by_kind_and_visibility() {
    use HarnessKind::{
        Attachment, ChannelContext, DateChange, Memory, RuntimeNotice, SkillDelta, SkillListing,
        Steer,
    };
    for kind in [DateChange, Memory, RuntimeNotice, ChannelContext] {
        let name = kind.name().replace('_', " ");
        check(kind, "one", Some(&format!("({name}: one)")));
        check(kind, "one\ntwo", Some(&format!("({name}: one … 1 more line)")));
        check(kind, "one\ntwo\nthree", Some(&format!("({name}: one … 2 more lines)")));
    }
    for kind in [SkillListing, SkillDelta] {
        check(kind, "one", None);
        let name = kind.name().replace('_', " ");
        let line = format!("({name}: one … 1 more line)");
        check_as(kind, Visibility::Compact, "one\ntwo", Some(&line));
        check_as(kind, Visibility::Display, "one", Some(&format!("({name})\n  one")));
    }
    check(Steer, "the left one", Some("(steer) the left one"));
    check(Attachment, "a\nb", Some("(attachment)\n  a\n  b"));
    for kind in [DateChange, Steer, SkillListing] {
        check_as(kind, Visibility::Hidden, "one", None);
    }
    let long = "x".repeat(FOLDED_CHARS_MAX + 1);
    check(Memory, &long, Some(&format!("(memory: {}…)", &long[1..])));
}

#[track_caller]
fn check(kind: HarnessKind, content: &str, expected: Option<&str>) {
    check_as(kind, kind.usual_visibility(), content, expected);
}

#[track_caller]
fn check_as(kind: HarnessKind, visibility: Visibility, content: &str, expected: Option<&str>) {
    let content = content.to_owned();
    let event = HarnessItemEvent {
        item: HarnessItem {
            kind,
            origin: Origin::User,
            content: content.into(),
            visibility,
            data: None,
        },
        trust: Trust::Owner,
        author: None,
        queue_item_id: None,
        merged_into: None,
        primed: None,
    };
    assert_eq!(harness(&event).as_deref(), expected);
}
