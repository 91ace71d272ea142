//! Checks a house for problems: one line per check.
//!
//! It only looks. Each check stands alone, so that one bad answer does not hide the others, and
//! says what to do about it.

mod disk;
mod life;
mod settings;

use std::env;
use std::sync::Arc;

use kith_engine::thread_file_sync::ThreadFileSync;
use kith_home::identity::IdentityFields;
use kith_sessions::desk::{Desk, SqliteDesk};
use kith_sessions::disk::DiskFiles;
use kith_sessions::journal::{FilesJournal, Journal};
use kith_sessions::store::SessionStore;
use kith_tools::sandbox::probe::{SandboxProbe, probes};
use kith_vocab::blocking::blocking;
use kith_vocab::clock::Clock;
use kith_vocab::header::Audience;

use crate::call::{Reply, Response};
use crate::calls::house::{CheckHouse, DoctorCheck as Check, DoctorReport, Health};
use crate::clock::SystemClock;
use crate::error::CallError;
use crate::house::House;
use crate::opening::{self, Voices};
use crate::read_side::ReadSide;
use crate::settings::watch::SettingsWatch;
use crate::tainted_files::periods;
use crate::team::Member;
use crate::trust::TrustView;

pub async fn check_house(side: Arc<ReadSide>, call: CheckHouse) -> Reply<DoctorReport> {
    let house = House { cwd: call.cwd.into(), ..side.house.clone() };
    let checks = examine(house, call.agent_id.as_deref()).await;
    Ok(Response::new(DoctorReport { checks }))
}

/// What can be said where no house can be found.
pub fn without_house(error: &CallError) -> DoctorReport {
    DoctorReport { checks: vec![platform(env::consts::OS), failed("house", error)] }
}

/// Looks at everything there is to look at.
async fn examine(house: House, agent: Option<&str>) -> Vec<Check> {
    let mut checks = vec![platform(env::consts::OS)];
    checks.extend(
        kith_tools::sandbox::supervisor().map(|it| blocking(|| sandbox(&probes(Some(it))))),
    );
    checks.extend(blocking(|| disk::checks(&house)));
    let (host, is_hosted) = life::host(&house).await;
    checks.push(host);
    let refused = blocking(|| disk::refused_desk(&house));
    let desk = match SqliteDesk::open_read_only(&house.desk_path()).await {
        // What may not be read is called that, whatever the database makes of it.
        _ if refused.is_some() => {
            checks.extend(refused);
            None
        }
        Ok(desk) => desk,
        Err(error) => {
            checks.push(failed("desk", &CallError::from(error)));
            None
        }
    };
    if checks.iter().all(|check| check.name != "desk") {
        checks.push(match &desk {
            Some(desk) => life::desk(desk).await,
            None => ok("desk", "no conversations yet".to_owned()),
        });
    }
    let desk = desk.as_ref().map(|desk| desk as &dyn Desk);
    if let Some(desk) = desk {
        checks.push(life::inbox(desk, is_hosted).await);
    }
    // Not the host's journal: what is asked here is what the disk holds.
    let store = SessionStore::new(Arc::new(DiskFiles), &house.kith_dir());
    let files = store.thread_files();
    let journal: Arc<dyn Journal> = Arc::new(FilesJournal::reader(store));
    checks.extend(life::sessions(&*journal, desk, SystemClock.now()).await);
    checks.push(life::threads(ThreadFileSync::new(journal, files), is_hosted).await);
    checks.push(settings::trust(&house, desk).await);
    match blocking(|| SettingsWatch::open(&house)) {
        Ok(watch) => {
            let settings = watch.last_good();
            checks.extend(blocking(|| settings::agents(&house, &settings)));
            checks.push(match settings.team.choose(agent) {
                Ok(member) => prompt_files(&house, member, desk).await,
                Err(report) => failed("prompt files", &report),
            });
            checks.push(settings::settings(&settings));
            checks.extend(settings::model(watch));
        }
        Err(report) => {
            // Whoever else lives here, the files of this folder can be looked at.
            let member = Member::main(&house, IdentityFields::default());
            checks.push(prompt_files(&house, &member, desk).await);
            checks.push(failed("settings", &report));
        }
    }
    checks
}

fn platform(os: &str) -> Check {
    let name = "platform";
    match os {
        "linux" => ok(name, "Linux".to_owned()),
        "macos" => {
            let detail = "macOS should work but is not tested".to_owned();
            warn(name, detail, "please report problems")
        }
        other => {
            let detail = format!("{other} is not supported");
            warn(name, detail, "use Linux, or WSL on Windows")
        }
    }
}

