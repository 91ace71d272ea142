use tempfile::TempDir;

use super::*;
use crate::priming::parse::tests::{SEED_EXAMPLE, words};

#[test]
fn an_agent_sees_its_own_scripts_and_the_shared_ones_that_are_for_it() {
    let house = house(&[
        ("individual/ux/probe.md", SEED_EXAMPLE),
        ("individual/ux/env/deep.md", &words("x")),
        ("individual/pm/other.md", &words("x")),
        ("team_shared/all.md", &words("x")),
        ("team_shared/for-ux.md", SEED_EXAMPLE),
        (
            "team_shared/for-nobody.md",
            &format!("---\napplicableMemberIds: []\n---\n{}", words("x")),
        ),
        ("team_shared/notes.txt", "no script"),
    ]);
    assert_eq!(
        listed(&house, "ux"),
        ["individual/ux/env/deep", "individual/ux/probe", "team_shared/all", "team_shared/for-ux"]
    );
    assert_eq!(listed(&house, "pm"), ["individual/pm/other", "team_shared/all"]);
    assert_eq!(listed(&house, "new"), ["team_shared/all"]);
}

#[test]
fn a_house_without_scripts_has_an_empty_list() {
    let house = house(&[]);
    assert_eq!(listed(&house, "ux"), Vec::<String>::new());
    assert_eq!(store(&house).check_all().unwrap(), CheckReport::default());
}

#[test]
fn a_broken_script_is_shown_with_its_error_and_breaks_nothing() {
    let house = house(&[
        ("team_shared/a.md", &words("x")),
        ("team_shared/b.md", "### user\n"),
        ("team_shared/my script.md", &words("x")),
        ("team_shared/z.md", &words("x")),
    ]);
    let listing = store(&house).list("ux").unwrap();
    let states: Vec<String> = listing
        .entries
        .iter()
        .map(|entry| match &entry.state {
            ScriptState::Ready { n_records, .. } => format!("{n_records} records"),
            ScriptState::Broken(issue) => format!("{:?} {}", issue.line, issue.message),
        })
        .collect();
    assert_eq!(
        states,
        [
            "1 records",
            "Some(1) `### user` is not a record heading; write `### record human_text_record`",
            "None `team_shared/my script` is not a scriptRef (`individual/<member>/<slug>` or \
             `team_shared/<slug>`): ' ' is not allowed; use `A` to `Z`, `a` to `z`, digits, `.`, `_` and `-`",
            "1 records",
        ]
    );
    assert_eq!(store(&house).search("ux", "B").unwrap().entries.len(), 1);
}

