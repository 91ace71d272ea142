use std::fs;
use std::task::Poll;

use kith_testkit::tools::run_context;
use kith_vocab::event::calls::Sandbox;
use kith_vocab::tool::{Permit, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::fixture::{World, block_on};

fn ctx() -> RunContext {
    run_context(&CancellationToken::new())
}

/// Whether a claim is served at once beside one that is held.
#[track_caller]
fn check(held: (ClaimKind, &str), wanted: (ClaimKind, &str), is_served: bool) {
    let claims = Arc::new(FileClaims::default());
    let held = claims.enqueue(held.0, vec![held.1.into()]);
    let claim = claims.enqueue(wanted.0, vec!["/elsewhere".into(), wanted.1.into()]);
    assert_eq!(claims.is_served(claim.number), is_served);
    drop(held);
    assert!(claims.is_served(claim.number));
}

#[test]
fn only_a_claim_to_have_paths_alone_excludes_others_and_only_on_the_same_paths() {
    use ClaimKind::{Exclusive, Shared};
    check((Shared, "/a"), (Shared, "/a"), true);
    check((Shared, "/a"), (Exclusive, "/a"), false);
    check((Exclusive, "/a"), (Shared, "/a"), false);
    check((Exclusive, "/a"), (Exclusive, "/a"), false);
    check((Exclusive, "/a/b"), (Shared, "/a"), false);
    check((Exclusive, "/a"), (Shared, "/a/b/c"), false);
    check((Exclusive, "/a"), (Shared, "/ab"), true);
}

#[test]
fn a_newcomer_does_not_overtake_who_waits() {
    let claims = Arc::new(FileClaims::default());
    let running = claims.enqueue(ClaimKind::Shared, vec!["/a".into()]);
    let waiting = claims.enqueue(ClaimKind::Exclusive, vec!["/a".into()]);
    let newcomer = claims.enqueue(ClaimKind::Shared, vec!["/a".into()]);
    assert!(!claims.is_served(waiting.number) && !claims.is_served(newcomer.number));
    drop(running);
    assert!(claims.is_served(waiting.number) && !claims.is_served(newcomer.number));
    drop(waiting);
    assert!(claims.is_served(newcomer.number));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_too_long_is_told_why_and_leaves_the_queue() {
    let claims = Arc::new(FileClaims::default());
    let _running = claims.enqueue(ClaimKind::Exclusive, vec!["/a".into()]);
    let claim = claims.claim(ClaimKind::Shared, vec!["/a/x".into()], &ctx()).await;
    let told = claim.err().unwrap().text;
    assert!(told.contains("an approved command outside the sandbox"), "{told}");
    assert_eq!(claims.queue().claims.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_can_be_stopped() {
    let claims = Arc::new(FileClaims::default());
    let _running = claims.enqueue(ClaimKind::Exclusive, vec!["/a".into()]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let claim = claims.claim(ClaimKind::Shared, vec!["/a".into()], &run_context(&cancel)).await;
    assert_eq!(claim.err().unwrap().text, "cancelled before it started");
}

/// Begins a call while another conversation holds a claim, changes the file, and lets go.
fn run_beside(world: &World, held: ClaimKind, call: (&str, &str), sandbox: Sandbox) -> ToolOutput {
    let held = world.claims.enqueue(held, vec![world.path("yard")]);
    let plan = world.prepare(call.0, call.1).unwrap();
    let tool = world.tool(call.0);
    let permit = Permit { sandbox, hosts: Vec::new(), paths: Vec::new() };
    let running = tool.run(plan, RunContext { permit, ..ctx() });
    block_on(async {
        tokio::pin!(running);
        let first = std::future::poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await;
        assert!(first.is_pending(), "{first:?}");
        fs::write(world.path("yard/deploy.sh"), "echo evil\n").unwrap();
        drop(held);
        running.await
    })
}

#[test]
fn a_file_that_another_conversation_swaps_is_seen_before_an_approved_command_starts() {
    let world = World::new("//- yard/deploy.sh\necho good\n");
    let call = ("exec_shell", r#"{"command":"sh deploy.sh","unsandboxed":true}"#);
    let output = run_beside(&world, ClaimKind::Shared, call, Sandbox::None);
    assert!(output.plain_text().contains("not what was judged"), "{}", output.plain_text());
}

#[test]
fn nothing_changes_files_of_a_command_that_runs_outside_the_sandbox() {
    let world = World::new("//- yard/deploy.sh\necho good\n");
    let new = ("write_file", r#"{"path":"new.sh","content":"x\n"}"#);
    let output = run_beside(&world, ClaimKind::Exclusive, new, Sandbox::None);
    assert!(output.plain_text().starts_with("made new.sh"), "{}", output.plain_text());
    let edit = ("edit_file", r#"{"path":"new.sh","old":"x","new":"y"}"#);
    run_beside(&world, ClaimKind::Exclusive, edit, Sandbox::None);
    let command = ("exec_shell", r#"{"command":"touch x"}"#);
    run_beside(&world, ClaimKind::Exclusive, command, Sandbox::Workspace);
}
