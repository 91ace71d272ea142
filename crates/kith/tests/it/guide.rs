//! The READMEs and the guides: every command in them is run as it stands, in an empty folder.
//!
//! A block marked `sh` is typed, and the block marked `text` below it is what comes out. One without
//! such a block prints nothing and succeeds. A block marked `toml` is written to `kith.toml`. Of a `screen`
//! the lines after `> ` are typed in a terminal, and the others appear there. A `screen NAME` is the one that is
//! kept in `testdata/screens`. One marked `bash` is not run: it needs a compiler or a key.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use kith_testkit::another_user::not_run;

use crate::house::House;
use crate::terminal::Terminal;

/// What stands between two fences, and what is printed for it.
struct Step {
    line: usize,
    typed: String,
    printed: Option<String>,
}

const END_OF_STEP: &str = "@@ exit ";

fn steps(guide: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let lines: Vec<&str> = guide.lines().collect();
    let (mut at, mut is_next_to_a_step) = (0, false);
    while at < lines.len() {
        let fence: String = lines[at].chars().take_while(|&it| it == '`').collect();
        if fence.len() < 3 {
            is_next_to_a_step = false;
            at += 1;
            continue;
        }
        let n_inside = lines[at + 1..].iter().position(|line| *line == fence).unwrap();
        let inside = lines[at + 1..=at + n_inside].join("\n");
        match &lines[at][fence.len()..] {
            "sh" => {
                steps.push(Step { line: at + 1, typed: inside, printed: None });
                is_next_to_a_step = true;
            }
            "toml" => {
                let typed = format!("cat > kith.toml <<'KITH_TOML'\n{inside}\nKITH_TOML");
                steps.push(Step { line: at + 1, typed, printed: None });
            }
            "bash" | "screen" => (),
            name if name.starts_with("screen ") => (),
            "text" if is_next_to_a_step => steps.last_mut().unwrap().printed = Some(inside),
            other => panic!("line {}: a block marked `{other}` is nobody's", at + 1),
        }
        at += n_inside + 2;
    }
    steps
}

/// Ids and times are different every day: long runs of hexadecimal digits are one mark, and every
/// other digit is a nought.
fn blurred(text: &str) -> String {
    let is_hex = |ch: char| ch.is_ascii_digit() || matches!(ch, 'a'..='f' | '-');
    let mut blurred = String::new();
    for part in text.split_inclusive(|ch| !is_hex(ch)) {
        let run: String = part.chars().take_while(|&ch| is_hex(ch)).collect();
        if run.len() >= 8 && run.contains(|ch: char| ch.is_ascii_digit()) {
            blurred.push('#');
        } else {
            blurred.extend(run.chars().map(|ch| if ch.is_ascii_digit() { '0' } else { ch }));
        }
        blurred.push_str(&part[run.len()..]);
    }
    blurred.trim_end().to_owned()
}

#[track_caller]
fn check(guide: &str, n_shown: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let steps = steps(&fs::read_to_string(root.join(guide)).unwrap());
    let mut script = "exec 2>&1\n".to_owned();
    for step in &steps {
        writeln!(script, "{}\nprintf '\\n{END_OF_STEP}%s\\n' \"$?\"", step.typed).unwrap();
    }
    let house = House::empty();
    let program = Path::new(env!("CARGO_BIN_EXE_kith")).parent().unwrap();
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(house.path(""))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
        .env("HOME", house.path("../user"))
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed = printed.replace(house.path("").to_str().unwrap().trim_end_matches('/'), "/src");
    let mut outcomes = printed.split(END_OF_STEP);
    let mut text = outcomes.next().unwrap().to_owned();
    for step in &steps {
        let (code, next) = outcomes.next().unwrap().split_once('\n').unwrap();
        let place = format!("{guide}, line {}:\n{}\n", step.line, step.typed);
        match &step.printed {
            Some(expected) => assert_eq!(blurred(&text), blurred(expected), "{place}"),
            None => assert_eq!((code, text.trim()), ("0", ""), "{place}"),
        }
        next.clone_into(&mut text);
    }
    assert_eq!(steps.iter().filter(|it| it.printed.is_some()).count(), n_shown, "{guide}");
}

/// The lines of the screens of a document.
fn screens(guide: &str) -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(guide)).unwrap();
    let blocks = text.split("\n```screen\n").skip(1).map(|it| it.split("\n```").next().unwrap());
    blocks.map(|it| it.lines().map(str::to_owned).collect()).collect()
}

