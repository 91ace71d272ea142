//! A small world on disk, written as one string, and the tools called in it.
//!
//! `//- yard/a.txt` begins a file, `//- yard/d/` is a folder, `//- yard/l -> target` is a link and
//! `//- yard/p |` is a pipe. Tools work in `work`, may also read `home`, and have no business in
//! `out` but for the skills in `out/skills`. What lies in a folder called `foreign` is untrusted, in one
//! called `shared` it is shared. `<tmp>` stands for the folder of all three, in texts and in results.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kith_home::zones::Places;
use kith_testkit::tools::{call_context, run_context};
use kith_vocab::event::control::SkillEntry;
use kith_vocab::event::messages::Trust;
use kith_vocab::json::Json;
use kith_vocab::tool::{CallPlan, Refusal, TOOL_OUTPUT_BYTES_MAX, Tool, ToolOutcome, ToolOutput};
use rustix::fs::{CWD, Mode};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::exec_shell::CommandSetup;
use crate::file_claims::FileClaims;
use crate::read_log::ReadLog;
use crate::roots::Roots;
use crate::sandbox::plan::SandboxPlaces;
use crate::shell_lookup::DiskLookup;
use crate::trust::TrustOf;
use crate::{ToolSetup, built_in};

pub(crate) struct World {
    _dir: TempDir,
    pub(crate) tmp: PathBuf,
    reads: Arc<ReadLog>,
    pub(crate) claims: Arc<FileClaims>,
}

impl World {
    pub(crate) fn new(text: &str) -> World {
        let dir = TempDir::new().unwrap();
        let world = World {
            tmp: dir.path().canonicalize().unwrap(),
            _dir: dir,
            reads: Arc::default(),
            claims: Arc::default(),
        };
        for folder in ["yard", "home", "out"] {
            fs::create_dir(world.tmp.join(folder)).unwrap();
        }
        world.write(text);
        world
    }

    pub(crate) fn write(&self, text: &str) {
        for part in text.split("//- ").skip(1) {
            let (title, content) = part.split_once('\n').unwrap_or((part, ""));
            self.write_one(title, content);
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.tmp.join(path)
    }

    pub(crate) fn roots(&self) -> Arc<Roots> {
        let readable = vec![self.path("yard"), self.path("home")];
        Arc::new(Roots::new(&self.path("yard"), readable).unwrap())
    }

    /// The skills are the folders of `out/skills`, by name.
    pub(crate) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let readable = vec![self.path("yard"), self.path("home")];
        let folder = self.path("out/skills");
        let roots = Roots::new(&self.path("yard"), readable).unwrap();
        let roots = roots.with_skills(std::slice::from_ref(&folder));
        let places = self.places();
        let lookup = DiskLookup { places: places.clone(), program_folders: Vec::new() };
        let sandbox = SandboxPlaces {
            workspace: self.path("yard"),
            cwd: self.path("yard"),
            homes: vec![self.path("home")],
            house: self.path("home"),
            ..SandboxPlaces::default()
        };
        built_in(ToolSetup {
            roots: Arc::new(roots),
            skills: Arc::new(move || skills_in(&folder)),
            trust_of: trust_of(),
            places: Arc::new(places),
            reads: Arc::clone(&self.reads),
            claims: Arc::clone(&self.claims),
            commands: CommandSetup {
                lookup,
                places: sandbox,
                variables: Vec::new(),
                supervisor: None,
                background: Arc::default(),
                output_trust: trust_of(),
                times: None,
            },
            further: Vec::new(),
        })
    }

    fn places(&self) -> Places {
        Places {
            workspace: vec![self.path("yard")],
            cwd: self.path("yard"),
            house: self.path("home"),
            homes: vec![self.path("home")],
            ..Places::default()
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Arc<dyn Tool> {
        self.tools().into_iter().find(|tool| tool.spec().name == name).unwrap()
    }

    pub(crate) fn prepare(&self, tool: &str, input: &str) -> Result<CallPlan, Refusal> {
        let input = Json::parse(&input.replace("<tmp>", self.tmp.to_str().unwrap())).unwrap();
        block_on(self.tool(tool).prepare(&input, &call_context(&CancellationToken::new())))
    }

    pub(crate) fn run(&self, tool: &str, prepared: CallPlan) -> ToolOutput {
        self.run_until(tool, prepared, &CancellationToken::new())
    }

    pub(crate) fn run_until(
        &self,
        tool: &str,
        prepared: CallPlan,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        block_on(self.tool(tool).run(prepared, run_context(cancel)))
    }

    /// How far what the model reads is trusted, whether the call succeeds or not.
    pub(crate) fn trust(&self, tool: &str, input: &str) -> Trust {
        match self.prepare(tool, input) {
            Ok(prepared) => self.run(tool, prepared).trust,
            Err(refusal) => refusal.trust,
        }
    }

    /// What the model reads; `error: ` stands before what went wrong.
    pub(crate) fn call(&self, tool: &str, input: &str) -> String {
        let text = match self.prepare(tool, input).map(|prepared| self.run(tool, prepared)) {
            Ok(output) if output.outcome == ToolOutcome::Done => output.plain_text(),
            Ok(output) => format!("error: {}", output.plain_text()).into(),
            Err(refusal) => format!("error: {}", refusal.text).into(),
        };
        assert!(text.len() <= TOOL_OUTPUT_BYTES_MAX, "{} bytes", text.len());
        text.replace(self.tmp.to_str().unwrap(), "<tmp>")
    }

    fn write_one(&self, title: &str, content: &str) {
        if let Some((link, target)) = title.split_once(" -> ") {
            let link = self.path(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(target.replace("<tmp>", self.tmp.to_str().unwrap()), link).unwrap();
        } else if let Some(pipe) = title.strip_suffix(" |") {
            rustix::fs::mkfifoat(CWD, self.path(pipe), Mode::from_raw_mode(0o600)).unwrap();
        } else if title.ends_with('/') {
            fs::create_dir_all(self.path(title)).unwrap();
        } else {
            write_file(&self.path(title), content);
        }
    }
}

pub(crate) fn trust_of() -> TrustOf {
    Arc::new(|path| {
        let lies_in = |name: &str| path.iter().any(|part| part == name);
        match () {
            () if lies_in("foreign") => Trust::Untrusted,
            () if lies_in("shared") => Trust::Shared,
            () => Trust::Owner,
        }
    })
}

fn skills_in(folder: &Path) -> Vec<SkillEntry> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let entry = |folder: PathBuf| {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        SkillEntry {
            display_name: name.clone(),
            description: format!("What {name} does."),
            path: folder.join("SKILL.md").to_string_lossy().into_owned(),
            scope: "home".to_owned(),
            sha256: "0".repeat(64),
            name,
        }
    };
    let mut skills: Vec<SkillEntry> = entries.map(|it| entry(it.unwrap().path())).collect();
    skills.sort_by(|a, b| a.name.cmp(&b.name));
    skills
}

pub(crate) fn write_file(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
