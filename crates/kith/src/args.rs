//! The command line, as typed.

pub(crate) mod prime;
mod thread;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use kith_host::error::CallError;
use kith_vocab::header::{Audience, LOG_FORMAT_VERSION};
use kith_vocab::ids::{IdError, LeafId};

use crate::ui::{self, EXIT_USAGE};

pub(crate) use thread::{Thread, ThreadShow};

/// An agent whose self is a folder of Markdown and whose life is a log that can be replayed.
///
/// Without a command, `kith` opens a conversation in this folder.
#[derive(Debug, Parser)]
#[command(name = "kith", disable_version_flag = true, after_help = EXAMPLE)]
pub(crate) struct Invocation {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Print the version of the program and of its log format
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
}

const EXAMPLE: &str = "\
Example:
  kith init my-agent          make an agent
  cd my-agent && kith         talk to it
  kith ask \"list the files\"   ask one thing";

#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    /// The house: the folder with `kith.toml` or `.kith`
    #[arg(long, global = true, value_name = "DIR", env = "KITH_HOME", hide_env_values = true)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) home: Option<PathBuf>,
    /// Agent to use, if the house has several
    #[arg(long, global = true, value_name = "ID", env = "KITH_AGENT", hide_env_values = true)]
    pub(crate) agent: Option<String>,
    /// Print exactly one JSON value to stdout, also on failure
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Let the host answer also what could be read from the files
    #[arg(long, global = true)]
    pub(crate) remote: bool,
    /// Say that nobody is at the terminal who could be asked
    #[arg(long, global = true)]
    pub(crate) unattended: bool,
}

impl Shared {
    /// The agent that was named; an empty name is a variable that somebody tried to take away.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.as_deref().filter(|id| !id.is_empty())
    }

    /// The same, as calls carry it.
    pub(crate) fn agent_id(&self) -> Option<String> {
        self.agent().map(str::to_owned)
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ModelArg {
    /// The model to use: `demo`, a name from kith.toml, or a vendor's model name
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(Init),
    Ask(Ask),
    Retry(Retry),
    Cancel(Cancel),
    New(prime::New),
    /// List, show, check and save priming scripts: histories that a conversation may begin with
    #[command(subcommand, after_help = "Example:\n  kith prime ls\n  kith prime save latest probe")]
    Prime(prime::Prime),
    /// List, show, search, verify, name, export, repair, branch, clone and remove sessions
    #[command(subcommand, after_help = "Example:\n  kith session ls\n  kith session show latest")]
    Session(SessionCommand),
    /// List and show threads, and make their files again
    #[command(
        subcommand,
        after_help = "Example:\n  kith thread ls\n  kith thread show cli: --json"
    )]
    Thread(Thread),
    Prompt(Prompt),
    /// List, show and check skills
    #[command(subcommand, after_help = "Example:\n  kith skill ls\n  kith skill check")]
    Skill(SkillCommand),
    /// Say why something is as it is
    #[command(subcommand, after_help = "Example:\n  kith explain identity")]
    Explain(Explain),
    Doctor(Doctor),
    Backup(BackupArgs),
    Trust(TrustArgs),
}

/// Make an agent: a folder with its files. What is there already stays as it is
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith init my-agent")]
pub(crate) struct Init {
    /// The folder to make or to complete; `--home` names it as well
    pub(crate) dir: Option<PathBuf>,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Say one thing to this folder's thread and print the answer
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith ask \"read README.md and tell me what it is\"\n  \
                        git diff | kith ask --new -")]
pub(crate) struct Ask {
    /// What to say; `-`, or nothing when input is piped, reads it from stdin
    pub(crate) text: Vec<String>,
    /// Say it in this session
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["thread", "new"])]
    pub(crate) session: Option<String>,
    /// Say it in this thread (`platform:scopeType:scopeId`)
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
    /// Begin a new session of the thread
    #[arg(long)]
    pub(crate) new: bool,
    /// The message's own id: a repeated one gets the first answer again
    #[arg(long, value_name = "ID")]
    pub(crate) message_id: Option<String>,
    /// Say it only if the conversation still ends there: the `leaf` of an answer, or `start`
    #[arg(long, value_name = "LEAF", conflicts_with = "new")]
    pub(crate) expected_leaf: Option<String>,
    /// Print every event and delta as a line of JSON while the turn runs, and the answer last
    #[arg(long, conflicts_with = "json")]
    pub(crate) stream_json: bool,
    #[command(flatten)]
    pub(crate) model: ModelArg,
}

