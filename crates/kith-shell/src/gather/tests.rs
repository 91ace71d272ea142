use super::*;

/// A disk on which every file of the workspace exists.
struct FakeDisk;

impl Lookup for FakeDisk {
    fn path(&self, path: &Path) -> PathLookup {
        let zone = if path.starts_with("/repo") { Zone::Workspace } else { Zone::Outside };
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
    let cwd = Path::new("/repo");
    let request = ShellRequest { command, cwd, network: false, unsandboxed: false };
    let facts = gather(&request, &FakeDisk);
    let paths = facts.segments.iter().flat_map(|it| &it.paths);
    let paths: Vec<String> = paths.map(|it| format!("{:?} {}", it.intent, it.path)).collect();
    assert_eq!(paths, expected, "{command}");
}

#[test]
fn paths_are_told_from_other_words() {
    check("grep -rn /api/v1 src/a.rs", &["Read /repo/src/a.rs"]);
    check("sed '/x/d' a.txt", &["Read /repo/a.txt"]);
    check("sed -i s/a/b/ a.txt", &["Write /repo/a.txt"]);
    check("echo /etc/passwd", &[]);
    check("cargo test core", &[]);
    check("python3 tools/gen.py", &["Read /repo/tools/gen.py"]);
    check("find . -name x -delete", &["Delete /repo/."]);
    check("dd if=a.img of=/dev/sda bs=1M", &["Read /repo/a.img", "Replace /dev/sda"]);
    check("cat ~/.profile", &["Read /home/x/.profile"]);
}

#[test]
fn what_git_and_patch_write_is_told() {
    check(
        "git mv a.txt .envrc",
        &["Replace /repo/.envrc/a.txt", "Put /repo/.envrc", "Move /repo/a.txt"],
    );
    check(
        "git -C sub -C deep mv -f a.txt b.txt",
        &[
            "Replace /repo/sub/deep/b.txt/a.txt",
            "Put /repo/sub/deep/b.txt",
            "Move /repo/sub/deep/a.txt",
        ],
    );
    check("git -C sub archive -o .envrc HEAD", &["Replace /repo/sub/.envrc"]);
    check(
        "git -C /srv/x mv a.txt ~/b.txt",
        &["Replace /home/x/b.txt/*", "Put /home/x/b.txt", "Move /srv/x/a.txt", "Read /srv/x"],
    );
    check("git bundle create x.bundle HEAD", &["Replace /repo/x.bundle"]);
    check("git -C sub bundle create -q new --all", &["Replace /repo/sub/new"]);
    check("git bundle create - HEAD", &[]);
    check("git bundle verify x.bundle", &["Read /repo/x.bundle"]);
    check("git archive -o .envrc HEAD", &["Replace /repo/.envrc"]);
    check("git archive -o.envrc HEAD", &["Replace /repo/.envrc"]);
    check("git archive --outp=.envrc HEAD", &["Replace /repo/.envrc"]);
    // A file that has the name of a subcommand hides nothing.
    check(
        "git mv checkout .envrc",
        &["Replace /repo/.envrc/checkout", "Put /repo/.envrc", "Move /repo/checkout"],
    );
    check("git checkout main", &[]);
    check("patch .envrc x.patch", &["Write /repo/.envrc", "Read /repo/x.patch"]);
}

#[test]
fn what_is_written_is_told() {
    check(
        "cp a.txt out/b.txt",
        &["Replace /repo/out/b.txt/a.txt", "Put /repo/out/b.txt", "Read /repo/a.txt"],
    );
    check("rm -rf -- -x.txt", &["Delete /repo/-x.txt"]);
    check("make > log.txt 2>> err.txt", &["Replace /repo/log.txt", "Append /repo/err.txt"]);
    check("ls | tee -a x.txt", &["Append /repo/x.txt"]);
    check("gcc -o bin/x x.c", &["Read /repo/bin/x", "Read /repo/x.c", "Write /repo/bin/x"]);
    check("ar --output=/srv/x.tar", &["Replace /srv/x.tar"]);
    check(
        "sort -o out.txt in.txt",
        &["Read /repo/out.txt", "Read /repo/in.txt", "Replace /repo/out.txt"],
    );
    check("sort -oout.txt in.txt", &["Read /repo/in.txt", "Replace /repo/out.txt"]);
    check("uniq a.txt b.txt", &["Read /repo/a.txt", "Replace /repo/b.txt"]);
    check("git checkout Makefile.am", &["Replace /repo/Makefile.am"]);
    check("git checkout main", &[]);
    check("git checkout -b main.x", &["Read /repo/main.x"]);
    check("tar czf x.tgz src", &["Replace /repo/x.tgz"]);
    check(
        "cp -n a.txt b.txt",
        &["Append /repo/b.txt/a.txt", "Append /repo/b.txt", "Read /repo/a.txt"],
    );
    check("mv a.txt /tmp/b", &["Replace /tmp/b/a.txt", "Put /tmp/b", "Move /repo/a.txt"]);
    check("cp src/*.rs out.d", &["Replace /repo/out.d/", "Put /repo/out.d", "Read /repo/src/"]);
}

/// A disk on which `link` leads to another folder.
struct LinkedDisk;

impl Lookup for LinkedDisk {
    fn path(&self, path: &Path) -> PathLookup {
        let real = match path.strip_prefix("/repo/link") {
            Ok(rest) => Path::new("/repo/far/away").join(rest),
            Err(_) => path.to_owned(),
        };
        PathLookup { real, zone: Zone::Workspace, entry: PathEntry::Folder }
    }

