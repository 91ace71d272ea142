//! The folder of scripts.
//!
//! `.minds/priming` lies in the house and is shared by its agents. Everything is read from the disk
//! when it is asked for, so a script saved a moment ago is found. One that is broken is listed with
//! what is wrong with it: it must neither hide nor break the others.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::export::export;
use super::parse::{ScriptWithWarnings, parse, parse_bytes};
use super::script::{SCRIPT_BYTES_MAX, Script, ScriptError, Warning};
use super::slug::{INDIVIDUAL, MemberId, NameError, SLUG_SEGMENTS_MAX, ScriptRef, TEAM_SHARED};
use crate::beneath::{self, is_absent, is_outside};

pub use crate::beneath::Existing;

/// Files and folders looked at before a listing gives up.
pub const LISTING_ENTRIES_MAX: usize = 10_000;
/// Bytes read before a listing gives up: far more than people write by hand.
pub const LISTING_BYTES_MAX: usize = 256 * 1024 * 1024;

const PRIMING_FOLDER: &str = ".minds/priming";

/// The scripts of a house.
#[derive(Clone, Debug)]
pub struct PrimingStore {
    house: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptListing {
    /// By path, shared scripts after an agent's own.
    pub entries: Vec<ScriptEntry>,
    /// There are more than were looked at.
    pub is_cut: bool,
}

/// A file that is a script or ought to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptEntry {
    /// Relative to the house.
    pub path: PathBuf,
    /// `None` when its name is not a valid slug.
    pub script_ref: Option<ScriptRef>,
    pub state: ScriptState,
    /// A script that would be the same file where capitals do not count.
    pub clashes_with: Option<ScriptRef>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptState {
    Ready { title: Option<String>, n_records: usize, n_warnings: usize },
    Broken(ScriptIssue),
}

/// A problem with one script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptIssue {
    /// Relative to the house.
    pub path: PathBuf,
    /// From 1; `None` when it is not about a line.
    pub line: Option<usize>,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    pub n_checked: usize,
    pub n_failed: usize,
    pub issues: Vec<ScriptIssue>,
    /// Keys that mean nothing.
    pub warnings: Vec<ScriptIssue>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the script `{script_ref}` does not exist at `{}`", path.display())]
    NotFound { script_ref: ScriptRef, path: PathBuf },
    #[error("cannot read the script `{script_ref}` from `{}`", path.display())]
    Read { script_ref: ScriptRef, path: PathBuf, source: io::Error },
    #[error("`{}` is a link that points outside the priming folder", path.display())]
    LeadsOutside { path: PathBuf },
    #[error("`{}` is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("`{}`, {error}", path.display())]
    Script { path: PathBuf, error: ScriptError },
    #[error("the script `{script_ref}` is not for agent `{agent_id}`")]
    NotApplicable { script_ref: ScriptRef, agent_id: String },
    #[error("the script `{script_ref}` already exists")]
    AlreadyExists { script_ref: ScriptRef },
    #[error(
        "`{script_ref}` differs from `{existing}` only in upper and lower case; choose another name"
    )]
    CaseClash { script_ref: ScriptRef, existing: ScriptRef },
    /// Nothing was written: a script that cannot be read back must not be saved.
    #[error("the script was not saved because it could not be read back: {error}")]
    Unreadable { error: ScriptError },
    #[error("cannot write the script `{script_ref}` to `{}`", path.display())]
    Write { script_ref: ScriptRef, path: PathBuf, source: io::Error },
    #[error("cannot list folder `{}`", path.display())]
    List { path: PathBuf, source: io::Error },
    #[error("cannot read the recently used scripts from `{}`", path.display())]
    ReadRecent { path: PathBuf, source: io::Error },
    #[error("cannot write the recently used scripts to `{}`", path.display())]
    WriteRecent { path: PathBuf, source: io::Error },
    #[error("the clock shows {now_ms} milliseconds since 1970, which is not a valid date")]
    Time { now_ms: u64 },
    #[error(transparent)]
    Name(#[from] NameError),
}

impl PrimingStore {
    /// The scripts in the folder that holds `kith.toml`.
    pub fn new(house: &Path) -> PrimingStore {
        PrimingStore { house: house.to_owned() }
    }

