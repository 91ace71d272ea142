//! Files that someone else may have written.

use std::fs;

use crate::tainted_period::TaintedPeriod;
use crate::test_home::TestHome;
use crate::user::UserFacts;

use super::{check_error_of, check_instructions, check_reports};

#[test]
fn a_repository_speaks_only_when_it_is_trusted() {
    const FILES: &str = "//- Agent.md\nx\n//- /user/other/.git/HEAD\n\
                         //- /user/other/AGENTS.md\nevil\n//- /user/other/a/AGENTS.md\nevil\n";
    let files = TestHome::new(FILES).at("user/other/a");
    assert!(!files.prompt_from("You are").contains("evil"));
    let not_yet = "is ignored because the repository `/user/other` is not trusted; run `kith trust .` in it to trust it";
    check_reports(
        &files,
        &format!("/user/other/AGENTS.md {not_yet}\n/user/other/a/AGENTS.md {not_yet}"),
    );
    let files = files.trusting("user/other");
    check_instructions(&files, "/user/other/AGENTS.md /user/other/a/AGENTS.md /user/luna/Agent.md");
    check_reports(&files, "");
}

#[test]
fn of_a_stranger_only_folder_root_and_kind_are_told() {
    const FILES: &str = "//- Agent.md\nx\n//- /user/other/.git/HEAD\nref: refs/heads/obey\n\
                         //- /user/other/Makefile\n//- /user/other/OBEY ME\n";
    let files = TestHome::new(FILES).at("user/other");
    let told = |files: &TestHome| {
        let prompt = files.prompt_from("# Workspace");
        (prompt.contains("OBEY"), prompt.contains("refs") || prompt.contains("obey"), prompt)
    };
    let (has_name, has_branch, prompt) = told(&files);
    assert!(!has_name && !has_branch, "{prompt}");
    assert!(prompt.starts_with(
        "# Workspace\n\nWorking directory: /user/other\nRepository root: /user/other\n\
         Workspace kind: make\n\n# Environment"
    ));
    let (has_name, has_branch, prompt) = told(&files.trusting("user/other"));
    assert!(has_name && has_branch, "{prompt}");
}

#[test]
fn the_packages_of_a_stranger_are_not_named() {
    const FILES: &str = "//- Agent.md\nx\n//- /user/other/.git/HEAD\n\
                         //- /user/other/Cargo.toml\n[workspace]\nmembers = [\"*\"]\n\
                         //- /user/other/OBEY/Cargo.toml\n";
    let files = TestHome::new(FILES).at("user/other");
    assert!(!files.prompt_from("# Workspace").contains("OBEY"));
    let prompt = files.trusting("user/other").prompt_from("# Workspace");
    assert!(prompt.contains("Workspace kind: cargo\nPackages: OBEY\nTop level: "), "{prompt}");
}

#[test]
fn what_is_known_of_the_project_is_not_read_through_a_link() {
    let files = TestHome::new("//- Agent.md\nx\n//- secret.md\ncanary-7\n//- .kith/memory/y\n");
    let project = files.home.join(".kith/memory/project.md");
    std::os::unix::fs::symlink("../../secret.md", &project).unwrap();
    assert!(!files.prompt_from("You are").contains("canary-7"));
    check_reports(
        &files,
        "/user/luna/.kith/memory/project.md is a link that points outside `/user/luna/.kith/memory`, so it is ignored",
    );
    fs::remove_file(&project).unwrap();
    fs::write(&project, "canary-7").unwrap();
    assert!(files.prompt_from("You are").contains("canary-7"));
}

#[test]
fn a_home_that_came_with_a_repository_begins_no_session() {
    for files in
        ["//- Agent.md\nevil\n//- .git/HEAD\n", "//- AGENTS.md\nevil\n//- .git\ngitdir: x\n"]
    {
        let mut files = TestHome::new(files);
        files.trusted.clear();
        check_error_of(
            &files,
            "the agent in `/user/luna` belongs to the repository `/user/luna`, which is not \
             trusted yet",
        );
    }
    // Nor does trust in a folder reach into a clone below it.
    let mut files = TestHome::new("//- /user/luna/clone/.git/HEAD\n//- clone/Agent.md\nevil\n");
    files.home = files.root.join("user/luna/clone");
    check_error_of(
        &files,
        "the agent in `/user/luna/clone` belongs to the repository `/user/luna/clone`, which is \
         not trusted yet",
    );
}

#[test]
fn a_home_made_inside_a_repository_does_not_lend_it_its_voice() {
    let files = "//- Agent.md\nx\n//- a/AGENTS.md\nmine\n//- /user/.gitignore\n\
                 //- /user/AGENTS.md\nevil\n";
    let mut files = TestHome::new(files).at("user/luna/a");
    // The repository is `/user`, which must not be the user's own home for this.
    fs::create_dir(files.root.join("user/.git")).unwrap();
    files.user_home = files.root.join("elsewhere");
    check_instructions(&files, "/user/luna/a/AGENTS.md /user/luna/Agent.md");
    check_reports(
        &files,
        "/user/AGENTS.md is ignored because the repository `/user` is not trusted; run `kith trust .` in it to trust it",
    );
}

#[test]
fn a_repository_is_found_from_however_deep_inside_it() {
    let deep = "a/".repeat(300);
    let files = "//- Agent.md\nx\n//- /user/other/.git/HEAD\n//- /user/other/AGENTS.md\nevil\n";
    let files = TestHome::new(&format!("{files}//- /user/other/{deep}AGENTS.md\nevil\n"));
    let files = files.at(&format!("user/other/{deep}"));
    assert!(!files.prompt_from("You are").contains("evil"));
    assert_eq!(files.snapshot().reports.len(), 3);
}

