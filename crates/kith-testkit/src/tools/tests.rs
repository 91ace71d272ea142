use super::*;

async fn prepare(tool: &dyn Tool) -> CallPlan {
    let input = Json::parse(r#"{"path":"a"}"#).unwrap();
    tool.prepare(&input, &call_context(&CancellationToken::new())).await.unwrap()
}

async fn run(tool: &dyn Tool, prepared: CallPlan) -> ToolOutput {
    tool.run(prepared, run_context(&CancellationToken::new())).await
}

#[tokio::test]
async fn each_run_is_counted_with_its_input() {
    let hooked = Arc::new(AtomicUsize::new(0));
    let in_hook = Arc::clone(&hooked);
    let tool = CountingTool::new("write_file").with_hook(move |_| {
        in_hook.fetch_add(1, Ordering::SeqCst);
    });
    let input = prepare(&tool).await;
    assert_eq!(tool.runs(), 0);
    assert_eq!(run(&tool, input.clone()).await.outcome, ToolOutcome::Done);
    assert_eq!(run(&tool.clone(), input.clone()).await.outcome, ToolOutcome::Done);
    assert_eq!((tool.runs(), hooked.load(Ordering::SeqCst)), (2, 2));
    assert_eq!(tool.inputs(), [input.input.clone(), input.input]);
    assert_eq!(tool.permits().len(), 2);
}

#[tokio::test]
async fn a_changed_world_is_another_digest() {
    let tool = CountingTool::new("write_file");
    let before = prepare(&tool).await;
    assert_eq!(before.digest, sha256_hex(br#"{"path":"a"}"#));
    tool.change_world();
    assert_ne!(prepare(&tool).await.digest, before.digest);
}

#[tokio::test]
async fn a_waiting_tool_ends_when_it_is_cancelled() {
    let tool = CountingTool::new("exec_shell").with_effect(Effect::Exec).waiting();
    let cancel = CancellationToken::new();
    let input = prepare(&tool).await;
    let mut run = tool.run(input, run_context(&cancel));
    tokio::select! {
        biased;
        _ = &mut run => panic!("it returned by itself"),
        () = tokio::task::yield_now() => (),
    }
    cancel.cancel();
    assert_eq!(run.await.outcome, ToolOutcome::Failed);
}

#[tokio::test]
async fn a_tool_behind_a_gate_has_taken_effect_and_waits() {
    let gate = Gate::new();
    let tool = CountingTool::new("write_file").behind(&gate);
    let prepared = prepare(&tool).await;
    let (output, runs) = tokio::join!(run(&tool, prepared), async {
        gate.reached().await;
        let runs = tool.runs();
        gate.open();
        runs
    });
    assert_eq!((output.outcome, runs), (ToolOutcome::Done, 1));
}

#[tokio::test]
async fn a_read_tool_returns_its_text() {
    let tool = ReadTool::new("read_file", "hello");
    let output = run(&tool, prepare(&tool).await).await;
    assert_eq!((output.plain_text().as_str(), tool.runs()), ("hello", 1));
}

#[tokio::test]
async fn a_tool_says_how_far_its_words_are_to_be_trusted() {
    let tool = CountingTool::new("fetch")
        .with_effects(&[Effect::Network, Effect::Read])
        .with_trust(Trust::Untrusted);
    let prepared = prepare(&tool).await;
    assert_eq!(prepared.effect(), Effect::Network);
    assert_eq!(run(&tool, prepared).await.trust, Trust::Untrusted);
    let refusing = tool.refusing_to_prepare("no");
    let ctx = call_context(&CancellationToken::new());
    let refusal = refusing.prepare(&Json::empty_object(), &ctx).await.unwrap_err();
    assert_eq!(refusal, Refusal { text: "no".to_owned(), trust: Trust::Untrusted });
    let read = ReadTool::new("read_file", "hello").with_trust(Trust::Shared);
    assert_eq!(run(&read, prepare(&read).await).await.trust, Trust::Shared);
}