    pub fn house(&self) -> &Path {
        &self.house
    }

    /// The path of a script, relative to the house; it need not exist.
    pub fn path_of(script_ref: &ScriptRef) -> PathBuf {
        Path::new(PRIMING_FOLDER).join(script_ref.path())
    }

    /// The scripts that an agent may use: its own, and the shared ones that are for it.
    pub fn list(&self, agent_id: &str) -> Result<ScriptListing, StoreError> {
        let member: MemberId = agent_id.parse()?;
        let own = Path::new(INDIVIDUAL).join(member.as_str());
        let mut listing = self.read_folders(&[own, PathBuf::from(TEAM_SHARED)])?;
        let is_for_agent = |it: &ScriptFile| {
            it.applies_to.as_ref().is_none_or(|ids| ids.iter().any(|id| id == agent_id))
        };
        listing.files.retain(is_for_agent);
        let entries = listing.files.into_iter().map(|file| file.entry).collect();
        Ok(ScriptListing { entries, is_cut: listing.is_cut })
    }

    /// Those of [`PrimingStore::list`] with the text in reference or title, capitals aside.
    pub fn search(&self, agent_id: &str, query: &str) -> Result<ScriptListing, StoreError> {
        let query = query.trim().to_lowercase();
        let mut listing = self.list(agent_id)?;
        listing.entries.retain(|entry| {
            let name = entry.script_ref.as_ref().map(ToString::to_string);
            let name = name.unwrap_or_else(|| entry.path.to_string_lossy().into_owned());
            let title = match &entry.state {
                ScriptState::Ready { title, .. } => title.as_deref().unwrap_or_default(),
                ScriptState::Broken(_) => "",
            };
            name.to_lowercase().contains(&query) || title.to_lowercase().contains(&query)
        });
        Ok(listing)
    }

    pub fn load(&self, script_ref: &ScriptRef) -> Result<ScriptWithWarnings, StoreError> {
        let path = PrimingStore::path_of(script_ref);
        let bytes = match read_bytes(&self.folder(), &script_ref.path()) {
            Ok(bytes) => bytes,
            Err(ReadFailure::Outside) => return Err(StoreError::LeadsOutside { path }),
            Err(ReadFailure::NotAFile) => return Err(StoreError::NotAFile { path }),
            Err(ReadFailure::Io(source)) if is_absent(&source) => {
                return Err(StoreError::NotFound { script_ref: script_ref.clone(), path });
            }
            Err(ReadFailure::Io(source)) => {
                return Err(StoreError::Read { script_ref: script_ref.clone(), path, source });
            }
        };
        parse_bytes(&bytes).map_err(|error| StoreError::Script { path, error })
    }

    /// Loads a script for an agent that may use it.
    pub fn load_for(
        &self,
        script_ref: &ScriptRef,
        agent_id: &str,
    ) -> Result<ScriptWithWarnings, StoreError> {
        let refused = || StoreError::NotApplicable {
            script_ref: script_ref.clone(),
            agent_id: agent_id.to_owned(),
        };
        if let ScriptRef::Individual { member, .. } = script_ref
            && member.as_str() != agent_id
        {
            return Err(refused());
        }
        let parsed = self.load(script_ref)?;
        if parsed.script.applies_to(agent_id) { Ok(parsed) } else { Err(refused()) }
    }

    /// Writes a script whole or not at all. Returns where it lies, relative to the house.
    pub fn save(
        &self,
        script_ref: &ScriptRef,
        script: &Script,
        existing: Existing,
    ) -> Result<PathBuf, StoreError> {
        let text = export(script);
        parse(&text).map_err(|error| StoreError::Unreadable { error })?;
        self.refuse_case_clash(script_ref)?;
        let (path, relative) = (PrimingStore::path_of(script_ref), script_ref.path());
        let name = relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parent = relative.parent().unwrap_or(Path::new(""));
        let written = beneath::make_folders(&self.folder(), parent)
            .and_then(|folder| beneath::write(&folder, &name, &text, existing));
        match written {
            Ok(()) => Ok(path),
            Err(error) if is_outside(&error) => Err(StoreError::LeadsOutside { path }),
            Err(error)
                if existing == Existing::Keep && error.kind() == io::ErrorKind::AlreadyExists =>
            {
                Err(StoreError::AlreadyExists { script_ref: script_ref.clone() })
            }
            Err(source) => Err(StoreError::Write { script_ref: script_ref.clone(), path, source }),
        }
    }

