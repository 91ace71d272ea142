use std::os::unix::fs::symlink;

use kith_vocab::facts::Zone;
use tempfile::TempDir;

use super::git_folders::would_lead_git;
use super::*;

/// A user's home with a house and a project in it.
struct Disk {
    _folder: TempDir,
    home: PathBuf,
}

impl Disk {
    fn new(files: &[(&str, &str)], links: &[(&str, &str)]) -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let disk = Disk { _folder: folder, home };
        fs::create_dir_all(disk.home.join("project/app")).unwrap();
        for (path, text) in files {
            disk.write(path, text);
        }
        for (path, target) in links {
            let path = disk.home.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target.replace('~', disk.home.to_str().unwrap()), path).unwrap();
        }
        disk
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn zone(&self, path: &str) -> Zone {
        let places = Places {
            workspace: vec![self.home.join("project")],
            cwd: self.home.join("project/app"),
            house: self.home.join("project"),
            homes: vec![self.home.join("project/luna")],
            user_home: Some(self.home.clone()),
            ..Places::default()
        };
        places.looked_up().zone(&self.home.join(path))
    }

    #[track_caller]
    fn check(&self, zone: Zone, paths: &[&str]) {
        for path in paths {
            assert_eq!(self.zone(path), zone, "{path}");
        }
    }
}

#[test]
fn what_a_name_of_the_self_leads_to_belongs_to_the_self() {
    let disk = Disk::new(
        &[("project/parts/k.toml", ""), ("project/sk/deploy/SKILL.md", ""), ("project/x.md", "")],
        &[
            ("project/kith.toml", "parts/k.toml"),
            ("project/luna/Agent.md", "../hop"),
            ("project/hop", "parts/const.md"),
            ("project/luna/skills", "../sk"),
            ("project/app/AGENTS.md", "../docs/agent-rules.md"),
            ("project/.git/hooks", "../tools/hooks"),
        ],
    );
    disk.check(
        Zone::Oneself,
        &[
            "project/parts/k.toml",
            "project/hop",
            // Absent or not.
            "project/parts/const.md",
            "project/docs/agent-rules.md",
            "project/sk",
            "project/sk/deploy/SKILL.md",
            "project/sk/new/SKILL.md",
            "project/tools/hooks/pre-commit",
        ],
    );
    let others = ["project/x.md", "project/parts/other.md", "project/docs/x.md", "project/skill"];
    disk.check(Zone::Workspace, &others);
}

#[test]
fn start_up_files_of_the_user_in_the_workspace_belong_to_the_self() {
    let disk = Disk::new(
        &[
            ("project/bashrc", ""),
            ("project/nvim/lua/x.lua", ""),
            ("project/odd/rc", ""),
            ("project/keys/known_hosts", ""),
        ],
        &[
            (".bashrc", "~/project/bashrc"),
            (".zshenv", "~/project/later/zshenv"),
            (".oddrc", "project/odd/rc"),
            (".config/nvim", "../project/nvim"),
            (".ssh", "project/keys"),
            // Whoever works in a folder may change it.
            (".whole", "project"),
            (".config/app", "../project/app"),
            ("plain", "project/plain"),
        ],
    );
    disk.check(
        Zone::Oneself,
        &[
            "project/bashrc",
            "project/later/zshenv",
            "project/odd/rc",
            "project/nvim/init.lua",
            "project/nvim/lua/x.lua",
        ],
    );
    disk.check(Zone::Secret, &["project/keys/known_hosts"]);
    disk.check(Zone::Workspace, &["project/odd/x", "project/app/x", "project/plain", "project/x"]);
}

#[test]
fn what_the_owners_repository_makes_git_run_belongs_to_the_self() {
    let disk = Disk::new(
        &[
            (
                "project/.git/config",
                "[include]\n\tpath = ../shared.gitconfig\n\
                 [core] hooksPath = githooks\n\tpager = less\n\
                 [filter \"x]\"]\n\tclean = \"tools/clean.sh\" %f\n\
                 [diff \"y\"]\n\ttextconv = python3 \\\n tools/conv.py ; a comment\n\
                 [alias]\n\tdeploy = \"!sh $(git rev-parse --show-toplevel)/tools/deploy\"\n\
                 \tlg = log tools/log\n",
            ),
            ("project/shared.gitconfig", "[MERGE \"m\"]\nDRIVER = ./merge-it %A\n"),
            ("project/tools/conv.py", ""),
            ("project/tools/deploy", ""),
            ("project/tools/log", ""),
            ("project/scripts/pre-commit", ""),
            (".gitconfig", "[core]\n\tsshCommand = ~/project/tools/ssh -v\n"),
        ],
        &[("project/.git/hooks/pre-commit", "../../scripts/pre-commit")],
    );
    disk.check(
        Zone::Oneself,
        &[
            "project/shared.gitconfig",
            "project/githooks/pre-push",
            "project/tools/clean.sh",
            "project/tools/conv.py",
            "project/tools/deploy",
            "project/tools/ssh",
            "project/merge-it",
            "project/scripts/pre-commit",
        ],
    );
    disk.check(
        Zone::Workspace,
        &["project/tools/log", "project/less", "project/scripts/x", "project/tools/x"],
    );
}

#[test]
fn a_folder_of_hooks_that_is_the_project_protects_the_hooks_and_no_more() {
    let disk = Disk::new(&[("project/.git/config", "[core]\nhooksPath=.\n")], &[]);
    disk.check(Zone::Oneself, &["project/pre-commit", "project/post-checkout"]);
    disk.check(Zone::Workspace, &["project/main.rs"]);
}

#[test]
fn settings_that_include_each_other_are_read_once() {
    let own = "[include]\npath = config\n[include]\npath = ../b\n";
    let disk = Disk::new(
        &[("project/.git/config", own), ("project/b", "[include]\npath=.git/config\n")],
        &[],
    );
    disk.check(Zone::Oneself, &["project/b"]);
}

#[test]
fn a_file_that_makes_a_folder_a_repository_leads_git_in_any_order() {
    let files = ["nest/config", "nest/HEAD", "nest/refs/x", "nest/objects/x"];
    for first in 0..files.len() {
        for step in [1, 3] {
            let disk = Disk::new(&[], &[]);
            let order = (0..files.len()).map(|it| files[(first + it * step) % files.len()]);
            let mut led = Vec::new();
            for file in order {
                let path = disk.home.join("project").join(file);
                led.push(would_lead_git(&path));
                disk.write(&format!("project/{file}"), "x");
            }
            assert!(led[2] || led[3], "{first} {step}: {led:?}");
            assert!(!led[0], "{first} {step}: {led:?}");
            assert!(would_lead_git(&disk.home.join("project/nest/config")));
            assert!(would_lead_git(&disk.home.join("project/nest/hooks/pre-commit")));
            assert!(!would_lead_git(&disk.home.join("project/nest/refs/heads/x")));
            assert!(!would_lead_git(&disk.home.join("project/nest/description")));
        }
    }
    let disk = Disk::new(&[("project/n/HEAD", "ref: refs/heads/x")], &[]);
    assert!(would_lead_git(&disk.home.join("project/n/commondir")));
    assert!(!would_lead_git(&disk.home.join("project/n/config")));
    assert!(!would_lead_git(&disk.home.join("project/config")));
}
