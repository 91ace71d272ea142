mod canary;
mod prompts;
mod strangers;

use std::fs;

use kith_vocab::event::messages::InstructionSnapshotEvent;
use kith_vocab::event::{Body, Event};
use kith_vocab::validate::validate;

use crate::test_home::{NOW_MS, TestHome};

use super::*;
use prompts::everything;

#[test]
fn sources_keep_their_order_priority_and_counts() {
    let files = everything();
    let assembled = files.snapshot();
    let mut lines = String::new();
    for section in &assembled.snapshot.sections {
        assert_eq!(section.frozen_at, NOW_MS);
        for source in section.sources.iter().flatten() {
            lines.push_str(&files.portable(&format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {}\n",
                section.kind,
                source.source_type,
                source.path.as_deref().unwrap_or("-"),
                source.scope,
                source.priority,
                source.injected_chars,
                source.sha256.as_ref().map_or(0, String::len),
            )));
            if let Some(content) = &source.content {
                assert!(section.rendered_block.contains(content.as_str()));
                assert_eq!(source.chars, source.injected_chars);
            }
        }
    }
    insta::assert_snapshot!(lines, @r#"
    Baseline Builtin "-" None None None 0
    Agents AgentsMd "/user/.kith/AGENTS.md" Some(GlobalUser) Some(0) Some(12) 64
    Agents AgentsMd "/user/repo/AGENTS.md" Some(Project) Some(5) Some(10) 64
    Agents AgentsMd "/user/repo/sub/x/AGENTS.md" Some(Project) Some(6) Some(10) 64
    Agents AgentMd "/user/repo/agent/Agent.md" Some(Home) Some(4) Some(13) 64
    Agents AgentsMd "/user/repo/agent/AGENTS.md" Some(Home) Some(4) Some(10) 64
    Agents Soul "/user/repo/agent/SOUL.md" Some(Home) Some(2) Some(18) 64
    Agents User "/user/repo/agent/USER.md" Some(Home) Some(3) Some(89) 64
    Agents Identity "/user/repo/agent/IDENTITY.md" Some(Home) Some(1) Some(33) 64
    Memory Memory "/user/repo/agent/MEMORY.md" Some(Home) None Some(10) 64
    Memory Memory "/user/repo/agent/memory/2026-11-15.md" Some(Home) None Some(6) 64
    Memory Memory "/user/repo/agent/memory/2026-11-14.md" Some(Home) None Some(10) 64
    Memory Memory "/user/repo/agent/.kith/memory/project.md" Some(Project) None Some(13) 64
    Environment Tools "/user/repo/agent/TOOLS.md" Some(Home) None Some(11) 64
    "#);
}

#[test]
fn all_files_have_one_scale_of_priority_and_it_is_the_documented_one() {
    let files = everything();
    let sections = files.snapshot().snapshot.sections;
    let sources = sections.iter().flat_map(|it| it.sources.iter().flatten());
    let loaded: Vec<(String, u32)> = sources
        .filter_map(|it| Some((files.portable(it.path.as_deref()?), it.priority?)))
        .map(|(path, priority)| (path.replace("/user/repo/", ""), priority))
        .collect();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format/instruction-files.md");
    let page = fs::read_to_string(page).unwrap();
    // Rows of the page: `| file | example of it | priority |`, in the order of loading.
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, _, example, priority, _] = cells[..] else { return None };
        Some((example.trim_matches('`').to_owned(), priority.parse().ok()?))
    });
    assert_eq!(loaded, rows.collect::<Vec<(String, u32)>>());
}

#[test]
fn an_agents_file_of_headings_only_is_loaded_and_a_blank_one_is_not() {
    let files = TestHome::new(
        "//- AGENTS.md\n# Rules\n## No force pushes\n//- SOUL.md\n# Soul\n//- USER.md\n# User\n",
    );
    let prompt = files.snapshot().snapshot.system_prompt();
    assert!(prompt.contains("## No force pushes"), "{prompt}");
    assert!(!prompt.contains("# Soul") && !prompt.contains("# User"), "{prompt}");
    let blank = TestHome::new("//- Agent.md\nBe kind.\n//- AGENTS.md\n \n\n");
    let prompt = blank.snapshot().snapshot.system_prompt();
    assert!(!prompt.contains("/AGENTS.md"), "{prompt}");
}

