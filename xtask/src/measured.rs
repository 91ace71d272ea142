//! `docs/measured.md`: what the long programs found, when, and by which command.
//!
//! Each table has its place between two marks. A run replaces the tables it made and leaves the
//! others as they are, so the document always shows the last result of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::invocation::Invocation;
use crate::usage::WrongUsage;

const DOCUMENT: &str = "docs/measured.md";

const INTRODUCTION: &str = "# What was measured

The last results of `cargo xtask bench`, `torture`, `simulate` and `mutants`, written here by those
commands. Times are ratios inside one run, because machines differ. What each figure
is for, and why its goal is what it is, stands in the help of the commands and in their programs.
";

/// The tables, in the order of the document, and their headings.
const SECTIONS: [(&str, &str); 11] = [
    ("bench", "Speed and size"),
    ("torture-turn", "A turn killed at every write and sync"),
    ("torture-desk", "The desk failing at every system call"),
    ("torture-kills", "The real program killed at random"),
    ("torture-effects", "The real program killed while tools change the world"),
    ("torture-crowd", "Fifty processes on one house"),
    ("torture-stability", "A thousand turns of one session"),
    ("torture-log", "A session file damaged"),
    ("torture-orders", "Events in any order"),
    ("simulate", "The whole host from one seed after another"),
    ("mutants", "Guards taken out one by one"),
];

/// A program among the benches of a package.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// It is given the path of the real program, which is built with it.
    pub(crate) needs_kith: bool,
}

impl Program {
    /// One of the programs that start the real one.
    pub(crate) const fn of_kith(name: &'static str) -> Program {
        Program { name, package: "kith-agent", needs_kith: true }
    }
}

/// A flag that a program understands, and what follows it.
pub(crate) struct Flag {
    name: &'static str,
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Number,
    Word,
}

impl Flag {
    pub(crate) const fn alone(name: &'static str) -> Flag {
        Flag { name, value: Value::None }
    }

    pub(crate) const fn number(name: &'static str) -> Flag {
        Flag { name, value: Value::Number }
    }

    pub(crate) const fn word(name: &'static str) -> Flag {
        Flag { name, value: Value::Word }
    }
}

/// Refuses before the build what the program would refuse after it.
pub(crate) fn check_flags(verb: &str, args: &[String], flags: &[Flag]) -> Result<(), WrongUsage> {
    let help = format!("see `cargo xtask {verb} --help`");
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(flag) = flags.iter().find(|flag| flag.name == arg) else {
            return Err(WrongUsage(format!("`cargo xtask {verb}` knows no `{arg}`; {help}")));
        };
        if flag.value == Value::None {
            continue;
        }
        let Some(value) = args.next() else {
            return Err(WrongUsage(format!("`{arg}` needs a value; {help}")));
        };
        if flag.value == Value::Number && value.parse::<u64>().is_err() {
            return Err(WrongUsage(format!("`{arg}` needs a number, but got `{value}`; {help}")));
        }
    }
    Ok(())
}

