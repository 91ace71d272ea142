//! The command line, as typed.

pub(crate) mod agent;
pub(crate) mod approval;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod cost;
pub(crate) mod explain;
pub(crate) mod logs;
pub(crate) mod model;
pub(crate) mod prime;
pub(crate) mod project;
pub(crate) mod queue;
pub(crate) mod sandbox;
pub(crate) mod session;
mod slips;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod why;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use kith_host::error::CallError;
use kith_host::remote::RemoteHouse;
use kith_vocab::header::{Audience, LOG_FORMAT_VERSION};
use kith_vocab::ids::{IdError, LeafId};

use crate::program::ui::{self, EXIT_USAGE};

/// An agent defined by a folder of Markdown, with a log of everything it does.
///
/// Without a command, `kith` opens a chat in this folder.
///
/// The folder that an agent lives in is called its house: it holds the Markdown files, the settings
/// (`kith.toml`) and the conversations (`.kith`). The first one you create with `kith init` answers in
/// every folder that has none of its own.
#[derive(Debug, Parser)]
#[command(name = "kith", disable_version_flag = true, after_help = EXAMPLE)]
pub(crate) struct Invocation {
    #[command(flatten)]
    pub(crate) shared: GlobalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Chat line by line, for screen readers and simple terminals
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print the version of the program and its log format
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
}

/// The help of every argument that names a session.
const SESSION: &str = "Session: the beginning of its id as `kith session ls` prints it, `current` \
                       (this folder's) or `latest`";

/// The same where it may be left out.
const SESSION_DEFAULT: &str = "Session: the beginning of its id as `kith session ls` prints it, \
                               `current` (this folder's, the default) or `latest`";

/// The help of `--session` where it may be left out.
const SESSION_OR_CURRENT: &str = "Session to use; by default, this folder's conversation";

const STREAM_JSON: &str =
    "Print each event and delta as a line of JSON while the turn runs, then the answer";

/// The help of every `--thread`.
const THREAD: &str = "Thread to use (`platform:scopeType:scopeId`)";

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// The help of every `--cwd`.
const CWD: &str = "Act as if started in this folder";

const EXAMPLE: &str = "\
Example:
  kith init my-agent          create an agent
  cd my-agent && kith         talk to it
  kith ask \"list the files\"   ask one question";

#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct GlobalArgs {
    /// House to use: the folder your agent lives in, with its `kith.toml`
    #[arg(long, global = true, value_name = "DIR", env = "KITH_HOME", hide_env_values = true)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from), help_heading = GLOBAL)]
    pub(crate) home: Option<PathBuf>,
    /// Agent to use, if the house has several
    #[arg(long, global = true, value_name = "ID", env = "KITH_AGENT", hide_env_values = true)]
    #[arg(help_heading = GLOBAL)]
    pub(crate) agent: Option<String>,
    /// Print exactly one JSON value to stdout, even on failure
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,
    /// Print no notes and no progress, and of an answer only its final text
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
    /// When to use colours; `auto` obeys NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_enum, value_name = "WHEN", help_heading = GLOBAL)]
    #[arg(default_value_t = ColorChoice::Auto, hide_default_value = true)]
    pub(crate) color: ColorChoice,
    /// Use the house of a host on another machine: the address that `kith up --listen` printed
    #[arg(
        long,
        global = true,
        value_name = "ADDRESS",
        env = "KITH_REMOTE",
        hide_env_values = true
    )]
    #[arg(help_heading = GLOBAL)]
    pub(crate) remote: Option<String>,
    /// File with the token of that host, if KITH_REMOTE_TOKEN is not set
    #[arg(long, global = true, value_name = "FILE", env = "KITH_REMOTE_TOKEN_FILE")]
    #[arg(hide_env_values = true, help_heading = GLOBAL)]
    pub(crate) token_file: Option<PathBuf>,
    /// Ask the host even for what could be read from files
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) from_host: bool,
    /// Never ask questions: nobody is at the terminal
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) unattended: bool,
    /// The agent in whose home the command was started, if none was named.
    #[arg(skip)]
    pub(crate) local_agent: Option<String>,
    /// The house on another machine, when it has been reached.
    #[arg(skip)]
    pub(crate) remote_house: Option<Arc<RemoteHouse>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

