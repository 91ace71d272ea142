//! What this machine offers for a sandbox, proved by making one.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use kith_vocab::event::calls::Sandbox;

use crate::random_name::random_name;

use super::launch::launch;
use super::plan::{SandboxPlaces, plan, plan_of_system};
use super::spec::{CommandEnd, CommandSpec, SandboxView};

/// Bytes of a probe's output.
const PROBE_BYTES_MAX: u64 = 64 * 1024;

/// A fact about the sandbox of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProbe {
    pub name: &'static str,
    pub holds: bool,
    pub detail: String,
}

/// What a sandbox must keep from happening, each a command that must fail.
const MUST_FAIL: [(&str, &str); 8] = [
    ("files outside cannot be changed", "echo x > /etc/kith-probe"),
    ("the agent's files cannot be created", "echo x > SOUL.md"),
    ("the agent's files cannot be changed", "echo x >> Agent.md"),
    ("`.kith` cannot be read", "cat .kith/secret"),
    ("no network", "exec 3<>/dev/tcp/192.0.2.1/80"),
    ("kernel settings cannot be changed", "echo 1 > /proc/sys/kernel/panic"),
    ("no new namespaces", "unshare -U true"),
    ("no setuid files", "cp /bin/true t && chmod u+s t && test -u t"),
];

/// The strongest sandbox of this machine. It is tried without a folder: one that a killed program left
/// behind, or a full disk, says nothing about the kernel.
pub fn offered(supervisor: Option<&Path>) -> Sandbox {
    let Some(supervisor) = supervisor else { return Sandbox::None };
    match run(supervisor, "exit 7", Path::new("/"), plan_of_system()) {
        Ok((CommandEnd::Exited(7), _)) => Sandbox::Network,
        _ => Sandbox::None,
    }
}

/// Everything that is known about the sandbox of this machine.
pub fn probes(supervisor: Option<&Path>) -> Vec<SandboxProbe> {
    let probe = |name, holds, detail: &str| SandboxProbe { name, holds, detail: detail.to_owned() };
    let Some(supervisor) = supervisor else {
        return vec![probe("namespaces", false, "this system has no sandbox")];
    };
    let folder = match ProbeFolder::make() {
        Ok(folder) => folder,
        Err(error) => {
            return vec![probe("namespaces", false, &format!("no folder to try it in: {error}"))];
        }
    };
    let status = match folder.run(supervisor, &all_at_once()) {
        Ok((CommandEnd::Exited(7), output)) if output.starts_with("hello\n") => output,
        Ok((CommandEnd::NotStarted(reason), _)) => {
            return vec![probe("namespaces", false, &reason)];
        }
        Ok((end, output)) => {
            return vec![probe("namespaces", false, &format!("{end:?}: {output}"))];
        }
        Err(error) => return vec![probe("namespaces", false, &error)],
    };
    let mut found = vec![probe("namespaces", true, "user, mount, PID, IPC, UTS, network")];
    for (n, (name, script)) in MUST_FAIL.into_iter().enumerate() {
        let holds = !status.lines().any(|line| line == broken(n));
        let detail = if holds { String::new() } else { format!("`{script}` succeeded") };
        found.push(SandboxProbe { name, holds, detail });
    }
    found.push(field(&status, "Seccomp:\t2", "filter of system calls"));
    found.push(field(&status, "NoNewPrivs:\t1", "no new privileges"));
    found.push(field(&status, "CapEff:\t0000000000000000", "no capabilities"));
    let landlock = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    if !landlock.is_empty() {
        found.push(SandboxProbe {
            name: "Landlock",
            holds: landlock.contains("landlock"),
            detail: String::new(),
        });
    }
    found
}

/// One script for all: each that succeeds says so, and the end shows that all were tried.
fn all_at_once() -> String {
    let attempts = MUST_FAIL
        .iter()
        .enumerate()
        .map(|(n, (_, attempt))| format!("( {attempt} ) > /dev/null 2>&1 && echo {}; ", broken(n)));
    let attempts: Vec<String> = attempts.collect();
    format!("echo hello; {}cat /proc/self/status; exit 7", attempts.concat())
}

fn broken(n: usize) -> String {
    format!("broken:{n}")
}

fn field(status: &str, line: &str, name: &'static str) -> SandboxProbe {
    SandboxProbe { name, holds: status.contains(line), detail: String::new() }
}

/// A folder to try the sandbox in, removed afterwards.
struct ProbeFolder(PathBuf);

impl ProbeFolder {
    fn make() -> std::io::Result<ProbeFolder> {
        let folder = std::env::temp_dir().canonicalize()?.join(random_name("kith-probe")?);
        fs::create_dir(&folder)?;
        let made = ProbeFolder(folder);
        fs::create_dir(made.0.join(".kith"))?;
        fs::write(made.0.join(".kith/secret"), "secret")?;
        fs::write(made.0.join("Agent.md"), "x")?;
        Ok(made)
    }

    fn run(&self, supervisor: &Path, script: &str) -> Result<(CommandEnd, String), String> {
        let places = SandboxPlaces {
            workspace: self.0.clone(),
            cwd: self.0.clone(),
            homes: vec![self.0.clone()],
            house: self.0.clone(),
            ..SandboxPlaces::default()
        };
        run(supervisor, script, &self.0, plan(&places, false)?)
    }
}

impl Drop for ProbeFolder {
    fn drop(&mut self) {
        // A folder in /tmp that stays is the system's to remove.
        fs::remove_dir_all(&self.0).ok();
    }
}

fn run(
    supervisor: &Path,
    script: &str,
    cwd: &Path,
    view: SandboxView,
) -> Result<(CommandEnd, String), String> {
    let spec = CommandSpec {
        argv: vec![shell().to_owned(), "-c".to_owned(), script.to_owned()],
        cwd: cwd.to_owned(),
        environment: vec![("PATH".to_owned(), "/usr/bin:/bin:/usr/sbin:/sbin".to_owned())],
        stdin: None,
        view: Some(view),
    };
    let said = |error: std::io::Error| error.to_string();
    let (mut output, theirs) = std::io::pipe().map_err(said)?;
    let running = launch(supervisor, &spec, Stdio::from(theirs), Stdio::null()).map_err(said)?;
    let mut text = String::new();
    Read::by_ref(&mut output).take(PROBE_BYTES_MAX).read_to_string(&mut text).map_err(said)?;
    drop(output);
    Ok((running.wait_until_tidy(), text))
}

/// The shell that commands are run with.
pub(crate) fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }
}
