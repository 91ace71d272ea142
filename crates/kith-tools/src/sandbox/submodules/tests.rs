use std::process::Command;

use super::*;

/// A folder with a repository made by these commands; `None` where there is no git that can.
fn repository(script: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let link = "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789";
    let script = script.replace("LINK", link);
    let mut bash = Command::new("/bin/bash");
    bash.args(["-ec", &script]).current_dir(folder.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    bash.output().unwrap().status.success().then_some(folder)
}

fn named(folder: &Path) -> Option<Vec<String>> {
    let named = named_in(&folder.join(".git"))?;
    let mut named: Vec<String> = named.iter().map(|it| it.display().to_string()).collect();
    named.sort();
    Some(named)
}

#[test]
fn submodules_are_found_in_every_form_of_an_index() {
    let files =
        "for n in $(seq 300); do echo > name-$n; done; mkdir -p a/b; echo > a/b/c; git add .";
    for (how, script) in [
        ("version 2", "LINK,a/sub; LINK,sub"),
        ("version 3", "LINK,a/sub; git update-index --skip-worktree name-1; LINK,sub"),
        ("version 4", "git update-index --index-version 4; LINK,a/sub; LINK,sub"),
        ("split", "LINK,a/sub; git update-index --split-index; LINK,sub"),
        ("elsewhere", "LINK,a/sub; LINK,sub; mv .git/index .git/x; ln -s x .git/index"),
    ] {
        let Some(folder) = repository(&format!("git init -q; {files}; {script}")) else {
            kith_testkit::another_user::not_run(&format!("no git makes an index: {how}"));
            continue;
        };
        assert_eq!(named(folder.path()).unwrap(), ["a/sub", "sub"], "{how}");
    }
}

#[test]
fn submodules_are_found_where_hashes_are_long() {
    let link = "0123456789012345678901234567890123456789012345678901234567890123";
    let script = format!(
        "git init -q --object-format=sha256; echo > file; git add .; \
         git update-index --add --cacheinfo 160000,{link},sub"
    );
    if let Some(folder) = repository(&script) {
        assert_eq!(named(folder.path()).unwrap(), ["sub"]);
    }
}

#[test]
fn an_index_that_is_cut_anywhere_is_read_without_a_panic() {
    let Some(folder) = repository("git init -q; echo > file; LINK,sub; LINK,../out; git add .")
    else {
        return;
    };
    let path = folder.path().join(".git/index");
    let whole = fs::read(&path).unwrap();
    for n_bytes in 0..whole.len() {
        fs::write(&path, &whole[..n_bytes]).unwrap();
        named(folder.path());
    }
}

#[test]
fn submodules_of_submodules_are_found() {
    let script = "git init -q; git init -q sub; LINK,sub; cd sub; LINK,inner";
    let Some(folder) = repository(script) else { return };
    let dir = folder.path();
    let found = Submodules::of([dir.join(".git")], |_| false);
    assert_eq!(found.gits, BTreeSet::from([dir.join("sub/.git"), dir.join("sub/inner/.git")]));
    assert_eq!(found.unread, BTreeSet::new());
}

#[test]
fn git_is_asked_for_an_index_of_another_form_only_where_the_repository_is_the_owners() {
    let script = "git init -q; git init -q sub; echo x > file; git add file; LINK,sub; \
                  mkdir a b; echo > a/x; echo > b/x; git add a b; \
                  git -c user.email=a@example.org -c user.name=A commit -qm x; \
                  git sparse-checkout set --cone --sparse-index a";
    let Some(folder) = repository(script) else { return };
    let git = folder.path().join(".git");
    if named(folder.path()).is_some() {
        return kith_testkit::another_user::not_run("git makes no sparse index");
    }
    let found = Submodules::of([git.clone()], |_| true);
    assert_eq!(found.gits, BTreeSet::from([folder.path().join("sub/.git")]));
    let found = Submodules::of([git.clone()], |_| false);
    assert_eq!((found.gits, found.unread), (BTreeSet::new(), BTreeSet::from([git])));
}
