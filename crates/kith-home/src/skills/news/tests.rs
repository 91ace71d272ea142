use super::*;

const DIGITS: usize = 64;

#[test]
fn the_first_message_brings_the_index_and_its_listing() {
    check(
        None,
        "a=1 b=1",
        "skill_index_snapshot a=1 b=1
skill_listing: Skills, by name and purpose. When one fits the task, load it with the `skill` tool first:
- a: What a does.
- b (\"The B\"): What b does.",
    );
}

#[test]
fn a_later_one_brings_only_what_changed() {
    check(
        Some("a=1 b=1 c=1"),
        "a=1 b=2 d=1",
        "skill_index_delta added d=1 changed b=2 removed c
skill_delta: The skills have changed.
New:
- d: What d does.
Changed, to be loaded again before they are used:
- b (\"The B\"): What b does.
Gone: c",
    );
    check(
        Some("a=1 b=1"),
        "",
        "skill_index_delta added changed removed a b
skill_delta: The skills have changed.
Gone: a, b",
    );
    check(
        Some(""),
        "a=1",
        "skill_index_delta added a=1 changed removed 
skill_delta: The skills have changed.
New:
- a: What a does.",
    );
}

#[test]
fn who_knows_is_told_nothing_and_so_is_who_has_none() {
    check(Some("a=1 b=1"), "a=1 b=1", "");
    check(Some("b=1 a=1"), "a=1 b=1", "");
    check(Some(""), "", "");
    check(None, "", "");
}

#[test]
fn every_field_of_an_entry_counts_as_a_change() {
    let old = entry("a", "1");
    let edits: [fn(&mut SkillEntry); 5] = [
        |it| it.display_name.push('x'),
        |it| it.description.push('x'),
        |it| it.path.push('x'),
        |it| it.scope.push('x'),
        |it| it.sha256.push('x'),
    ];
    for edit in edits {
        let mut new = old.clone();
        edit(&mut new);
        let delta = delta(std::slice::from_ref(&old), std::slice::from_ref(&new)).unwrap();
        assert_eq!(delta.changed, [new]);
    }
}

#[test]
fn what_was_told_is_read_off_the_reminders() {
    let steps = ["a=1 b=1", "a=2 c=1", "", "z=1 a=2"];
    let mut items: Vec<HarnessItem> = Vec::new();
    for step in steps {
        let disk = entries(step);
        let known = told_by(&items);
        items.extend(items_of(&skill_news(known.as_deref(), &disk)));
        let now = told_by(&items).unwrap();
        assert_eq!(delta(&now, &disk), None, "{step}");
        assert_eq!(skill_news(Some(&now), &disk), []);
    }
    assert_eq!(items.len(), steps.len());
    // After a branch to before the listing, what is left tells nothing that could be relied on.
    assert_eq!(told_by(&items[1..]), None);
    assert_eq!(told_by(&[]), None);
    // And after one to before the last change, that change is told again.
    let before = told_by(&items[..3]).unwrap();
    assert_eq!(skill_news(Some(&before), &entries(steps[3])).len(), 2);
}

#[test]
fn a_reminder_that_cannot_be_understood_makes_it_be_told_again() {
    let mut items = items_of(&skill_news(None, &entries("a=1")));
    items.push(HarnessItem {
        kind: HarnessKind::SkillDelta,
        data: Some(Json::empty_object()),
        ..items[0].clone()
    });
    assert_eq!(told_by(&items), None);
    items.extend(items_of(&skill_news(None, &entries("b=1"))));
    assert_eq!(told_by(&items).unwrap(), entries("b=1"));
    assert_eq!(told(Some(&Json::of(&"no object")), []), None);
}

#[test]
fn many_long_descriptions_share_the_room() {
    let long = |name: String| SkillEntry { description: "x".repeat(1024), ..entry(&name, "1") };
    let few: Vec<SkillEntry> = (0..16).map(|n| long(format!("s{n:03}"))).collect();
    let many: Vec<SkillEntry> = (0..128).map(|n| long(format!("s{n:03}"))).collect();
    assert!(!listing(&few).contains('…'));
    let text = listing(&many);
    assert_eq!(text.matches('…').count(), 128);
    assert!(text.chars().count() < SKILL_LISTING_CHARS_MAX + 128 * 16);
}

#[test]
fn reminders_are_hidden_and_the_owners() {
    for body in skill_news(None, &entries("a=1")).iter().skip(1) {
        let Body::HarnessItem(event) = body else { panic!("{body:?}") };
        assert_eq!(event.item.visibility, Visibility::Hidden);
        assert_eq!(event.item.origin, Origin::Skill);
        assert_eq!(event.trust, Trust::Owner);
    }
}

fn entry(name: &str, version: &str) -> SkillEntry {
    let display_name = if name == "b" { "The B" } else { name };
    SkillEntry {
        name: name.to_owned(),
        display_name: display_name.to_owned(),
        description: format!("What {name} does."),
        path: format!("/house/skills/{name}/SKILL.md"),
        scope: "home".to_owned(),
        sha256: version.repeat(DIGITS),
    }
}

/// `a=1`: the skill `a`, whose file's hash is all ones.
fn entries(text: &str) -> Vec<SkillEntry> {
    text.split_whitespace()
        .map(|it| it.split_once('=').unwrap())
        .map(|(n, v)| entry(n, v))
        .collect()
}

fn items_of(bodies: &[Body]) -> Vec<HarnessItem> {
    let items = bodies.iter().filter_map(|body| match body {
        Body::HarnessItem(event) => Some(event.item.clone()),
        _ => None,
    });
    items.collect()
}

/// As a session keeps them: the last listing, and the deltas after it.
fn told_by(items: &[HarnessItem]) -> Option<Vec<SkillEntry>> {
    let place = items.iter().rposition(|it| it.kind == HarnessKind::SkillListing);
    let (listing, deltas) = match place {
        Some(place) => (items[place].data.as_ref(), &items[place + 1..]),
        None => (None, items),
    };
    told(listing, deltas.iter().filter_map(|it| it.data.as_ref()))
}

fn shown(entries: &[SkillEntry]) -> String {
    let words = entries.iter().map(|it| format!(" {}={}", it.name, &it.sha256[..1]));
    words.collect::<Vec<_>>().concat()
}

#[track_caller]
fn check(told: Option<&str>, disk: &str, expected: &str) {
    let told = told.map(entries);
    let bodies = skill_news(told.as_deref(), &entries(disk));
    let shown = bodies.iter().map(|body| match body {
        Body::SkillIndexSnapshot(it) => format!("skill_index_snapshot{}", shown(&it.entries)),
        Body::SkillIndexDelta(it) => format!(
            "skill_index_delta added{} changed{} removed {}",
            shown(&it.added),
            shown(&it.changed),
            it.removed.join(" ")
        ),
        Body::HarnessItem(it) => {
            let kind = Json::of(&it.item.kind).as_str().replace('"', "");
            format!("{kind}: {}", it.item.content)
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(shown.collect::<Vec<_>>().join("\n"), expected);
}
