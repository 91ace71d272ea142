//! What the owner said of this house and of the repositories it works in.
//!
//! A clone can bring an agent, its settings and even a desk. So whether a house is the owner's is
//! asked of the user's own folder, before the house is touched; what the house's desk says of other
//! repositories counts only then.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use kith_home::error::HomeError;
use kith_home::trust::{self, Remembered};
use kith_sessions::desk::{Desk, Repository};

use crate::house::House;
use crate::models::OPENAI_URL;
use crate::report::{Blame, Report, quoted};

/// Why this house is or is not taken as the owner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// `--home` or `KITH_HOME` names it.
    Named,
    /// The owner made it or trusted it.
    Remembered(Remembered),
    /// No repository holds it. It is taken as the owner's, but it may send nothing elsewhere.
    Alone,
    /// It belongs to this repository.
    Stranger(PathBuf),
}

impl Standing {
    pub(crate) fn of(house: &House) -> Standing {
        if house.is_named {
            return Standing::Named;
        }
        let user_home = house.real_user_home();
        let repository = trust::repository_of(&house.dir, user_home.as_deref());
        // Outside a repository, what was said of a folder above is not about this house.
        let within = repository.as_deref().unwrap_or(&house.dir);
        let said = user_home.map(|it| trust::remembered(&it, &house.dir)).unwrap_or_default();
        let reaching = said.into_iter().find(|it| it.folder.starts_with(within));
        match (reaching, repository) {
            (Some(remembered), _) => Standing::Remembered(remembered),
            (None, Some(root)) => Standing::Stranger(root),
            (None, None) => Standing::Alone,
        }
    }

    /// Refuses settings that nobody vouched for if they would send something to another machine.
    /// `addresses` are those of the models in the house's `kith.toml`.
    pub(crate) fn require_for(
        &self,
        house: &House,
        addresses: &[(String, String)],
    ) -> Result<(), Report> {
        let elsewhere = addresses.iter().find(|(_, url)| is_elsewhere(url));
        let Some((name, url)) = elsewhere else { return Ok(()) };
        let path = house.dir.join("kith.toml");
        if trust::doubt_about(&path).is_some() {
            let message = format!(
                "`{}` sends what is said to `{url}`, and another user wrote it or could have",
                path.display()
            );
            let fix = format!("look at it, then `chown $USER {0}; chmod go-w {0}`", quoted(&path));
            return Err(Report::new(Blame::Request, "untrusted", message).hint(fix));
        }
        if *self != Standing::Alone {
            return Ok(());
        }
        let message = format!(
            "`{}` would send what is said to `{url}` (`[models.{name}]`), and nothing says that \
             you wrote it",
            path.display()
        );
        Err(Report::new(Blame::Request, "untrusted", message)
            .hint(format!("`kith trust {}` if this house is yours", quoted(&house.dir))))
    }
}

/// Refuses a house that came with a repository, before anything of it is read.
pub(crate) fn require(house: &House) -> Result<Standing, Report> {
    match Standing::of(house) {
        Standing::Stranger(root) => {
            Err(HomeError::Untrusted { home: house.dir.clone(), root }.into())
        }
        standing => Ok(standing),
    }
}

/// The folders whose files may speak: the house's, and the repositories of its desk that are still
/// the ones they were.
pub(crate) fn folders(house: &House, repositories: &[Repository]) -> Vec<PathBuf> {
    with_repositories(own_folder(house), repositories)
}

/// The folder that is the owner's because the house is.
pub(crate) fn own_folder(house: &House) -> Option<PathBuf> {
    match Standing::of(house) {
        Standing::Named => Some(house.dir.clone()),
        Standing::Remembered(remembered) => Some(remembered.folder),
        Standing::Alone | Standing::Stranger(_) => None,
    }
}

/// Whether what is read in this folder is the owner's: in no repository, or in one that is trusted.
pub(crate) fn is_the_owners(house: &House, trusted: &[PathBuf], folder: &Path) -> bool {
    // A folder that is gone shows nobody's words.
    let Ok(folder) = folder.canonicalize() else { return true };
    match trust::repository_of(&folder, house.real_user_home().as_deref()) {
        Some(root) => trust::reaches(trusted, &folder, &root),
        None => true,
    }
}

/// The house's own folder, and the repositories that are still the ones they were.
pub(crate) fn with_repositories(own: Option<PathBuf>, repositories: &[Repository]) -> Vec<PathBuf> {
    let is_same = |it: &&Repository| {
        let mark = trust::mark(Path::new(&it.path));
        mark.is_ok_and(|mark| mark == it.mark)
    };
    let others = repositories.iter().filter(is_same).map(|it| PathBuf::from(&it.path));
    own.into_iter().chain(others).collect()
}

/// The same, from a desk that is only read.
pub(crate) async fn folders_of(house: &House, desk: Option<&Desk>) -> Result<Vec<PathBuf>, Report> {
    let repositories = match desk {
        Some(desk) => desk.repositories().await?,
        None => Vec::new(),
    };
    Ok(folders(house, &repositories))
}

/// Whether a model at this address is on another machine, and not the vendor's own. Whatever is not
/// certainly here is elsewhere.
fn is_elsewhere(url: &str) -> bool {
    if url.trim_end_matches('/') == OPENAI_URL {
        return false;
    }
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let authority = rest.unwrap_or_default().split('/').next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix("[::1]") {
        Some(port) => ("[::1]", port),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|it| it.parse::<u16>().is_ok());
    let is_here = match host {
        "localhost" | "[::1]" => true,
        host => host.parse::<Ipv4Addr>().is_ok_and(|it| IpAddr::V4(it).is_loopback()),
    };
    !(is_here && is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_on_this_machine_is_here() {
        check("http://localhost:11434/v1", false);
        check("http://127.0.0.1:8080", false);
        check("https://127.1.2.3/v1", false);
        check("http://[::1]:80/v1", false);
        check("https://api.openai.com/v1/", false);
        for url in [
            "https://evil.example/v1",
            "http://localhost.evil.example/v1",
            "http://localhost@evil.example/v1",
            "http://127.0.0.1:80@evil.example/",
            "http://127.0.0.1\\@evil.example/",
            "http://localhost?@evil.example/",
            "http://localhost#.evil.example/",
            "http://[::1].evil.example/",
            "http://[::2]/",
            "http://0.0.0.0/",
            "http://192.168.1.2/",
            "HTTP://evil.example/",
            "//localhost/",
            "localhost",
            " http://localhost/",
            "http:///localhost",
            "",
            "https://api.openai.com/v1.evil.example",
        ] {
            check(url, true);
        }
    }

    #[track_caller]
    fn check(url: &str, elsewhere: bool) {
        assert_eq!(is_elsewhere(url), elsewhere, "{url}");
    }
}
