//! From text to a script, by a shell grammar with a list of the forms that are understood.
//!
//! Everything else the grammar knows is an obstacle, and so is what it knows under a name that we do
//! not: a newer grammar makes the judge ask more, never less. Commands inside obstacles are listed
//! too, so that a rule that denies a command also sees it in a substitution.

use std::ops::ControlFlow;

use kith_vocab::invisible::is_invisible;
use tree_sitter::{Node, ParseOptions, Parser};

use crate::script::{
    Assignment, Joint, OBSTACLES_MAX, Obstacle, ObstacleKind, Redirect, RedirectDirection,
    SCRIPT_BYTES_MAX, SCRIPT_DEPTH_MAX, SCRIPT_NODES_MAX, SCRIPT_OPERATORS_MAX, SEGMENTS_MAX,
    Segment, ShellScript, TextRange,
};
use crate::tokens::{self, TokenCommand};
use crate::word::{Word, WordForm};

/// The grammar reports its progress about every hundred operations; a script within the limits needs
/// far fewer reports than this.
const PROGRESS_REPORTS_MAX: usize = 2_000;

/// Reads a script. Never fails: what cannot be read is an obstacle.
pub fn parse(text: &str) -> ShellScript {
    let mut reading = ShellReader::new(text);
    if text.len() > SCRIPT_BYTES_MAX || n_operators(text) > SCRIPT_OPERATORS_MAX {
        reading.object(ObstacleKind::TooLong, 0, text.len());
        return reading.script;
    }
    for (start, ch) in text.char_indices() {
        if is_strange(ch) {
            reading.object(ObstacleKind::Character, start, start + ch.len_utf8());
        }
    }
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    let mut n_reports = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        n_reports += 1;
        if n_reports > PROGRESS_REPORTS_MAX {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = plain_bytes(text);
    let tree = parser.set_language(&language).ok().and_then(|()| {
        parser.parse_with_options(
            &mut |at, _| bytes.get(at..).unwrap_or_default(),
            None,
            Some(options),
        )
    });
    let Some(tree) = tree else {
        reading.object(ObstacleKind::Syntax, 0, text.len());
        return reading.script;
    };
    reading.walk(tree.root_node());
    reading.compare();
    reading.script
}

/// What makes the grammar try several readings: operators, brackets, and words that begin a form.
fn n_operators(text: &str) -> usize {
    let keywords = [
        "if", "then", "elif", "else", "while", "until", "for", "case", "do", "in", "function",
        "select",
    ];
    let n_marks = text.bytes().filter(|it| b"|&;()<>{}[]$`".contains(it)).count();
    let n_words = text.split_whitespace().filter(|it| keywords.contains(it)).count();
    n_marks + n_words + text.matches("==").count() + text.matches("=~").count()
}

/// The script with a letter for every byte that is no visible ASCII. The scanner of the grammar,
/// which is C, asks tables of 256 entries about characters, and reads beyond them for others. To a
/// shell such a byte is a part of a word like any other.
fn plain_bytes(text: &str) -> Vec<u8> {
    let is_plain =
        |byte: u8| byte == b' ' || byte == b'\n' || byte == b'\t' || byte.is_ascii_graphic();
    text.bytes().map(|byte| if is_plain(byte) { byte } else { b'x' }).collect()
}

/// Programs and people may read such a character differently.
fn is_strange(ch: char) -> bool {
    (ch.is_control() && ch != '\n' && ch != '\t')
        || is_invisible(ch)
        || (ch.is_whitespace() && !ch.is_ascii())
}

/// A node that waits, or a mark that a subshell has ended.
enum PendingNode<'tree> {
    Node(Node<'tree>, usize),
    SubshellEnd,
}

struct ShellReader<'a> {
    text: &'a str,
    script: ShellScript,
    joint: Joint,
    /// The numbers of the subshells around the current node.
    subshells: Vec<usize>,
    n_subshells: usize,
}

