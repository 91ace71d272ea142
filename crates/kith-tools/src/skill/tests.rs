use kith_vocab::event::calls::Effect;

use crate::fixture::{World, write_file};

use kith_vocab::tool::ToolOutcome;
use tokio_util::sync::CancellationToken;

use super::*;

const WORLD: &str = "//- out/skills/tidy/SKILL.md
---
description: Sorts notes.
---
Sort them. See help.md.
//- out/skills/tidy/help.md
By date.
//- out/skills/deploy/SKILL.md
Deploys.
";

#[test]
fn a_skill_comes_whole_and_says_where_its_files_lie() {
    check(
        WORLD,
        "tidy",
        "Skill `tidy`. Its folder is `<tmp>/out/skills/tidy`; paths in it are relative to that folder.

---
description: Sorts notes.
---
Sort them. See help.md.
",
    );
    let world = World::new(WORLD);
    let text = world.call("read_file", r#"{"path":"<tmp>/out/skills/tidy/help.md"}"#);
    assert!(text.ends_with("1\tBy date.\n"), "{text}");
}

#[test]
fn loading_is_reading_of_the_real_file() {
    let world = World::new(WORLD);
    let prepared = world.prepare("skill", r#"{"name":"tidy"}"#).unwrap();
    assert_eq!(prepared.effect(), Effect::Read);
    assert_eq!(prepared.summary, "skill tidy");
    let real = world.path("out/skills/tidy/SKILL.md");
    assert!(prepared.facts.as_str().contains(real.to_str().unwrap()));
    let other = world.prepare("skill", r#"{"name":"deploy"}"#).unwrap();
    assert_ne!(prepared.digest, other.digest);
}

#[test]
fn an_unknown_name_is_answered_with_those_there_are() {
    check(
        WORLD,
        "Tidi",
        "error: there is no skill `Tidi`; did you mean `tidy`? (there are: deploy, tidy)",
    );
    check(
        WORLD,
        "a long way off",
        "error: there is no skill `a long way off` (there are: deploy, tidy)",
    );
    check(WORLD, "../../etc", "error: there is no skill `../../etc` (there are: deploy, tidy)");
    check("", "tidy", "error: there is no skill `tidy`; there are no skills at all");
}

#[test]
fn not_all_of_very_many_names_are_repeated() {
    let world = World::new("");
    for n in 0..NAMES_SHOWN_MAX + 2 {
        write_file(&world.path(&format!("out/skills/s{n:03}/SKILL.md")), "x");
    }
    let text = world.call("skill", r#"{"name":"a long way off"}"#);
    assert!(text.ends_with("s048, s049 and 2 more)"), "{text}");
}

#[test]
fn a_long_one_says_how_to_read_on() {
    let world = World::new("");
    let path = world.path("out/skills/long/SKILL.md");
    let line = |n: usize| format!("{n:04} {}\n", "x".repeat(94));
    write_file(&path, (1..=300).map(line).collect::<Vec<_>>().concat());
    let text = world.call("skill", r#"{"name":"long"}"#);
    let n_shown = text.lines().filter(|line| line.ends_with("xxx")).count();
    assert!((140..300).contains(&n_shown), "{n_shown}");
    let expected = format!(
        "\n… {} more lines; before you follow this skill, read them: \
         read_file `<tmp>/out/skills/long/SKILL.md`, offset {}",
        300 - n_shown,
        n_shown + 1
    );
    assert!(text.ends_with(&expected), "{}", &text[text.len() - 300..]);

    let input = format!(r#"{{"path":"<tmp>/out/skills/long/SKILL.md","offset":{}}}"#, n_shown + 1);
    assert!(world.call("read_file", &input).contains(&line(n_shown + 1)));
}

#[test]
fn a_huge_one_of_one_line_is_bounded() {
    let world = World::new("");
    let most = usize::try_from(SKILL_BYTES_MAX).unwrap();
    write_file(&world.path("out/skills/huge/SKILL.md"), "x".repeat(2 * most));
    let text = world.call("skill", r#"{"name":"huge"}"#);
    assert!(text.contains("… at least 1 more line; "), "{text}");
    assert!(!text.contains("xxxx"));
}

#[test]
fn a_skill_that_leads_out_of_its_root_is_not_loaded() {
    let world =
        World::new("//- out/secret.txt\nsecret\n//- out/skills/a/SKILL.md -> ../../secret.txt\n");
    let text = world.call("skill", r#"{"name":"a"}"#);
    assert!(text.contains("lies outside the folders you may read"), "{text}");
}

#[test]
fn a_skill_that_changed_its_place_after_the_judgement_is_not_loaded() {
    let world = World::new(WORLD);
    let prepared = world.prepare("skill", r#"{"name":"tidy"}"#).unwrap();
    std::fs::remove_dir_all(world.path("out/skills/tidy")).unwrap();
    world.write("//- out/skills/tidy -> deploy\n");
    let output = world.run("skill", prepared);
    assert_eq!(output.outcome, ToolOutcome::Failed);
    let text = output.plain_text();
    assert!(text.starts_with("what it would act on is not what was judged"), "{text}");
}

#[test]
fn a_cancelled_call_reads_nothing() {
    let world = World::new(WORLD);
    let prepared = world.prepare("skill", r#"{"name":"tidy"}"#).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = world.run_until("skill", prepared, &cancel);
    let text = output.plain_text();
    assert_eq!((&*text, output.outcome), ("skill was cancelled", ToolOutcome::Failed));
}

#[track_caller]
fn check(files: &str, name: &str, expected: &str) {
    let world = World::new(files);
    assert_eq!(
        world.call("skill", Json::of(&SkillInput { name: name.to_owned() }).as_str()),
        expected
    );
}
