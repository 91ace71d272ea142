use kith_vocab::header::Audience;

use crate::markdown::is_effectively_empty;
use crate::test_home::TestHome;

use super::*;

const ALL: [&str; 7] =
    ["Agent.md", "USER.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "kith.toml", ".gitignore"];

#[test]
fn a_new_home_has_every_file_and_a_second_run_writes_none() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("deep/luna");
    let expected: Vec<PathBuf> = ALL.iter().map(|name| dir.join(name)).collect();
    assert_eq!(init(&dir, "luna").unwrap(), expected);
    assert_eq!(init(&dir, "luna").unwrap(), Vec::<PathBuf>::new());
    assert_eq!(fs::read_to_string(dir.join(".gitignore")).unwrap(), ".kith/\n.dialogs/\n");
}

#[test]
fn an_existing_home_is_completed_and_never_overwritten() {
    let files = TestHome::new("//- Agent.md\nmine\n//- .gitignore\ntarget\n");
    let written = init(&files.home, "luna").unwrap();
    assert_eq!(written.len(), ALL.len() - 2);
    assert_eq!(fs::read_to_string(files.home.join("Agent.md")).unwrap(), "mine\n");
    assert_eq!(fs::read_to_string(files.home.join(".gitignore")).unwrap(), "target\n");
}

#[test]
fn unedited_examples_add_nothing_to_the_prompt() {
    let mut files = TestHome::new("");
    init(&files.home, "luna").unwrap();
    for audience in [Audience::Owner, Audience::Shared, Audience::Peer] {
        files.audience = audience;
        let assembled = files.snapshot();
        let agents = assembled.snapshot.sections[1].sources.as_ref().unwrap();
        assert_eq!(agents.len(), 1, "only Agent.md speaks");
        assert!(assembled.snapshot.system_prompt().starts_with("You are Assistant, "));
        assert_eq!(assembled.snapshot.sections[4].sources, None);
    }
    let heartbeat = fs::read_to_string(files.home.join("HEARTBEAT.md")).unwrap();
    assert!(is_effectively_empty(&heartbeat));
    let settings = fs::read_to_string(files.home.join("kith.toml")).unwrap();
    assert!(settings.lines().all(|line| line.is_empty() || line.starts_with('#')));
}

#[test]
fn the_constitution_says_what_was_promised() {
    let text = TEMPLATES[0].1.split_whitespace().collect::<Vec<&str>>().join(" ");
    for promise in [
        "ask one to three key questions first",
        "Give the conclusion, the evidence in a few lines, and the options",
        "say so, explain why, and offer another way",
        "Don't exfiltrate private data. Ever.",
        "Don't run destructive commands without asking.",
        "When in doubt, ask.",
        "load it with the `skill` tool",
    ] {
        assert!(text.contains(promise), "{promise}");
    }
}

#[test]
fn the_constitution_describes_only_what_is_built() {
    let text = TEMPLATES[0].1.to_lowercase();
    let text = text.split_whitespace().collect::<Vec<&str>>().join(" ");
    for later in ["memory", "shell", "`ls`", "telegram", "feishu", "discord", "heartbeat"] {
        assert!(!text.contains(later), "{later}");
    }
    assert!(text.contains("commands run in a sandbox"));
    assert!(text.contains("wait for your human's yes"));
}

#[test]
fn the_order_in_which_files_win_is_stated_once_and_not_in_the_constitution() {
    let constitution = TEMPLATES[0].1;
    assert!(!constitution.contains("SOUL.md") && !constitution.contains("IDENTITY.md"));
    let files = TestHome::new("");
    init(&files.home, "luna").unwrap();
    let prompt = files.snapshot().snapshot.system_prompt();
    let order = "Safety > AGENTS.md > USER.md > SOUL.md > IDENTITY.md";
    assert_eq!(prompt.matches(order).count(), 1);
    // Of all documents one states it, and with the same words.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut stating = Vec::new();
    for folder in [".", "docs", "docs/format", "docs/guide"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "md")
                && fs::read_to_string(&path).unwrap().contains("AGENTS.md > USER.md")
            {
                stating.push(path);
            }
        }
    }
    let page = root.join("docs/format/instruction-files.md");
    assert_eq!(stating, [page.as_path()]);
    let page = fs::read_to_string(page).unwrap();
    let sentences = prompt.split("# Whose word counts\n\n").nth(1).unwrap();
    let sentences = sentences.split("Files say").next().unwrap().trim();
    assert!(page.contains(sentences), "the page does not say: {sentences}");
}

#[test]
fn what_stands_in_the_way_is_named() {
    let files = TestHome::new("//- file\nx");
    check_error(&files, "file", "luna", "cannot create folder `/user/luna/file`");
    check_error(&files, "file/deeper", "luna", "cannot create folder `/user/luna/file/deeper`");
    for agent_id in ["", "Luna", "a b", "a\"\nx = 1", "../x"] {
        let message = format!(
            "`{agent_id}` is not an agent id (1 to 64 of `a` to `z`, `0` to `9`, `-` and `_`)"
        );
        check_error(&files, "new", agent_id, &message);
    }
    assert!(!files.home.join("new").exists());
}

#[test]
fn a_link_is_not_written_through() {
    let files = TestHome::new("");
    std::os::unix::fs::symlink("elsewhere.md", files.home.join("USER.md")).unwrap();
    init(&files.home, "luna").unwrap();
    assert!(!files.home.join("elsewhere.md").exists());
}

#[track_caller]
fn check_error(files: &TestHome, dir: &str, agent_id: &str, message: &str) {
    let error = init(&files.home.join(dir), agent_id).unwrap_err();
    assert_eq!(files.portable(&error.to_string()), message);
}
