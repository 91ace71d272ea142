use super::*;
use crate::event::models::Wire;

const PLAIN: &str = r#"{"key":"cli:local:1","agentId":"ada","threadId":"cli:room:main","audience":"owner","clientId":"cli","author":{"userId":"u1","displayName":"Ada"},"trust":"owner","ingress":{"platform":"cli","account":"local","messageId":"1","correlationId":"c"},"ts":1,"cwd":"/work","content":{"type":"text","text":"hi"}}"#;

#[test]
fn a_row_that_says_no_more_is_a_follow_up_of_someone_who_is_there() {
    let event: IngressEvent = serde_json::from_str(PLAIN).unwrap();
    assert_eq!(event.running_behavior, RunningBehavior::FollowUp);
    assert!(event.attended && event.models.is_empty() && event.language.is_none());
    assert_eq!(serde_json::to_string(&event).unwrap(), PLAIN);
}

#[test]
fn what_a_row_says_comes_back() {
    let model = ModelRef {
        name: "fast".to_owned(),
        provider: "openai".to_owned(),
        wire: Wire::OpenaiChat,
        model: "gpt".to_owned(),
        endpoint: "0123456789abcdef".to_owned(),
    };
    let event = IngressEvent {
        running_behavior: RunningBehavior::Steer,
        models: vec![model],
        attended: false,
        language: Some("zh".to_owned()),
        ..serde_json::from_str(PLAIN).unwrap()
    };
    let line = serde_json::to_string(&event).unwrap();
    assert!(line.contains(r#""runningBehavior":"steer","models":[{"name":"fast","#), "{line}");
    assert_eq!(serde_json::from_str::<IngressEvent>(&line).unwrap(), event);
}