/// Continue the last turn if it failed, was stopped or was cut short, and print the answer
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith retry\n  kith retry --session 4c1ec498")]
pub(crate) struct Retry {
    /// The session; without it, this folder's conversation
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Print every event and delta as a line of JSON while the turn runs, and the answer last
    #[arg(long, conflicts_with = "json")]
    pub(crate) stream_json: bool,
}

/// Stop the turn that runs in a session, wherever it was begun
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith cancel\n  kith cancel --session 4c1ec498")]
pub(crate) struct Cancel {
    /// The session; without it, this folder's conversation
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    Ls(SessionLs),
    Show(SessionShow),
    Verify(SessionVerify),
    Export(SessionExport),
    Rename(SessionRename),
    Repair(SessionRepair),
    Search(SessionSearch),
    Rm(SessionRm),
    Tree(SessionTree),
    Branch(SessionBranch),
    Clone(SessionClone),
}

/// List sessions, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session ls")]
pub(crate) struct SessionLs {}

/// Show a session as a transcript
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session show latest\n  kith session show --all 4c1ec498")]
pub(crate) struct SessionShow {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// Show every event, also what a transcript leaves out
    #[arg(long)]
    pub(crate) all: bool,
}

/// Build every request of a session again and compare it with what was sent
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session verify latest")]
pub(crate) struct SessionVerify {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
}

/// Print a session, to be kept or read elsewhere
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session export latest > session.jsonl\n  \
                        kith session export latest --format markdown > session.md\n  \
                        kith session export latest --format uimessages > messages.json")]
pub(crate) struct SessionExport {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// One event per line, the header first; a document; or an array of AI SDK `UIMessage`s
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Jsonl,
    Markdown,
    Uimessages,
}

/// Give a session a title, which no generated one replaces
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session rename latest \"the garden plan\"")]
pub(crate) struct SessionRename {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// One line
    #[arg(required = true)]
    pub(crate) title: Vec<String>,
}

/// Copy what can be read of a damaged session into a new one
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session repair latest")]
pub(crate) struct SessionRepair {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
}

/// Show the session's branches as a tree, one line per turn
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session tree latest")]
pub(crate) struct SessionTree {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
}

/// Go on from an earlier place of a session. What was said since stays in the log
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session branch latest --to 4c1ec498\n  \
                        kith session branch latest --to start")]
pub(crate) struct SessionBranch {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// An event id, a beginning or an end of one (`session tree` prints ends), or `start`: the turn
    /// boundary at or before it
    #[arg(long, value_name = "EVENT")]
    pub(crate) to: String,
    /// Do it only if the conversation ends there: `start` or the id of an event
    #[arg(long, value_name = "LEAF")]
    pub(crate) expected_leaf: Option<String>,
}

/// Begin a new session, of a thread of its own, with a copy of a conversation
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session clone latest\n  \
                        kith session clone latest --at 4c1ec498")]
pub(crate) struct SessionClone {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// Copy only up to here: an event id, a beginning or an end of one, or `start`
    #[arg(long, value_name = "EVENT")]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    Ls(SkillLs),
    Show(SkillShow),
    Check(SkillCheck),
}

/// List the skills in force in this folder
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith skill ls")]
pub(crate) struct SkillLs {}

/// Print the SKILL.md of a skill
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith skill show tidy")]
pub(crate) struct SkillShow {
    /// As `skill ls` prints it
    pub(crate) name: String,
}

/// Say which skills are left out, and why
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith skill check")]
pub(crate) struct SkillCheck {}