/// Types what is typed on the screens of a document, and waits for the rest to appear.
#[track_caller]
fn check_screens(guide: &str, language: &str, idle: &str) {
    let screens = screens(guide);
    assert_eq!(screens.len(), 1, "{guide}");
    for screen in screens {
        let house = House::empty();
        house.kith(&["init", "."]).succeeded();
        let variables = [("NO_COLOR", "1"), ("LANG", language)];
        let mut terminal = Terminal::sized_with(&house, &[], (100, 60), &variables);
        terminal.until(idle);
        for line in &screen {
            if let Some(typed) = line.strip_prefix("> ") {
                terminal.press(typed);
                terminal.until(line);
                terminal.press("\r");
            } else {
                terminal.until(line.trim());
            }
        }
        terminal.until(idle);
        terminal.press("\u{4}");
        assert_eq!(terminal.end().0, 0);
    }
}

#[test]
fn the_screens_of_the_readmes_and_guides_are_those_of_a_terminal() {
    check_screens("README.md", "C.UTF-8", "Enter sends");
    check_screens("README.zh-CN.md", "zh_CN.UTF-8", "Enter 发送");
    check_screens("docs/guide/terminal.md", "C.UTF-8", "Enter sends");
    check_screens("docs/guide/terminal.zh-CN.md", "zh_CN.UTF-8", "Enter 发送");
}

#[test]
fn screens_in_the_readmes_are_those_that_tests_keep() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (guide, name) in [("README.md", "queue"), ("README.zh-CN.md", "chinese")] {
        let kept = fs::read_to_string(root.join(format!("testdata/screens/{name}.txt"))).unwrap();
        let text = fs::read_to_string(root.join(guide)).unwrap();
        assert!(text.contains(&format!("\n```screen {name}\n{kept}```\n")), "{guide}: {name}");
    }
}

#[test]
fn the_tour_of_the_readme_does_what_it_says() {
    check("README.md", 8);
}

#[test]
fn the_chinese_tour_does_what_it_says() {
    check("README.zh-CN.md", 8);
}

#[test]
fn the_guide_to_the_terminal_does_what_it_says() {
    check("docs/guide/terminal.md", 3);
    check("docs/guide/terminal.zh-CN.md", 3);
}

#[test]
fn the_guide_to_models_does_what_it_says() {
    check("docs/guide/models.md", 3);
    check("docs/guide/models.zh-CN.md", 3);
}

#[test]
fn the_guide_to_priming_does_what_it_says() {
    check("docs/guide/priming.md", 10);
    check("docs/guide/priming.zh-CN.md", 10);
}

#[test]
fn the_guide_to_branches_does_what_it_says() {
    check("docs/guide/branches.md", 5);
    check("docs/guide/branches.zh-CN.md", 5);
}

#[test]
fn the_guide_to_skills_does_what_it_says() {
    check("docs/guide/skills.md", 1);
    check("docs/guide/skills.zh-CN.md", 1);
}

#[test]
fn the_guide_to_trust_does_what_it_says() {
    check("docs/guide/trust.md", 2);
    check("docs/guide/trust.zh-CN.md", 2);
}

#[test]
fn the_guide_of_diagnostics_works_as_it_stands() {
    check("docs/guide/diagnostics.md", 2);
    check("docs/guide/diagnostics.zh-CN.md", 2);
}

#[test]
fn the_guide_to_remote_use_does_what_it_says() {
    check("docs/guide/remote.md", 2);
    check("docs/guide/remote.zh-CN.md", 2);
}

#[test]
fn the_guide_to_the_sandbox_does_what_it_says() {
    if House::new().kith(&["sandbox", "--", "true"]).stderr.contains("allows no namespaces") {
        not_run("this machine allows no sandbox");
        return;
    }
    check("docs/guide/sandbox.md", 2);
    check("docs/guide/sandbox.zh-CN.md", 2);
}

#[test]
fn every_guide_with_commands_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tests = include_str!("guide.rs");
    for guide in fs::read_dir(root.join("docs/guide")).unwrap() {
        let guide = guide.unwrap();
        if !fs::read_to_string(guide.path()).unwrap().contains("```") {
            continue;
        }
        let name = guide.file_name().into_string().unwrap();
        assert!(tests.contains(&format!("check(\"docs/guide/{name}\"")), "{name}");
    }
}

#[test]
fn only_ids_and_times_are_masked_in_guides() {
    assert_eq!(blurred("09b1d27d  cli:room:2908b1bfddafc01f  4 events"), "#  cli:room:#  0 events");
    assert_eq!(blurred("2026-11-16T00:15:05.087Z"), "#T00:00:00.000Z");
    assert_eq!(blurred("a faded facade, deadbeef, 探针 7"), "a faded facade, deadbeef, 探针 0");
}
