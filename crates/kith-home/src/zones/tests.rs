use super::*;

fn places() -> Places {
    Places {
        workspace: vec!["/u/x/repo".into()],
        cwd: "/u/x/repo/app".into(),
        house: "/u/x/house".into(),
        homes: vec!["/u/x/house".into(), "/u/x/house/ux".into()],
        user_home: Some("/u/x".into()),
        temporary: vec!["/tmp".into()],
        skills: vec!["/u/x/.kith/skills".into()],
        ..Places::default()
    }
}

#[track_caller]
fn check(zone: Zone, paths: &[&str]) {
    for path in paths {
        assert_eq!(places().zone(Path::new(path)), zone, "{path}");
    }
}

#[test]
fn every_file_of_the_self_is_protected_present_or_absent() {
    for home in ["/u/x/house", "/u/x/house/ux"] {
        for name in HOME_FILES {
            check(Zone::Oneself, &[&format!("{home}/{name}"), &format!("{home}/{name}/a/b")]);
        }
    }
    for name in HOUSE_SELF {
        check(Zone::Oneself, &[&format!("/u/x/house/{name}")]);
    }
    // Of the project: its chain of folders from the root to the working folder.
    for name in PROMPT_FILES {
        check(Zone::Oneself, &[&format!("/u/x/repo/{name}"), &format!("/u/x/repo/app/{name}")]);
    }
    check(
        Zone::Oneself,
        &[
            "/u/x/house/memory/2026-01-01.md",
            "/u/x/house/.minds/priming/x.md",
            "/u/x/repo/deep/er/AGENTS.md",
            "/u/x/repo/deep/kith.toml",
            "/elsewhere/Agent.md",
            "/u/x/repo/.git",
            "/u/x/repo/.git/config",
            "/u/x/repo/.git/hooks/pre-commit",
            "/u/x/repo/vendor/.git/config.worktree",
            "/u/x/repo/.git/modules/a/b/hooks/post-checkout",
            "/u/x/repo/.git/worktrees/w/gitdir",
            "/u/x/repo/.git/rebase-merge/git-rebase-todo",
            "/u/x/repo/.git/sequencer/todo",
            "/u/x/.kith/skills/deploy/SKILL.md",
        ],
    );
}

#[test]
fn capitals_and_detours_do_not_help() {
    check(
        Zone::Oneself,
        &[
            "/u/x/house/SOUL.MD",
            "/u/x/house/Memory/x",
            "/u/x/repo/src/agents.MD",
            "/u/x/repo/.GIT/Hooks/x",
            "/u/x/repo/src/../AGENTS.md",
            "/u/x/repo/./.git/./config",
            "/u/x/house/a/../../house/USER.md",
        ],
    );
    check(Zone::Secret, &["/u/x/repo/.KITH/state.db", "/u/x/repo/a/../../.ssh/id_rsa"]);
}

#[test]
fn keys_and_records_are_secret() {
    check(
        Zone::Secret,
        &[
            "/u/x/house/.kith",
            "/u/x/house/.kith/sessions/a.jsonl",
            "/u/x/.kith/config.toml",
            "/u/x/repo/.kith/x",
            "/u/x/.ssh",
            "/u/x/.ssh/known_hosts",
            "/u/x/.aws/credentials",
            "/u/x/.config/gh/hosts.yml",
            "/u/x/repo/test/id_ed25519",
            "/etc/shadow",
        ],
    );
}

#[test]
fn other_places_have_their_own_zones() {
    check(
        Zone::Workspace,
        &[
            "/u/x/repo",
            "/u/x/repo/src/lib.rs",
            "/u/x/repo/docs/memory/x.md",
            "/u/x/repo/docs/SOUL.md",
            "/u/x/repo/.git/index",
            "/u/x/repo/.gitignore",
            "/u/x/repo/.git/refs/heads/config-change",
        ],
    );
    check(Zone::Temporary, &["/tmp/a", "/dev/null"]);
    check(Zone::System, &["/usr/bin/ls", "/etc/hosts"]);
    check(Zone::Device, &["/dev/sda", "/proc/self/environ", "/proc/1/mem", "/sys/power/state"]);
    check(Zone::Outside, &["/srv/x", "/u/x", "/u/x/repository", "/", "relative/path", ""]);
}

#[test]
fn a_folder_around_the_self_holds_it() {
    for folder in ["/u/x/house", "/u/x", "/", "/u/x/repo", "/u/x/repo/app", "relative"] {
        assert!(places().holds_protected(Path::new(folder)), "{folder}");
    }
    for folder in ["/u/x/repo/app/src", "/tmp", "/u/x/house/ux/memory"] {
        assert!(!places().holds_protected(Path::new(folder)), "{folder}");
    }
}

#[test]
fn the_home_of_an_agent_is_no_folder_for_temporary_files() {
    let mut places = places();
    places.homes.push("/tmp/agent".into());
    assert_eq!(places.zone(Path::new("/tmp/agent/contacts.md")), Zone::Outside);
    assert_eq!(places.zone(Path::new("/tmp/agent/SOUL.md")), Zone::Oneself);
    assert_eq!(places.zone(Path::new("/tmp/agents/x")), Zone::Temporary);
}
