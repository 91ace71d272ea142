//! `kith completions`, `kith man`, and what completion scripts call.

use std::process::ExitCode;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use kith_host::agents;
use kith_host::calls::agent::ListSkillsInForce;
use kith_host::calls::priming::ListScripts;
use kith_host::calls::session::ListSessions;
use kith_host::calls::thread::ListThreads;
use kith_host::error::CallError;
use kith_host::models::list_models;
use kith_host::settings::Settings;
use kith_host::words::short;

use super::forms::{CompletionsForm, ManForm, ManListForm};
use super::{CommandResult, call, follow, house_of, print_form};
use crate::program::args::completions::{COMPLETE, Complete, CompletionsArgs, ManArgs, Shell};
use crate::program::args::{GlobalArgs, Invocation};
use crate::program::completing::{Completion, HouseWords, ShellWord, complete};
use crate::program::ui;

/// Maximum number of words that are offered: nobody reads more.
const CANDIDATES_MAX: usize = 200;

// Each script hands the words to `kith`, which knows all there is to complete. So a script never has to be
// made anew, and all shells complete the same. Without an answer they complete file names.
const BASH: &str = include_str!("completions/kith.bash");
const ZSH: &str = include_str!("completions/kith.zsh");
const FISH: &str = include_str!("completions/kith.fish");

const EXIT_STATUS: &str = "\
.SH \"EXIT STATUS\"
.TP
0
done
.TP
1
the request cannot be met
.TP
2
wrong usage
.TP
3
the environment failed: disk, network or model server
.TP
4
the turn ended early: at a limit, or it waits for a person
.TP
70
a bug in kith
.TP
130
stopped with Ctrl\\-C
";

pub(crate) fn run(shared: &GlobalArgs, args: &CompletionsArgs) -> ExitCode {
    let (shell, script) = match args.shell {
        Shell::Bash => ("bash", BASH),
        Shell::Zsh => ("zsh", ZSH),
        Shell::Fish => ("fish", FISH),
    };
    if shared.json {
        print_form(true, &CompletionsForm { shell: shell.to_owned(), script: script.to_owned() });
    } else {
        ui::document(script);
    }
    ExitCode::SUCCESS
}

pub(crate) fn man(shared: &GlobalArgs, args: &ManArgs) -> CommandResult {
    let root = built();
    if args.list {
        let mut pages = Vec::new();
        each_command(&root, &mut |command| pages.push(page_name(command)));
        if shared.json {
            print_form(true, &ManListForm { pages });
        } else {
            ui::lines(pages);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = &root;
    for word in &args.command {
        command = command.find_subcommand(word).filter(|it| is_shown(it)).ok_or_else(|| {
            CallError::usage(format!("`{}` has no command `{word}`", page_name(command)))
                .hint("`kith man --list` lists the pages")
        })?;
    }
    let name = page_name(command);
    let page = page(command)?;
    if shared.json {
        print_form(true, &ManForm { name, page });
    } else {
        ui::document(&page);
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a candidate on each line, with what it means after a tab. What goes wrong is nobody's business
/// while a person types.
pub(crate) async fn complete_words(args: Complete) -> CommandResult {
    let words: Vec<String> = args.words.iter().map(|it| it.to_string_lossy().into()).collect();
    let mut completion = complete(&built(), &words);
    completion.candidates.extend(of_house(&completion).await);
    let Completion { typed, before, candidates, .. } = completion;
    let fitting = candidates.into_iter().filter(|it| it.word.starts_with(&typed));
    let lines: Vec<String> = fitting
        .take(CANDIDATES_MAX)
        .map(|ShellWord { word, about }| format!("{before}{word}\t{}", one_line(&about)))
        .collect();
    if !lines.is_empty() {
        ui::lines(lines);
    }
    Ok(ExitCode::SUCCESS)
}

async fn of_house(completion: &Completion) -> Vec<ShellWord> {
    let Some(words) = completion.of_house else { return Vec::new() };
    let shared = GlobalArgs {
        home: completion.home.as_ref().map(Into::into),
        agent: completion.agent.clone(),
        ..GlobalArgs::default()
    };
    let always: &[(&str, &str)] = match words {
        HouseWords::Sessions => {
            &[("current", "this folder's conversation"), ("latest", "the newest one")]
        }
        _ => &[],
    };
    let mut found = candidates(always.iter().copied());
    found.extend(house_words(&shared, words).await.unwrap_or_default());
    found
}

async fn house_words(shared: &GlobalArgs, words: HouseWords) -> Result<Vec<ShellWord>, CallError> {
    let agent_id = shared.agent_id();
    Ok(match words {
        HouseWords::Sessions => {
            let listed = follow(shared, ListSessions { agent_id }, |_| ()).await?;
            let rows = listed.data.sessions.into_iter();
            candidates(rows.map(|row| (short(row.session_id), row.title.unwrap_or_default())))
        }
        HouseWords::Agents => {
            let rows = agents::list(&house_of(shared)?)?;
            candidates(rows.into_iter().map(|row| (row.agent_id, row.home.unwrap_or_default())))
        }
        HouseWords::Models => {
            // Not through the call, which also looks for servers on this machine.
            let rows = list_models(&Settings::load(&house_of(shared)?)?)?.models.into_iter();
            candidates(rows.map(|row| (row.name, row.model)))
        }
        HouseWords::Scripts => {
            let rows = call(shared, ListScripts { agent_id, query: None }).await?.data.scripts;
            let title = |it: Option<String>| it.unwrap_or_default();
            candidates(rows.into_iter().filter_map(|it| Some((it.script_ref?, title(it.title)))))
        }
        HouseWords::Skills => {
            let cwd = house_of(shared)?.cwd.display().to_string();
            let rows =
                call(shared, ListSkillsInForce { agent_id, cwd }).await?.data.skills.into_iter();
            candidates(rows.map(|it| (it.name, it.description)))
        }
        HouseWords::Threads => {
            let rows = call(shared, ListThreads { agent_id }).await?.data.threads.into_iter();
            candidates(rows.map(|it| (it.thread_id.to_string(), it.title.unwrap_or_default())))
        }
    })
}

fn candidates<W: Into<String>, A: Into<String>>(
    words: impl IntoIterator<Item = (W, A)>,
) -> Vec<ShellWord> {
    let candidate = |(word, about): (W, A)| ShellWord { word: word.into(), about: about.into() };
    words.into_iter().map(candidate).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The description of the command line, with global options in every command.
fn built() -> Command {
    let mut root = Invocation::command();
    root.build();
    root
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help" && command.get_name() != COMPLETE
}

fn each_command(command: &Command, take: &mut impl FnMut(&Command)) {
    take(command);
    for command in command.get_subcommands().filter(|it| is_shown(it)) {
        each_command(command, take);
    }
}

/// `kith-session-ls`
fn page_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn page(command: &Command) -> Result<String, CallError> {
    let name = page_name(command);
    let mut page = Vec::new();
    Man::new(command.clone().version(env!("CARGO_PKG_VERSION")))
        .title(name)
        .render(&mut page)
        .map_err(CallError::filesystem)?;
    page.extend_from_slice(EXIT_STATUS.as_bytes());
    Ok(String::from_utf8_lossy(&page).into_owned())
}
