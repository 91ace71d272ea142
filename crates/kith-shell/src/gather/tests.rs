use super::*;

/// A disk on which every file of the workspace exists.
struct FakeDisk;

impl Lookup for FakeDisk {
    fn path(&self, path: &Path) -> PathLookup {
        let zone = if path.starts_with("/work") { Zone::Workspace } else { Zone::Outside };
        let entry = if path.extension().is_some() { PathEntry::File } else { PathEntry::Absent };
        PathLookup { real: path.to_owned(), zone, entry }
    }

    fn program(&self, name: &str, _: &Path) -> ProgramFacts {
        ProgramFacts { name: name.to_owned(), path: None, place: ProgramPlace::System }
    }

    fn user_home(&self) -> Option<PathBuf> {
        Some("/home/x".into())
    }
}

#[track_caller]
fn check(command: &str, expected: &[&str]) {
    let cwd = Path::new("/work");
    let request = ShellRequest { command, cwd, network: false, unsandboxed: false };
    let facts = gather(&request, &FakeDisk);
    let paths = facts.segments.iter().flat_map(|it| &it.paths);
    let paths: Vec<String> = paths.map(|it| format!("{:?} {}", it.intent, it.path)).collect();
    assert_eq!(paths, expected, "{command}");
}

#[test]
fn paths_are_told_from_other_words() {
    check("grep -rn /api/v1 src/a.rs", &["Read /work/src/a.rs"]);
    check("sed '/x/d' a.txt", &["Read /work/a.txt"]);
    check("sed -i s/a/b/ a.txt", &["Write /work/a.txt"]);
    check("echo /etc/passwd", &[]);
    check("cargo test core", &[]);
    check("python3 tools/gen.py", &["Read /work/tools/gen.py"]);
    check("find . -name x -delete", &["Delete /work/."]);
    check("dd if=a.img of=/dev/sda bs=1M", &["Read /work/a.img", "Replace /dev/sda"]);
    check("cat ~/.profile", &["Read /home/x/.profile"]);
}

#[test]
fn what_is_written_is_told() {
    check(
        "cp a.txt out/b.txt",
        &["Replace /work/out/b.txt/a.txt", "Replace /work/out/b.txt", "Read /work/a.txt"],
    );
    check("rm -rf -- -x.txt", &["Delete /work/-x.txt"]);
    check("make > log.txt 2>> err.txt", &["Replace /work/log.txt", "Append /work/err.txt"]);
    check("ls | tee -a x.txt", &["Append /work/x.txt"]);
    check("gcc -o bin/x x.c", &["Read /work/bin/x", "Read /work/x.c", "Write /work/bin/x"]);
    check("tar --output=/srv/x.tar", &["Write /srv/x.tar"]);
}
