//! The whole catalogue, both languages side by side.

use kith_vocab::budget::{CapAmount, CapPeriod, CapReached};
use kith_vocab::event::control::{Bound, Limits};
use kith_vocab::event::models::FailureKind;

use super::NoticeText;

#[test]
fn the_catalogue_reads_so_in_both_languages() {
    let limits = Limits {
        steps: 1,
        repeats: 3,
        wall_ms: 90_000,
        tokens: Some(20_000),
        cost_micros: Some(1_250_000),
    };
    let problem = "line 9: bad_crc: its checksum does not match";
    let bounds = [Bound::Steps, Bound::Repeats, Bound::Wall, Bound::Tokens, Bound::Cost];
    let mut texts = vec![
        NoticeText::TurnFailed { kind: None, reason: "the log could not be written" },
        NoticeText::FallsBack {
            kind: FailureKind::Loading,
            reason: "`lab` had a server error (status 503)",
            to: "spare",
        },
        NoticeText::InterruptedTooOften,
        NoticeText::NotSent,
        NoticeText::Withdrawn,
        NoticeText::QueuedBehindApproval,
        NoticeText::MovedToAnotherSession,
        NoticeText::ContinuesFromCopy { problem },
        NoticeText::StartsOver { problem },
    ];
    let kinds = [
        (FailureKind::Network, "`lab` could not be reached"),
        (FailureKind::Status, "`lab` had a server error (status 500)"),
        (FailureKind::Auth, "`lab` refused the API key (status 401): check it"),
        (FailureKind::Cut, "`lab` broke off before the answer was complete"),
        (FailureKind::Timeout, "`lab` sent nothing for 60 s"),
        (FailureKind::Malformed, "`lab` sent an event that is not valid JSON for this API"),
        (FailureKind::Empty, "`lab` sent an empty answer"),
        (FailureKind::Truncated, "a call was cut off at the length limit"),
        (FailureKind::ContextLength, "`lab` rejected the conversation as too long (status 400)"),
        (FailureKind::Media, "`lab` does not take an image (status 400)"),
        (FailureKind::Budget, "the cap is reached"),
    ];
    texts.extend(kinds.map(|(kind, reason)| NoticeText::TurnFailed { kind: Some(kind), reason }));
    texts.extend(bounds.map(|bound| NoticeText::LimitReached { bound, limits: &limits }));
    let caps = [
        (CapPeriod::Day, CapAmount::CostMicros(60_000), 51_000, 90_000),
        (CapPeriod::ThreadDay, CapAmount::Tokens(20_000), 15_000, 9_500),
    ];
    texts.extend(caps.map(|(period, cap, used, most)| {
        NoticeText::CapReached(CapReached { period, cap, used, most })
    }));
    let both =
        |it: &NoticeText<'_>| format!("{}\n{}\n", it.in_language("en"), it.in_language("zh"));
    insta::assert_snapshot!("notices", texts.iter().map(both).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_language_without_texts_gets_english() {
    for (tag, is_chinese) in [
        ("zh-CN", true),
        ("zh_TW.UTF-8", true),
        ("ZH", true),
        ("zho", false),
        ("de-DE", false),
        ("", false),
    ] {
        let text = NoticeText::Withdrawn.in_language(tag);
        assert_eq!(!text.is_ascii(), is_chinese, "{tag}: {text}");
    }
}
