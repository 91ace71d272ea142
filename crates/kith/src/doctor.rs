//! Whether all is well with a house: one line per thing that can be wrong.
//!
//! It only looks. Each check stands alone, so that one bad answer does not hide the others, and
//! says what to do about it.

mod disk;
mod life;
mod settings;
mod threads;
mod trust;

use std::env;

use kith_home::identity::IdentityFields;
use kith_sessions::desk::{DESK_VERSION, Desk};
use kith_sessions::disk::DiskFiles;
use kith_sessions::store::SessionStore;
use kith_vocab::clock::Clock;
use kith_vocab::header::Audience;
use serde::Serialize;

use crate::args::Shared;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::house::House;
use crate::opening;
use crate::report::Report;
use crate::team::Member;
use crate::trust::folders_of;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) state: Health,
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Ok,
    /// It works; somebody should know.
    Warn,
    /// Something cannot be done.
    Fail,
}

/// Looks at everything there is to look at.
pub(crate) async fn examine(shared: &Shared) -> Vec<Check> {
    let mut checks = vec![platform(env::consts::OS)];
    let house = match House::find(shared.home.as_deref()) {
        Ok(house) => house,
        Err(report) => {
            checks.push(failed("house", &report));
            return checks;
        }
    };
    checks.push(disk::house(&house));
    checks.push(disk::modes(&house));
    checks.push(disk::disk(&house));
    let (host, is_hosted) = life::host(&house).await;
    checks.push(host);
    let desk = match Desk::open_read_only(&house.desk_path()).await {
        Ok(desk) => desk,
        Err(error) => {
            checks.push(failed("desk", &Report::from(error)));
            None
        }
    };
    if checks.iter().all(|check| check.name != "desk") {
        checks.push(match &desk {
            Some(_) => ok("desk", format!("it opens; this program writes version {DESK_VERSION}")),
            None => ok("desk", "nothing was ever said here".to_owned()),
        });
    }
    if let Some(desk) = &desk {
        checks.push(life::inbox(desk, is_hosted).await);
    }
    let store = SessionStore::new(std::sync::Arc::new(DiskFiles), &house.kith_dir());
    checks.extend(life::sessions(&store, desk.as_ref(), SystemClock.now()).await);
    checks.push(threads::files(&house, store, is_hosted));
    checks.push(trust::trust(&house, desk.as_ref()).await);
    match Config::load(&house) {
        Ok(config) => {
            checks.extend(settings::agents(&house, &config));
            checks.push(match config.team.choose(shared.agent()) {
                Ok(member) => prompt_files(&house, member, desk.as_ref()).await,
                Err(report) => failed("prompt files", &report),
            });
            checks.extend(settings::settings(&config));
            checks.extend(settings::model(&config));
        }
        Err(report) => {
            // Whoever else lives here, the files of this folder can be looked at.
            let member = Member::main(&house, IdentityFields::default());
            checks.push(prompt_files(&house, &member, desk.as_ref()).await);
            checks.push(failed("settings", &report));
        }
    }
    checks
}

fn platform(os: &str) -> Check {
    let name = "platform";
    match os {
        "linux" => ok(name, "Linux is supported".to_owned()),
        "macos" => {
            let detail = "macOS is expected to work, but is not tested".to_owned();
            warn(name, detail, "report what does not work")
        }
        other => {
            let detail = format!("{other} is not supported; Linux is");
            warn(name, detail, "use it on Linux, or on Windows inside WSL")
        }
    }
}

async fn prompt_files(house: &House, member: &Member, desk: Option<&Desk>) -> Check {
    let name = "prompt files";
    let now = SystemClock.now();
    let trusted = match folders_of(house, desk).await {
        Ok(trusted) => trusted,
        Err(report) => return failed(name, &report),
    };
    let whose = (house, member);
    let assembled = match opening::assemble(whose, &house.cwd, Audience::Owner, now, &trusted) {
        Ok(assembled) => assembled,
        Err(error) => return failed(name, &Report::from(error)),
    };
    let counts: Vec<String> = assembled
        .reports
        .iter()
        .map(|file| {
            let shown = file.path.strip_prefix(&house.dir).unwrap_or(&file.path);
            let chars = file.chars.map_or_else(|| "uncounted".to_owned(), |n| n.to_string());
            format!("{} {chars} -> {}", shown.display(), file.injected_chars)
        })
        .collect();
    let counts = format!("characters in the file -> in the prompt: {}", counts.join(", "));
    let problems = opening::problems(&assembled);
    if problems.is_empty() {
        return ok(name, counts);
    }
    warn(name, format!("{}; {counts}", problems.join("; ")), "`kith prompt` shows what is used")
}

fn ok(name: &'static str, detail: String) -> Check {
    Check { name, state: Health::Ok, detail, fix: None }
}

fn warn(name: &'static str, detail: String, fix: impl Into<String>) -> Check {
    Check { name, state: Health::Warn, detail, fix: Some(fix.into()) }
}

fn fail(name: &'static str, detail: String, fix: impl Into<String>) -> Check {
    Check { name, state: Health::Fail, detail, fix: Some(fix.into()) }
}

fn failed(name: &'static str, report: &Report) -> Check {
    let fix = Some(report.hints.join("; ")).filter(|hints| !hints.is_empty());
    Check { name, state: Health::Fail, detail: report.message(), fix }
}

#[cfg(test)]
mod tests;
