//! The sandbox of this house: which folders a command may see and change there, and a command run in it
//! by hand.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::OnceLock;

use kith_home::discovery::repository_root;
use kith_tools::sandbox::launch::{RunningCommand, launch};
use kith_tools::sandbox::plan::{self, SandboxPlaces, plan};
use kith_tools::sandbox::spec::{CommandEnd, CommandSpec};
use kith_tools::sandbox::{self, environment, probe, supervisor};
use kith_vocab::event::calls::Sandbox;

use crate::error::{Blame, CallError, ErrorCode};
use crate::house::{House, user_home};
use crate::settings::Settings;

/// Added to the number of a signal that ended a command, as shells do.
const SIGNAL_EXIT: i32 = 128;

/// Supervises a sandbox if the program was started for that, which is what its first argument says.
/// Otherwise this program can be started so from now on.
pub fn supervise_if_asked(argument: Option<&OsStr>) -> Option<ExitCode> {
    if argument.is_some_and(|it| it == sandbox::SUPERVISOR_COMMAND) {
        return Some(sandbox::run_supervisor());
    }
    if cfg!(target_os = "linux") {
        sandbox::register_supervisor(PathBuf::from("/proc/self/exe"));
    }
    None
}

/// A command that a person runs in the sandbox.
pub struct SandboxedCommand {
    pub argv: Vec<String>,
    pub has_network: bool,
    /// Sends what it prints to stderr, where stdout holds something else.
    pub prints_to_stderr: bool,
}

/// Runs a command in the sandbox of this folder, and returns its exit code. `stop` ends it.
pub async fn run_command(
    house: Option<&House>,
    command: SandboxedCommand,
    stop: impl Future<Output = ()>,
) -> Result<i32, CallError> {
    let stdout =
        if command.prints_to_stderr { Stdio::from(std::io::stderr()) } else { Stdio::inherit() };
    let spec = spec_by_hand(house, command)?;
    let supervisor = supervisor().ok_or_else(|| failed("this system has no sandbox".to_owned()))?;
    let started = launch(supervisor, &spec, stdout, Stdio::inherit());
    let running = started.map_err(|error| failed(format!("cannot start the sandbox: {error}")))?;
    match ended(running, stop).await {
        CommandEnd::Exited(code) => Ok(code),
        CommandEnd::Killed(signal) => Ok(SIGNAL_EXIT + signal),
        CommandEnd::Stopped => Err(CallError::stopped("stopped")),
        CommandEnd::Ended(reason) | CommandEnd::NotStarted(reason) => Err(failed(reason)),
        CommandEnd::Unknown(reason) => Err(failed(format!("{reason}; the command may have run"))),
    }
}

fn spec_by_hand(
    house: Option<&House>,
    command: SandboxedCommand,
) -> Result<CommandSpec, CallError> {
    let cwd = env::current_dir().and_then(|it| it.canonicalize());
    let cwd = cwd.map_err(|error| failed(format!("cannot use this folder: {error}")))?;
    let (homes, skills) = house.map(homes_and_skills).unwrap_or_default();
    let folder = house.map_or(cwd.as_path(), |it| &it.dir);
    let places = places(folder, (workspace_of(&cwd), &cwd), (homes, skills));
    Ok(CommandSpec {
        argv: command.argv,
        cwd,
        environment: environment::for_command(variables(), true),
        stdin: Some(PathBuf::from(format!("/proc/{}/fd/0", std::process::id()))),
        view: Some(plan(&places, command.has_network).map_err(failed)?),
    })
}

/// The homes and further folders of skills that are protected. Settings that cannot be read, or do not
/// count because their repository is not trusted, name none; then it is the house's own folder.
fn homes_and_skills(house: &House) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let named = Settings::load(house).map(|settings| {
        let homes = settings.team.members().map(|member| member.home.clone());
        (homes.collect::<Vec<_>>(), settings.extra_skills.clone())
    });
    let (mut homes, skills) = named.unwrap_or_default();
    homes.push(house.dir.clone());
    (homes, skills)
}

/// Waits for the end of the command; `stop` brings it about.
async fn ended(running: RunningCommand, stop: impl Future<Output = ()>) -> CommandEnd {
    let stopper = match running.stopper() {
        Ok(stopper) => stopper,
        Err(error) => return CommandEnd::Unknown(error.to_string()),
    };
    let (sender, mut ended) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Nobody waits any more if the program has ended.
        sender.send(running.wait_until_tidy()).ok();
    });
    let end = tokio::select! {
        end = &mut ended => end,
        () = stop => {
            stopper.stop();
            ended.await
        }
    };
    let lost = |_| CommandEnd::Unknown("the thread that waits for the command died".to_owned());
    end.unwrap_or_else(lost)
}

fn failed(message: String) -> CallError {
    CallError::new(Blame::Environment, ErrorCode::InternalError, message)
}

/// The strongest sandbox of this machine. It is tried once in the life of a host: what the kernel allows
/// does not change meanwhile.
pub fn offered() -> Sandbox {
    static OFFERED: OnceLock<Sandbox> = OnceLock::new();
    *OFFERED.get_or_init(|| probe::offered(supervisor()))
}

/// Removes what a power cut left of the sandboxes of this house and of the folder it is used in.
pub fn remove_abandoned(house: &House, settings: &Settings) {
    let homes = settings.team.members().map(|it| it.home.clone()).collect();
    let cwd = house.cwd.canonicalize().unwrap_or_else(|_| house.cwd.clone());
    plan::remove_abandoned(&SandboxPlaces {
        workspace: workspace_of(&cwd),
        cwd,
        homes,
        house: house.dir.clone(),
        skills: settings.extra_skills.clone(),
        ..SandboxPlaces::default()
    });
}

/// The environment of this process, as far as it is text.
pub fn variables() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    env::vars_os().filter_map(text).collect()
}

fn workspace_of(cwd: &Path) -> PathBuf {
    let user_home = user_home().and_then(|it| it.canonicalize().ok());
    // The user's own home is no project, also where it is kept in a repository.
    let repository = repository_root(cwd).filter(|root| Some(root) != user_home.as_ref());
    repository.unwrap_or_else(|| cwd.to_owned())
}

/// The places of a command, among them the homes and further folders of skills that are protected.
pub fn places(
    house: &Path,
    (workspace, cwd): (PathBuf, &Path),
    (homes, skills): (Vec<PathBuf>, Vec<PathBuf>),
) -> SandboxPlaces {
    let path = env::var("PATH").unwrap_or_default();
    let (caches, tool_chains) = environment::named_folders(&variables());
    SandboxPlaces {
        workspace,
        cwd: cwd.to_owned(),
        homes,
        house: house.to_owned(),
        skills,
        user_home: user_home().and_then(|it| it.canonicalize().ok()),
        program_folders: environment::program_folders(&path),
        tool_chains,
        caches,
        writable: Vec::new(),
    }
}
