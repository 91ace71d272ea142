//! What a person is asked before a repository speaks to their agent for the first time.
//!
//! Only at the start of a conversation and only at a terminal; elsewhere it is told, and left out.
//! A no is not written down: the next conversation asks again.

use std::io::{self, BufRead};

use kith_home::error::Problem;
use kith_home::trust::{remember, repository_of};
use kith_sessions::desk::Desk;
use kith_vocab::clock::Clock;
use kith_vocab::header::Audience;
use tokio_util::sync::CancellationToken;

use crate::client::{Client, Request};
use crate::clock::SystemClock;
use crate::door::Door;
use crate::house::House;
use crate::opening;
use crate::report::{Blame, Report};
use crate::screen::Quiet;
use crate::team::Member;
use crate::trust::{Standing, folders_of};
use crate::ui;

/// An answer is one word; what is longer is none.
const ANSWER_BYTES_MAX: u64 = 1024;

/// Asks about a house that came with a repository. After a no it is refused as everywhere.
pub(super) fn of_house(house: &House) -> Result<(), Report> {
    let Standing::Stranger(root) = Standing::of(house) else { return Ok(()) };
    let Some(user_home) = house.real_user_home() else { return Ok(()) };
    let question = format!(
        "The agent here came with the repository `{}`. If you trust it, its files speak to the \
         model as you,\nand its kith.toml says where keys and words go. Trust it? [y/N] ",
        root.display()
    );
    if asked(&question)? {
        remember(&user_home, &root, SystemClock.now())?;
    }
    Ok(())
}

/// Asks about the repository one stands in, if it has something to say and nobody said that it may.
pub(super) async fn of_repository(
    door: &Door,
    (house, member): (&House, &Member),
) -> Result<(), Report> {
    if repository_of(&house.cwd, house.real_user_home().as_deref()).is_none() {
        return Ok(());
    }
    // A desk that cannot be read is told of by whoever needs it.
    let Ok(desk) = Desk::open_read_only(&house.desk_path()).await else { return Ok(()) };
    let trusted = folders_of(house, desk.as_ref()).await?;
    drop(desk);
    let now = SystemClock.now();
    let assembled = opening::assemble((house, member), &house.cwd, Audience::Owner, now, &trusted)?;
    let problems = assembled.reports.iter().flat_map(|report| &report.problems);
    let root = problems.clone().find_map(|problem| match problem {
        Problem::RepositoryNotTrusted { root } => Some(root),
        _ => None,
    });
    // A path that is not text cannot be noted; what lies there is left out and told.
    let Some((root, path)) = root.and_then(|root| Some((root, root.to_str()?))) else {
        return Ok(());
    };
    let n_files = problems.filter(|it| matches!(it, Problem::RepositoryNotTrusted { .. })).count();
    let question = format!(
        "The repository `{}` has {n_files} AGENTS.md for this folder, and is not trusted yet. May \
         it speak\nto the model as you? [y/N] ",
        root.display()
    );
    if !asked(&question)? {
        ui::error_line("(left out; `kith trust .` changes that)");
        return Ok(());
    }
    let request = Request::TrustRepository { path: path.to_owned() };
    door.call(request, &Quiet, &CancellationToken::new()).await.map(drop)
}

fn asked(question: &str) -> Result<bool, Report> {
    ui::prompt(&ui::visible(question));
    let mut answer = String::new();
    // The rest of a longer line is not lost: the conversation reads on from there.
    let mut line = io::Read::take(io::stdin().lock(), ANSWER_BYTES_MAX);
    line.read_line(&mut answer).map_err(|source| {
        let message = format!("cannot read what was typed: {source}");
        Report::new(Blame::Environment, "filesystem_error", message)
    })?;
    Ok(is_yes(&answer))
}

/// Only a plain yes is one.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes" | "是" | "好" | "同意")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        for yes in ["y", "Y\n", " yes ", "YES\r\n", "同意"] {
            assert!(is_yes(yes), "{yes}");
        }
        for no in ["", "\n", "n", "no", "yeah but no", "ye", "不", "y n", "hello"] {
            assert!(!is_yes(no), "{no}");
        }
    }
}
