//! Options and subcommands that make a program do more than its name says.

use super::{Finding, ProgramCall, RiskKind, finding};

/// Options by which programs run others, whatever else they do.
const RUN_OPTIONS: [(&str, &[&str]); 28] = [
    (
        "tar",
        &[
            "--checkpoint-action",
            "--to-command",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "-F",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("zip", &["-T", "-TT", "--unzip-command"]),
    ("gcc", &["-wrapper", "-specs", "-B"]),
    ("g++", &["-wrapper", "-specs", "-B"]),
    ("cc", &["-wrapper", "-specs", "-B"]),
    ("ld", &["-plugin", "--plugin", "-rpath"]),
    ("make", &["--eval", "-E"]),
    ("gmake", &["--eval", "-E"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("bat", &["--pager"]),
    ("cargo", &["--config", "-C"]),
    ("npm", &["--script-shell", "--node-options", "--prefix"]),
    ("pnpm", &["--script-shell", "--dir"]),
    ("npx", &["-c", "--call", "--shell"]),
    ("go", &["-exec", "-toolexec", "-vettool", "-overlay"]),
    ("java", &["-agentpath", "-agentlib", "-javaagent"]),
    ("pytest", &["-c", "--rootdir", "--pdb", "--pdbcls"]),
    ("rustc", &["-Clinker", "--codegen"]),
    ("date", &["-s", "--set", "-f", "--file"]),
    ("hostname", &["-F", "--file", "-b"]),
    ("mvn", &["-s", "--settings", "-gs"]),
    ("gradle", &["-I", "--init-script"]),
    ("yq", &["--load"]),
    ("file", &["-m", "--magic-file", "-C"]),
    ("diff", &["--to-file"]),
    ("install", &["-s", "--strip-program"]),
];

/// Parts of words that name programs in any tool.
const RUN_MARKS: [&str; 5] = ["--exec", "-exec", "--command", "--shell", "--eval"];

pub(super) fn that_runs_programs<'a>(command: &'a ProgramCall<'_>) -> Option<&'a str> {
    let own = RUN_OPTIONS.iter().find(|(name, _)| *name == command.name);
    let found = own.and_then(|(_, options)| {
        command.arguments.iter().map(String::as_str).find(|word| {
            options.iter().any(|it| {
                word == it
                    || word
                        .strip_prefix(it)
                        .is_some_and(|rest| it.len() > 2 || !rest.starts_with('-'))
                        && (it.len() == 2 || word[it.len()..].starts_with(['=', ':']))
            })
        })
    });
    if found.is_some() || super::tables::is_interpreter(command.name) {
        return found;
    }
    let makes = matches!(command.name, "make" | "gmake");
    let overrides = |word: &str| {
        makes
            && ["SHELL=", ".SHELLFLAGS=", "MAKE=", "CC=", "CXX="]
                .iter()
                .any(|it| word.starts_with(it))
    };
    let is_mark = |word: &str| RUN_MARKS.iter().any(|it| word.split('=').next() == Some(it));
    let prints = matches!(command.name, "echo" | "printf" | "find" | "fd" | "grep" | "rg");
    command
        .arguments
        .iter()
        .map(String::as_str)
        .find(|it| overrides(it) || (is_mark(it) && !prints))
}

pub(super) fn of_find(command: &ProgramCall<'_>) -> Option<Finding> {
    let runs = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    if let Some(option) = command.has(&runs) {
        return finding(RiskKind::RunsOther, option);
    }
    if let Some(option) = command.has(&["-fprint", "-fprintf", "-fprint0", "-fls"]) {
        return finding(RiskKind::Destructive, option);
    }
    command.has(&["-delete"]).and_then(|it| finding(RiskKind::Destructive, it))
}

/// Files that run with the rights of their owner.
pub(super) fn of_chmod(command: &ProgramCall<'_>) -> Option<Finding> {
    let mode = command.operands().next()?;
    let is_octal = mode.bytes().all(|it| it.is_ascii_digit());
    let is_special = is_octal && mode.trim_start_matches('0').len() > 3;
    let is_special = is_special || (!is_octal && mode.contains(['s', 't']));
    is_special.then(|| (RiskKind::Privilege, mode.to_owned()))
}

/// Subcommands that need the network, or change more than the project.
const NETWORK_SUBCOMMANDS: [(&str, &str); 16] = [
    (
        "bun",
        "install i ci add update up upgrade publish login adduser outdated audit view info search exec x dlx create init link remove uninstall unpublish token owner access install-test it global",
    ),
    ("bundle", "install update add config"),
    ("cargo", "install add update fetch search publish login logout owner yank info uninstall"),
    ("composer", "install update require global remove self-update create-project"),
    ("deno", "install add upgrade publish repl jupyter"),
    ("dotnet", "add restore tool nuget new workload"),
    ("gem", "install update push uninstall fetch"),
    ("go", "get install clean"),
    ("mix", "deps.get deps.update archive.install local.hex hex.publish"),
    (
        "npm",
        "install i ci add update up upgrade publish login adduser outdated audit view info search exec x dlx create init link remove uninstall unpublish token owner access install-test it global",
    ),
    ("pip", "install download wheel uninstall search index config cache"),
    ("pip3", "install download wheel uninstall search index config cache"),
    (
        "pnpm",
        "install i ci add update up upgrade publish login adduser outdated audit view info search exec x dlx create init link remove uninstall unpublish token owner access install-test it global",
    ),
    ("poetry", "add install update publish lock self remove source"),
    ("uv", "add sync lock tool python publish self remove"),
    (
        "yarn",
        "install i ci add update up upgrade publish login adduser outdated audit view info search exec x dlx create init link remove uninstall unpublish token owner access install-test it global",
    ),
];

/// Subcommands that run code from the command line, or change which code runs.
const CODE_SUBCOMMANDS: [(&str, &str); 5] = [
    ("bun", "eval"),
    ("deno", "eval"),
    ("dotnet", "exec"),
    ("gem", "open"),
    ("npm", "explore edit config set pkg set-script"),
];

/// Package managers: what the project says runs in the sandbox, the rest needs more.
pub(super) fn of_package_manager(command: &ProgramCall<'_>) -> Option<Finding> {
    let name = command.name;
    if matches!(name, "apt" | "brew") {
        return finding(RiskKind::Machine, name);
    }
    let mut operands = command.operands().filter(|it| !it.starts_with('+'));
    let subcommand = operands.next().unwrap_or_default();
    let second = operands.next().unwrap_or_default();
    let word = format!("{name} {subcommand}");
    let is_in = |table: &[(&str, &str)]| {
        let row = table.iter().find(|(program, _)| *program == name);
        row.is_some_and(|(_, words)| words.split(' ').any(|it| it == subcommand))
    };
    let starts_interpreter = matches!(subcommand, "exec" | "run")
        && name != "cargo"
        && matches!(second, "sh" | "bash" | "python" | "python3" | "ruby" | "node");
    let has_code = matches!(name, "deno" | "bun") && command.has(&["-e", "-p"]).is_some();
    let sets_go = name == "go" && subcommand == "env" && command.has(&["-w"]).is_some();
    if is_in(&CODE_SUBCOMMANDS) || starts_interpreter || has_code || sets_go {
        return finding(RiskKind::RunsOther, &word);
    }
    let is_module = name == "go" && subcommand == "mod" && matches!(second, "download" | "tidy");
    let is_offline = command.has(&["--offline"]).is_some();
    if (is_in(&NETWORK_SUBCOMMANDS) || is_module) && !is_offline {
        return finding(RiskKind::Network, &word);
    }
    None
}
