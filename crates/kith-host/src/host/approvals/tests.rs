use std::fs;
use std::path::Path;

use kith_engine::engine::{AgentSetup, SetupError};
use kith_engine::state::knowledge::ModelKnowledge;
use kith_engine::turn::TurnSetup;
use kith_sessions::desk::{MemoryDesk, Repository};
use kith_testkit::policies::AskAbout;
use kith_testkit::tools::CountingTool;
use kith_vocab::clock::{BoxFuture, Clock as _};
use kith_vocab::digest::sha256_hex;
use kith_vocab::event::Body;
use kith_vocab::event::calls::Verdict;
use kith_vocab::header::{Audience, SessionHeader};
use kith_vocab::ids::EventId;
use kith_vocab::json::Json;
use kith_vocab::policy::{Judgement, Policy, Question};
use kith_vocab::snapshot::ToolSpec;
use kith_vocab::tool::{CallContext, CallPlan, Refusal, RunContext, Tool, ToolOutput};
use serde_json::{Value, json};

use super::*;
use crate::caller::CLI;
use crate::calls::approval::{ListApprovals, ListGrants};
use crate::calls::message::{SendMessage, TurnEnd};
use crate::clock::SystemClock;
use crate::host::message::tests::{ask, guest, message};
use crate::host::parts::HostParts;
use crate::opening::{HomeSetup, HouseSetup};
use crate::settings::watch::SettingsWatch;
use crate::tainted_files::TaintedFiles;
use crate::team::Member;
use crate::tests::house;

/// The test's tool, which names the path that it would write.
struct Writer(CountingTool);

impl Tool for Writer {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn prepare<'a>(
        &'a self,
        input: &'a Json,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallPlan, Refusal>> {
        Box::pin(async move {
            let plan = self.0.prepare(input, ctx).await?;
            let path = input.read::<Value>().unwrap()["path"].clone();
            Ok(CallPlan {
                facts: Json::of(&json!({ "path": path, "zone": "workspace", "exists": true })),
                ..plan
            })
        })
    }

    fn run(&self, prepared: CallPlan, ctx: RunContext) -> BoxFuture<'_, ToolOutput> {
        self.0.run(prepared, ctx)
    }
}

/// Asks about every write that no grant covers.
struct AskUnlessGranted;

impl Policy for AskUnlessGranted {
    fn judge(&self, question: &Question<'_>) -> Judgement {
        let judgement = AskAbout::new(["write_file"]).judge(question);
        let path = question.facts.read::<Value>().unwrap()["path"].clone();
        let granted = question
            .grants
            .iter()
            .find(|it| it.path.is_some() && it.path.as_deref() == path.as_str());
        match granted {
            Some(grant) => Judgement {
                verdict: Verdict::Allow,
                grant_id: Some(grant.grant_id.clone()),
                ..judgement
            },
            None => judgement,
        }
    }
}

/// The setup of a house whose agent may ask.
struct AskingSetup {
    inner: HomeSetup,
    tool: CountingTool,
}

impl AgentSetup for AskingSetup {
    fn first_events(&self, header: &SessionHeader) -> Result<Vec<Body>, SetupError> {
        let mut events = self.inner.first_events(header)?;
        for body in &mut events {
            if let Body::ToolsetSnapshot(it) = body {
                it.tools = vec![self.tool.spec().clone()];
                it.sha256 = sha256_hex(Json::of(&it.tools).as_str().as_bytes());
            }
        }
        Ok(events)
    }

    fn turn(&self, header: &SessionHeader) -> Result<TurnSetup, SetupError> {
        let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Writer(self.tool.clone()))];
        let policy = Arc::new(AskUnlessGranted);
        Ok(TurnSetup { tools, policy, ..self.inner.turn(header)? })
    }

    fn news(&self, header: &SessionHeader, told: &ModelKnowledge<'_>, now: u64) -> Vec<Body> {
        self.inner.news(header, told, now)
    }
}

impl HouseSetup for AskingSetup {
    fn check(&self, member: &Member, cwd: &Path, to: Audience, now: u64) -> Result<(), CallError> {
        self.inner.check(member, cwd, to, now)
    }

    fn take_problems(&self) -> Vec<String> {
        self.inner.take_problems()
    }

    fn set_repositories(&self, repositories: Vec<Repository>) {
        self.inner.set_repositories(repositories);
    }
}

