//! All events of a session as a person reads them.

use kith_testkit::transcript::transcript as log_of;

use super::*;

#[track_caller]
fn listed(log: &str) -> String {
    let log = log_of(log);
    let leaf = log.events.iter().rev().find(|event| event.is_tree()).map(|event| event.id);
    let lines = event_list(&log.events, leaf, &TimeZone::UTC);
    // Ids and times of made logs say nothing.
    let rest = |line: &String| {
        if line.starts_with(TEXT_INDENT) {
            line.clone()
        } else {
            format!("{}{}", &line[..7], &line[38..])
        }
    };
    lines.iter().map(rest).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_event_is_a_line_with_its_kind_and_its_text_below() {
    let log = "snapshot be kind | tools read_file | user: go\\nnow | model: ok \
               | note hidden secret of the house | user: on | model: done | ended done";
    insta::assert_snapshot!(listed(log), @"
    1  instruction snapshot: baseline, agents, memory, workspace, environment, time
    2  toolset snapshot: read_file
    3  user message: Owner
       go
       now
    4  assistant message: scripted, 10 tokens in, 5 out, end turn
       ok
    5  harness item: runtime notice
       hidden secret of the house
    6  user message: Owner
       on
    7  assistant message: scripted, 10 tokens in, 5 out, end turn
       done
    8  turn ended: done
    ");
}
