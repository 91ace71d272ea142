use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::test_home::TestHome;

const TIDY: &str = "---\nname: Tidy\ndescription: Sorts notes.\n---\nSort them.\n";

#[test]
fn an_entry_says_what_there_is_and_where() {
    let home = TestHome::new(&format!("//- skills/tidy/SKILL.md\n{TIDY}"));
    let index = index(&home);
    assert_eq!(index.issues, []);
    assert_eq!(
        index.entries,
        [SkillEntry {
            name: "tidy".to_owned(),
            display_name: "Tidy".to_owned(),
            description: "Sorts notes.".to_owned(),
            path: home.home.join("skills/tidy/SKILL.md").to_string_lossy().into_owned(),
            scope: "home".to_owned(),
            sha256: kith_vocab::digest::sha256_hex(TIDY.as_bytes()),
        }]
    );
}

#[test]
fn a_home_without_skills_has_none_and_nothing_is_wrong() {
    let home = TestHome::new("");
    assert_eq!(index(&home), SkillIndex::default());
}

#[test]
fn the_nearest_of_a_name_is_meant() {
    let home = TestHome::new(
        "//- skills/a/SKILL.md\nhome\n\
         //- /user/repo/.git/HEAD\nx\n\
         //- /user/repo/sub/.kith/skills/a/SKILL.md\nsub\n\
         //- /user/repo/sub/.kith/skills/b/SKILL.md\nsub\n\
         //- /user/repo/.kith/skills/b/SKILL.md\nrepo\n\
         //- /user/repo/.kith/skills/c/SKILL.md\nrepo\n\
         //- /user/.kith/skills/c/SKILL.md\nuser\n\
         //- /user/.kith/skills/d/SKILL.md\nuser\n\
         //- /extra1/d/SKILL.md\nfirst\n\
         //- /extra1/e/SKILL.md\nfirst\n\
         //- /extra2/e/SKILL.md\nsecond\n\
         //- /extra2/f/SKILL.md\nsecond\n\
         //- /extra2/A/SKILL.md\nother capitals\n",
    )
    .at("user/repo/sub");
    check(
        &home,
        "a home home\nb sub project\nc repo project\nd user global_user\ne first extra\nf second extra",
    );
}

#[test]
fn a_repository_that_is_not_trusted_adds_nothing() {
    let home = TestHome::new(
        "//- /user/repo/.git/HEAD\nx\n//- /user/repo/.kith/skills/b/SKILL.md\nrepo\n",
    )
    .at("user/repo");
    let extra = [];
    let index = skills(&SkillRequest { trusted: &|_| false, ..request(&home, &extra) });
    assert_eq!(
        shown(&home, &index),
        "/user/repo/.kith/skills:1 is ignored because the repository `/user/repo` is not trusted; run `kith trust .` in it to trust it"
    );
    // And who asks about trust is asked about the root of the repository.
    let asked = |root: &Path| root == home.root.join("user/repo");
    let index = skills(&SkillRequest { trusted: &asked, ..request(&home, &extra) });
    assert_eq!(shown(&home, &index), "b repo project");
}

#[test]
fn without_a_repository_there_are_no_skills_of_a_project() {
    let home = TestHome::new("//- /user/notes/.kith/skills/b/SKILL.md\nnotes\n").at("user/notes");
    check(&home, "");
}

#[test]
fn a_home_that_is_a_repository_has_its_skills_once() {
    let home = TestHome::new("//- /user/.git/HEAD\nx\n//- /user/.kith/skills/b/SKILL.md\nuser\n");
    let extra = [];
    let index = skills(&SkillRequest { trusted: &|_| false, ..request(&home, &extra) });
    assert_eq!(shown(&home, &index), "b user global_user");
    check(&home, "b user project");
}

#[test]
fn only_allowed_skills_are_in_force() {
    let home = TestHome::new("//- skills/a/SKILL.md\nA\n//- skills/b/SKILL.md\nB\n");
    let extra = [];
    let allowed = ["b".to_owned(), "missing".to_owned()];
    let index = skills(&SkillRequest { allowed: Some(&allowed), ..request(&home, &extra) });
    assert_eq!(shown(&home, &index), "b B home");
    let index = skills(&SkillRequest { allowed: Some(&[]), ..request(&home, &extra) });
    assert_eq!(shown(&home, &index), "");
}

#[test]
fn what_is_no_skill_is_told() {
    let home = TestHome::new(
        "//- skills/README.md\nno folder\n\
         //- skills/.hidden/SKILL.md\nhidden\n\
         //- skills/empty/notes.md\nno skill file\n\
         //- skills/folder/SKILL.md/x\na folder\n\
         //- skills/good/SKILL.md\nGood.\n\
         //- skills/open/SKILL.md\n---\nname: x\n\
         //- skills/silent/SKILL.md\n# Only a heading\n",
    );
    check(
        &home,
        "good Good. home\n\
         /skills/empty:1 has no `SKILL.md`; add one, or move the folder elsewhere\n\
         /skills/folder/SKILL.md:1 is not a regular file, so it is ignored; replace it with a file or remove it\n\
         /skills/open/SKILL.md:1 has a front matter that is not closed, so it is ignored; close it with a line `---`\n\
         /skills/silent/SKILL.md:1 has no description, so it is not listed; add `description: …` to its front matter",
    );
    assert_eq!(index(&home).n_checked, 5);
}