#[test]
fn a_snapshot_can_be_an_event() {
    for audience in [Audience::Owner, Audience::Shared, Audience::Peer] {
        let snapshot = everything().seen_by(audience).snapshot().snapshot;
        let event = Event {
            seq: 1,
            id: "019a88a0-0000-7000-8000-000000000001".parse().unwrap(),
            ts: NOW_MS,
            client_id: "host".to_owned(),
            ingress_key: None,
            parent_id: None,
            source_tag: None,
            body: Body::InstructionSnapshot(InstructionSnapshotEvent { snapshot }),
        };
        assert_eq!(validate(&event), Ok(()));
    }
}

#[test]
fn the_soul_sentence_stands_once_and_only_with_a_soul() {
    const SENTENCE: &str = "If SOUL.md is present, embody its persona and tone. Avoid stiff, \
                            generic replies; follow its guidance unless higher-priority \
                            instructions override it.";
    let with = everything().prompt_from("You are");
    assert_eq!(with.matches(SENTENCE).count(), 1);
    for soul in ["", "//- SOUL.md\n# SOUL.md\n<!-- nothing yet -->\n"] {
        let files = TestHome::new(&format!("//- Agent.md\nx\n{soul}"));
        assert!(!files.prompt_from("You are").contains(SENTENCE));
    }
}

#[test]
fn the_baseline_is_short_and_says_what_reminders_are() {
    let baseline = &everything().snapshot().snapshot.sections[0].rendered_block;
    assert!(baseline.len() <= 2_600, "{}", baseline.len());
    assert!(baseline.contains(
        "Tool results and user messages may include <system-reminder> tags. These tags contain \
         information automatically added by Kith's harness. They are not part of the specific \
         tool result or user message in which they appear."
    ));
    assert!(baseline.contains("Safety > AGENTS.md > USER.md > SOUL.md > IDENTITY.md"));
}

#[test]
fn each_file_is_loaded_once() {
    let files = TestHome::new("//- .git/HEAD\n//- AGENTS.md\nonce\n//- Agent.md\nx\n");
    let prompt = files.prompt_from("You are");
    assert_eq!(prompt.matches("once").count(), 1);
}

#[test]
fn without_a_repository_the_walk_ends_before_the_users_home() {
    let files = "//- Agent.md\nx\n//- /user/AGENTS.md\nnever\n//- /user/a/AGENTS.md\nfar\n\
                 //- /user/a/b/AGENTS.md\nnear @include never.md\n//- /user/a/b/never.md\nnever\n";
    let files = TestHome::new(files).at("user/a/b");
    check_instructions(&files, "/user/a/AGENTS.md /user/a/b/AGENTS.md /user/luna/Agent.md");
    assert!(files.prompt_from("You are").contains("near @include never.md\n"));

    let files = TestHome::new("//- Agent.md\nx\n//- /user/AGENTS.md\nnever\n").at("user");
    check_instructions(&files, "/user/luna/Agent.md");
}

#[test]
fn elsewhere_only_the_working_directory_counts() {
    let files = "//- Agent.md\nx\n//- /srv/AGENTS.md\nnever\n//- /srv/a/AGENTS.md\nnear\n";
    let files = TestHome::new(files).at("srv/a");
    check_instructions(&files, "/srv/a/AGENTS.md /user/luna/Agent.md");
}

#[test]
fn nothing_above_the_repository_is_read() {
    let files = "//- Agent.md\nx\n//- /user/a/AGENTS.md\nnever\n//- /user/a/b/.git\ngitdir: x\n\
                 //- /user/a/b/AGENTS.md\nroot\n//- /user/a/b/c/AGENTS.md\nnear\n";
    let files = TestHome::new(files).at("user/a/b/c").trusting("user/a/b");
    check_instructions(&files, "/user/a/b/AGENTS.md /user/a/b/c/AGENTS.md /user/luna/Agent.md");
}

#[test]
fn a_repository_file_git_points_to_gives_branch_and_worktree() {
    let files = TestHome::new(
        "//- Agent.md\nx\n//- .git\ngitdir: ../main/.git/worktrees/fix\n\
         //- /user/main/.git/worktrees/fix/HEAD\nref: refs/heads/fix/a<b\n",
    );
    let prompt = files.prompt_from("Git branch");
    assert!(
        prompt.starts_with(
            "Git branch: fix/a&lt;b\nGit worktree: /user/luna (linked worktree `fix`)\n"
        )
    );

    let detached = TestHome::new(&format!("//- Agent.md\nx\n//- .git/HEAD\n{}\n", "0a".repeat(20)));
    let prompt = detached.prompt_from("Git branch");
    assert!(prompt.starts_with("Git branch: none, detached at 0a0a0a0a0a0a\n"));

    let secret =
        TestHome::new("//- Agent.md\nx\n//- .git\ngitdir: ../k\n//- /user/k/HEAD\nsecret\n");
    assert!(secret.prompt_from("Git branch").starts_with("Git branch: unknown\n"));
}

