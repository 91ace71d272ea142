//! Secrets in the arguments of calls that reach others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kith_testkit::tools::CountingTool;
use kith_vocab::event::calls::Effect;
use kith_vocab::secret::Secret;
use kith_vocab::secret::filter::SecretFilter;
use kith_vocab::tool::Tool;
use serde_json::{Value, json};

use super::*;

const KEY: &str = "sk-live-4f9a2c77e1";

/// Asks for one call and tells how often it ran, and what the model was told.
async fn ran(tool: CountingTool, input: Value) -> (usize, String) {
    let model = Arc::new(script().calls("", &[("tool", input)]).says("Well."));
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(tool.clone())];
    let house = TestHouse::with_tools(&model, tools);
    *house.setup.secrets.lock().unwrap() = Arc::new(SecretFilter::new(&[Secret::new(KEY)]));
    let engine = house.engine();
    ask(&engine, &message("m1", ROOM, "go")).await.unwrap();
    (tool.runs(), String::from_utf8(model.bodies().pop().unwrap().bytes).unwrap())
}

#[tokio::test(start_paused = true)]
async fn no_call_that_reaches_others_takes_a_known_secret_along() {
    let encoded = STANDARD.encode(format!("key={KEY}!"));
    let inputs = [
        json!({"url": format!("https://example.org/?k={KEY}")}),
        json!({"url": "https://example.org/", "headers": {"x-key": encoded}}),
        json!({"url": format!("https://{}.example.org/", KEY.to_uppercase())}),
        json!({"tool": "fetch_url", "input": {"url": KEY.replace('-', "%2D")}}),
    ];
    for effects in [vec![Effect::Network], vec![Effect::Exec], vec![Effect::Read, Effect::Message]]
    {
        for input in &inputs {
            let tool = CountingTool::new("tool").with_effects(&effects);
            let (n_runs, told) = ran(tool, input.clone()).await;
            assert_eq!(n_runs, 0, "{effects:?} {input}");
            assert!(told.contains("Refused: its arguments contain a key"), "{told}");
        }
        let tool = CountingTool::new("tool").with_effects(&effects);
        let (n_runs, _) = ran(tool, json!({"url": "https://example.org/?k=sk-live"})).await;
        assert_eq!(n_runs, 1, "{effects:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_stays_on_this_machine_may_hold_a_secret() {
    for effect in [Effect::Read, Effect::Write] {
        let tool = CountingTool::new("tool").with_effect(effect);
        assert_eq!(ran(tool, json!({"text": KEY})).await.0, 1, "{effect:?}");
    }
}
