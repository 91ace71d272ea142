use std::collections::HashSet;

use kith_vocab::validate::validate;

use super::*;

#[test]
fn every_type_is_there_twice_and_valid() {
    let events = sample_events();
    for type_name in Body::TYPES {
        let n_events = events.iter().filter(|event| event.body.type_name() == *type_name).count();
        assert_eq!(n_events, 2, "{type_name}");
    }
    let mut ids = HashSet::new();
    let mut tree = HashSet::new();
    for (index, event) in events.iter().enumerate() {
        assert_eq!(validate(event), Ok(()));
        assert_eq!(event.seq, index as u64 + 1);
        assert!(ids.insert(event.id));
        assert!(event.parent_id.is_none_or(|parent| tree.contains(&parent)));
        if event.is_tree() {
            tree.insert(event.id);
        }
    }
}

#[test]
fn every_sample_comes_back_from_its_line() {
    for event in sample_events() {
        let line = serde_json::to_string(&event).unwrap();
        let record: kith_vocab::event::EventRecord<'_> = serde_json::from_str(&line).unwrap();
        assert_eq!(*record.event, event);
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
    }
}

#[test]
fn whole_samples_differ_from_bare_ones() {
    let lines: Vec<String> =
        sample_events().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let (whole, bare) = lines.split_at(lines.len() / 2);
    for (whole, bare) in whole.iter().zip(bare) {
        assert!(whole.contains("ingressKey") || whole.contains("sourceTag"), "{whole}");
        assert!(!bare.contains("ingressKey") && !bare.contains("sourceTag"), "{bare}");
    }
}