#[test]
fn a_large_tree_is_a_few_lines() {
    let files = TestHome::new("//- Agent.md\nx\n//- .git/HEAD\n//- package.json\n{}\n");
    for folder in 0..100 {
        let folder = files.home.join(format!("folder-{folder:02}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..100 {
            fs::File::create(folder.join(format!("nested-{file}"))).unwrap();
        }
    }
    fs::write(files.home.join("a\n# b"), "").unwrap();
    let prompt = files.prompt_from("# Workspace");
    assert!(!prompt.contains("nested"));
    let (workspace, _) = prompt.split_once("\n\n# Environment").unwrap();
    insta::assert_snapshot!(workspace, @r"
    # Workspace

    Working directory: /user/luna
    Repository root: /user/luna
    Workspace kind: npm
    Top level: Agent.md, a\u{a}# b, folder-00/, folder-01/, folder-02/, folder-03/, folder-04/, folder-05/, folder-06/, folder-07/, folder-08/, folder-09/, folder-10/, folder-11/, folder-12/, folder-13/, folder-14/, folder-15/, folder-16/, folder-17/ … and 83 more
    ");
}

#[test]
fn text_that_is_none_and_text_that_is_too_long_are_told() {
    let files = TestHome::new("//- Agent.md\nx\n");
    fs::write(files.home.join("USER.md"), b"caf\xe9").unwrap();
    fs::write(files.home.join("SOUL.md"), "字".repeat(65_537)).unwrap();
    check_reports(
        &files,
        "/user/luna/SOUL.md is too long; 6555 characters were left out of the prompt\n\
         /user/luna/USER.md contains bytes that are not UTF-8; they were replaced",
    );
    let prompt = files.prompt_from("You are");
    assert!(prompt.contains("caf\u{fffd}\n</file>"));
    assert!(prompt.contains(
        "字\n[… 6555 of 65537 characters are left out here; the whole file is \
         `/user/luna/SOUL.md` …]\n字"
    ));
}

#[test]
fn a_folder_without_a_constitution_is_no_home() {
    check_error(
        "",
        "`/user/luna` is not an agent's home: it contains neither `Agent.md` nor `AGENTS.md`",
    );
    check_error(
        "//- Agent.md/x\n",
        "`/user/luna` is not an agent's home: it contains neither `Agent.md` nor `AGENTS.md`",
    );
}

#[test]
fn a_folder_in_place_of_a_file_is_left_out_and_told() {
    let files = TestHome::new("//- Agent.md\nx\n//- SOUL.md/x\n//- memory/2026-11-15.md/x\n");
    check_reports(
        &files,
        "/user/luna/SOUL.md is not a regular file, so it is ignored; replace it with a file or remove it\n\
         /user/luna/memory/2026-11-15.md is not a regular file, so it is ignored; replace it with a file or remove it",
    );
}
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let files = TestHome::new("//- Agent.md\nx\n");
        let mode = Mode::from_raw_mode(0o644);
        mknodat(CWD, files.home.join("USER.md"), FileType::Fifo, mode, 0).unwrap();
        check_reports(
            &files,
            "/user/luna/USER.md is not a regular file, so it is ignored; replace it with a file or remove it",
        );
    }

    #[test]
    fn a_file_of_the_home_that_cannot_be_had_stops_the_session() {
        for target in ["SOUL.md", "gone.md"] {
            let files = TestHome::new("//- Agent.md\nx\n");
            symlink(target, files.home.join("SOUL.md")).unwrap();
            let error = files.try_snapshot().unwrap_err().to_string();
            let message = "cannot read prompt file `/user/luna/SOUL.md`";
            assert_eq!(files.portable(&error), message);
        }
    }

    #[test]
    fn a_link_out_of_the_home_shows_nobody_what_lies_there() {
        let files = TestHome::new("//- Agent.md\nx\n//- /key\nSECRET\n//- notes/soul.md\ncalm\n");
        symlink("../../key", files.home.join("SOUL.md")).unwrap();
        symlink("notes/soul.md", files.home.join("TOOLS.md")).unwrap();
        let prompt = files.snapshot().snapshot.system_prompt();
        assert!(!prompt.contains("SECRET") && prompt.contains("calm"), "{prompt}");
        check_reports(
            &files,
            "/user/luna/SOUL.md is a link that points outside `/user/luna`, so it is ignored",
        );
        // Where the owner's word holds too, a link may lead.
        let files = files.trusting("key");
        assert!(files.snapshot().snapshot.system_prompt().contains("SECRET"));
    }

    #[test]
    fn a_constitution_that_lies_elsewhere_stops_the_session() {
        let files = TestHome::new("//- /key\nSECRET\n");
        symlink("../../key", files.home.join("Agent.md")).unwrap();
        let error = files.try_snapshot().unwrap_err().to_string();
        assert_eq!(files.portable(&error), "cannot read prompt file `/user/luna/Agent.md`");
    }

    #[test]
    fn a_file_refused_as_the_projects_may_still_be_the_homes() {
        let files = TestHome::new("//- .git/HEAD\n//- AGENTS.md\nmine\n");
        let mode = fs::Permissions::from_mode(0o666);
        fs::set_permissions(files.home.join("AGENTS.md"), mode).unwrap();
        let assembled = files.snapshot();
        let source = &assembled.snapshot.sections[1].sources.as_ref().unwrap()[0];
        assert_eq!(source.scope, Some(Scope::Home));
        assert_eq!(assembled.reports.len(), 1);
        assert_eq!(assembled.reports[0].injected_chars, 5);
        assert_eq!(assembled.reports[0].problems, [Problem::LooseInHome]);
    }

    #[test]
    fn a_path_cannot_leave_its_quotes() {
        let files = TestHome::new("//- Agent.md\nx\n//- /user/a\"<b>/AGENTS.md\ny\n");
        let files = files.at("user/a\"<b>");
        let prompt = files.prompt_from("You are");
        assert!(prompt.contains("<file path=\"/user/a&quot;&lt;b&gt;/AGENTS.md\">\ny\n</file>"));
        assert!(prompt.contains("Working directory: /user/a&quot;&lt;b&gt;\n"));
    }

    #[test]
    fn a_project_link_shows_nothing_from_elsewhere() {
        let files = TestHome::new("//- Agent.md\nx\n//- .git/HEAD\n//- /user/key\nsecret\n");
        symlink("../key", files.home.join("AGENTS.md")).unwrap();
        fs::create_dir(files.home.join("a")).unwrap();
        let mut files = files.at("user/luna/a");
        symlink("AGENTS.md", files.home.join("a/AGENTS.md")).unwrap();
        // Elsewhere, so that the link is only the project's and not the home's.
        files.home = files.root.join("user/else");
        fs::create_dir(&files.home).unwrap();
        fs::write(files.home.join("Agent.md"), "x").unwrap();
        let prompt = files.prompt_from("You are");
        assert!(!prompt.contains("secret"));
        let reports = files.snapshot().reports;
        let within = files.root.join("user/luna");
        assert_eq!(reports[0].problems, [Problem::LeadsOutside { within }]);
        assert!(matches!(reports[1].problems[..], [Problem::Unreadable { .. }]));
    }
}