/// Find what was said, in all sessions, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session search garden plan\n  kith session search 天气")]
pub(crate) struct SessionSearch {
    /// Words that must all be there; the beginning of a word is enough
    #[arg(required = true)]
    pub(crate) query: Vec<String>,
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

/// Remove a session for good: its log, what only it holds, and its place in lists
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith session rm 4c1ec498\n  kith session rm 4c1ec498 --yes")]
pub(crate) struct SessionRm {
    /// A session id, a beginning or an end of one (`session ls` prints ends), or `latest`
    pub(crate) session: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Copy this house, also while it is in use. The copy is a house of its own
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith backup ~/backups/my-agent\n  \
                        kith --home ~/backups/my-agent session ls")]
pub(crate) struct BackupArgs {
    /// The folder to make
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Explain {
    Identity(ExplainIdentity),
}

/// Say what the agent is called, and where that comes from
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith explain identity\n  kith explain identity --json")]
pub(crate) struct ExplainIdentity {}

/// Check this house for problems (changes nothing)
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith doctor\n  kith doctor --json")]
pub(crate) struct Doctor {}

/// Let the `AGENTS.md` of a repository speak to the agent, or make a cloned house yours
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  kith trust .\n  kith trust ls\n  kith trust rm ~/src/clone")]
pub(crate) struct TrustArgs {
    /// A folder of the repository; without one, this folder
    pub(crate) dir: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: Option<TrustAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrustAction {
    Ls(TrustLs),
    Rm(TrustRm),
}

/// List what is trusted
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith trust ls")]
pub(crate) struct TrustLs {}

/// Take it back. Sessions that began stay as they are
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith trust rm ~/src/clone")]
pub(crate) struct TrustRm {
    /// A folder of the repository, or where it was
    pub(crate) dir: PathBuf,
}

/// Print the system prompt a new session would get, with its sources, without starting one
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prompt\n  kith prompt --audience peer --json")]
pub(crate) struct Prompt {
    /// For whom
    #[arg(long, value_enum, default_value_t = AudienceArg::Owner)]
    pub(crate) audience: AudienceArg,
    /// As if started in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AudienceArg {
    Owner,
    Shared,
    Peer,
}

impl From<AudienceArg> for Audience {
    fn from(audience: AudienceArg) -> Audience {
        match audience {
            AudienceArg::Owner => Audience::Owner,
            AudienceArg::Shared => Audience::Shared,
            AudienceArg::Peer => Audience::Peer,
        }
    }
}

impl Invocation {
    /// Reads the command line, or says what to exit with: help, version and mistakes end here,
    /// before anything else of the program is woken up.
    pub(crate) fn parse() -> Result<Invocation, ExitCode> {
        match Invocation::try_parse_from(words()) {
            Ok(invocation) if invocation.version => {
                ui::line(&format!(
                    "kith {} (log format {LOG_FORMAT_VERSION})",
                    env!("CARGO_PKG_VERSION")
                ));
                Err(ExitCode::SUCCESS)
            }
            Ok(invocation) => Ok(invocation),
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                ui::styled(&error.render());
                Err(ExitCode::SUCCESS)
            }
            Err(error) if asks_for_json() => Err(ui::failure(&in_one_line(&error), true)),
            Err(error) => {
                ui::styled_error(&error.render());
                Err(ExitCode::from(EXIT_USAGE))
            }
        }
    }
}

/// The leaf that someone expects, as typed.
pub(crate) fn leaf_of(text: Option<&str>) -> Result<Option<LeafId>, CallError> {
    let read = |text: &str| {
        text.parse().map_err(|error: IdError| {
            CallError::usage(error.to_string())
                .hint("`leaf` of `kith ask --json` and of `kith session show --json` is such an id")
        })
    };
    text.map(read).transpose()
}

/// Whether a program reads the answer, also when the command line cannot be understood.
pub(crate) fn asks_for_json() -> bool {
    let mut words = words().take_while(|word| word != "--");
    words.any(|word| word == "--json" || word == "--stream-json")
}

fn words() -> impl Iterator<Item = OsString> {
    env::args_os()
}

/// The first paragraph of the complaint, and the tip if there is one: the rest repeats the help.
fn in_one_line(error: &clap::Error) -> CallError {
    let text = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
        _ => error.render().to_string(),
    };
    let paragraphs =
        text.split("\n\n").map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
    let paragraphs: Vec<String> = paragraphs.collect();
    let message = paragraphs.first().map(String::as_str).unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let tip = paragraphs.iter().find_map(|it| it.strip_prefix("tip: "));
    CallError::usage(message).hint(tip.unwrap_or("`--help` shows what is possible"))
}
