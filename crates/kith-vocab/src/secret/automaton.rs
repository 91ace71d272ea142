//! Finds many patterns in one pass (Aho and Corasick), one byte at a time.
//!
//! By hand, because a stream needs to know after each byte how much of its end may still become a
//! match, and the crates of the field do not tell.

use std::collections::{BTreeMap, VecDeque};

/// The state in which nothing has been matched.
pub(super) const ROOT: usize = 0;

/// Invariant: there is a root.
pub(super) struct Automaton {
    nodes: Vec<TrieNode>,
}

impl Default for Automaton {
    fn default() -> Automaton {
        Automaton::new([])
    }
}

#[derive(Default)]
struct TrieNode {
    children: BTreeMap<u8, usize>,
    /// The longest proper end of this node's text that is a node too.
    fallback: usize,
    depth: usize,
    /// The length of the longest pattern that ends here; 0 if none does.
    matched: usize,
}

impl Automaton {
    pub(super) fn new<'a>(patterns: impl IntoIterator<Item = &'a [u8]>) -> Automaton {
        let mut automaton = Automaton { nodes: vec![TrieNode::default()] };
        for pattern in patterns {
            automaton.add(pattern);
        }
        automaton.link();
        automaton
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.len() <= 1
    }

    fn add(&mut self, pattern: &[u8]) {
        let mut at = ROOT;
        for (depth, byte) in (1..).zip(pattern) {
            let new = self.nodes.len();
            let next = *self.nodes[at].children.entry(*byte).or_insert(new);
            if next == new {
                self.nodes.push(TrieNode { depth, ..TrieNode::default() });
            }
            at = next;
        }
        self.nodes[at].matched = pattern.len();
    }

    /// Sets the fallbacks, level by level: each needs those of shorter texts.
    fn link(&mut self) {
        let mut queue: VecDeque<usize> = self.nodes[ROOT].children.values().copied().collect();
        while let Some(at) = queue.pop_front() {
            let children: Vec<(u8, usize)> =
                self.nodes[at].children.iter().map(|(byte, child)| (*byte, *child)).collect();
            for (byte, child) in children {
                let fallback = self.next(self.nodes[at].fallback, byte);
                self.nodes[child].fallback = fallback;
                let shorter = self.nodes[fallback].matched;
                let matched = &mut self.nodes[child].matched;
                *matched = (*matched).max(shorter);
                queue.push_back(child);
            }
        }
    }

    pub(super) fn next(&self, mut state: usize, byte: u8) -> usize {
        loop {
            let node = &self.nodes[state];
            match node.children.get(&byte) {
                Some(child) => return *child,
                None if state == ROOT => return ROOT,
                None => state = node.fallback,
            }
        }
    }

    /// How much of the end of what was read may still become a match.
    pub(super) fn depth(&self, state: usize) -> usize {
        self.nodes[state].depth
    }

    /// The length of the longest pattern that ends here; 0 if none does.
    pub(super) fn matched(&self, state: usize) -> usize {
        self.nodes[state].matched
    }
}
