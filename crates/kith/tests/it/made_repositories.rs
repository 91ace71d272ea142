//! Repositories that a command makes: the owner's next `git status` must not run what they say, and what the owner has
//! must stay as it is.

use std::fs;
use std::os::unix::fs::symlink;

use kith_testkit::another_user::not_run;

use crate::house::{House, Ran};
use crate::sandbox::outside;

#[test]
fn a_repository_that_is_made_and_added_as_a_submodule_runs_nothing_outside() {
    let mut house = House::new();
    house.set("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    let begin =
        "git init -q && git add . && git -c user.email=a@example.org -c user.name=A commit -qm one";
    if outside(&house, begin).code != 0 {
        not_run("there is no git");
        return;
    }
    house.write("plant", "#!/bin/sh\ntest -n \"$KITH_SANDBOX\" || touch \"$0.ran\"\n");
    let plant = "chmod +x plant && git init -q sub && cd sub && git config user.email a@example.org && \
                 git config user.name A && git commit -q --allow-empty -m x && \
                 git config core.fsmonitor \"$PWD/../plant\" && cd .. && git add sub && exit 5";
    let probe = house.path("probe");
    fs::create_dir(&probe).unwrap();
    outside(&house, &format!("cp -r .git plant probe && cd probe && {plant}"));
    outside(&house, "cd probe && git status");
    assert!(
        house.path("probe/plant.ran").exists(),
        "git has become careful; nothing is shown here"
    );
    fs::remove_dir_all(&probe).unwrap();
    let ran = house.kith(&["sandbox", "--", "/bin/bash", "-c", plant]);
    if ran.stderr.contains("allows no namespaces") {
        not_run("this machine allows no sandbox");
        return;
    }
    assert_eq!(ran.code, 5, "{}", ran.shown());
    assert!(ran.stderr.contains("it is called `.git-made-in-sandbox-"), "{}", ran.shown());
    outside(&house, "git status");
    assert!(!house.path("plant.ran").exists());
}

#[test]
fn a_repository_that_is_spread_out_in_the_workspace_runs_nothing_outside() {
    let mut house = House::new();
    house.set("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    house.write("plant", "#!/bin/sh\ntouch \"$0.ran\"\n");
    let spread = "chmod +x plant && mkdir -p objects refs && echo 'ref: refs/heads/main' > HEAD && \
                  printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = %s\\nfsmonitor = %s\\n' $PWD $PWD/plant > config";
    let probe = house.path("probe");
    fs::create_dir(&probe).unwrap();
    outside(&house, &format!("cp plant probe && cd probe && {spread} && git status"));
    assert!(
        house.path("probe/plant.ran").exists(),
        "git has become careful; nothing is shown here"
    );
    fs::remove_dir_all(&probe).unwrap();
    let ran = house.kith(&["sandbox", "--", "/bin/bash", "-c", spread]);
    if ran.stderr.contains("allows no namespaces") {
        not_run("this machine allows no sandbox");
        return;
    }
    assert!(ran.stderr.contains("it is called `HEAD-made-in-sandbox-"), "{}", ran.shown());
    outside(&house, "git status");
    assert!(!house.path("plant.ran").exists());
}

/// A house with a repository and a program that leaves a trace when git runs it outside; `None` where there is no
/// git or no sandbox.
fn house_with_plant() -> Option<House> {
    let mut house = House::new();
    house.set("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    house.write("plant", "#!/bin/sh\ntest -n \"$KITH_SANDBOX\" || touch \"$0.ran\"\n");
    let begin = "chmod +x plant && git init -q && git add . && \
                 git -c user.email=a@example.org -c user.name=A commit -qm one";
    if outside(&house, begin).code != 0 {
        not_run("there is no git");
        return None;
    }
    if house.kith(&["sandbox", "--", "true"]).stderr.contains("allows no namespaces") {
        not_run("this machine allows no sandbox");
        return None;
    }
    Some(house)
}

const SETTINGS: &str = "printf '[core]\\nrepositoryformatversion = 0\\nbare = false\\nworktree = %s\\nfsmonitor = %s\\n'";

#[test]
fn a_repository_that_is_spread_out_by_two_commands_in_place_of_the_owners_runs_nothing_outside() {
    let Some(house) = house_with_plant() else { return };
    let first = format!(
        "echo 'ref: refs/heads/main' > HEAD && mkdir objects && {SETTINGS} $PWD $PWD/plant > config"
    );
    let second = "mkdir refs && mv .git/HEAD .git/gone";
    outside(
        &house,
        &format!(
            "mkdir probe && cp -r .git plant probe && cd probe && {first} && {second} && git status"
        ),
    );
    assert!(
        house.path("probe/plant.ran").exists(),
        "git has become careful; nothing is shown here"
    );
    fs::remove_dir_all(house.path("probe")).unwrap();
    house.kith(&["sandbox", "--", "/bin/bash", "-c", &first]).succeeded();
    let ran = house.kith(&["sandbox", "--", "/bin/bash", "-c", second]);
    assert!(ran.stderr.contains("it is called `HEAD-made-in-sandbox-"), "{}", ran.shown());
    outside(&house, "git status");
    assert!(!house.path("plant.ran").exists());
}

#[test]
fn repositories_that_are_made_beneath_the_workspace_run_nothing_outside() {
    let Some(house) = house_with_plant() else { return };
    let make = format!(
        "root=$PWD; git init -q clean; git init -q --bare clean.git; \
         git init -q a/planted; git -C a/planted config core.fsmonitor $root/plant; \
         mkdir -p b/spread/objects b/spread/refs && cd b/spread && echo 'ref: refs/heads/main' > HEAD && \
         {SETTINGS} $PWD $root/plant > config"
    );
    let visit = "(cd a/planted && git status); (cd b/spread && git status)";
    outside(&house, &format!("mkdir probe && cp plant probe && cd probe && ({make}); {visit}"));
    assert!(
        house.path("probe/plant.ran").exists(),
        "git has become careful; nothing is shown here"
    );
    fs::remove_dir_all(house.path("probe")).unwrap();
    let ran = house.kith(&["sandbox", "--", "/bin/bash", "-c", &make]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(ran.stderr.matches("-made-in-sandbox-").count(), 2, "{}", ran.shown());
    outside(&house, visit);
    assert!(!house.path("plant.ran").exists());
    // What git makes by itself stays, and can be looked at by the next command.
    house.kith(&["sandbox", "--", "git", "-C", "clean", "status"]).succeeded();
    house.kith(&["sandbox", "--", "git", "-C", "clean.git", "rev-parse", "--git-dir"]).succeeded();
}

/// A commit for a link to a repository that need not exist.
const LINK: &str =
    "git update-index --add --cacheinfo 160000,0123456789012345678901234567890123456789";

/// Runs it in the sandbox.
fn sandboxed(house: &House, script: &str) -> Ran {
    house.kith(&["sandbox", "--", "/bin/bash", "-c", script])
}

/// Runs these commands, one after the other, and checks that git then runs what they have planted where
/// there is no sandbox, and nothing where there is one. Returns what the last one said.
fn check_planted(commands: &[&str], visit: &str) -> Option<Ran> {
    let house = house_with_plant()?;
    fs::create_dir(house.path("probe")).unwrap();
    outside(&house, "cp -r .git plant probe");
    for script in commands {
        outside(&house, &format!("cd probe; {script}"));
    }
    outside(&house, &format!("cd probe; {visit}"));
    assert!(
        house.path("probe/plant.ran").exists(),
        "git has become careful; nothing is shown here"
    );
    fs::remove_dir_all(house.path("probe")).unwrap();
    let ran: Vec<Ran> = commands.iter().map(|script| sandboxed(&house, script)).collect();
    let ran = ran.into_iter().next_back();
    outside(&house, visit);
    assert!(
        !house.path("plant.ran").exists(),
        "{}",
        ran.as_ref().map(Ran::shown).unwrap_or_default()
    );
    ran
}

const FILL: &str = "mkdir -p sub && git init -q sub && git -C sub config core.fsmonitor $PWD/plant";

#[test]
fn a_repository_is_renamed_also_where_all_names_seem_taken() {
    let take = "for n in '' $(seq -f -%g 2 100); do mkdir -p sub/.git-made-in-sandbox$n; done";
    let script = format!("{FILL}; {take}; {LINK},sub");
    let Some(ran) = check_planted(&[&script], "git status") else { return };
    assert!(ran.stderr.contains("it is called `.git-made-in-sandbox-"), "{}", ran.shown());
}

#[test]
fn a_repository_is_renamed_also_where_its_folder_may_not_be_written() {
    let script = format!("{FILL}; {LINK},sub; chmod 311 sub");
    check_planted(&[&script], "git status; chmod 755 sub");
}

#[test]
fn a_git_file_that_leads_to_a_made_repository_runs_nothing_outside() {
    let script = "git init -q evil && git -C evil config core.fsmonitor $PWD/plant && \
                  git -C evil config core.worktree $PWD/sub && \
                  mv evil/.git .git/x && mkdir sub && echo 'gitdir: ../.git/x' > sub/.git";
    check_planted(&[script], "cd sub && git status");
    let linked = format!("{script}; {LINK},sub");
    check_planted(&[&linked], "git status");
}

#[test]
fn a_submodule_that_an_earlier_command_has_named_runs_nothing_outside() {
    let name = format!("{LINK},sub");
    // More entries than are looked at for repositories elsewhere.
    let fill = format!("mkdir a && (cd a && touch $(seq 5100)); {FILL}");
    check_planted(&[&name, &fill], "git status");
}

#[test]
fn a_submodule_of_a_submodule_runs_nothing_outside() {
    let many = "mkdir a && (cd a && touch $(seq 5100))";
    let script = format!("{many}; git init -q out && cd out && {LINK},sub && cd .. && {LINK},out");
    let fill = "git init -q out/sub && git -C out/sub config core.fsmonitor $PWD/plant";
    check_planted(&[&script, fill], "git status");
}

#[test]
fn a_link_in_place_of_a_submodule_leads_to_no_repository_that_is_renamed() {
    let Some(house) = house_with_plant() else { return };
    let victim = house.path("../victim");
    fs::create_dir_all(victim.join(".git")).unwrap();
    fs::write(victim.join(".git/config"), "[core]\nfsmonitor = x\n").unwrap();
    sandboxed(&house, &format!("{LINK},sub; {LINK},own; {LINK},deep/sub")).succeeded();
    symlink(&victim, house.path("sub")).unwrap();
    symlink(".", house.path("own")).unwrap();
    symlink(victim.parent().unwrap(), house.path("deep")).unwrap();
    fs::rename(&victim, house.path("../sub")).unwrap();
    symlink("sub", &victim).unwrap();
    sandboxed(&house, "true").succeeded();
    assert!(house.path("../sub/.git/config").exists());
    assert!(house.path(".git/config").exists());
}

#[test]
fn an_ordinary_submodule_of_a_large_workspace_is_protected_and_keeps_its_name() {
    let Some(house) = house_with_plant() else { return };
    let make = "git init -q ../lib && cd ../lib && \
                git -c user.email=a@example.org -c user.name=A commit -q --allow-empty -m one && cd - && \
                mkdir src && (cd src && touch $(seq 5300)) && \
                git -c protocol.file.allow=always submodule --quiet add ../lib third_party/lib";
    let begun = outside(&house, &format!("cd . && {make}"));
    assert_eq!(begun.code, 0, "{}", begun.shown());
    let ran = sandboxed(&house, "git -C third_party/lib status --porcelain").succeeded();
    assert_eq!(ran.stderr, "", "{}", ran.shown());
    assert!(house.path("third_party/lib/.git").is_file());
    let ran = sandboxed(&house, "echo 'gitdir: ../../evil' > third_party/lib/.git");
    assert_ne!(ran.code, 0, "{}", ran.shown());
    let text = fs::read_to_string(house.path("third_party/lib/.git")).unwrap();
    assert!(text.contains("modules/third_party/lib"), "{text}");
}

#[test]
fn a_rebase_goes_on_over_several_commands_and_leaves_no_program_to_run_outside() {
    let Some(house) = house_with_plant() else { return };
    let begin = "git config user.email a@example.org && git config user.name A && git config core.editor true && \
                 git checkout -qb side && echo side > f && git add f && git commit -qm side && \
                 git checkout -q - && echo main > f && git add f && git commit -qm main && git checkout -q side";
    assert_eq!(outside(&house, begin).code, 0);
    // It stops at a conflict, and the next command goes on.
    assert_ne!(sandboxed(&house, "git rebase -q @{-1}").code, 0);
    assert!(house.path(".git/rebase-merge").exists());
    sandboxed(&house, "echo both > f && git add f && git rebase --continue").succeeded();
    assert!(!house.path(".git/rebase-merge").exists());
    let stop = "git rebase -q -x false HEAD~1; echo \"exec $PWD/plant\" > .git/rebase-merge/git-rebase-todo";
    let ran = sandboxed(&house, stop);
    assert!(ran.stderr.contains("`git-rebase-todo-made-in-sandbox-"), "{}", ran.shown());
    outside(&house, "git rebase --continue");
    assert!(!house.path("plant.ran").exists());
}

#[test]
fn what_a_hook_of_the_owner_leads_to_cannot_be_changed() {
    let Some(house) = house_with_plant() else { return };
    house.write("scripts/pre-commit", "#!/bin/sh\n");
    symlink("../../scripts/pre-commit", house.path(".git/hooks/pre-commit")).unwrap();
    outside(&house, "git config filter.x.clean scripts/clean && echo cat > scripts/clean");
    for script in [
        "echo ./plant >> scripts/pre-commit",
        "rm scripts/pre-commit",
        "mv scripts gone",
        "echo ./plant > scripts/clean",
    ] {
        let ran = sandboxed(&house, script);
        assert_ne!(ran.code, 0, "{script}: {}", ran.shown());
    }
    sandboxed(&house, "echo x > scripts/other && git status").succeeded();
    assert_eq!(fs::read_to_string(house.path("scripts/pre-commit")).unwrap(), "#!/bin/sh\n");
}