    fn program(&self, name: &str, cwd: &Path) -> ProgramFacts {
        FakeDisk.program(name, cwd)
    }

    fn user_home(&self) -> Option<PathBuf> {
        None
    }
}

#[test]
fn a_folder_entered_through_a_link_is_not_certain() {
    let is_understood = |command: &str| {
        let cwd = Path::new("/repo");
        let request = ShellRequest { command, cwd, network: false, unsandboxed: false };
        gather(&request, &LinkedDisk).obstacles.is_empty()
    };
    assert!(is_understood("cd far/../src && ls"));
    for command in
        ["cd link && rm ../x", "cd link/.. && ls", "cd link/a && cat x", "cd src/../link"]
    {
        assert!(!is_understood(command), "{command}");
    }
}

#[test]
fn after_a_change_of_folder_that_may_not_have_happened_both_folders_count() {
    let both = &["Append /repo/x.txt", "Append /repo/out/x.txt"];
    check("cd out && touch x.txt", &["Append /repo/out/x.txt"]);
    check("(cd out && ls) && touch x.txt", &["Append /repo/x.txt"]);
    for command in [
        "cd out; touch x.txt",
        "true || cd out && touch x.txt",
        "ls | cd out && touch x.txt",
        "! cd out && touch x.txt",
        "{ ! cd out; } && touch x.txt",
        "true || { ls; cd out; } && touch x.txt",
    ] {
        check(command, both);
    }
}

#[test]
fn a_change_of_folder_behind_a_wrapper_is_not_understood() {
    let n_obstacles = |command: &str| {
        let cwd = Path::new("/repo");
        let request = ShellRequest { command, cwd, network: false, unsandboxed: false };
        gather(&request, &FakeDisk).obstacles.len()
    };
    for command in ["command cd out", "time cd out", "builtin cd out", "nohup pushd out"] {
        assert_eq!(n_obstacles(&format!("{command} && touch x.txt")), 1, "{command}");
    }
    assert_eq!(n_obstacles("command ls cd && grep cd a.txt"), 0);
}

#[test]
fn an_obstacle_holds_a_short_text() {
    let command = format!("cd {}", "a ".repeat(500));
    let request = ShellRequest {
        command: &command,
        cwd: Path::new("/repo"),
        network: false,
        unsandboxed: false,
    };
    let facts = gather(&request, &FakeDisk);
    assert_eq!(facts.obstacles[0].text.len(), crate::script::OBSTACLE_CHARS_MAX);
}
