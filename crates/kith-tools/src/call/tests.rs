//! Work that goes on until it is told to stop.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use kith_testkit::tools::run_context;
use kith_vocab::event::messages::Trust;
use tokio::sync::oneshot;

use super::*;
use crate::fixture::{World, block_on};

/// Work that returns only when it is told to stop, and then says so.
fn endless(
    stopped: oneshot::Sender<()>,
) -> impl FnOnce(&CancellationToken) -> Result<QuotedText, Refusal> + Send + 'static {
    move |stop| {
        while !stop.is_cancelled() {
            std::thread::yield_now();
        }
        stopped.send(()).unwrap_or_default();
        Err(own_refusal("told to stop".to_owned()))
    }
}

#[test]
fn work_stops_when_the_time_of_the_turn_is_over() {
    let ctx = RunContext {
        time_left: Duration::from_millis(1),
        ..run_context(&CancellationToken::new())
    };
    block_on(async {
        let (sender, stopped) = oneshot::channel();
        let output = work("search_files", &ctx, endless(sender)).await;
        let text = "search_files stopped: the time of this turn is over; ask for less at once";
        assert_eq!(output, ToolOutput::text(ToolOutcome::Failed, Trust::Owner, text));
        stopped.await.unwrap();
    });
}

#[test]
fn work_stops_when_the_call_is_cancelled() {
    let cancel = CancellationToken::new();
    let ctx = run_context(&cancel);
    block_on(async {
        let (sender, stopped) = oneshot::channel();
        let running = async {
            let output = work("list_files", &ctx, endless(sender)).await;
            assert_eq!(output.plain_text(), "list_files was cancelled");
        };
        tokio::join!(running, async { cancel.cancel() });
        stopped.await.unwrap();
    });
}

#[test]
fn work_stops_when_nobody_waits_for_it_any_more() {
    let ctx = run_context(&CancellationToken::new());
    block_on(async {
        let (sender, stopped) = oneshot::channel();
        {
            let mut running = pin!(work("list_files", &ctx, endless(sender)));
            let polled = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Pending));
        }
        stopped.await.unwrap();
    });
}

#[test]
fn work_that_panics_is_a_failed_call() {
    let ctx = run_context(&CancellationToken::new());
    let output = block_on(work("skill", &ctx, |_| panic!("a fault of ours")));
    let text = "skill crashed: this is a bug in Kith, not in the call";
    assert_eq!((output.plain_text().as_str(), output.outcome), (text, ToolOutcome::Failed));
}

#[test]
fn no_tool_begins_when_the_time_of_the_turn_is_over() {
    let world = World::new("//- yard/a.txt\na\n//- out/skills/tidy/SKILL.md\nSort.\n");
    for (tool, input) in [
        ("read_file", r#"{"path":"a.txt"}"#),
        ("list_files", "{}"),
        ("search_files", r#"{"pattern":"a"}"#),
        ("skill", r#"{"name":"tidy"}"#),
    ] {
        let prepared = world.prepare(tool, input).unwrap();
        let ctx =
            RunContext { time_left: Duration::ZERO, ..run_context(&CancellationToken::new()) };
        let text = block_on(world.tool(tool).run(prepared, ctx)).plain_text();
        assert!(
            text.ends_with("stopped: the time of this turn is over; ask for less at once"),
            "{text}"
        );
    }
}
