//! What a document holds of a conversation.

use super::*;

#[test]
fn a_fence_is_longer_than_any_inside() {
    assert_eq!(fenced("", "plain\n"), "```\nplain\n```");
    assert_eq!(fenced("json", "{}"), "```json\n{}\n```");
    assert_eq!(fenced("", "```sh\nls\n```"), "````\n```sh\nls\n```\n````");
    assert_eq!(fenced("", "a ````` b"), "``````\na ````` b\n``````");
    assert_eq!(fenced("", ""), "```\n\n```");
}

#[test]
fn every_line_of_a_reminder_is_a_quotation() {
    assert_eq!(quoted("one\n# two"), "> one\n> # two");
}
