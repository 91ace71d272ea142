use std::collections::HashMap;

use kith_vocab::event::EventRecord;
use kith_vocab::validate::validate;
use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(fixed_cases(256))]

    #[test]
    fn every_log_is_valid_and_well_numbered(log in any_event_log(40)) {
        let mut ids = HashSet::new();
        let mut tree = HashSet::new();
        for (index, event) in log.iter().enumerate() {
            prop_assert_eq!(validate(event), Ok(()));
            prop_assert_eq!(event.seq, index as u64 + 1);
            prop_assert!(ids.insert(event.id));
            prop_assert!(event.parent_id.is_none_or(|parent| tree.contains(&parent)));
            if event.is_tree() {
                tree.insert(event.id);
            }
        }
        prop_assert!(log.iter().map(|event| event.ts).is_sorted());
    }

    #[test]
    fn every_event_comes_back_from_its_line(log in any_event_log(10)) {
        for event in log {
            let line = serde_json::to_string(&event).unwrap();
            let record: EventRecord<'_> = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(&*record.event, &event);
            prop_assert_eq!(serde_json::to_string(&record).unwrap(), line);
        }
    }
}

/// Seeds from a fixed generator: the same logs on every run.
fn many_logs() -> Vec<Vec<Event>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..300).map(|_| log_of(&(0..40).map(|_| next()).collect::<Vec<_>>())).collect()
}

#[test]
fn every_type_is_written_and_references_hit_and_miss() {
    let mut n_by_type: HashMap<&str, usize> = HashMap::new();
    let (mut hits, mut misses, mut answered) = (0, 0, 0);
    let (mut merged, mut branched, mut tagged, mut huge) = (0, 0, 0, 0);
    for log in many_logs() {
        let mut calls = HashSet::new();
        let mut requests = HashSet::new();
        let mut results = HashSet::new();
        let mut last_tree = None;
        for event in &log {
            *n_by_type.entry(event.body.type_name()).or_default() += 1;
            tagged += usize::from(!event.is_lived());
            huge += usize::from(serde_json::to_string(event).unwrap().len() > 64 * 1024);
            match &event.body {
                Body::AssistantMessage(_) => {
                    calls.extend((0..3).map(|index| event.id.call(index)));
                    answered += usize::from(requests.contains(&event.id));
                }
                Body::ModelRequested(request) => {
                    requests.insert(request.request_id);
                }
                Body::ToolResult(result) if calls.contains(&result.call_id) => hits += 1,
                Body::ToolResult(_) => misses += 1,
                Body::HarnessItem(item) => {
                    merged += usize::from(item.merged_into.is_some_and(|id| results.contains(&id)));
                }
                _ => (),
            }
            if matches!(event.body, Body::ToolResult(_)) {
                results.insert(event.id);
            }
            if event.is_tree() {
                branched += usize::from(event.parent_id != last_tree);
                last_tree = Some(event.id);
            }
        }
    }
    for type_name in Body::TYPES {
        assert!(n_by_type.get(type_name).is_some_and(|n| *n >= 20), "{type_name}: {n_by_type:?}");
    }
    let counts = [hits, misses, answered, merged, branched, tagged, huge];
    assert!(counts.iter().all(|n| *n >= 20) && hits > misses, "{counts:?}");
}

#[test]
fn the_plainest_log_is_people_saying_a() {
    let log = log_of(&[[0; SEED_BYTES]; 2]);
    for event in &log {
        let Body::UserMessage(message) = &event.body else { panic!("not a message") };
        assert_eq!(message.message.content, [kith_vocab::block::Block::text("a")]);
    }
    assert_eq!(log[1].parent_id, Some(log[0].id));
}
