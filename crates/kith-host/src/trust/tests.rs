//! Whose text is read, for every place a repository may be in.

use std::fs;
use std::os::unix::fs::symlink;

use kith_home::trust::{record_trust, remove_trust};
use tempfile::TempDir;

use super::*;

/// A user with a house `h` and other folders; the names end in `/` for folders.
struct Places {
    _dir: TempDir,
    root: PathBuf,
    house: House,
}

impl Places {
    fn new(names: &[&str]) -> Places {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("user/h")).unwrap();
        for name in names {
            let path = root.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "x").unwrap();
            }
        }
        let (cwd, user_home) = (root.join("user/h"), Some(root.join("user")));
        let house = House { dir: cwd.clone(), cwd, user_home };
        Places { _dir: dir, root, house }
    }

    /// Trusts the house's own folder or one above it.
    fn claim(self, name: &str) -> Places {
        record_trust(&self.root.join("user"), &self.root.join(name), 1).unwrap();
        self
    }

    fn repository(&self, name: &str) -> Repository {
        let path = self.root.join(name);
        let mark = folder_fingerprint(&path).unwrap();
        Repository { path: path.to_str().unwrap().to_owned(), mark, trusted_at: 1 }
    }

    #[track_caller]
    fn check(&self, trusted: &[&str], expected: &[(&str, Trust)]) {
        let repositories: Vec<_> = trusted.iter().map(|it| self.repository(it)).collect();
        let view = TrustView::new(&self.house, &repositories);
        // Twice, because what was found out is remembered.
        for (name, trust) in expected.iter().chain(expected) {
            assert_eq!(view.trust_of_path(&self.root.join(name)), *trust, "{name}");
        }
    }
}

const OWNER: Trust = Trust::Owner;
const UNTRUSTED: Trust = Trust::Untrusted;

#[test]
fn a_clone_inside_the_house_is_untrusted_unless_it_is_trusted_itself() {
    let places = Places::new(&["user/h/clone/.git/HEAD", "user/h/clone/x", "user/h/clone/src/y"]);
    let inside =
        |trust| [("user/h/clone/x", trust), ("user/h/clone/src/y", trust), ("user/h/clone", trust)];
    places.check(&[], &inside(UNTRUSTED));
    places.check(&["user/h/clone"], &inside(OWNER));
    places.check(&[], &[("user/h/note", OWNER), ("user/h", OWNER), ("user/h/clonex", OWNER)]);
    let places = places.claim("user/h");
    places.check(&[], &inside(UNTRUSTED));
}

#[test]
fn every_kind_of_repository_counts_as_folder_or_as_file() {
    for mark in [".git/", ".hg/", ".jj/", ".svn/", ".git"] {
        let places = Places::new(&[&format!("user/h/clone/{mark}"), "user/h/clone/x"]);
        places.check(&[], &[("user/h/clone/x", UNTRUSTED), ("user/h/x", OWNER)]);
    }
}

#[test]
fn a_house_in_a_repository_is_the_owners_and_what_lies_around_it_is_not() {
    let places = Places::new(&["user/.git/", "repo/.git/", "repo/luna/sub/.git/"]);
    // The user's own home is nobody else's, also as a repository.
    places.check(&[], &[("user/h/x", OWNER), ("user/x", OWNER)]);
    let house = House { dir: places.root.join("repo/luna"), ..places.house.clone() };
    let places = Places { house, ..places }.claim("repo/luna");
    let around = [("repo/x", UNTRUSTED), ("repo", UNTRUSTED), ("repo/lunatic", UNTRUSTED)];
    places.check(&[], &around);
    places.check(&[], &[("repo/luna/x", OWNER), ("repo/luna/sub/x", UNTRUSTED)]);
    places.check(&["repo"], &[("repo/x", OWNER), ("repo/luna/sub/x", UNTRUSTED)]);
}

#[test]
fn a_link_belongs_where_it_leads_and_a_path_that_leads_nowhere_certain_is_untrusted() {
    let places = Places::new(&["src/clone/.git/", "src/clone/x"]);
    symlink(places.root.join("src/clone"), places.root.join("user/h/link")).unwrap();
    places.check(&[], &[("user/h/link/x", UNTRUSTED), ("src/clone/gone/x", UNTRUSTED)]);
    places.check(&[], &[("user/h/gone/x", OWNER), ("user/h/../../src/clone/x", UNTRUSTED)]);
    let view = TrustView::new(&places.house, &[]);
    assert_eq!(view.trust_of_path(Path::new("h/x")), UNTRUSTED);
}

#[test]
fn a_repository_that_is_made_later_is_seen() {
    let places = Places::new(&["user/h/clone/x"]);
    let view = TrustView::new(&places.house, &[]);
    let path = places.root.join("user/h/clone/x");
    assert_eq!(view.trust_of_path(&path), OWNER);
    fs::create_dir(places.root.join("user/h/clone/.git")).unwrap();
    assert_eq!(view.trust_of_path(&path), UNTRUSTED);
}

