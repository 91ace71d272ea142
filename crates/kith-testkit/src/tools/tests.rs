use super::*;

async fn prepare(tool: &dyn Tool) -> Prepared {
    tool.prepare(&Json::parse(r#"{"path":"a"}"#).unwrap()).await.unwrap()
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
    assert!(tool.run(input.clone(), &CancellationToken::new()).await.succeeded);
    assert!(tool.clone().run(input.clone(), &CancellationToken::new()).await.succeeded);
    assert_eq!((tool.runs(), hooked.load(Ordering::SeqCst)), (2, 2));
    assert_eq!(tool.inputs(), [input.input.clone(), input.input]);
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
    let mut run = tool.run(input, &cancel);
    tokio::select! {
        biased;
        _ = &mut run => panic!("it returned by itself"),
        () = tokio::task::yield_now() => (),
    }
    cancel.cancel();
    assert!(!run.await.succeeded);
}

#[tokio::test]
async fn a_read_tool_returns_its_text() {
    let tool = ReadTool::new("read_file", "hello");
    let output = tool.run(prepare(&tool).await, &CancellationToken::new()).await;
    assert_eq!((output.text.as_str(), tool.runs()), ("hello", 1));
}