#[test]
fn search_looks_at_reference_and_title_without_regard_to_capitals() {
    let house = house(&[
        ("individual/ux/probe.md", SEED_EXAMPLE),
        ("team_shared/Deploy.md", &format!("---\ntitle: Über Nacht\n---\n{}", words("x"))),
    ]);
    let found = |query: &str| {
        let listing = store(&house).search("ux", query).unwrap();
        listing
            .entries
            .iter()
            .map(|it| it.script_ref.clone().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(found("PROBE"), ["individual/ux/probe"]);
    assert_eq!(found("环境"), ["individual/ux/probe"]);
    assert_eq!(found("über"), ["team_shared/Deploy"]);
    assert_eq!(found("deploy"), ["team_shared/Deploy"]);
    assert_eq!(found("").len(), 2);
    assert_eq!(found("nothing like it"), Vec::<String>::new());
    // The disk is read each time.
    fs::write(house.path().join(".minds/priming/team_shared/deploy-2.md"), words("x")).unwrap();
    assert_eq!(found("deploy").len(), 2);
}

#[test]
fn a_script_is_only_for_those_it_names() {
    let house =
        house(&[("individual/ux/own.md", &words("x")), ("team_shared/for-ux.md", SEED_EXAMPLE)]);
    let load = |name: &str, agent: &str| {
        store(&house)
            .load_for(&name.parse().unwrap(), agent)
            .map(|_| ())
            .map_err(|it| it.to_string())
    };
    assert_eq!(load("individual/ux/own", "ux"), Ok(()));
    assert_eq!(load("team_shared/for-ux", "ux"), Ok(()));
    let refused = |name: &str| Err(format!("the script `{name}` is not for agent `pm`"));
    assert_eq!(load("individual/ux/own", "pm"), refused("individual/ux/own"));
    assert_eq!(load("team_shared/for-ux", "pm"), refused("team_shared/for-ux"));
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let house = house(&[
        ("team_shared/old.md", "\n### user\n"),
        ("team_shared/folder.md/x.md", &words("x")),
    ]);
    let error = |name: &str| store(&house).load(&name.parse().unwrap()).unwrap_err().to_string();
    assert_eq!(
        error("team_shared/none"),
        "the script `team_shared/none` does not exist at `.minds/priming/team_shared/none.md`"
    );
    assert_eq!(
        error("team_shared/old"),
        "`.minds/priming/team_shared/old.md`, line 2: `### user` is not a record heading; \
         write `### record human_text_record`"
    );
    assert_eq!(error("team_shared/folder"), "`.minds/priming/team_shared/folder.md` is not a file");
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    use std::os::unix::fs::symlink;

    let house = house(&[("team_shared/real.md", &words("x"))]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), words("secret")).unwrap();
    let shared = house.path().join(".minds/priming/team_shared");
    symlink(outside.path().join("secret.md"), shared.join("absolute.md")).unwrap();
    symlink("../../../../secret.md", shared.join("climbing.md")).unwrap();
    symlink(outside.path(), shared.join("folder")).unwrap();
    symlink("real.md", shared.join("inside.md")).unwrap();
    let load = |name: &str| store(&house).load(&name.parse().unwrap());
    for name in ["team_shared/absolute", "team_shared/climbing", "team_shared/folder/secret"] {
        let error = load(name).unwrap_err();
        assert!(matches!(error, StoreError::LeadsOutside { .. }), "{name}: {error}");
    }
    assert!(load("team_shared/inside").is_ok());
    // Neither does saving follow one, and nothing was made out there.
    let script = load("team_shared/real").unwrap().script;
    let error = store(&house)
        .save(&"team_shared/folder/new".parse().unwrap(), &script, Existing::Replace)
        .unwrap_err();
    assert!(matches!(error, StoreError::LeadsOutside { .. }), "{error}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    // A saved script takes the place of a link, not of what it leads to.
    store(&house)
        .save(&"team_shared/absolute".parse().unwrap(), &script, Existing::Replace)
        .unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("secret.md")).unwrap(), words("secret"));
    let report = store(&house).check_all().unwrap();
    let issues: Vec<String> =
        report.issues.iter().map(|it| format!("{} {}", it.path.display(), it.message)).collect();
    assert_eq!(
        issues,
        [".minds/priming/team_shared/climbing.md is a link that points outside the priming folder"]
    );
}

#[test]
fn a_pipe_in_the_folder_is_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode};

    let house = house(&[("team_shared/real.md", &words("x"))]);
    let pipe = house.path().join(".minds/priming/team_shared/pipe.md");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let error = store(&house).load(&"team_shared/pipe".parse().unwrap()).unwrap_err();
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
    assert_eq!(listed(&house, "ux").len(), 2);
}

