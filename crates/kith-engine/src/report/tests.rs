use kith_testkit::transcript::transcript;

use super::*;

#[test]
fn messages_that_share_a_turn_have_the_same_end_in_a_copy() {
    let line = "cloned user: a | cloned user: b | cloned model: c | cloned user: d";
    let mut events = transcript(line).events;
    for (event, key) in events.iter_mut().zip(["first", "second", "", "third"]) {
        event.ingress_key = Some(key.to_owned()).filter(|key| !key.is_empty());
    }
    let end_of = |key: &str| {
        let thread_id = "cli:room:a".parse().unwrap();
        let mut reader =
            RowReader::new(SessionId::from_uuid(events[0].id.as_uuid()), &thread_id, key);
        for event in &events {
            reader.read_copied(event);
        }
        reader.into_report().end
    };
    assert_eq!(end_of("first"), MessageEnd::Done);
    assert_eq!(end_of("second"), MessageEnd::Done);
    assert_eq!(end_of("third"), MessageEnd::Unknown);
}