#[test]
fn names_are_visible_short_and_differ_by_more_than_capitals() {
    let home = TestHome::new("//- skills/tidy/SKILL.md\nlower\n//- skills/Tidy/SKILL.md\nupper\n");
    let long = "x".repeat(SKILL_NAME_CHARS_MAX + 1);
    for name in ["a\nb", " space", "r\u{202e}tl", "tick`", &long] {
        let folder = home.home.join("skills").join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), "d").unwrap();
    }
    let index = index(&home);
    assert_eq!(index.entries.len(), 1);
    assert_eq!(index.entries[0].description, "upper");
    let names = index.issues.iter().filter(|it| it.problem == SkillProblem::Name).count();
    assert_eq!(names, 5);
    let same = SkillProblem::SameName { other: "Tidy".to_owned() };
    assert!(index.issues.iter().any(|it| it.problem == same && it.path.ends_with("tidy")));
}

#[test]
fn a_name_that_is_no_text_is_told() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = TestHome::new("//- skills/a/SKILL.md\nA\n");
    let folder = home.home.join("skills").join(OsStr::from_bytes(b"\xff"));
    // A disk that takes no such name cannot hold such a skill.
    if fs::create_dir(&folder).is_err() {
        return;
    }
    let index = index(&home);
    assert_eq!(index.entries.len(), 1);
    assert_eq!(index.issues, [SkillIssue::of(&folder, SkillProblem::Name)]);
}

#[test]
fn links_out_of_a_root_are_not_followed() {
    let home = TestHome::new(
        "//- skills/good/SKILL.md\nGood.\n//- /out/stolen/SKILL.md\nsecret\n//- skills/part/x\nx\n",
    );
    let skills = home.home.join("skills");
    symlink(home.root.join("out/stolen"), skills.join("folder")).unwrap();
    symlink(home.root.join("out/stolen/SKILL.md"), skills.join("part/SKILL.md")).unwrap();
    symlink("good", skills.join("inside")).unwrap();
    symlink("nowhere", skills.join("dangling")).unwrap();
    check(
        &home,
        "good Good. home\ninside Good. home\n\
         /skills/folder/SKILL.md:1 is a link that points outside `/skills`, so it is ignored\n\
         /skills/part/SKILL.md:1 is a link that points outside `/skills`, so it is ignored",
    );
}

#[test]
fn a_projects_folder_of_skills_may_not_lie_outside_the_repository() {
    let home = TestHome::new(
        "//- /user/repo/.git/HEAD\nx\n//- /user/repo/.kith/x\nx\n//- /out/b/SKILL.md\nsecret\n",
    )
    .at("user/repo");
    symlink(home.root.join("out"), home.root.join("user/repo/.kith/skills")).unwrap();
    check(
        &home,
        "/user/repo/.kith/skills:1 is a link that points outside `/user/repo`, so it is ignored",
    );
}

#[test]
fn what_others_could_write_is_left_out_unless_it_is_the_homes() {
    let everyone = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let home = TestHome::new(
        "//- skills/own/SKILL.md\nown\n\
         //- /user/.kith/skills/file/SKILL.md\nfile\n\
         //- /user/.kith/skills/folder/SKILL.md\nfolder\n\
         //- /user/.kith/skills/good/SKILL.md\ngood\n\
         //- /open/a/SKILL.md\nopen\n",
    );
    everyone(&home.home.join("skills/own/SKILL.md"), 0o666);
    everyone(&home.root.join("user/.kith/skills/file/SKILL.md"), 0o666);
    everyone(&home.root.join("user/.kith/skills/folder"), 0o777);
    everyone(&home.root.join("open"), 0o777);
    let extra = [home.root.join("open")];
    let index = skills(&request(&home, &extra));
    let loose = "is writable by every user, so it is ignored; run `chmod o-w` on it";
    let told = "is writable by every user; run `chmod o-w` on it";
    assert_eq!(
        shown(&home, &index),
        format!(
            "good good global_user\nown own home\n/open:1 {loose}\n/skills/own/SKILL.md:1 {told}\n\
             /user/.kith/skills/file/SKILL.md:1 {loose}\n/user/.kith/skills/folder:1 {loose}"
        )
    );
}

#[test]
fn skills_of_another_user_are_left_out_also_of_the_home() {
    if !rustix::process::geteuid().is_root() {
        // Nobody but root can give a file away; `standing` is tested without it.
        return;
    }
    let home =
        TestHome::new("//- skills/own/SKILL.md\nown\n//- skills/foreign/SKILL.md\nobey me\n");
    let foreign = home.home.join("skills/foreign/SKILL.md");
    std::os::unix::fs::chown(&foreign, Some(4242), None).unwrap();
    let told = "belongs to user 4242, so it is ignored; run `chown` on it if it is yours";
    assert_eq!(
        shown(&home, &skills(&request(&home, &[]))),
        format!("own own home\n/skills/foreign/SKILL.md:1 {told}")
    );
}

