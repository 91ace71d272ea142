//! The question whether a repository is trusted, when a chat starts in it for the first time.
//!
//! Only at the start of a conversation and only at a terminal; elsewhere it is told, and left out.
//! A no is not written down: the next conversation asks again.

use std::io::{self, BufRead};

use kith_host::calls::trust::{FindUntrusted, TrustRepository};
use kith_host::client::Client;
use kith_host::error::{Blame, CallError, ErrorCode};
use kith_host::house::House;
use kith_host::vouching;

use crate::program::ui;

/// Limit on what is read as an answer, which is one word.
const ANSWER_BYTES_MAX: u64 = 1024;

/// Asks about a house that came with a repository. After a no it is refused as everywhere.
pub(super) fn of_house(house: &House) -> Result<(), CallError> {
    let Some(root) = vouching::stranger(house) else { return Ok(()) };
    let question = format!(
        "The agent here came with the repository `{}`. If you trust it, its files count as \
         your\ninstructions, and its kith.toml decides where your messages and keys go. Trust \
         it? [y/N] ",
        root.display()
    );
    if asked(&question)? {
        vouching::vouch(house, &root)?;
    }
    Ok(())
}

/// Asks about the repository one stands in, if it has something to say and nobody said that it may.
pub(super) async fn of_repository(
    client: &Client,
    agent_id: &str,
    cwd: &str,
) -> Result<(), CallError> {
    let find = FindUntrusted { agent_id: Some(agent_id.to_owned()), cwd: cwd.to_owned() };
    // What cannot be read is told of by whoever needs it.
    let Ok(found) = client.call(find).await else { return Ok(()) };
    let Some(repository) = found.data.repository else { return Ok(()) };
    let question = format!(
        "The repository `{}` has {} AGENTS.md for this folder and is not trusted yet.\nTreat it \
         as your instructions? [y/N] ",
        repository.path, repository.files
    );
    if !asked(&question)? {
        ui::error_line("(ignored; run `kith trust .` to use it)");
        return Ok(());
    }
    client.call(TrustRepository { path: repository.path }).await.map(drop)
}

fn asked(question: &str) -> Result<bool, CallError> {
    ui::prompt(&ui::visible(question));
    let mut answer = String::new();
    // The rest of a longer line is not lost: the conversation reads on from there.
    let mut line = io::Read::take(io::stdin().lock(), ANSWER_BYTES_MAX);
    line.read_line(&mut answer).map_err(|source| {
        let message = format!("cannot read from the terminal: {source}");
        CallError::new(Blame::Environment, ErrorCode::FilesystemError, message)
    })?;
    Ok(is_yes(&answer))
}

/// Whether the answer is a plain yes.
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