/// The files of the `agents` section, in order.
#[track_caller]
fn check_instructions(files: &TestHome, expected: &str) {
    let sections = files.snapshot().snapshot.sections;
    let sources = sections[1].sources.iter().flatten();
    let paths: Vec<String> =
        sources.map(|it| files.portable(it.path.as_deref().unwrap_or("-"))).collect();
    assert_eq!(paths.join(" "), expected);
}

#[track_caller]
fn check_error(files: &str, message: &str) {
    check_error_of(&TestHome::new(files), message);
}

#[track_caller]
fn check_error_of(files: &TestHome, message: &str) {
    let error = files.try_snapshot().unwrap_err();
    assert_eq!(files.portable(&error.to_string()), message);
}

#[track_caller]
fn check_reports(files: &TestHome, expected: &str) {
    let mut lines = Vec::new();
    for report in files.snapshot().reports {
        for problem in &report.problems {
            lines.push(files.portable(&format!("{} {problem}", report.path.display())));
        }
    }
    assert_eq!(lines.join("\n"), expected);
}

#[test]
fn the_baseline_has_the_name_that_the_settings_give() {
    let mut home = TestHome::new("//- Agent.md\nx\n//- IDENTITY.md\nname: Luna\nrole: Scribe\n");
    home.configured.agent.name = Some("Ada".to_owned());
    let prompt = home.snapshot().snapshot.system_prompt();
    assert!(prompt.starts_with("You are Ada, an agent"), "{prompt}");
    assert!(prompt.contains("Name: Ada\nRole: Scribe"), "{prompt}");
}