/// What the sandbox of this machine keeps from happening, as it was just tried.
fn sandbox(probes: &[SandboxProbe]) -> Check {
    let name = "sandbox";
    if let Some(missing) = probes.iter().find(|it| it.name == "namespaces" && !it.holds) {
        let detail = format!("commands cannot be sandboxed: {}", missing.detail);
        let fix = "allow user namespaces (`sysctl user.max_user_namespaces`, and on Ubuntu \
                   `kernel.apparmor_restrict_unprivileged_userns=0`)";
        return warn(name, detail, fix);
    }
    let names = |holds: bool| probes.iter().filter(move |it| it.holds == holds).map(|it| it.name);
    let facts = names(true).map(str::to_owned).collect::<Vec<_>>();
    if facts.len() == probes.len() {
        let detail = format!("works ({} protections tried)", facts.len());
        return Check { facts, ..ok(name, detail) };
    }
    let broken = names(false).collect::<Vec<_>>().join(", ");
    let fix = "please report this, with `uname -a`";
    Check { facts, ..fail(name, format!("does not hold: {broken}"), fix) }
}

async fn prompt_files(house: &House, member: &Member, desk: Option<&dyn Desk>) -> Check {
    let name = "prompt files";
    let now = SystemClock.now();
    let trust = match TrustView::read(house, desk).await {
        Ok(trust) => trust,
        Err(report) => return failed(name, &report),
    };
    let whose = (house, member);
    let periods = match periods::stored(desk, now).await {
        Ok(periods) => periods,
        Err(error) => return failed(name, &CallError::from(error)),
    };
    let voices = Voices { folders: trust.folders(), periods: &periods };
    let cwd = &house.cwd;
    let assembled = match blocking(|| opening::assemble(whose, cwd, Audience::Owner, now, voices)) {
        Ok(assembled) => assembled,
        Err(error) => return failed(name, &CallError::from(error)),
    };
    let counts: Vec<String> = assembled
        .reports
        .iter()
        .map(|file| {
            let shown = file.path.strip_prefix(&house.dir).unwrap_or(&file.path);
            let chars = file.chars.map_or_else(|| "uncounted".to_owned(), |n| n.to_string());
            let injected = file.injected_chars;
            // Nothing else is left out of a file without a problem.
            let is_whole = file.chars.is_none_or(|chars| chars == injected);
            let has_comments = !is_whole && file.problems.is_empty();
            let left_out = if has_comments { " (HTML comments are left out)" } else { "" };
            format!("{}: {injected} of {chars} characters in the prompt{left_out}", shown.display())
        })
        .collect();
    let n_injected: u64 = assembled.reports.iter().map(|file| file.injected_chars).sum();
    let in_prompt = format!("{} with {n_injected} characters in the prompt", files(counts.len()));
    let problems = opening::problems(&assembled);
    if problems.is_empty() {
        return Check { facts: counts, ..ok(name, in_prompt) };
    }
    let detail = format!("{}; {in_prompt}", problems.join("; "));
    Check { facts: counts, ..warn(name, detail, "run `kith prompt` to see the prompt") }
}

fn files(n: usize) -> String {
    if n == 1 { "1 file".to_owned() } else { format!("{n} files") }
}

fn and_more(n: usize) -> String {
    if n == 0 { String::new() } else { format!(" and {n} more") }
}

fn ok(name: &'static str, detail: String) -> Check {
    Check { name: name.to_owned(), state: Health::Ok, detail, facts: Vec::new(), fix: None }
}

fn warn(name: &'static str, detail: String, fix: impl Into<String>) -> Check {
    let (facts, fix) = (Vec::new(), Some(fix.into()));
    Check { name: name.to_owned(), state: Health::Warn, detail, facts, fix }
}

fn fail(name: &'static str, detail: String, fix: impl Into<String>) -> Check {
    let (facts, fix) = (Vec::new(), Some(fix.into()));
    Check { name: name.to_owned(), state: Health::Fail, detail, facts, fix }
}

fn failed(name: &'static str, report: &CallError) -> Check {
    let fix = Some(report.hints.join("; ")).filter(|hints| !hints.is_empty());
    let (detail, facts) = (report.message(), Vec::new());
    Check { name: name.to_owned(), state: Health::Fail, detail, facts, fix }
}

#[cfg(test)]
mod tests;