    /// Checks every script of the house, for all agents.
    pub fn check_all(&self) -> Result<CheckReport, StoreError> {
        let listing =
            self.read_folders(&[PathBuf::from(INDIVIDUAL), PathBuf::from(TEAM_SHARED)])?;
        let mut report = CheckReport { n_checked: listing.files.len(), ..CheckReport::default() };
        for ScriptFile { entry, warnings, .. } in listing.files {
            let issue = |line, message| ScriptIssue { path: entry.path.clone(), line, message };
            let n_issues = report.issues.len();
            report.warnings.extend(warnings.into_iter().map(|it| issue(Some(it.line), it.message)));
            if let ScriptState::Broken(broken) = entry.state {
                report.issues.push(broken);
            }
            if let Some(other) = &entry.clashes_with {
                report.issues.push(issue(None, clash_message(other)));
            }
            report.n_failed += usize::from(report.issues.len() > n_issues);
        }
        if listing.is_cut {
            let message = format!(
                "has more than {LISTING_ENTRIES_MAX} files or {} MiB; not all were checked",
                LISTING_BYTES_MAX / (1024 * 1024)
            );
            let path = PathBuf::from(PRIMING_FOLDER);
            report.issues.push(ScriptIssue { path, line: None, message });
        }
        Ok(report)
    }

    /// Whether a script lies there, whatever is in it.
    pub(crate) fn exists(&self, script_ref: &ScriptRef) -> bool {
        beneath::open(&self.folder(), &script_ref.path()).is_ok()
    }

    fn folder(&self) -> PathBuf {
        self.house.join(PRIMING_FOLDER)
    }

    fn refuse_case_clash(&self, script_ref: &ScriptRef) -> Result<(), StoreError> {
        let everything = [PathBuf::from(INDIVIDUAL), PathBuf::from(TEAM_SHARED)];
        let paths = self.walk(&everything)?.0;
        let mut others = paths.iter().filter_map(|path| ref_of(path)?.ok());
        match others.find(|other| other.clashes_with(script_ref)) {
            Some(existing) => {
                Err(StoreError::CaseClash { script_ref: script_ref.clone(), existing })
            }
            None => Ok(()),
        }
    }

    fn read_folders(&self, folders: &[PathBuf]) -> Result<ScriptFiles, StoreError> {
        let (paths, mut is_cut) = self.walk(folders)?;
        let mut files = Vec::new();
        let mut n_bytes = 0;
        for relative in paths {
            // Files that are not Markdown are ignored.
            let Some(script_ref) = ref_of(&relative) else { continue };
            if n_bytes > LISTING_BYTES_MAX {
                is_cut = true;
                break;
            }
            files.push(self.read_file(&relative, script_ref, &mut n_bytes));
        }
        mark_clashes(&mut files);
        Ok(ScriptFiles { files, is_cut })
    }

    fn read_file(
        &self,
        relative: &Path,
        script_ref: Result<ScriptRef, NameError>,
        n_bytes: &mut usize,
    ) -> ScriptFile {
        let path = Path::new(PRIMING_FOLDER).join(relative);
        let (mut applies_to, mut warnings) = (None, Vec::new());
        let broken =
            |line, message| ScriptState::Broken(ScriptIssue { path: path.clone(), line, message });
        let state = match (&script_ref, read_bytes(&self.folder(), relative)) {
            (Err(error), _) => broken(None, error.to_string()),
            (_, Err(ReadFailure::Outside)) => {
                broken(None, "is a link that points outside the priming folder".to_owned())
            }
            (_, Err(ReadFailure::NotAFile)) => broken(None, "is not a file".to_owned()),
            (_, Err(ReadFailure::Io(error))) => broken(None, format!("could not be read: {error}")),
            (_, Ok(bytes)) => {
                *n_bytes += bytes.len();
                match parse_bytes(&bytes) {
                    Ok(parsed) => {
                        (applies_to, warnings) =
                            (parsed.script.applicable_member_ids(), parsed.warnings);
                        ScriptState::Ready {
                            title: parsed.script.title(),
                            n_records: parsed.script.records.len(),
                            n_warnings: warnings.len(),
                        }
                    }
                    Err(error) => broken(Some(error.line), error.problem.to_string()),
                }
            }
        };
        let script_ref = script_ref.ok();
        let entry = ScriptEntry { path, script_ref, state, clashes_with: None };
        ScriptFile { entry, applies_to, warnings }
    }