/// Builds the program, runs it, and puts the tables it made into the document.
pub(crate) fn run_and_record(
    root: &Path,
    program: Program,
    args: &[String],
) -> anyhow::Result<ExitCode> {
    let name = program.name;
    let built = build(root, program)?;
    let reports = built.reports.join(name);
    remove_old_tables(&reports)?;
    let kith = built.kith.as_ref().map(|path| path.to_string_lossy());
    let out = reports.to_string_lossy();
    let mut words: Vec<&str> = args.iter().map(String::as_str).collect();
    words.extend(kith.iter().flat_map(|kith| ["--kith", kith]));
    words.extend(["--out", &out]);
    let status = Invocation::new(&built.program, &words).run_in(root)?;

    let command = [&["cargo", "xtask", name].map(str::to_owned), args].concat().join(" ");
    let tables = SECTIONS.iter().filter_map(|(section, _)| {
        let table = fs::read_to_string(reports.join(format!("{section}.md"))).ok()?;
        Some((*section, table))
    });
    record_all(root, &tables.collect::<Vec<_>>(), &command)?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The table of this section as the document has it.
pub(crate) fn recorded(root: &Path, section: &str) -> String {
    // Without a document there is no table.
    let document = fs::read_to_string(root.join(DOCUMENT)).unwrap_or_default();
    between_marks(&document, section).unwrap_or_default().to_owned()
}

/// Puts one table into the document, with the command that made it.
pub(crate) fn record(
    root: &Path,
    section: &'static str,
    table: &str,
    command: &str,
) -> anyhow::Result<()> {
    record_all(root, &[(section, table.to_owned())], command)
}

fn record_all(root: &Path, tables: &[(&'static str, String)], command: &str) -> anyhow::Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let facts = format!("{}, `{command}`, {}", date(now.as_secs()), machine()?);
    let with_facts = |(section, table): &(&'static str, String)| {
        (*section, format!("{facts}\n\n{}", table.trim()))
    };
    let tables: Vec<(&str, String)> = tables.iter().map(with_facts).collect();
    let path = root.join(DOCUMENT);
    let old = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, document(&old, &tables))
        .with_context(|| format!("cannot write `{DOCUMENT}`"))?;
    println!("wrote {DOCUMENT}");
    Ok(())
}

struct Built {
    program: PathBuf,
    kith: Option<PathBuf>,
    /// The target folder, wherever it is.
    reports: PathBuf,
}

// Not `cargo bench`: its own profile would compile everything once more.
fn build(root: &Path, program: Program) -> anyhow::Result<Built> {
    let Program { name, package, needs_kith } = program;
    let mut words = vec!["build", "--profile", "fast", "--package", package, "--bench", name];
    if needs_kith {
        words.extend(["--bin", "kith"]);
    }
    words.extend(["--message-format", "json-render-diagnostics"]);
    let invocation = Invocation::cargo(&words);
    println!("== {invocation}");
    let mut command = invocation.command(root);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run `{invocation}`"))?;
    if !output.status.success() {
        bail!("`{invocation}` failed ({})", output.status);
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let program = executable(&messages, "bench", name).context("cargo names no program")?;
    let kith = executable(&messages, "bin", "kith");
    if needs_kith && kith.is_none() {
        bail!("cargo names no `kith`");
    }
    // Programs among the benches lie in `<target>/fast/deps`.
    let target = program.ancestors().nth(3).context("the program lies in no target folder")?;
    Ok(Built { reports: target.to_owned(), program, kith })
}

/// The path in cargo's message about this target. Cargo writes one object per line, compactly.
fn executable(messages: &str, kind: &str, name: &str) -> Option<PathBuf> {
    let (kind, name) = (format!("\"kind\":[\"{kind}\"]"), format!("\"name\":\"{name}\""));
    let line = messages.lines().find(|line| line.contains(&kind) && line.contains(&name))?;
    let (_, rest) = line.split_once("\"executable\":\"")?;
    let (path, _) = rest.split_once('"')?;
    Some(PathBuf::from(path))
}

fn remove_old_tables(reports: &Path) -> anyhow::Result<()> {
    for (section, _) in SECTIONS {
        let path = reports.join(format!("{section}.md"));
        if path.exists() {
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// The document with these tables in place of older ones.
fn document(old: &str, tables: &[(&str, String)]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for (section, heading) in SECTIONS {
        let new = tables.iter().find(|(name, _)| *name == section).map(|(_, table)| table.as_str());
        let table = new.or_else(|| between_marks(old, section)).unwrap_or("Not measured yet.");
        let (begin, end) = marks(section);
        let lines = ["", &format!("## {heading}"), "", &begin, table, &end, ""];
        text += &lines.join("\n");
    }
    text
}

fn between_marks<'a>(document: &'a str, section: &str) -> Option<&'a str> {
    let (begin, end) = marks(section);
    let (_, rest) = document.split_once(&begin)?;
    let (table, _) = rest.split_once(&end)?;
    Some(table.trim())
}

fn marks(section: &str) -> (String, String) {
    (format!("<!-- {section} -->"), format!("<!-- end of {section} -->"))
}

/// What a reader needs to judge the numbers, and nothing that tells whose machine it was.
fn machine() -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let numbers: Vec<&str> = kernel.trim().split('.').take(2).collect();
    let output = Command::new("rustc").arg("--version").output().context("cannot run `rustc`")?;
    let rustc = String::from_utf8_lossy(&output.stdout);
    let version = rustc.split_whitespace().nth(1).unwrap_or("of unknown version");
    let system = format!("{} {}", std::env::consts::OS, numbers.join("."));
    Ok(format!("{cores} cores, {}, rustc {version}", system.trim()))
}

/// The day in UTC, as `2026-11-15`.
fn date(secs: u64) -> String {
    // Days are counted from the first of March of the year 0: leap days then end a year.
    let days = secs / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests;
