use super::*;
use crate::block::Block;

#[test]
fn tokens_stay_as_they_were_written() {
    let json =
        Json::parse(" { \"a b\" : [ 1.0e5 , 123456789012345678901234567890 ,\n\"\\\" x\" ] } ");
    assert_eq!(json.unwrap().as_str(), r#"{"a b":[1.0e5,123456789012345678901234567890,"\" x"]}"#);
}

#[test]
fn what_is_not_json_or_too_deep_is_refused() {
    for wrong in [
        "",
        "{",
        "{} {}",
        "{'a': 1}",
        &"[".repeat(200),
        &format!("{}{}", "[".repeat(200), "]".repeat(200)),
    ] {
        assert!(Json::parse(wrong).is_err(), "{wrong}");
    }
}

const CALL: &str = r#"{"type":"tool_call","callId":"0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0","providerCallId":"x","tool":"t","input":{"n":1.50}}"#;

#[test]
fn a_tagged_object_comes_back_byte_for_byte() {
    for text in [r#"{"type":"text","text":"你好"}"#, CALL] {
        let block: Block = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&block).unwrap(), text);
    }
}

#[test]
fn a_tagged_object_is_read_strictly() {
    for wrong in [
        r#"{"text":"x","type":"text"}"#,
        r#"{"type":"other"}"#,
        r#"{"type":"text","text":"x","more":1}"#,
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":"x","text":"y"}"#,
    ] {
        assert!(serde_json::from_str::<Block>(wrong).is_err(), "{wrong}");
    }
}
