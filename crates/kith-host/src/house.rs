//! The house: the folder one host works in, and how it is found.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use kith_home::error::HomeError;
use kith_home::house::{find_house, is_home};
use kith_home::trust::repository_of;
use kith_vocab::ids::ThreadId;
use sha2::{Digest, Sha256};

use crate::error::{Blame, CallError, ErrorCode, quoted};
use crate::settings::{self, Settings};
use crate::trust::HouseClaim;

/// The agent of a house that names none.
pub const AGENT_ID: &str = "main";
/// The thread of the house's own folder; those of folders inside it follow after a slash.
const HOUSE_ROOM: &str = "cli:room:.";
/// The person at this machine.
pub const OWNER_ID: &str = "owner";

#[derive(Clone, Debug)]
pub struct House {
    /// With one agent, the house is usually also its home.
    pub dir: PathBuf,
    pub cwd: PathBuf,
    pub user_home: Option<PathBuf>,
}

impl House {
    /// The house named on the command line, else the nearest one, else the user's default one.
    pub fn find(named: Option<&Path>) -> Result<House, CallError> {
        let cwd = current_dir()?;
        let user_home = user_home();
        // An empty name is a variable that somebody tried to take away.
        let named = named.filter(|dir| !dir.as_os_str().is_empty());
        let dir = match named {
            Some(dir) => resolve(dir)?,
            None => match find_house(&cwd, user_home.as_deref()) {
                Some(dir) => dir,
                None => default_house(user_home.as_deref())?.ok_or_else(|| no_agent(&cwd))?,
            },
        };
        refuse_users_home(&dir, user_home.as_deref())?;
        let house = House { dir, cwd, user_home };
        house.require_an_agent()?;
        Ok(house)
    }

    /// `~` as paths that were resolved spell it.
    pub fn real_user_home(&self) -> Option<PathBuf> {
        // One that does not exist holds nothing.
        self.user_home.as_ref().and_then(|it| it.canonicalize().ok())
    }

    /// The folders whose files a conversation in this folder may name: the working folder or its
    /// repository, and the agent's home. Tools read the same, and skills besides.
    pub fn readable_roots(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let cwd = self.cwd.canonicalize().unwrap_or_else(|_| self.cwd.clone());
        let project = repository_of(&cwd, self.real_user_home().as_deref()).unwrap_or(cwd);
        [Some(project), home.map(Path::to_owned)].into_iter().flatten().collect()
    }

    pub fn kith_dir(&self) -> PathBuf {
        self.dir.join(".kith")
    }

    pub fn desk_path(&self) -> PathBuf {
        self.kith_dir().join("state.db")
    }

    /// The thread of the folder the person is in. Inside the house it is named by the path from there,
    /// so that the conversation is found again when the house is moved.
    pub fn thread_of_cwd(&self) -> Result<ThreadId, CallError> {
        let inside = self.cwd.strip_prefix(&self.dir).ok().and_then(Path::to_str);
        let inside = inside.and_then(|path| match path {
            "" => HOUSE_ROOM.parse().ok(),
            // A path that cannot be an id (very long, or with control characters) has none.
            path => format!("{HOUSE_ROOM}/{path}").parse().ok(),
        });
        inside.map_or_else(|| room_of_path(&self.cwd), Ok)
    }

    /// The name that older versions gave to the thread of a folder inside the house.
    pub fn former_thread(&self, thread: &ThreadId) -> Option<ThreadId> {
        let inside = thread.as_str().strip_prefix(HOUSE_ROOM)?;
        let folder = match inside.strip_prefix('/') {
            Some(path) => self.dir.join(path),
            None if inside.is_empty() => self.dir.clone(),
            None => return None,
        };
        room_of_path(&folder).ok()
    }

    /// Before anything is made: a folder named by mistake must not get a `.kith`. Where an agent
    /// once lived its sessions go on, also without the files they began with.
    fn require_an_agent(&self) -> Result<(), CallError> {
        // A folder that may not be looked into is not one without an agent.
        match fs::metadata(self.dir.join("Agent.md")) {
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                let path = self.dir.clone();
                return Err(HomeError::OpenFolder { path, source }.into());
            }
            _ => (),
        }
        if self.dir.join("Agent.md").is_file() || self.desk_path().exists() {
            return Ok(());
        }
        if self.dir.join("kith.toml").is_file() {
            if is_home(&self.dir) {
                return Ok(());
            }
            // Settings of a foreign repository are not read: whoever needs them refuses, and `kith trust`
            // must get as far as asking.
            if matches!(HouseClaim::of(self), HouseClaim::ForeignRepository(_)) {
                return Ok(());
            }
            // The agents of a team need not live in the house's own folder.
            let team = Settings::peek(self)?.team;
            let has_absent = team.absent().next().is_some();
            if has_absent || team.members().any(|member| is_home(&member.home)) {
                return Ok(());
            }
        }
        Err(HomeError::NotAHome { path: self.dir.clone() }.into())
    }
}

/// `.kith` in the user's home belongs to all houses, and tools could read everything beneath it.
pub fn refuse_users_home(dir: &Path, user_home: Option<&Path>) -> Result<(), CallError> {
    let real = |path: &Path| path.canonicalize().ok();
    if user_home.and_then(real).is_none_or(|home| Some(home) != real(dir)) {
        return Ok(());
    }
    Err(CallError::invalid("your home folder cannot be an agent's house")
        .hint("give the agent a folder of its own: `kith init ~/my-agent`"))
}

/// The folder that the user's own settings name for where there is no house.
fn default_house(user_home: Option<&Path>) -> Result<Option<PathBuf>, CallError> {
    let Some((dir, place)) = settings::default_house(user_home)? else { return Ok(None) };
    match dir.canonicalize() {
        Ok(real) if real.is_dir() => Ok(Some(real)),
        _ => {
            let message = format!("there is no folder `{}`, your default house", dir.display());
            let error = settings::refused(Some(&place), &message);
            Err(CallError { code: ErrorCode::HomeNotFound, ..error }
                .hint("name the folder where your agent is now, or remove the line"))
        }
    }
}

fn no_agent(cwd: &Path) -> CallError {
    let message = format!("no agent in `{}` or any folder above it", cwd.display());
    CallError::request(ErrorCode::HomeNotFound, message)
        .hint("create one with `kith init my-agent`; the first becomes your agent in every folder")
}

fn room_of_path(folder: &Path) -> Result<ThreadId, CallError> {
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    let bytes = digest.iter().take(8);
    let number = bytes.fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    format!("cli:room:{number:016x}")
        .parse()
        .map_err(|error| CallError::new(Blame::Program, ErrorCode::InternalError, error))
}

pub fn user_home() -> Option<PathBuf> {
    env::home_dir().filter(|dir| dir.is_absolute())
}

fn resolve(named: &Path) -> Result<PathBuf, CallError> {
    let not_found = |message: String| CallError::request(ErrorCode::HomeNotFound, message);
    let dir = named.canonicalize().map_err(|source| {
        not_found(format!("cannot find the house `{}`: {source}", named.display()))
            .hint(format!("`kith init {}` creates an agent there", quoted(named)))
    })?;
    if !dir.is_dir() {
        return Err(not_found(format!("the house `{}` is not a folder", named.display()))
            .hint("name the agent's folder"));
    }
    Ok(dir)
}

fn current_dir() -> Result<PathBuf, CallError> {
    let cwd = env::current_dir().and_then(|dir| dir.canonicalize());
    cwd.map_err(|source| {
        let message = format!("cannot determine the current folder: {source}");
        CallError::filesystem(message).hint("`cd` into a folder that exists")
    })
}
