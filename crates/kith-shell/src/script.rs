//! The segments of a script: simple commands, and how each follows the one before.

use serde::{Deserialize, Serialize};

use crate::word::Word;

/// Longer scripts are not read at all.
pub const SCRIPT_BYTES_MAX: usize = 16 * 1024;
/// Maximum number of operators and brackets: the grammar takes time that grows with their square.
pub const SCRIPT_OPERATORS_MAX: usize = 600;
/// Maximum nesting of the grammar's nodes.
pub const SCRIPT_DEPTH_MAX: usize = 64;
/// Maximum number of the grammar's nodes.
pub const SCRIPT_NODES_MAX: usize = 20_000;
pub const SEGMENTS_MAX: usize = 200;
pub const OBSTACLES_MAX: usize = 50;

/// A script as far as it can be told what it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// All simple commands in it, in the order of the text, also those inside an obstacle.
    pub segments: Vec<Segment>,
    /// What was not understood. If there is any, nobody knows what the script does.
    pub obstacles: Vec<Obstacle>,
    /// Whether a `!` stands before a command: what follows it with `&&` runs if it fails.
    pub negates: bool,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub joint: Joint,
    /// `NAME=value` before the command.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments. Empty for redirections of a whole group.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The subshells around it, by number: a change of folder ends with its subshell.
    pub subshells: Vec<usize>,
    pub range: TextRange,
}

/// How a segment follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joint {
    First,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a line end
    Then,
    /// `|` or `|&`
    Pipe,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: Word,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub direction: RedirectDirection,
    pub target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectDirection {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`, `<>`: what the file held is lost, or can be.
    Write,
    /// `>>`, `&>>`
    Append,
}

/// A part of a script that cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    pub kind: ObstacleKind,
    /// The part, shortened to [`OBSTACLE_CHARS_MAX`].
    pub text: String,
    /// Where it stands in the command, in bytes.
    pub start: usize,
    pub end: usize,
}

pub const OBSTACLE_CHARS_MAX: usize = 80;

impl Obstacle {
    pub(crate) fn new(kind: ObstacleKind, range: TextRange, script: &str) -> Obstacle {
        let text = range.of(script).chars().take(OBSTACLE_CHARS_MAX).collect();
        Obstacle { kind, text, start: range.start, end: range.end }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// The text is longer than [`SCRIPT_BYTES_MAX`], or holds too many commands.
    TooLong,
    TooDeep,
    /// The grammar does not accept it.
    Syntax,
    /// The two readings of the text differ.
    Ambiguous,
    /// A control or invisible character, or a space that is no ASCII space.
    Character,
    /// `$(…)`, backticks, `<(…)`
    Substitution,
    /// `$NAME`, `${…}`, `$((…))`
    Expansion,
    /// `$'…'`, `$"…"`
    Quoting,
    /// `<<`, `<<<`
    HereDocument,
    /// `if`, `for`, `while`, `case`
    ControlFlow,
    /// `[ … ]`, `[[ … ]]`, `(( … ))`
    Test,
    /// A function is defined.
    Function,
    /// `NAME=value` on its own, `export`, `unset`
    Variable,
    /// `&`
    Background,
    /// A redirection of another form.
    Redirection,
    /// The program itself is not a plain word.
    Program,
    Other,
}

impl ObstacleKind {
    /// Whether commands of the script may be missing among its segments.
    pub fn hides_the_rest(self) -> bool {
        matches!(
            self,
            ObstacleKind::TooLong
                | ObstacleKind::TooDeep
                | ObstacleKind::Syntax
                | ObstacleKind::Ambiguous
                | ObstacleKind::Character
        )
    }
}

/// Bytes of the script from `start` up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextRange {
    pub start: usize,
    pub end: usize,
}

impl TextRange {
    pub fn of<'a>(&self, script: &'a str) -> &'a str {
        script.get(self.start..self.end).unwrap_or_default()
    }
}

impl ShellScript {
    pub fn is_understood(&self) -> bool {
        self.obstacles.is_empty()
    }
}