impl<'a> ShellReader<'a> {
    fn new(text: &'a str) -> ShellReader<'a> {
        let script = ShellScript::default();
        ShellReader { text, script, joint: Joint::First, subshells: Vec::new(), n_subshells: 0 }
    }

    fn object(&mut self, kind: ObstacleKind, start: usize, end: usize) {
        let obstacles = &mut self.script.obstacles;
        if obstacles.len() == OBSTACLES_MAX {
            // That commands are missing decides more than one obstacle among many.
            if !kind.hides_the_rest() || obstacles.iter().any(|it| it.kind.hides_the_rest()) {
                return;
            }
            obstacles.pop();
        }
        obstacles.push(Obstacle::new(kind, TextRange { start, end }, self.text));
    }

    fn object_to(&mut self, kind: ObstacleKind, node: Node<'_>) {
        self.object(kind, node.start_byte(), node.end_byte());
    }

    fn source(&self, node: Node<'_>) -> &'a str {
        TextRange { start: node.start_byte(), end: node.end_byte() }.of(self.text)
    }

    /// Visits every node once, in the order of the text, with a stack of its own: the depth of a
    /// script is the writer's choice, that of our stack is not.
    fn walk(&mut self, root: Node<'_>) {
        let mut pending = vec![PendingNode::Node(root, 0)];
        let mut n_nodes = 0;
        while let Some(next) = pending.pop() {
            let (node, depth) = match next {
                PendingNode::SubshellEnd => {
                    self.subshells.pop();
                    continue;
                }
                PendingNode::Node(node, depth) => (node, depth),
            };
            n_nodes += 1;
            if n_nodes > SCRIPT_NODES_MAX || self.script.segments.len() > SEGMENTS_MAX {
                self.object(ObstacleKind::TooLong, node.start_byte(), self.text.len());
                return;
            }
            if depth > SCRIPT_DEPTH_MAX {
                self.object_to(ObstacleKind::TooDeep, node);
                continue;
            }
            if node.is_error() || node.is_missing() {
                self.object_to(ObstacleKind::Syntax, node);
            } else if node.is_named() {
                self.visit(node, &mut pending);
            } else {
                self.visit_mark(node);
            }
            // Of a command, its words were read already; what stands inside them was not.
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
            // A list of commands nests in the grammar, and not in the text.
            let is_flat = matches!(node.kind(), "list" | "pipeline" | "redirected_statement");
            let depth = if is_flat { depth } else { depth + 1 };
            pending.extend(children.into_iter().rev().map(|it| PendingNode::Node(it, depth)));
        }
    }

    fn visit(&mut self, node: Node<'_>, pending: &mut Vec<PendingNode<'_>>) {
        match node.kind() {
            "subshell" => {
                self.n_subshells += 1;
                self.subshells.push(self.n_subshells);
                pending.push(PendingNode::SubshellEnd);
            }
            "command" => self.add_command(node),
            "redirected_statement" => self.add_group_redirects(node),
            "negated_command" => self.script.negates = true,
            "variable_assignment" if node.parent().is_none_or(|it| it.kind() != "command") => {
                self.object_to(ObstacleKind::Variable, node);
            }
            kind => {
                if let Some(obstacle) = obstacle_of(kind, self.source(node)) {
                    self.object_to(obstacle, node);
                }
            }
        }
    }

    /// Operators and brackets.
    fn visit_mark(&mut self, node: Node<'_>) {
        let is_between = node.parent().is_some_and(|it| {
            matches!(it.kind(), "program" | "list" | "pipeline" | "subshell" | "compound_statement")
        });
        match node.kind() {
            "&&" => self.joint = Joint::And,
            "||" => self.joint = Joint::Or,
            "|" | "|&" => self.joint = Joint::Pipe,
            ";" | "\n" => self.joint = Joint::Then,
            "&" if is_between => self.object_to(ObstacleKind::Background, node),
            ";;" | "((" | "))" => self.object_to(ObstacleKind::Other, node),
            _ => (),
        }
    }

    fn add_command(&mut self, command: Node<'_>) {
        let mut segment = self.segment(command);
        let mut cursor = command.walk();
        for child in command.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => segment.assignments.extend(self.assignment(child)),
                "file_redirect" => self.add_redirect(child, &mut segment),
                _ if child.is_named() || is_word_mark(child.kind()) => {
                    segment.words.extend(Word::read_all(self.source(child)));
                }
                _ => (),
            }
        }
        for statement in statements_that_end_with(command) {
            self.redirects_of(statement, &mut segment);
        }
        let program = segment.words.first();
        if program.is_none_or(|it| !it.is_literal() || it.text.is_empty()) {
            self.object_to(ObstacleKind::Program, command);
        }
        let unknown = segment.words.iter().any(|it| it.form == WordForm::Unknown);
        let targets = segment
            .redirects
            .iter()
            .all(|it| matches!(it.target.form, WordForm::Literal | WordForm::Home));
        if unknown || !targets {
            self.object_to(ObstacleKind::Expansion, command);
        }
        self.script.segments.push(segment);
    }

