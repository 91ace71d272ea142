use super::*;

const ID: &str = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1";

#[test]
fn a_leaf_is_an_event_or_the_start() {
    for text in [ID, "start"] {
        assert_eq!(text.parse::<LeafId>().unwrap().to_string(), text);
    }
    assert_eq!(LeafId::from(None), LeafId::Start);
    assert_eq!("start".parse::<LeafId>().unwrap().event(), None);
    for wrong in ["", "Start", "start ", "null", "x"] {
        let error = wrong.parse::<LeafId>().unwrap_err();
        assert_eq!(error.to_string(), format!("`{wrong}` is not `start` or the id of an event"));
    }
}

#[test]
fn ids_have_one_spelling() {
    assert_eq!(ID.parse::<EventId>().unwrap().to_string(), ID);
    for wrong in [
        "",
        "x",
        &ID.to_uppercase(),
        &ID.replace('-', ""),
        &format!("{{{ID}}}"),
        "0198a0b1-c2d3-4e4f-8a5b-6c7d8e9fa0b1",
    ] {
        assert!(wrong.parse::<EventId>().is_err(), "{wrong}");
        assert!(wrong.parse::<SessionId>().is_err(), "{wrong}");
    }
}

#[test]
fn a_call_id_names_its_answer() {
    let call_id = ID.parse::<EventId>().unwrap().call(12);
    let text = "0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_12";
    assert_eq!(call_id.to_string(), text);
    assert_eq!(text.parse::<CallId>().unwrap(), call_id);
    for wrong in [&text.replace('_', "-"), &text.replace("_12", "_012"), &text.to_uppercase()] {
        assert!(wrong.parse::<CallId>().is_err(), "{wrong}");
    }
}

#[test]
fn a_thread_id_is_platform_scope_type_and_scope_id() {
    for right in ["cli:room:ab12", "telegram:topic:-100/7", "web:room:a:b", "peer:dm:luna.aid.pub"]
    {
        assert_eq!(right.parse::<ThreadId>().unwrap().to_string(), right);
    }
    for wrong in ["", "cli", "cli:room", "cli:room:", ":room:x", "CLI:room:x", "cli:room:a\nb"] {
        assert!(wrong.parse::<ThreadId>().is_err(), "{wrong}");
    }
}

#[test]
fn an_id_is_named_by_what_is_shown_of_it_and_by_either_end() {
    let id: SessionId = "01a1e11b-9858-75e6-b081-4c1ec49881c0".parse().unwrap();
    assert_eq!(id.short(), "c49881c0");
    for typed in ["01a1", "c4", "c498", "c49881c0", "81c0", "01a1e11b-9858-75e6-b081-4c1ec49881c0"]
    {
        assert_eq!(SessionId::named_by(typed, [id]), [id], "{typed}");
    }
    for typed in ["", "9881", "1ec4", "9858", "C4"] {
        assert_eq!(SessionId::named_by(typed, [id]), [], "{typed}");
    }
    // Every id begins alike, and any may end with these letters: what is shown counts first.
    let other: SessionId = "01a1e11b-9858-75e6-b081-4c1e01a1ffc4".parse().unwrap();
    assert_eq!(SessionId::named_by("01a1", [id, other]), [other]);
    assert_eq!(SessionId::named_by("c4", [id, other]), [id]);
    assert_eq!(SessionId::named_by("01a1e", [id, other]), [id, other]);
}
