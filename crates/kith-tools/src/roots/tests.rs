//! A test is a path and what the model hears of it. Every path is tried as a file and as a folder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use crate::fixture::World;

const WORLD: &str = "
//- yard/a.txt
a
//- yard/sub/b.txt
b
//- yard/笔记/今天.md
好
//- home/Agent.md
agent
//- out/secret.txt
secret
//- yard/.kith/state.db
private
//- yard/.KITH2/fine.txt
fine
//- home/.Kith/keys
private
//- yard/near -> sub/b.txt
//- yard/near-absolute -> <tmp>/yard/sub
//- yard/to-home -> <tmp>/home
//- yard/leak-relative -> ../out/secret.txt
//- yard/leak-absolute -> <tmp>/out/secret.txt
//- yard/leak-folder -> ../out
//- yard/leak-chain -> leak-folder
//- yard/leak-nowhere -> ../out/missing
//- yard/to-kith -> .kith
//- yard/to-state -> .kith/state.db
//- yard/loop -> loop
//- yard/pipe |";

const OUTSIDE: &str = "outside";
const PRIVATE: &str = "lies in `.kith`";
const MISSING: &str = "does not exist";

#[test]
fn files_beneath_the_roots_open() {
    check("a.txt", "file yard/a.txt");
    check("./sub/../a.txt", "file yard/a.txt");
    check("sub", "folder yard/sub");
    check(".", "folder yard");
    check("笔记/今天.md", "file yard/笔记/今天.md");
    check("<tmp>/yard/sub/b.txt", "file yard/sub/b.txt");
    check("<tmp>/home/Agent.md", "file home/Agent.md");
    check("../home/Agent.md", "file home/Agent.md");
    check("../home", "folder home");
    check(".KITH2/fine.txt", "file yard/.KITH2/fine.txt");
    check("sub//./b.txt", "file yard/sub/b.txt");
    check("sub/", "folder yard/sub");
}

#[test]
fn what_ends_like_a_folder_must_be_one() {
    check("a.txt/", "is a file, not a folder");
    check("a.txt/.", "is a file, not a folder");
}

#[test]
fn links_that_stay_inside_are_followed() {
    check("near", "file yard/sub/b.txt");
    check("near-absolute/b.txt", "file yard/sub/b.txt");
    check("to-home/Agent.md", "file home/Agent.md");
}

#[test]
fn paths_that_lead_out_are_refused() {
    check("../out/secret.txt", OUTSIDE);
    check("..", OUTSIDE);
    check("sub/../../out/secret.txt", OUTSIDE);
    check("/etc/passwd", OUTSIDE);
    check("/", OUTSIDE);
    check("<tmp>/yard2", OUTSIDE);
    check("leak-relative", OUTSIDE);
    check("leak-absolute", OUTSIDE);
    check("leak-folder", OUTSIDE);
    check("leak-folder/secret.txt", OUTSIDE);
    check("leak-chain/secret.txt", OUTSIDE);
    check("/proc/self/cwd", OUTSIDE);
}

#[test]
fn nobody_learns_what_exists_outside() {
    let world = World::new(WORLD);
    for (exists, missing) in [
        ("../out/secret.txt", "../out/nothing.txt"),
        ("leak-folder/secret.txt", "leak-folder/nothing.txt"),
        ("/etc/passwd", "/etc/nothing/at/all"),
    ] {
        let reason = |path: &str| world.roots().open_file(path).unwrap_err().replace(path, "");
        assert_eq!(reason(exists), reason(missing), "{exists}");
    }
}

#[test]
fn kith_is_refused_however_it_is_reached() {
    check(".kith", PRIVATE);
    check(".kith/state.db", PRIVATE);
    check(".kith/missing", PRIVATE);
    check(".KITH/state.db", PRIVATE);
    check("sub/../.Kith/state.db", PRIVATE);
    check("to-kith", PRIVATE);
    check("to-kith/state.db", PRIVATE);
    check("to-state", PRIVATE);
    check("../home/.Kith/keys", PRIVATE);
    check("to-home/.Kith/keys", PRIVATE);
}

#[test]
fn what_cannot_be_opened_is_said_in_words() {
    check("missing.txt", "does not exist (relative paths start at `<tmp>/yard`)");
    check("<tmp>/yard/missing.txt", MISSING);
    check("missing/../a.txt", MISSING);
    check("leak-nowhere", MISSING);
    check("a.txt/b", "a part of it is a file");
    check("loop", "leads back to itself");
    check("pipe", "neither a file nor a folder");
    check(&"x".repeat(300), "cannot be opened");
}

#[test]
fn malformed_paths_are_refused() {
    check("", "the path is empty; `.` is `<tmp>/yard`");
    check("a\0b", "NUL");
    check("~", "not expanded");
    check("~/notes", "`~` in `~/notes` is not expanded");
    check(&"x".repeat(PATH_BYTES_MAX + 1), "too long");
    check(&"a/".repeat(PATH_PARTS_MAX + 1), "too long");
}