    fn segment(&mut self, node: Node<'_>) -> Segment {
        let joint = std::mem::replace(&mut self.joint, Joint::Then);
        let joint = if self.script.segments.is_empty() { Joint::First } else { joint };
        Segment {
            joint,
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            subshells: self.subshells.clone(),
            range: TextRange { start: node.start_byte(), end: node.end_byte() },
        }
    }

    /// Redirections of anything but a simple command stand on their own.
    fn add_group_redirects(&mut self, statement: Node<'_>) {
        if last_command(statement).is_some() {
            return;
        }
        let joint = self.joint;
        let mut segment = self.segment(statement);
        self.joint = joint;
        self.redirects_of(statement, &mut segment);
        if !segment.words.is_empty() {
            self.object_to(ObstacleKind::Redirection, statement);
        }
        self.script.segments.push(segment);
    }

    fn redirects_of(&mut self, statement: Node<'_>, segment: &mut Segment) {
        let mut cursor = statement.walk();
        let redirects: Vec<Node<'_>> =
            statement.children(&mut cursor).filter(|it| it.kind() == "file_redirect").collect();
        for redirect in redirects {
            self.add_redirect(redirect, segment);
        }
    }

    fn assignment(&mut self, node: Node<'_>) -> Option<Assignment> {
        let (name, value) = self.source(node).split_once('=')?;
        let is_name = |ch: char| ch.is_ascii_alphanumeric() || ch == '_';
        let value = Word::read(value);
        if name.is_empty() || !name.chars().all(is_name) || !value.is_literal() {
            self.object_to(ObstacleKind::Variable, node);
        }
        Some(Assignment { name: name.trim_end_matches('+').to_owned(), value })
    }

    /// The grammar takes all words after the operator for its target; for the shell only the first
    /// is, and the rest are arguments.
    fn add_redirect(&mut self, node: Node<'_>, segment: &mut Segment) {
        let mut operator = "";
        let mut words = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" => (),
                _ if child.is_named() => words.push(self.source(child)),
                mark => operator = mark,
            }
        }
        let mut words = words.into_iter();
        let target = words.next().map(Word::read);
        segment.words.extend(words.flat_map(Word::read_all));
        let direction = match operator {
            "<" => RedirectDirection::Read,
            ">>" | "&>>" => RedirectDirection::Append,
            // `2>&1`, and `>&-`, which has no target: nothing is opened.
            ">&" | "<&" if target.as_ref().is_none_or(is_descriptor) => return,
            ">&-" | "<&-" => return,
            ">" | ">|" | "&>" | "<>" | ">&" => RedirectDirection::Write,
            _ => return self.object_to(ObstacleKind::Redirection, node),
        };
        match target {
            Some(target) => segment.redirects.push(Redirect { direction, target }),
            None => self.object_to(ObstacleKind::Redirection, node),
        }
    }

    /// Refuses a script that our own reader takes for another.
    fn compare(&mut self) {
        if self.script.is_understood() && tokens::commands(self.text) != Some(self.commands()) {
            self.object(ObstacleKind::Ambiguous, 0, self.text.len());
        }
    }

    fn commands(&self) -> Vec<TokenCommand> {
        let command = |segment: &Segment| TokenCommand {
            words: segment.words.iter().map(|it| it.text.clone()).collect(),
            targets: segment.redirects.iter().map(|it| it.target.text.clone()).collect(),
        };
        let is_group = |it: &&Segment| it.words.is_empty();
        let segments = &self.script.segments;
        let mut groups: Vec<TokenCommand> = segments.iter().filter(is_group).map(command).collect();
        groups.retain(|it| !it.targets.is_empty());
        groups.sort();
        let commands = segments.iter().filter(|it| !is_group(it)).map(command);
        commands.chain(groups).collect()
    }
}

