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
fn turns_are_retried_and_queue_items_name_keys_and_models() {
    let (mut retries, mut keys, mut shared_keys, mut models, mut started) = (0, 0, 0, 0, 0);
    for log in many_logs() {
        let mut seen = HashSet::new();
        for pair in log.windows(2) {
            let has_ended = matches!(pair[0].body, Body::TurnEnded(_));
            retries += usize::from(has_ended && matches!(pair[1].body, Body::TurnStarted(_)));
        }
        for event in &log {
            if let Body::QueueUpdate(queue) = &event.body {
                let of_items = queue.items.iter().filter_map(|item| item.ingress_key.as_ref());
                keys += of_items.clone().count();
                shared_keys += of_items.filter(|key| seen.contains(*key)).count();
                models += queue.items.iter().filter(|item| !item.models.is_empty()).count();
            }
            if let Body::TurnStarted(turn) = &event.body {
                started += usize::from(!turn.models.is_empty());
            }
            seen.extend(event.ingress_key.clone());
        }
    }
    let counts = [retries, keys, shared_keys, models, started];
    assert!(counts.iter().all(|n| *n >= 20), "{counts:?}");
}

#[test]
fn requests_say_which_renderer_made_them() {
    let version = |wire| if wire == Wire::Anthropic { 7 } else { 5 };
    let mut n_requests = 0;
    for mut log in many_logs() {
        set_renderer_version(&mut log, version);
        for event in &log {
            if let Body::ModelRequested(request) = &event.body {
                assert_eq!(request.renderer_version, version(request.wire));
                n_requests += 1;
            }
        }
    }
    assert!(n_requests >= 20, "{n_requests}");
    let seeds: Vec<[u8; SEED_BYTES]> = (0..=255).map(|first| [first; SEED_BYTES]).collect();
    let mut set_later = log_of(&seeds);
    set_renderer_version(&mut set_later, version);
    assert_eq!(log_rendered_by(&seeds, version), set_later);
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

#[test]
fn property_tests_have_the_seed_that_is_named() {
    assert_eq!(property_seed(None), PROPERTY_SEED_USUAL);
    assert_eq!(property_seed(Some("7")), 7);
}
