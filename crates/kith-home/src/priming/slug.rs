//! Names of scripts.
//!
//! A name becomes a path, so its alphabet has nothing in it that a file system reads as anything
//! but a name: there is no character left with which to climb out of the folder. It is checked
//! before any file is touched.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

pub const SLUG_BYTES_MAX: usize = 512;
/// Each is a folder, the last one a file.
pub const SLUG_SEGMENTS_MAX: usize = 16;
/// With `.md` behind it, it is still a name that every file system takes.
pub const SEGMENT_BYTES_MAX: usize = 200;

/// The name of a script: segments of `[A-Za-z0-9._-]`, joined by `/`.
///
/// Invariant: at least one segment, none of them `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slug(String);

/// The id of a team member, as one segment of a path.
///
/// Invariant: a segment of a [`Slug`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(String);

/// Which script: `individual/<member>/<slug>` or `team_shared/<slug>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScriptRef {
    Individual { member: MemberId, slug: Slug },
    TeamShared { slug: Slug },
}

pub(crate) const INDIVIDUAL: &str = "individual";
pub(crate) const TEAM_SHARED: &str = "team_shared";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}: {problem}")]
pub struct NameError {
    pub text: String,
    pub wanted: &'static str,
    pub problem: NameProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    #[error("it is empty")]
    Empty,
    #[error("it is an absolute path")]
    Absolute,
    #[error("it ends with `/`")]
    TrailingSlash,
    #[error("it has an empty segment (`//`)")]
    EmptySegment,
    #[error("the segment `{segment}` is not allowed")]
    Dots { segment: String },
    #[error("{character:?} is not allowed; use `A` to `Z`, `a` to `z`, digits, `.`, `_` and `-`")]
    Character { character: char },
    #[error("it is longer than {SLUG_BYTES_MAX} bytes")]
    TooLong,
    #[error("a segment is longer than {SEGMENT_BYTES_MAX} bytes")]
    SegmentTooLong,
    #[error("it has more than {SLUG_SEGMENTS_MAX} segments")]
    TooManySegments,
    #[error("it must begin with `individual/<member>/` or `team_shared/`")]
    Place,
    #[error("the slug is missing")]
    NoSlug,
}

const SLUG: &str = "a slug (segments of letters, digits, `.`, `_` and `-`, joined by `/`)";
const MEMBER: &str = "a member id (letters, digits, `.`, `_` and `-`)";
const SCRIPT_REF: &str = "a scriptRef (`individual/<member>/<slug>` or `team_shared/<slug>`)";

impl MemberId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Slug {
    /// Whether this is the slug or its last segments.
    pub fn is_named_by(&self, name: &str) -> bool {
        self.0.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }
}

impl ScriptRef {
    pub fn slug(&self) -> &Slug {
        match self {
            ScriptRef::Individual { slug, .. } | ScriptRef::TeamShared { slug } => slug,
        }
    }

    /// Where the script lies, relative to the priming folder.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("{self}.md"))
    }

    /// Whether the two would be one file on a disk that does not tell capitals from small letters.
    pub fn clashes_with(&self, other: &ScriptRef) -> bool {
        self != other && self.to_string().eq_ignore_ascii_case(&other.to_string())
    }
}

impl FromStr for Slug {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Slug, NameError> {
        segments(text).map_err(|problem| refused(text, SLUG, problem))?;
        Ok(Slug(text.to_owned()))
    }
}

impl FromStr for MemberId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<MemberId, NameError> {
        let error = |problem| refused(text, MEMBER, problem);
        if segments(text).map_err(error)?.len() > 1 {
            return Err(error(NameProblem::Character { character: '/' }));
        }
        Ok(MemberId(text.to_owned()))
    }
}

impl FromStr for ScriptRef {
    type Err = NameError;

    fn from_str(text: &str) -> Result<ScriptRef, NameError> {
        let error = |problem| refused(text, SCRIPT_REF, problem);
        let parts = segments(text).map_err(error)?;
        // A slug has fewer segments than a reference may, so its own limits hold too.
        let slug = |from: usize| Slug(parts[from..].join("/"));
        match parts.as_slice() {
            [INDIVIDUAL, _, _, ..] => {
                let member = MemberId(parts[1].to_owned());
                Ok(ScriptRef::Individual { member, slug: slug(2) })
            }
            [TEAM_SHARED, _, ..] => Ok(ScriptRef::TeamShared { slug: slug(1) }),
            [INDIVIDUAL | TEAM_SHARED, ..] => Err(error(NameProblem::NoSlug)),
            _ => Err(error(NameProblem::Place)),
        }
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ScriptRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScriptRef::Individual { member, slug } => write!(f, "{INDIVIDUAL}/{member}/{slug}"),
            ScriptRef::TeamShared { slug } => write!(f, "{TEAM_SHARED}/{slug}"),
        }
    }
}

fn segments(text: &str) -> Result<Vec<&str>, NameProblem> {
    if text.is_empty() {
        return Err(NameProblem::Empty);
    }
    if text.len() > SLUG_BYTES_MAX {
        return Err(NameProblem::TooLong);
    }
    if text.starts_with('/') {
        return Err(NameProblem::Absolute);
    }
    if text.ends_with('/') {
        return Err(NameProblem::TrailingSlash);
    }
    let segments: Vec<&str> = text.split('/').collect();
    if segments.len() > SLUG_SEGMENTS_MAX {
        return Err(NameProblem::TooManySegments);
    }
    segments.iter().try_for_each(|segment| check_segment(segment))?;
    Ok(segments)
}

fn check_segment(segment: &str) -> Result<(), NameProblem> {
    if segment.is_empty() {
        return Err(NameProblem::EmptySegment);
    }
    let is_allowed = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '.' | '_' | '-');
    if let Some(character) = segment.chars().find(|&ch| !is_allowed(ch)) {
        return Err(NameProblem::Character { character });
    }
    if segment == "." || segment == ".." {
        return Err(NameProblem::Dots { segment: segment.to_owned() });
    }
    if segment.len() > SEGMENT_BYTES_MAX {
        return Err(NameProblem::SegmentTooLong);
    }
    Ok(())
}

fn refused(text: &str, wanted: &'static str, problem: NameProblem) -> NameError {
    // The name comes from outside and may be anything; the message stays short and printable.
    let text = text.chars().take(80).flat_map(char::escape_debug).collect();
    NameError { text, wanted, problem }
}

#[cfg(test)]
mod tests;