/// The grammar gives a redirection to the whole pipeline before it; for the shell it belongs to the
/// last command.
fn last_command(statement: Node<'_>) -> Option<Node<'_>> {
    let mut node = statement;
    for _ in 0..SCRIPT_OPERATORS_MAX {
        node = match node.kind() {
            "command" => return Some(node),
            "redirected_statement" => node.child_by_field_name("body")?,
            "pipeline" | "list" | "negated_command" => {
                node.named_child(u32::try_from(node.named_child_count().checked_sub(1)?).ok()?)?
            }
            _ => return None,
        };
    }
    None
}

/// The statements whose redirections belong to this command, the innermost first.
fn statements_that_end_with(command: Node<'_>) -> Vec<Node<'_>> {
    let mut statements = Vec::new();
    let mut node = command;
    for _ in 0..SCRIPT_OPERATORS_MAX {
        let Some(parent) = node.parent() else { break };
        if last_command(parent) != Some(command) {
            break;
        }
        if parent.kind() == "redirected_statement" {
            statements.push(parent);
        }
        node = parent;
    }
    statements
}

fn is_descriptor(word: &Word) -> bool {
    word.is_literal() && (word.text == "-" || word.text.bytes().all(|it| it.is_ascii_digit()))
}

/// Words that the grammar does not name.
fn is_word_mark(kind: &str) -> bool {
    matches!(kind, "$" | "==" | "=~")
}

/// What a node is, unless it is one of the forms that are understood.
fn obstacle_of(kind: &str, source: &str) -> Option<ObstacleKind> {
    Some(match kind {
        "program"
        | "list"
        | "pipeline"
        | "command"
        | "command_name"
        | "word"
        | "string"
        | "raw_string"
        | "string_content"
        | "concatenation"
        | "number"
        | "comment"
        | "file_redirect"
        | "file_descriptor"
        | "variable_assignment"
        | "variable_name"
        | "compound_statement"
        | "brace_expression"
        | "extglob_pattern" => return None,
        "simple_expansion" | "special_variable_name" if matches!(source, "$?" | "?") => {
            return None;
        }
        "simple_expansion"
        | "expansion"
        | "arithmetic_expansion"
        | "special_variable_name"
        | "subscript" => ObstacleKind::Expansion,
        "command_substitution" | "process_substitution" => ObstacleKind::Substitution,
        "ansi_c_string" | "translated_string" => ObstacleKind::Quoting,
        "heredoc_redirect"
        | "heredoc_body"
        | "heredoc_start"
        | "heredoc_end"
        | "heredoc_content"
        | "herestring_redirect" => ObstacleKind::HereDocument,
        "if_statement"
        | "for_statement"
        | "c_style_for_statement"
        | "while_statement"
        | "case_statement"
        | "case_item"
        | "do_group"
        | "elif_clause"
        | "else_clause" => ObstacleKind::ControlFlow,
        "test_command"
        | "test_operator"
        | "binary_expression"
        | "unary_expression"
        | "ternary_expression"
        | "postfix_expression"
        | "parenthesized_expression"
        | "regex" => ObstacleKind::Test,
        "function_definition" => ObstacleKind::Function,
        "declaration_command" | "unset_command" | "variable_assignments" | "array" => {
            ObstacleKind::Variable
        }
        _ => ObstacleKind::Other,
    })
}

#[cfg(test)]
mod tests;