#[test]
fn the_users_home_as_a_repository_is_neither_a_stranger_nor_a_project() {
    let files = TestHome::new("//- Agent.md\nx\n//- /user/.git/HEAD\n//- /user/AGENTS.md\nnever\n");
    let mut files = files.trusting("user");
    check_instructions(&files, "/user/luna/Agent.md");
    files.trusted.clear();
    check_instructions(&files, "/user/luna/Agent.md");
}

#[test]
fn other_names_are_not_read_and_an_include_stays_text() {
    let names = ["AGENTS.override.md", "SCOREL.md", "scrolls.md", "CLAUDE.md", "agents.txt"];
    let files =
        TestHome::new("//- Agent.md\n@AGENTS.override.md\n@import SCOREL.md\n//- .git/HEAD\n");
    for name in names {
        fs::write(files.home.join(name), "never").unwrap();
    }
    let prompt = files.prompt_from("# Instruction files");
    let (prompt, _) = prompt.split_once("# Workspace").unwrap();
    assert!(prompt.contains("\n@AGENTS.override.md\n@import SCOREL.md\n"), "{prompt}");
    assert!(!prompt.contains("never"), "{prompt}");
}

#[test]
fn a_soul_of_two_megabytes_gives_its_two_ends_and_says_so() {
    let files = TestHome::new("//- Agent.md\nx\n");
    let soul = format!("first\n{}\nlast", "x".repeat(2 * 1024 * 1024));
    fs::write(files.home.join("SOUL.md"), &soul).unwrap();
    let assembled = files.snapshot();
    let report = assembled.reports.iter().find(|it| it.path.ends_with("SOUL.md")).unwrap();
    assert_eq!((report.chars, report.injected_chars), (Some(soul.len() as u64), 58_982));
    let prompt = assembled.snapshot.system_prompt();
    assert!(prompt.len() < 70_000, "{}", prompt.len());
    assert!(prompt.contains("first\nxxx") && prompt.contains("xxx\nlast\n</file>"));
    assert!(
        prompt.contains("[… 2038181 of 2097163 characters are left out here; the whole file is")
    );
}

#[test]
fn files_of_another_user_are_left_out_and_told() {
    use std::os::unix::fs::chown;
    let files = TestHome::new(
        "//- Agent.md\nx\n//- SOUL.md\nevil\n//- USER.md\nTimezone: Asia/Tokyo\n//- .git/HEAD\n\
         //- a/AGENTS.md\nevil\n//- /user/.kith/AGENTS.md\nevil\n",
    )
    .at("user/luna/a");
    for path in
        ["user/luna/a/AGENTS.md", "user/.kith/AGENTS.md", "user/luna/SOUL.md", "user/luna/USER.md"]
    {
        let given = chown(files.root.join(path), Some(4242), None);
        if !rustix::process::geteuid().is_root() {
            // Nobody but root can give a file away; `standing` is tested without it.
            assert!(given.is_err());
            return;
        }
        given.unwrap();
    }
    let foreign = "belongs to user 4242, so it is ignored; run `chown` on it if it is yours";
    check_reports(
        &files,
        &format!(
            "/user/.kith/AGENTS.md {foreign}\n/user/luna/a/AGENTS.md {foreign}\n\
             /user/luna/SOUL.md {foreign}\n/user/luna/USER.md {foreign}"
        ),
    );
    let prompt = files.prompt_from("You are");
    assert!(!prompt.contains("evil") && prompt.contains("Agent.md\">\nx\n"));
    assert_eq!(UserFacts::read(&files.home).unwrap(), UserFacts::default());
    // Without its constitution it would be another agent.
    chown(files.home.join("Agent.md"), Some(4242), None).unwrap();
    let error = files.try_snapshot().unwrap_err();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("user 4242"));
}

#[test]
fn project_files_others_can_write_are_left_out() {
    use std::os::unix::fs::PermissionsExt;
    let files = TestHome::new(
        "//- Agent.md\nx\n//- .git/HEAD\n//- a/AGENTS.md\nevil\n//- /user/.kith/AGENTS.md\nevil\n",
    )
    .at("user/luna/a");
    for path in ["user/luna/a/AGENTS.md", "user/.kith/AGENTS.md", "user/luna/Agent.md"] {
        let mode = fs::Permissions::from_mode(0o666);
        fs::set_permissions(files.root.join(path), mode).unwrap();
    }
    check_reports(
        &files,
        "/user/.kith/AGENTS.md is writable by every user, so it is ignored; run `chmod o-w` on it\n\
         /user/luna/a/AGENTS.md is writable by every user, so it is ignored; run `chmod o-w` on it\n\
         /user/luna/Agent.md is writable by every user; run `chmod o-w` on it",
    );
    assert!(!files.prompt_from("You are").contains("evil"));
}

#[test]
fn instructions_that_a_command_may_have_written_are_left_out_until_the_owner_touches_them() {
    let files = "//- Agent.md\nx\n//- /user/a/AGENTS.md\nfar\n//- /user/a/b/AGENTS.md\nplanted\n";
    let mut files = TestHome::new(files).at("user/a/b");
    let period = |began, ended| TaintedPeriod { root: files.root.join("user/a/b"), began, ended };
    let (now, past) = (period(1, u64::MAX), period(1, 2));
    files.periods = vec![past];
    assert!(files.prompt_from("You are").contains("planted"));
    files.periods = vec![now];
    let prompt = files.prompt_from("You are");
    assert!(prompt.contains("far") && !prompt.contains("planted"), "{prompt}");
    let told: Vec<String> = files
        .snapshot()
        .reports
        .iter()
        .flat_map(|it| &it.problems)
        .map(ToString::to_string)
        .collect();
    assert!(told.iter().any(|it| it.contains("run `touch` on it")), "{told:?}");
}