impl GlobalArgs {
    /// The agent that was named; an empty name is a variable that somebody tried to take away.
    pub(crate) fn named_agent(&self) -> Option<&str> {
        self.agent.as_deref().filter(|id| !id.is_empty())
    }

    /// The agent that is meant: the named one, or the one in whose home this is.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.named_agent().or(self.local_agent.as_deref())
    }

    /// The same, as calls carry it.
    pub(crate) fn agent_id(&self) -> Option<String> {
        self.agent().map(str::to_owned)
    }
}

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ModelArg {
    /// Model to use: `demo`, a name from kith.toml, or a vendor's model name
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

// Deferred: the arguments of a command are described when it is called. Describing those of all
// commands took most of the time of `kith --version`. What lists show of a command, its first
// sentence, therefore stands here and not at its arguments.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Create an agent: a folder with its files. Existing files are not changed
    Init(Init),
    /// Send a message in this folder's conversation and print the answer
    Ask(Ask),
    /// Open the chat in a session
    #[command(after_help = "Example:\n  kith resume\n  kith resume 4c1ec498")]
    Resume {
        #[arg(help = SESSION_DEFAULT)]
        session: Option<String>,
        #[command(flatten)]
        model: ModelArg,
    },
    /// Continue the last turn if it failed or was interrupted, and print the answer
    ///
    /// The turn goes on with the model it began with. Another model is asked anew, on a branch of its own.
    Retry(Retry),
    /// Stop the turn running in a session, wherever it was started
    #[command(after_help = "Example:\n  kith cancel\n  kith cancel --session 4c1ec498")]
    Cancel {
        #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
        session: Option<String>,
    },
    /// Send a message into the running turn, which reads it before its next step, and print the answer
    #[command(after_help = "Example:\n  kith steer \"only look at the tests\"")]
    Steer(queue::Steer),
    /// List, add, edit, remove, move and release messages that wait behind a running turn
    #[command(
        subcommand,
        after_help = "Example:\n  kith queue ls\n  kith queue edit 1 \"use the other file\""
    )]
    Queue(queue::QueueCommand),
    /// List approvals that wait for your answer
    Approvals(approval::ApprovalsArgs),
    /// Approve a call that waits for you, continue its turn and print the answer
    Approve(approval::Approve),
    /// Deny a call that waits for you, continue its turn and print the answer
    Deny(approval::Deny),
    /// List and revoke standing approvals
    #[command(subcommand, after_help = "Example:\n  kith grants ls\n  kith grants rm 4c1ec498")]
    Grants(approval::GrantsCommand),
    /// Summarise a conversation, so that the model reads less of it (`session branch` goes back)
    Compact(compact::CompactArgs),
    /// Show the tokens and the money that models have used
    ///
    /// Sessions that were removed are one row while they count in the budget.
    Cost(cost::Cost),
    /// Show what happened: turns, requests, calls, failures, with times and sizes; never what was said
    ///
    /// Each line is `key=value` pairs. Without `--session` it is the log of the host: when it started and
    /// stopped, who was refused, and every warning of a session.
    Logs(logs::Logs),
    /// List, add and remove the agents of this house
    #[command(subcommand, after_help = "Example:\n  kith agent ls\n  kith agent new ux")]
    Agent(agent::AgentCommand),
    /// List, choose and test models
    #[command(subcommand, after_help = "Example:\n  kith model ls\n  kith model test")]
    Model(model::ModelCommand),
    /// Start a new session in this folder, empty or with the history of priming scripts
    New(prime::New),
    /// List, show, check and save priming scripts: histories a conversation can start with
    #[command(subcommand, after_help = "Example:\n  kith prime ls\n  kith prime save latest probe")]
    Prime(prime::Prime),
    /// List, show, search, verify, rename, export, repair, branch, clone and remove sessions
    #[command(subcommand, after_help = "Example:\n  kith session ls\n  kith session show latest")]
    Session(session::SessionCommand),
    /// List and show threads, and rebuild their files
    #[command(
        subcommand,
        after_help = "Example:\n  kith thread ls\n  kith thread show cli: --json"
    )]
    Thread(Thread),
    /// Print the system prompt of a new session, with its sources, without starting one
    Prompt(Prompt),
    /// List, show and check skills
    #[command(subcommand, after_help = "Example:\n  kith skill ls\n  kith skill check")]
    Skill(SkillCommand),
    /// Explain what the model was sent: each byte with its source, and what changed
    Why(why::Why),
    /// Explain where a value comes from, or what would be decided
    #[command(
        subcommand,
        after_help = "Example:\n  kith explain identity\n  \
                                        kith explain command \"cargo test\""
    )]
    Explain(explain::Explain),
    /// Run a command in the sandbox, as the agent's commands are run
    #[command(after_help = "Example:\n  kith sandbox -- make test\n  \
                            kith sandbox --network -- curl https://example.org")]
    Sandbox(sandbox::SandboxArgs),
    /// Check the agent's folder and this machine for problems (changes nothing)
    #[command(after_help = "Example:\n  kith doctor\n  kith doctor --verbose")]
    Doctor {
        /// Show what each line sums up: the protections of the sandbox, the files of the prompt
        #[arg(short, long)]
        verbose: bool,
    },
    /// Copy the agent's folder with its conversations, even while it is in use
    #[command(after_help = "Example:\n  kith backup ~/backups/my-agent\n  \
                            kith --home ~/backups/my-agent session ls")]
    Backup {
        /// Folder to create
        dir: PathBuf,
    },
    /// Manage projects: the folders you work in, with their sessions
    Project(project::ProjectArgs),
    /// Use a repository's `AGENTS.md` as your instructions, or mark a cloned house as yours
    Trust(trust::TrustArgs),
    /// Start the daemon: the agent answers in every terminal and on a web page
    ///
    /// It stays until Ctrl-C or `kith down`. Chats and commands attach to it.
    Up(up::Up),
    /// Stop the daemon when its turns have ended
    #[command(after_help = "Example:\n  kith down")]
    Down,
    /// Show whether kith is running for this agent, and the address of its page
    #[command(after_help = "Example:\n  kith status\n  kith status --json")]
    Status,
    /// Print a script that completes commands, options, sessions, agents, models and more
    Completions(completions::CompletionsArgs),
    /// Print the manual page of a command
    Man(completions::ManArgs),
    /// Print what could stand for the last of these words
    #[command(name = completions::COMPLETE, hide = true)]
    Complete(completions::Complete),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith init my-agent")]
