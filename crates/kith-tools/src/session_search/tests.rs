use std::sync::Mutex;

use kith_testkit::tools::{call_context, run_context};
use kith_vocab::ids::SessionId;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::fixture::block_on;

#[derive(Default)]
struct FoundBefore {
    found: Vec<FoundMessage>,
    asked: Mutex<Vec<(String, u32)>>,
}

impl SessionSearch for FoundBefore {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<FoundMessage>, String>> {
        self.asked.lock().unwrap().push((query.to_owned(), limit));
        Box::pin(async move { Ok(self.found.clone()) })
    }
}

fn run(sessions: Arc<FoundBefore>, input: &str, audience: Audience) -> (String, Trust) {
    let tool = tool(sessions);
    let cancel = CancellationToken::new();
    let ctx = CallContext { audience, ..call_context(&cancel) };
    let input = Json::parse(input).unwrap();
    match block_on(tool.prepare(&input, &ctx)) {
        Ok(plan) => {
            assert_eq!(plan.effects, [Effect::Read]);
            let output = block_on(tool.run(plan, RunContext { call: ctx, ..run_context(&cancel) }));
            (output.plain_text().to_string(), output.trust)
        }
        Err(refusal) => (refusal.text, refusal.trust),
    }
}

#[test]
fn what_is_found_is_shown_with_its_session_and_untrusted() {
    let session_id: SessionId = "01a1ec14-0086-7799-86c2-a289aa447a6f".parse().unwrap();
    let at = "2026-11-18T00:34:56Z".to_owned();
    let excerpt = "we planned\na garden".to_owned();
    let found = vec![FoundMessage { session_id, at, excerpt }];
    let sessions = Arc::new(FoundBefore { found, ..FoundBefore::default() });
    let (text, trust) = run(Arc::clone(&sessions), r#"{"query":"garden"}"#, Audience::Owner);
    assert_eq!(
        text,
        "1 message\n2026-11-18T00:34:56Z session 01a1ec14-0086-7799-86c2-a289aa447a6f: we \
         planned\\u{a}a garden"
    );
    assert_eq!(trust, Trust::Untrusted);
    run(Arc::clone(&sessions), r#"{"query":"x","limit":1000}"#, Audience::Owner);
    let asked = sessions.asked.lock().unwrap();
    assert_eq!(*asked, [("garden".to_owned(), 10), ("x".to_owned(), 50)]);
}

#[test]
fn where_others_read_along_nothing_is_searched() {
    for audience in [Audience::Shared, Audience::Peer] {
        let sessions = Arc::new(FoundBefore::default());
        let (text, _) = run(Arc::clone(&sessions), r#"{"query":"garden"}"#, audience);
        assert!(text.contains("other people read along"), "{text}");
        assert!(sessions.asked.lock().unwrap().is_empty());
    }
    let (text, trust) = run(Arc::default(), r#"{"query":"garden"}"#, Audience::Owner);
    assert_eq!((text.as_str(), trust), ("nothing was found", Trust::Owner));
}