/// A host that asks before it writes.
async fn asking_host(dir: &Path, tool: &CountingTool) -> Arc<Host> {
    fs::create_dir_all(dir.join(".kith")).unwrap();
    let house = house(dir);
    let settings = SettingsWatch::open(&house).unwrap();
    let lock = kith_sessions::lock::HouseLock::take(&house.kith_dir(), SystemClock.now()).unwrap();
    let tainted = TaintedFiles::new(
        Arc::new(MemoryDesk::new("d").handle()),
        Arc::new(SystemClock),
        Vec::new(),
        Vec::new(),
    );
    let inner = HomeSetup::new(house.clone(), Arc::clone(&settings), Vec::new(), Arc::new(tainted));
    let clock = Arc::new(SystemClock);
    let mut parts = HostParts::on_disk(house, settings, clock, Box::new(lock)).await.unwrap();
    parts.setup = Arc::new(AskingSetup { inner, tool: tool.clone() });
    Arc::new(Host::assemble(parts).await.unwrap())
}

fn wish(host: &Host, id: &str) -> SendMessage {
    let text = r#"call write_file {"path": "a.txt"}"#;
    SendMessage { client_message_id: id.to_owned(), ..message(host, text) }
}

fn decide(
    approval: Option<&str>,
    decision: ApprovalAnswer,
    minutes: Option<u32>,
) -> DecideApproval {
    DecideApproval {
        approval: approval.map(str::to_owned),
        session: None,
        decide_id: EventId::from_uuid(SystemClock.new_id()),
        decision,
        for_minutes: minutes,
        reason: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_listed_decided_by_another_host_and_stands_for_a_while() {
    let (dir, tool) = (tempfile::tempdir().unwrap(), CountingTool::new("write_file"));
    let owner = || Caller::owner(CLI);
    let host = asking_host(dir.path(), &tool).await;
    let waiting = ask(&host, owner(), wish(&host, "m1")).await.unwrap();
    assert_eq!((waiting.answer.end, tool.runs()), (TurnEnd::Waiting, 0));
    let list = ask(&host, owner(), ListApprovals { session: None, approval: None })
        .await
        .unwrap()
        .approvals;
    let [asked] = list.as_slice() else { panic!("{list:?}") };
    let ids = std::slice::from_ref(&asked.approval_id);
    assert_eq!(waiting.answer.pending_approvals.as_slice(), ids);
    assert_eq!(
        (asked.tool.as_str(), asked.paths.as_slice()),
        ("write_file", &["a.txt".to_owned()][..])
    );
    let file = dir.path().join(format!(".kith/approvals/{}.json", asked.approval_id));
    let form: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(form["code"], json!(asked.code));
    host.end().await;
    drop(host);

    fs::remove_file(&file).unwrap();
    let host = asking_host(dir.path(), &tool).await;
    let stranger =
        ask(&host, guest(), decide(Some(&asked.code), ApprovalAnswer::Allow, None)).await;
    assert_eq!(stranger.unwrap_err().code, ErrorCode::AuthFailed);
    // The file came back with the session, and goes when it is decided.
    assert!(file.exists());
    let code = asked.code.to_lowercase();
    let decided =
        ask(&host, owner(), decide(Some(&code), ApprovalAnswer::Allow, Some(10))).await.unwrap();
    assert_eq!((decided.reply.answer.end, tool.runs()), (TurnEnd::Done, 1));
    assert_eq!(decided.grant.as_ref().unwrap().path.as_deref(), Some("a.txt"));
    assert!(!file.exists());
    let late = ask(&host, owner(), decide(Some(&code), ApprovalAnswer::Deny, None)).await;
    assert!(late.is_err());

    // Not asked again while the grant stands, and asked again when it is revoked.
    let free = ask(&host, owner(), wish(&host, "m2")).await.unwrap();
    assert_eq!((free.answer.end, tool.runs()), (TurnEnd::Done, 2));
    let grants = ask(&host, owner(), ListGrants {}).await.unwrap().grants;
    assert_eq!(grants, [decided.grant.unwrap()]);
    let revoke = RevokeGrant { grant: grants[0].grant_id.clone() };
    ask(&host, owner(), revoke).await.unwrap();
    let again = ask(&host, owner(), wish(&host, "m3")).await.unwrap();
    assert_eq!((again.answer.end, tool.runs()), (TurnEnd::Waiting, 2));
    let denied = ask(&host, owner(), decide(None, ApprovalAnswer::Deny, None)).await.unwrap();
    assert_eq!((denied.reply.answer.end, tool.runs()), (TurnEnd::Done, 2));
}