#[test]
fn names_that_differ_only_in_capitals_are_reported() {
    let house =
        house(&[("team_shared/Probe.md", &words("x")), ("team_shared/env/x.md", &words("x"))]);
    let script = store(&house).load(&"team_shared/Probe".parse().unwrap()).unwrap().script;
    let save = |name: &str| {
        let saved = store(&house).save(&name.parse().unwrap(), &script, Existing::Replace);
        saved.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(
        save("team_shared/probe").unwrap_err(),
        "`team_shared/probe` differs from `team_shared/Probe` only in upper and lower case; choose another name"
    );
    assert!(save("team_shared/ENV/x").is_err());
    let other = house.path().join(".minds/priming/team_shared/probe.md");
    // On a disk that does not tell them apart there cannot be two.
    if other.exists() {
        return;
    }
    fs::write(&other, words("y")).unwrap();
    let report = store(&house).check_all().unwrap();
    assert_eq!((report.n_checked, report.n_failed), (3, 1));
    assert_eq!(
        report.issues[0].message,
        "differs from `team_shared/Probe` only in upper and lower case, which some disks do not tell apart"
    );
    let listing = store(&house).list("ux").unwrap();
    let clashes: Vec<bool> = listing.entries.iter().map(|it| it.clashes_with.is_some()).collect();
    assert_eq!(clashes, [false, false, true]);
}

#[test]
fn saving_makes_folders_and_never_replaces_unasked() {
    let house = house(&[]);
    let script = parse(SEED_EXAMPLE).unwrap().script;
    let script_ref: ScriptRef = "individual/ux/env/probe-1.2".parse().unwrap();
    let path = store(&house).save(&script_ref, &script, Existing::Keep).unwrap();
    assert_eq!(path, PathBuf::from(".minds/priming/individual/ux/env/probe-1.2.md"));
    let on_disk = || fs::read_to_string(house.path().join(&path)).unwrap();
    assert_eq!(on_disk(), export(&script));
    let other = parse(&words("other")).unwrap().script;
    let error = store(&house).save(&script_ref, &other, Existing::Keep).unwrap_err();
    assert_eq!(error.to_string(), "the script `individual/ux/env/probe-1.2` already exists");
    assert_eq!(on_disk(), export(&script));
    store(&house).save(&script_ref, &other, Existing::Replace).unwrap();
    assert_eq!(on_disk(), export(&other));
    // No half-written file is left behind.
    let folder = house.path().join(".minds/priming/individual/ux/env");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn what_could_not_be_read_again_is_not_saved() {
    let house = house(&[]);
    let script_ref = "team_shared/x".parse().unwrap();
    let error = store(&house).save(&script_ref, &Script::default(), Existing::Keep).unwrap_err();
    assert!(matches!(error, StoreError::Unreadable { .. }), "{error}");
    assert!(!house.path().join(".minds").exists());
}

#[test]
fn the_check_reads_every_script_of_every_member() {
    let house = house(&[
        ("individual/ux/a.md", "### user\n"),
        ("individual/pm/b.md", "\n\n### assistant\n"),
        ("team_shared/c.md", &format!("---\nmood: calm\n---\n{}", words("x"))),
        ("team_shared/d.md", SEED_EXAMPLE),
    ]);
    let report = store(&house).check_all().unwrap();
    assert_eq!((report.n_checked, report.n_failed), (4, 2));
    let places = |issues: &[ScriptIssue]| {
        issues.iter().map(|it| (it.path.display().to_string(), it.line)).collect::<Vec<_>>()
    };
    assert_eq!(
        places(&report.issues),
        [
            (".minds/priming/individual/pm/b.md".to_owned(), Some(3)),
            (".minds/priming/individual/ux/a.md".to_owned(), Some(1)),
        ]
    );
    assert_eq!(places(&report.warnings), [(".minds/priming/team_shared/c.md".to_owned(), Some(2))]);
}

pub(crate) fn house(files: &[(&str, &str)]) -> TempDir {
    let house = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = house.path().join(".minds/priming").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    house
}

pub(crate) fn store(house: &TempDir) -> PrimingStore {
    PrimingStore::new(house.path())
}

fn listed(house: &TempDir, agent_id: &str) -> Vec<String> {
    let listing = store(house).list(agent_id).unwrap();
    assert!(!listing.is_cut);
    listing.entries.iter().map(|it| it.script_ref.clone().unwrap().to_string()).collect()
}