#[test]
fn outside_names_the_folders_that_may_be_read() {
    let world = World::new(WORLD);
    let reason = world.roots().open_file("/etc/passwd").unwrap_err();
    assert_eq!(
        reason.replace(world.tmp.to_str().unwrap(), "<tmp>"),
        "`/etc/passwd` lies outside the folders you may read (`<tmp>/yard`, `<tmp>/home`)"
    );
}

#[test]
fn kernel_files_are_refused_even_below_the_root_of_all() {
    let roots = Roots::new(Path::new("/"), vec![PathBuf::from("/")]).unwrap();
    assert!(roots.open_file("/proc/self/environ").unwrap_err().contains(OUTSIDE));
    assert!(roots.open_folder("/proc/self").unwrap_err().contains(OUTSIDE));
}

#[test]
fn roots_must_exist_and_lie_outside_kith() {
    let world = World::new(WORLD);
    let new = |path: &str| Roots::new(&world.path("yard"), vec![world.path(path)]);
    assert!(matches!(new("missing"), Err(RootsError::Open { .. })));
    assert!(matches!(new("yard/a.txt"), Err(RootsError::Open { .. })));
    assert!(matches!(new("yard/.kith"), Err(RootsError::Private { .. })));
    assert!(matches!(new("yard/to-kith"), Err(RootsError::Private { .. })));
}

#[test]
fn of_kith_only_the_skills_may_be_read() {
    let world = World::new(
        "//- yard/.kith/skills/a/SKILL.md\nA\n//- yard/.kith/skills/a/.kith/x\nx\n\
         //- yard/.kith/state.db\nsecret\n//- yard/.kith/skills/leak -> ../state.db\n\
         //- yard/to-skill -> .kith/skills/a\n//- out/b/SKILL.md\nB\n",
    );
    let skills = [world.path("yard/.kith/skills"), world.path("out"), world.path("missing")];
    let roots = Roots::new(&world.path("yard"), vec![world.path("yard")]).unwrap();
    let roots = roots.with_skills(&skills);
    let open = |path: &str| {
        let path = path.replace("<tmp>", world.tmp.to_str().unwrap());
        match roots.open_file(&path) {
            Ok(opened) => io::read_to_string(opened.file).unwrap(),
            Err(reason) => reason,
        }
    };
    assert_eq!(open("<tmp>/yard/.kith/skills/a/SKILL.md"), "A\n");
    assert_eq!(open(".kith/skills/a/SKILL.md"), "A\n");
    assert_eq!(open("to-skill/SKILL.md"), "A\n");
    assert_eq!(open("<tmp>/out/b/SKILL.md"), "B\n");
    assert!(open("<tmp>/yard/.kith/skills/a/missing").contains("does not exist"));
    for refused in [
        "<tmp>/yard/.kith/state.db",
        ".kith/state.db",
        ".kith/skills/../state.db",
        "<tmp>/yard/.kith/skills/a/../../state.db",
        ".kith/skills/a/.kith/x",
        ".kith/skills/leak",
        ".kith/missing",
        ".kith",
    ] {
        assert!(open(refused).contains(PRIVATE), "{refused}: {}", open(refused));
    }
    assert!(roots.open_folder(".kith/skills/a").is_ok());
    assert!(roots.open_folder(".kith").unwrap_err().contains(PRIVATE));
}

#[test]
fn folder_swapped_for_a_link_never_leads_out() {
    let world = World::new("//- yard/d/f.txt\nmine\n//- out/f.txt\nsecret\n//- yard/l -> ../out");
    let [d, l, spare] = ["yard/d", "yard/l", "yard/spare"].map(|path| world.path(path));
    let roots = world.roots();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (from, to) in [(&d, &spare), (&l, &d), (&d, &l), (&spare, &d)] {
                    fs::rename(from, to).unwrap();
                }
            }
        });
        for _ in 0..2000 {
            if let Ok(opened) = roots.open_file("d/f.txt") {
                assert_eq!(io::read_to_string(opened.file).unwrap(), "mine\n");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[track_caller]
fn check(path: &str, expected: &str) {
    let world = World::new(WORLD);
    let tmp = world.tmp.to_str().unwrap();
    let path = path.replace("<tmp>", tmp);
    let roots = world.roots();
    let relative = |real: &Path| real.strip_prefix(tmp).unwrap().to_str().unwrap().to_owned();
    let as_file = roots.open_file(&path).map(|it| format!("file {}", relative(&it.real)));
    let as_folder = roots.open_folder(&path).map(|it| format!("folder {}", relative(&it.real)));
    match (as_file, as_folder) {
        (Ok(file), Err(reason)) => {
            assert_eq!(file, expected);
            assert!(reason.ends_with("is a file; use read_file"), "{reason}");
        }
        (Err(reason), Ok(folder)) => {
            assert_eq!(folder, expected);
            assert!(reason.ends_with("is a folder; use list_files"), "{reason}");
        }
        (Err(reason), Err(same)) => {
            assert_eq!(reason, same);
            assert!(reason.replace(tmp, "<tmp>").contains(expected), "{path}: {reason}");
        }
        (Ok(_), Ok(_)) => panic!("{path} is a file and a folder"),
    }
}
