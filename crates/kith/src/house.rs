//! The folder one host works in, and what is around it.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use kith_home::error::HomeError;
use kith_home::house::{find_house, is_home};
use kith_vocab::ids::ThreadId;
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::report::{Blame, Report, quoted};
use crate::trust::Standing;

/// The agent of a house that names none.
pub(crate) const AGENT_ID: &str = "main";
/// The person at this machine.
pub(crate) const OWNER_ID: &str = "owner";

#[derive(Clone, Debug)]
pub(crate) struct House {
    /// With one agent, the house is usually also its home.
    pub(crate) dir: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) user_home: Option<PathBuf>,
    /// Whether somebody said which one it is, instead of standing in it.
    pub(crate) is_named: bool,
}

impl House {
    /// The house named on the command line, else the nearest one.
    pub(crate) fn find(named: Option<&Path>) -> Result<House, Report> {
        let cwd = current_dir()?;
        let user_home = user_home();
        // An empty name is a variable that somebody tried to take away.
        let named = named.filter(|dir| !dir.as_os_str().is_empty());
        let is_named = named.is_some();
        let dir = match named {
            Some(dir) => resolve(dir)?,
            None => find_house(&cwd, user_home.as_deref()).ok_or_else(|| {
                let message = format!("there is no agent in `{}` or above it", cwd.display());
                Report::new(Blame::Request, "home_not_found", message)
                    .hint("`kith init my-agent` makes one, then `cd my-agent`")
            })?,
        };
        let house = House { dir, cwd, user_home, is_named };
        house.require_an_agent()?;
        Ok(house)
    }

    /// `~` as paths that were resolved spell it.
    pub(crate) fn real_user_home(&self) -> Option<PathBuf> {
        // One that does not exist holds nothing.
        self.user_home.as_ref().and_then(|it| it.canonicalize().ok())
    }

    pub(crate) fn kith_dir(&self) -> PathBuf {
        self.dir.join(".kith")
    }

    pub(crate) fn desk_path(&self) -> PathBuf {
        self.kith_dir().join("state.db")
    }

    /// The thread of the folder the person is in.
    pub(crate) fn thread_of_cwd(&self) -> Result<ThreadId, Report> {
        let digest = Sha256::digest(self.cwd.as_os_str().as_encoded_bytes());
        let bytes = digest.iter().take(8);
        let number = bytes.fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
        format!("cli:room:{number:016x}")
            .parse()
            .map_err(|error| Report::new(Blame::Program, "internal_error", error))
    }

    /// Before anything is made: a folder named by mistake must not get a `.kith`. Where an agent
    /// once lived its sessions go on, also without the files they began with.
    fn require_an_agent(&self) -> Result<(), Report> {
        // A folder that may not be looked into is not one without an agent.
        match fs::metadata(self.dir.join("Agent.md")) {
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                let path = self.dir.clone();
                return Err(HomeError::OpenFolder { path, source }.into());
            }
            _ => (),
        }
        if is_home(&self.dir) || self.desk_path().exists() {
            return Ok(());
        }
        if self.dir.join("kith.toml").is_file() {
            // Settings of a stranger are not read: whoever needs them refuses, and `kith trust`
            // must get as far as asking.
            if matches!(Standing::of(self), Standing::Stranger(_)) {
                return Ok(());
            }
            // The agents of a team need not live in the house's own folder.
            if Config::glance(self)?.team.members().any(|member| is_home(&member.home)) {
                return Ok(());
            }
        }
        Err(HomeError::NotAHome { path: self.dir.clone() }.into())
    }
}

pub(crate) fn user_home() -> Option<PathBuf> {
    env::home_dir().filter(|dir| dir.is_absolute())
}

fn resolve(named: &Path) -> Result<PathBuf, Report> {
    let not_found = |message: String| Report::new(Blame::Request, "home_not_found", message);
    let dir = named.canonicalize().map_err(|source| {
        not_found(format!("cannot find the house `{}`: {source}", named.display()))
            .hint(format!("`kith init {}` makes an agent there", quoted(named)))
    })?;
    if !dir.is_dir() {
        return Err(not_found(format!("the house `{}` is not a folder", named.display()))
            .hint("name the folder the agent lives in"));
    }
    Ok(dir)
}

fn current_dir() -> Result<PathBuf, Report> {
    let cwd = env::current_dir().and_then(|dir| dir.canonicalize());
    cwd.map_err(|source| {
        let message = format!("cannot tell which folder this is: {source}");
        Report::new(Blame::Environment, "filesystem_error", message)
            .hint("`cd` into a folder that exists")
    })
}