pub(crate) struct Init {
    /// Folder to create or complete (`--home` works too)
    pub(crate) dir: Option<PathBuf>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Default, Args)]
#[command(after_help = "Example:\n  kith ask \"read README.md and tell me what it is\"\n  \
                        git diff | kith ask --new \"what could go wrong here?\"\n  \
                        kith ask --attach plan.png \"what is wrong here?\"\n  \
                        kith ask --prime probe \"what do you know of this machine?\"")]
pub(crate) struct Ask {
    /// Message to send; piped input follows it. `-` reads only stdin
    pub(crate) text: Vec<String>,
    #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION", conflicts_with_all = ["thread", "new"])]
    pub(crate) session: Option<String>,
    #[arg(long, help = THREAD, value_name = "THREAD")]
    pub(crate) thread: Option<String>,
    /// Start a new session of the thread
    #[arg(long)]
    pub(crate) new: bool,
    /// Start a new session with the history of this priming script (see `kith prime ls`); can be
    /// repeated. The earlier conversation stays in `kith session ls`
    #[arg(long, value_name = "SCRIPT", conflicts_with_all = ["session", "message_id", "expected_leaf"])]
    pub(crate) prime: Vec<String>,
    /// Message id; sending the same id again returns the first answer
    #[arg(long, value_name = "ID")]
    pub(crate) message_id: Option<String>,
    /// Send only if the conversation still ends here: the `leaf` of an answer, or `start`
    #[arg(long, value_name = "LEAF", conflicts_with = "new")]
    pub(crate) expected_leaf: Option<String>,
    /// Image (PNG, JPEG, GIF, WebP) or PDF to send along; can be repeated, 20 MiB together
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    #[arg(long, help = STREAM_JSON, conflicts_with = "json")]
    pub(crate) stream_json: bool,
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// The text is all there is to send: stdin belongs to somebody else.
    #[arg(skip)]
    pub(crate) is_whole: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith retry\n  kith retry --model demo\n  \
                        kith retry --session 4c1ec498")]
pub(crate) struct Retry {
    #[arg(long, help = SESSION_OR_CURRENT, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    #[arg(long, help = STREAM_JSON, conflicts_with = "json")]
    pub(crate) stream_json: bool,
    #[command(flatten)]
    pub(crate) model: ModelArg,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Thread {
    /// List threads, most recently active first
    #[command(after_help = "Example:\n  kith thread ls")]
    Ls,
    /// Show all sessions of a thread as a transcript, or as UI messages with `--json`
    #[command(after_help = "Example:\n  kith thread show cli:\n  kith thread show cli: --json")]
    Show {
        /// Thread id, or a unique beginning or end of one
        thread: String,
    },
    /// Rebuild thread files from the logs
    #[command(after_help = "Example:\n  kith thread rebuild")]
    Rebuild {
        /// Thread id, or a unique beginning or end of one; by default, all threads
        thread: Option<String>,
    },
    /// Compact thread files: keep only the latest version of each message
    #[command(after_help = "Example:\n  kith thread compact")]
    Compact {
        /// Thread id, or a unique beginning or end of one; by default, all threads
        thread: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum SkillCommand {
    /// List the skills in use in this folder
    #[command(after_help = "Example:\n  kith skill ls")]
    Ls,
    /// Print the SKILL.md of a skill
    #[command(after_help = "Example:\n  kith skill show tidy")]
    Show {
        /// Name of the skill, as printed by `kith skill ls`
        name: String,
    },
    /// Show which skills are left out, and why
    #[command(after_help = "Example:\n  kith skill check")]
    Check,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kith prompt\n  kith prompt --audience peer --json")]
pub(crate) struct Prompt {
    /// Audience to render the prompt for
    #[arg(long, value_enum, default_value_t = AudienceArg::Owner)]
    pub(crate) audience: AudienceArg,
    #[arg(long, help = CWD, value_name = "DIR")]
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
    /// Reads the command line, or gives the exit code: help, version and mistakes end here, before
    /// anything else starts.
    pub(crate) fn parse() -> Result<Invocation, ExitCode> {
        ui::configure(color_of_words(), false);
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
            Err(error) if asks_for_json() || slips::hint(&error).is_some() => {
                Err(ui::report_error(&in_one_line(&error), asks_for_json()))
            }
            Err(error) => {
                ui::styled_error(&error.render());
                Err(ExitCode::from(EXIT_USAGE))
            }
        }
    }
}

/// The expected leaf, as typed.
pub(crate) fn leaf_of(text: Option<&str>) -> Result<Option<LeafId>, CallError> {
    let read = |text: &str| {
        text.parse().map_err(|error: IdError| {
            CallError::usage(error.to_string())
                .hint("`kith ask --json` and `kith session show --json` print it as `leaf`")
        })
    };
    text.map(read).transpose()
}

/// What `--color` says, even if the command line cannot be parsed.
fn color_of_words() -> ColorChoice {
    let mut words = words().take_while(|word| word != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = match word.to_str() {
            Some("--color") => words.next(),
            Some(word) => word.strip_prefix("--color=").map(OsString::from),
            None => None,
        };
        let value = value.as_ref().and_then(|it| it.to_str());
        choice = value.and_then(|it| ColorChoice::from_str(it, false).ok()).unwrap_or(choice);
    }
    choice
}

/// Whether `--stream-json` was given, even if the command line cannot be parsed.
pub(crate) fn asks_for_stream() -> bool {
    words().take_while(|word| word != "--").any(|word| word == "--stream-json")
}

/// Whether `--json` was given, even if the command line cannot be parsed.
pub(crate) fn asks_for_json() -> bool {
    let mut words = words().take_while(|word| word != "--");
    words.any(|word| word == "--json" || word == "--stream-json")
}

fn words() -> impl Iterator<Item = OsString> {
    env::args_os()
}

/// The first paragraph of the error, and the tip if there is one: the rest repeats the help.
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
    if let Some(hint) = slips::hint(error) {
        return CallError::usage(message).hint(hint);
    }
    let tip = paragraphs.iter().find_map(|it| it.strip_prefix("tip: "));
    CallError::usage(message).hint(tip.unwrap_or("run it with `--help` to see the usage"))
}

#[cfg(test)]
mod tests;