#[test]
fn a_pipe_is_not_waited_for() {
    let home = TestHome::new("//- skills/pipe/x\nx\n");
    let path = home.home.join("skills/pipe/SKILL.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    assert_eq!(index(&home).issues, [SkillIssue::file(&path, Problem::NotAFile)]);
}

#[test]
fn a_file_may_be_so_long_and_no_longer() {
    let home = TestHome::new("//- skills/a/x\nx\n");
    let path = home.home.join("skills/a/SKILL.md");
    let most = usize::try_from(SKILL_FILE_BYTES_MAX).unwrap();
    fs::write(&path, "x \n".repeat(most / 3 + 1).split_at(most).0).unwrap();
    assert_eq!(index(&home).entries.len(), 1);
    fs::write(&path, "x".repeat(most + 1)).unwrap();
    let found = index(&home);
    assert_eq!(found.entries, []);
    assert_eq!(found.issues, [SkillIssue::of(&path, SkillProblem::TooLong)]);
}

#[test]
fn so_many_skills_and_no_more_are_in_force() {
    let home = TestHome::new("//- /user/.kith/skills/a/SKILL.md\nfar\n");
    for n in 0..SKILLS_MAX {
        let folder = home.home.join(format!("skills/s{n:03}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), "d").unwrap();
    }
    let found = index(&home);
    assert_eq!(found.entries.len(), SKILLS_MAX);
    let far = home.root.join("user/.kith/skills/a");
    assert_eq!(found.issues, [SkillIssue::of(&far, SkillProblem::TooManySkills)]);
}

#[test]
fn a_folder_that_is_too_full_is_left_out_whole() {
    let home = TestHome::new("//- skills/a/SKILL.md\nA\n");
    let folder = home.home.join("skills");
    for n in 1..SKILL_FOLDER_ENTRIES_MAX {
        fs::write(folder.join(n.to_string()), "").unwrap();
    }
    assert_eq!(index(&home).entries.len(), 1);
    fs::write(folder.join("one more"), "").unwrap();
    let found = index(&home);
    assert_eq!(found.entries, []);
    assert_eq!(found.issues, [SkillIssue::of(&folder, SkillProblem::TooManyEntries)]);
}

#[test]
fn an_extra_folder_must_be_there_and_there_are_not_endless_ones() {
    let home = TestHome::new("//- /file\nx\n");
    let extra = [home.root.join("missing"), home.root.join("file")];
    let index = skills(&request(&home, &extra));
    assert_eq!(
        shown(&home, &index),
        "/file:1 is not a folder, so it is ignored; replace it with a folder or remove it\n\
         /missing:1 does not exist; correct `extra` in `[skills]`"
    );
    let extra = vec![home.home.clone(); SKILL_EXTRAS_MAX + 1];
    let issues = skills(&request(&home, &extra)).issues;
    assert_eq!(issues, [SkillIssue::of(&home.home, SkillProblem::TooManyExtras)]);
}

#[test]
fn folders_of_skills_are_told_from_near_to_far() {
    let home = TestHome::new("//- skills/a/SKILL.md\nA\n//- /user/.kith/skills/b/SKILL.md\nB\n");
    let extra = [home.root.join("missing")];
    let expected = [home.home.join("skills"), home.root.join("user/.kith/skills")];
    assert_eq!(skill_folders(&request(&home, &extra)), expected);
}

fn request<'a>(home: &'a TestHome, extra: &'a [PathBuf]) -> SkillRequest<'a> {
    SkillRequest {
        home_skills_within: None,
        home: &home.home,
        cwd: &home.cwd,
        user_home: home.home.parent(),
        extra,
        allowed: None,
        trusted: &|_| true,
    }
}

fn index(home: &TestHome) -> SkillIndex {
    let extra = ["extra1", "extra2"].map(|name| home.root.join(name));
    let extra: Vec<PathBuf> = extra.into_iter().filter(|it| it.exists()).collect();
    skills(&request(home, &extra))
}

/// One line for each skill, then one for each issue, by path.
fn shown(home: &TestHome, index: &SkillIndex) -> String {
    let skill = |it: &SkillEntry| format!("{} {} {}", it.name, it.description, it.scope);
    let issue = |it: &SkillIssue| {
        let text = format!("{}:{} {}", it.path.display(), it.line, it.problem);
        home.portable(&text.replace(&*home.home.to_string_lossy(), ""))
    };
    let mut issues: Vec<String> = index.issues.iter().map(issue).collect();
    issues.sort();
    let skills = index.entries.iter().map(skill);
    skills.chain(issues).collect::<Vec<String>>().join("\n")
}

#[track_caller]
fn check(home: &TestHome, expected: &str) {
    assert_eq!(shown(home, &index(home)), expected);
}
