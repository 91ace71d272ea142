//! Options and subcommands that make a program do more than its name says.

use super::{Finding, ProgramCall, RiskKind, finding};
use crate::bundles::{TAR_VALUED, has_letter};

/// Options by which programs run others or load their code, whatever else they do.
const RUN_OPTIONS: &[(&[&str], &[&str])] = &[
    (&["ant"], &["-f", "-file", "-buildfile", "-lib"]),
    (&["bat"], &["--pager"]),
    (&["bazel"], &["--run_under"]),
    (&["cargo"], &["--config", "-C"]),
    (&["cc", "c++", "gcc", "g++"], &["-wrapper", "-specs", "-B", "-fplugin"]),
    (&["clang", "clang++"], &["-fplugin", "-fpass-plugin", "-B", "-Xclang"]),
    (&["cmake"], &["-E", "-P", "-C"]),
    (&["ctest"], &["-S", "--script", "--build-and-test"]),
    (&["date"], &["-s", "--set", "-f", "--file"]),
    (&["file"], &["-m", "--magic-file", "-C"]),
    (&["ghc"], &["-e", "-pgmF", "-pgml", "-fplugin"]),
    (&["go"], &["-exec", "-toolexec", "-vettool", "-overlay", "-modfile"]),
    (&["gradle"], &["-I", "--init-script", "-b", "-c", "-p", "--project-dir"]),
    (&["hostname"], &["-F", "--file", "-b"]),
    (&["install"], &["-s", "--strip-program"]),
    (&["java"], &["-agentpath", "-agentlib", "-javaagent", "-XX"]),
    (&["just"], &["-c", "--command", "--shell", "--shell-arg", "-f", "--justfile", "--chooser"]),
    (&["ld"], &["-plugin", "--plugin", "-rpath"]),
    (&["make", "gmake"], &["--eval", "-E", "-f", "--file", "--makefile", "-I", "--include-dir"]),
    (&["mvn"], &["-s", "--settings", "-gs", "-f", "--file"]),
    (&["npm"], &["--script-shell", "--node-options", "--prefix"]),
    (&["npx"], &["-c", "--call", "--shell"]),
    (&["patch"], &["-e", "--ed"]),
    (&["pnpm"], &["--script-shell", "--dir", "--shell-mode"]),
    (&["protoc"], &["--plugin"]),
    (&["pytest"], &["-c", "--rootdir", "--pdb", "--pdbcls", "-p"]),
    (
        &["rake"],
        &["-e", "--execute", "-E", "--execute-continue", "-p", "--execute-print", "-r", "-f"],
    ),
    (&["rg"], &["--pre", "--hostname-bin"]),
    (&["rustc"], &["-Clinker", "--codegen", "-Zcodegen-backend"]),
    (&["scala"], &["-e", "-execute"]),
    (&["sort"], &["--compress-program"]),
    (&["split"], &["--filter"]),
    (&["strip"], &["--plugin"]),
    (&["swift"], &["-e", "-load-plugin-library"]),
    (
        &["tar"],
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
        ],
    ),
    (&["tox"], &["-c", "--conf", "-x", "--override"]),
    // It keeps the bits by which programs run as their owner.
    (&["unzip"], &["-K"]),
    (&["yarn"], &["--cwd", "--script-shell", "--use-yarnrc"]),
    (&["yq"], &["--load"]),
    (&["zip"], &["-T", "-TT", "--unzip-command"]),
];

/// Parts of words that name a program to be run.
const RUN_PARTS: &[(&[&str], &[&str])] = &[
    (&["cc", "c++", "gcc", "g++"], &["-wrapper", "-plugin"]),
    (&["java"], &["javaagent", "agentpath", "agentlib"]),
    (&["make", "gmake"], &["SHELL", "MAKE=", "CC=", "CXX=", "LD=", "AR=", "AS=", "FLAGS="]),
    (&["mvn"], &["exec:", "exec.", "antrun:"]),
    (&["rustc"], &["linker", "-plugin"]),
    (&["sbt"], &["eval ", "eval:"]),
];

/// They print or compare their arguments; a word that looks like an option of others is text.
const PRINTERS: [&str; 8] = ["echo", "printf", "find", "fd", "grep", "rg", "test", "git"];

/// Options that name programs in any tool.
const RUN_MARKS: [&str; 6] = ["--exec", "-exec", "--command", "--shell", "--eval", "--pager"];

/// Whether a word gives an option, alone, with a value, or shortened as far as programs allow.
pub(super) fn is_given_by(option: &str, word: &str) -> bool {
    let name = word.split(['=', ':']).next().unwrap_or(word);
    if option.starts_with("--") {
        let is_shortened = name.len() > 2 && option.starts_with(name) && !is_own_option(name);
        return name == option || is_shortened;
    }
    let is_letter = option.len() == 2;
    name == option || (is_letter && word.starts_with(option) && !word.starts_with("--"))
}

/// Options that are no shorter form of another one.
fn is_own_option(name: &str) -> bool {
    matches!(name, "--text" | "--pre" | "--out" | "--file" | "--edit" | "--set")
}