    /// Every file beneath the folders, relative to the priming folder, in order.
    fn walk(&self, folders: &[PathBuf]) -> Result<(Vec<PathBuf>, bool), StoreError> {
        let mut files = Vec::new();
        let mut n_seen = 0;
        for folder in folders {
            let mut of_folder = Vec::new();
            let mut waiting = vec![folder.clone()];
            while let Some(relative) = waiting.pop() {
                let path = self.folder().join(&relative);
                let list_error = |source| StoreError::List { path: path.clone(), source };
                let entries = match fs::read_dir(&path) {
                    Ok(entries) => entries,
                    Err(error) if is_absent(&error) => continue,
                    Err(source) => return Err(list_error(source)),
                };
                for entry in entries {
                    let entry = entry.map_err(list_error)?;
                    n_seen += 1;
                    if n_seen > LISTING_ENTRIES_MAX {
                        of_folder.sort_unstable();
                        files.append(&mut of_folder);
                        return Ok((files, true));
                    }
                    let relative = relative.join(entry.file_name());
                    // Links to folders are not walked: they may lead round in circles.
                    let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
                    if !is_folder {
                        of_folder.push(relative);
                    } else if relative.iter().count() <= SLUG_SEGMENTS_MAX {
                        waiting.push(relative);
                    }
                }
            }
            of_folder.sort_unstable();
            files.append(&mut of_folder);
        }
        Ok((files, false))
    }
}

struct ScriptFiles {
    files: Vec<ScriptFile>,
    is_cut: bool,
}

/// A script without its records; thousands of whole ones would not fit into memory.
struct ScriptFile {
    entry: ScriptEntry,
    applies_to: Option<Vec<String>>,
    warnings: Vec<Warning>,
}

fn mark_clashes(files: &mut [ScriptFile]) {
    let mut by_letters: BTreeMap<String, ScriptRef> = BTreeMap::new();
    for ScriptFile { entry: file, .. } in files {
        let Some(script_ref) = &file.script_ref else { continue };
        let letters = script_ref.to_string().to_ascii_lowercase();
        match by_letters.get(&letters) {
            Some(first) => file.clashes_with = Some(first.clone()),
            None => {
                by_letters.insert(letters, script_ref.clone());
            }
        }
    }
}

fn clash_message(other: &ScriptRef) -> String {
    format!(
        "differs from `{other}` only in upper and lower case, which some disks do not tell apart"
    )
}

/// The script that a path names; `None` when it is not a Markdown file.
fn ref_of(relative: &Path) -> Option<Result<ScriptRef, NameError>> {
    let text = relative.to_string_lossy();
    // On systems whose paths have other separators, a reference still has `/`.
    let text = text.replace(std::path::MAIN_SEPARATOR, "/");
    text.strip_suffix(".md").map(str::parse)
}

enum ReadFailure {
    Outside,
    NotAFile,
    Io(io::Error),
}

/// At most one byte more than a script may have: enough to see that it has too many.
fn read_bytes(folder: &Path, relative: &Path) -> Result<Vec<u8>, ReadFailure> {
    let file = match beneath::open(folder, relative) {
        Ok(file) => file,
        Err(error) if is_outside(&error) => return Err(ReadFailure::Outside),
        Err(error) => return Err(ReadFailure::Io(error)),
    };
    if !file.metadata().is_ok_and(|it| it.is_file()) {
        return Err(ReadFailure::NotAFile);
    }
    let mut bytes = Vec::new();
    let bytes_max = SCRIPT_BYTES_MAX as u64 + 1;
    file.take(bytes_max).read_to_end(&mut bytes).map_err(ReadFailure::Io)?;
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests;