#[test]
fn a_repository_within_the_house_is_untrusted_until_the_owner_trusts_it() {
    let places = Places::new(&["user/h/a/b/clone/.git/", "user/h/c/"]);
    let clone = places.root.join("user/h/a/b/clone");
    let view = TrustView::new(&places.house, &[]);
    assert_eq!(view.trust_of_path(&clone), UNTRUSTED);
    assert_eq!(view.trust_of_path(&places.root.join("user/h/c")), OWNER);
    let view = TrustView::new(&places.house, &[places.repository("user/h/a/b/clone")]);
    assert_eq!(view.trust_of_path(&clone), OWNER);
}

#[test]
fn the_view_of_a_host_is_made_anew_when_a_record_changes() {
    let places = Places::new(&["user/h/clone/.git/"]);
    let current = CurrentTrust::new(places.house.clone(), Vec::new());
    let path = places.root.join("user/h/clone");
    let before = current.view();
    assert!(Arc::ptr_eq(&before, &current.view()));
    current.set_repositories(vec![places.repository("user/h/clone")]);
    assert!(current.view().speaks_as_owner(&path));
    current.set_repositories(Vec::new());
    assert!(!current.view().speaks_as_owner(&path));
    let user_home = places.root.join("user");
    record_trust(&user_home, &places.house.dir, 1).unwrap();
    assert!(matches!(current.view().claim(), HouseClaim::Recorded(_)));
    remove_trust(&user_home, &places.house.dir).unwrap();
    assert_eq!(*current.view().claim(), HouseClaim::Unclaimed);
}

#[test]
fn what_a_turn_asks_again_and_again_is_at_most_a_second_old() {
    let places = Places::new(&["user/h/clone/.git/"]);
    let current = CurrentTrust::new(places.house.clone(), Vec::new());
    let looked_at = current.kept().looked_at.unwrap();
    record_trust(&places.root.join("user"), &places.house.dir, 1).unwrap();
    assert_eq!(*current.recent_view_at(looked_at + RECENT_MS - 1).claim(), HouseClaim::Unclaimed);
    let recorded = current.recent_view_at(looked_at + RECENT_MS);
    assert!(matches!(recorded.claim(), HouseClaim::Recorded(_)));
    // What the host itself changed counts at once, and so does a repository that has just appeared.
    let clone = places.root.join("user/h/clone");
    current.set_repositories(vec![places.repository("user/h/clone")]);
    assert!(current.recent_view().speaks_as_owner(&clone));
    fs::create_dir_all(places.root.join("other/.git")).unwrap();
    let appeared = places.root.join("other");
    assert!(!current.recent_view().speaks_as_owner(&appeared));
}

#[test]
fn settings_that_nobody_vouched_for_reach_nothing_outside_the_house() {
    let reach = |url: &str, folder: &str| SettingsReach {
        servers: vec![("a".to_owned(), ServerAddress::parse(url).unwrap())],
        folders: vec![PathBuf::from(folder)],
        keys: Vec::new(),
        collector: None,
        widened: None,
    };
    let check = |places: &Places, url: &str, folder: &str| {
        let folder = places.root.join(folder).display().to_string();
        TrustView::new(&places.house, &[]).require_settings(&reach(url, &folder)).is_ok()
    };
    let (local, far) = ("http://localhost:1/v1", "https://models.example/v1");
    let places = Places::new(&["user/h/kith.toml", "elsewhere/"]);
    assert!(check(&places, local, "user/h/skills"));
    assert!(check(&places, "https://api.openai.com/v1/", "user/h"));
    assert!(!check(&places, far, "user/h"));
    assert!(!check(&places, local, "elsewhere"));
    assert!(!check(&places, local, "user/h/gone/../../x"));
    let places = places.claim("user/h");
    assert!(check(&places, far, "elsewhere"));
}

#[test]
fn settings_that_appear_beneath_a_trusted_folder_widen_nothing() {
    let reach = SettingsReach {
        widened: Some("[policy] mode = \"trusted\"".to_owned()),
        ..SettingsReach::default()
    };
    let told = |places: &Places| TrustView::new(&places.house, &[]).require_settings(&reach);
    let places = Places::new(&["user/.git/", "user/h/kith.toml"]);
    let places = Places {
        house: House { user_home: Some(places.root.join("x")), ..places.house },
        ..places
    };
    fs::create_dir_all(places.root.join("x")).unwrap();
    record_trust(&places.root.join("x"), &places.root.join("user"), 1).unwrap();
    let refused = told(&places).unwrap_err();
    assert!(refused.message().contains("mode = \"trusted\""), "{}", refused.message());
    record_trust(&places.root.join("x"), &places.house.dir, 1).unwrap();
    assert!(told(&places).is_ok());
}

#[test]
fn only_a_house_that_is_yours_names_a_collector() {
    let collector = ServerAddress::parse("http://127.0.0.1:4318");
    let reach = SettingsReach { collector, ..SettingsReach::default() };
    let places = Places::new(&["user/h/kith.toml"]);
    let told = |places: &Places| TrustView::new(&places.house, &[]).require_settings(&reach);
    let refused = told(&places).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Untrusted);
    assert!(refused.message().contains("`[telemetry] endpoint`"), "{}", refused.message());
    assert!(told(&places.claim("user/h")).is_ok());
}