pub(super) fn that_runs_programs<'a>(command: &'a ProgramCall<'_>) -> Option<&'a str> {
    let own = RUN_OPTIONS.iter().find(|(names, _)| names.contains(&command.name));
    let found = own.and_then(|(_, options)| command.has(options));
    if found.is_some() || super::tables::is_interpreter(command.name) {
        return found;
    }
    let words = || command.arguments.iter().map(String::as_str);
    let parts = RUN_PARTS.iter().find(|(names, _)| names.contains(&command.name));
    let has_part =
        |word: &&str| parts.is_some_and(|(_, all)| all.iter().any(|it| word.contains(it)));
    if let Some(word) = words().find(has_part) {
        return Some(word);
    }
    if PRINTERS.contains(&command.name) {
        return None;
    }
    words().find(|word| RUN_MARKS.iter().any(|it| word.split('=').next() == Some(it)))
}

/// What tar would run or lose. Its letters can be bundled, with or without a hyphen.
pub(super) fn of_tar(command: &ProgramCall<'_>) -> Option<Finding> {
    let is_bundle = |(at, word): &(usize, &String)| {
        !word.starts_with("--") && (word.starts_with('-') || *at == 0)
    };
    let words = command.arguments.iter().enumerate();
    let bundles: Vec<&String> = words.filter(is_bundle).map(|(_, word)| word).collect();
    if let Some(word) = bundles.iter().find(|it| it.contains(['I', 'F'])) {
        return finding(RiskKind::RunsOther, word);
    }
    // A name with a colon is an archive on another machine.
    if let Some(word) = command.operands().find(|it| it.contains(':')) {
        return finding(RiskKind::Network, word);
    }
    let keeps = ["--keep-old-files", "--skip-old-files", "--to-stdout"];
    let keeps = keeps.iter().any(|it| command.has_exactly(it))
        || bundles.iter().any(|it| match it.strip_prefix('-') {
            Some(_) => has_letter(it, "kO", TAR_VALUED),
            None => it.contains(['k', 'O']),
        });
    let extracts =
        bundles.iter().any(|it| it.contains('x')) || command.has(&["--extract", "--get"]).is_some();
    if let Some(option) = command.has(&["--delete", "--remove-files", "--unlink-first"]) {
        return finding(RiskKind::Destructive, option);
    }
    (extracts && !keeps).then(|| (RiskKind::Destructive, "tar x".to_owned()))
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

/// The names of the pieces are made of parts, and can be those of files that are there.
pub(super) fn of_split(command: &ProgramCall<'_>) -> Option<Finding> {
    let is_named = match command.name {
        "split" => command.has(&["--additional-suffix"]).is_some(),
        _ => {
            command.has_letter("fb", "n") || command.has(&["--prefix", "--suffix-format"]).is_some()
        }
    };
    is_named.then(|| (RiskKind::UnnamedFiles, command.name.to_owned()))
}

/// Without a file to change, a patch changes whichever files it names itself.
pub(super) fn of_patch(command: &ProgramCall<'_>) -> Option<Finding> {
    // Beside options, a word may as well be the value of one.
    let has_options = command.arguments.iter().any(|it| it.starts_with('-'));
    let changes_one = !has_options && command.operands().next().is_some();
    if changes_one || command.has_exactly("--dry-run") {
        return None;
    }
    finding(RiskKind::UnnamedFiles, command.name)
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
const NETWORK_SUBCOMMANDS: &[(&[&str], &str)] = &[
    (
        &["bun", "npm", "pnpm", "yarn"],
        "install i ci add update up upgrade publish login adduser outdated audit view info search \
         exec x dlx create init link remove uninstall unpublish token owner access install-test it \
         global",
    ),
    (&["bundle"], "install update add config"),
    (&["cargo"], "install add update fetch search publish login logout owner yank info uninstall"),
    (&["composer"], "install update require global remove self-update create-project"),
    (&["deno"], "install add upgrade publish repl jupyter"),
    (&["dotnet"], "add restore tool nuget new workload"),
    (&["gem"], "install update push uninstall fetch"),
    (&["go"], "get install clean"),
    (&["mix"], "deps.get deps.update archive.install local.hex hex.publish"),
    (&["pip", "pip3"], "install download wheel uninstall search index config cache"),
    (&["poetry"], "add install update publish lock self remove source"),
    (&["uv"], "add sync lock tool python publish self remove"),
];

/// Subcommands that run code from the command line, or change which code runs.
const CODE_SUBCOMMANDS: &[(&[&str], &str)] = &[
    (&["bun"], "eval"),
    (&["deno"], "eval"),
    (&["dotnet"], "exec"),
    (&["gem"], "open"),
    (&["npm"], "explore edit config set pkg set-script"),
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
    let is_in = |table: &[(&[&str], &str)]| {
        let row = table.iter().find(|(programs, _)| programs.contains(&name));
        row.is_some_and(|(_, words)| words.split(' ').any(|it| it == subcommand))
    };
    let starts_interpreter = matches!(subcommand, "exec" | "run")
        && name != "cargo"
        && matches!(second, "sh" | "bash" | "python" | "python3" | "ruby" | "node");
    let has_code = matches!(name, "deno" | "bun") && command.has(&["-e", "-p"]).is_some();
    let sets_go = name == "go" && subcommand == "env" && command.has(&["-w"]).is_some();
    if is_in(CODE_SUBCOMMANDS) || starts_interpreter || has_code || sets_go {
        return finding(RiskKind::RunsOther, &word);
    }
    let is_module = name == "go" && subcommand == "mod" && matches!(second, "download" | "tidy");
    let is_offline = command.has_exactly("--offline");
    if (is_in(NETWORK_SUBCOMMANDS) || is_module) && !is_offline {
        return finding(RiskKind::Network, &word);
    }
    None
}
