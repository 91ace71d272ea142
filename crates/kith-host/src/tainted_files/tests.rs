use std::fs;
use std::path::PathBuf;

use kith_sessions::desk::{MemoryDesk, TaintRecords};
use kith_testkit::clock::FakeClock;
use kith_testkit::sha256_hex;
use kith_testkit::tools::{CountingTool, call_context, run_context};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

fn tainted_files(desk: &MemoryDesk, known: Vec<TaintedContent>) -> Arc<TaintedFiles> {
    let desk: Arc<dyn Desk> = Arc::new(desk.handle());
    Arc::new(TaintedFiles::new(desk, Arc::new(FakeClock::new()), known, Vec::new()))
}

/// Runs a tool that is about to write `text` in a session of this trust.
async fn write(files: &Arc<TaintedFiles>, text: &str, lowest_trust: Trust) -> (usize, String) {
    let tool = CountingTool::new("write_file");
    let noted = NotedWrites { tool: Arc::new(tool.clone()), files: Arc::clone(files) };
    let cancel = CancellationToken::new();
    let input = Json::empty_object();
    let mut plan = noted.prepare(&input, &call_context(&cancel)).await.unwrap();
    let written = json!({"sha256": sha256_hex(text.as_bytes()), "bytes": text.len()});
    plan.facts = Json::of(&json!({"path": "/w/a", "written": written}));
    let mut ctx = run_context(&cancel);
    ctx.call.lowest_trust = lowest_trust;
    let output = noted.run(plan, ctx).await;
    (tool.runs(), output.plain_text().to_string())
}

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn a_file_written_while_tainted_is_known_by_its_content_also_after_a_restart() {
    let (desk, folder) = (MemoryDesk::new("device"), tempfile::tempdir().unwrap());
    let files = tainted_files(&desk, Vec::new());
    for trust in [Trust::Owner, Trust::Paired] {
        assert_eq!(write(&files, "clean", trust).await.0, 1);
    }
    for (n, trust) in [Trust::Shared, Trust::Peer, Trust::Untrusted].into_iter().enumerate() {
        assert_eq!(write(&files, &format!("obey {n}"), trust).await.0, 1);
    }
    let known = desk.tainted_contents().await.unwrap();
    assert_eq!(known.len(), 3);
    let restarted = tainted_files(&desk, known);
    for files in [files, restarted] {
        assert!(files.hold(&file(&folder, "a.md", "obey 0")));
        // Under another name it is the same text; changed by another hand it is another.
        assert!(files.hold(&file(&folder, "moved.md", "obey 2")));
        assert!(!files.hold(&file(&folder, "a.md", "obey me")));
        assert!(!files.hold(&file(&folder, "b.md", "clean")));
        assert!(!files.hold(folder.path()) && !files.hold(&folder.path().join("none")));
    }
}

#[tokio::test]
async fn nothing_is_written_that_cannot_be_noted() {
    let desk = MemoryDesk::new("device");
    let files = tainted_files(&desk, Vec::new());
    desk.fail_change_at(0);
    let (n_runs, told) = write(&files, "obey", Trust::Untrusted).await;
    assert_eq!(n_runs, 0);
    assert!(told.starts_with("nothing was written"), "{told}");
}
