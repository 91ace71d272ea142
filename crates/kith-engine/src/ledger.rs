//! The ledger of a compaction: identifiers, paths and tasks that code, not the model, carries over.
//!
//! A model that summarises forgets numbers first. So whatever looks like a name of something is
//! taken from the texts themselves, together with what the ledger before held.

use std::collections::HashSet;

use kith_vocab::event::messages::Ledger;

const IDENTIFIERS_MAX: usize = 500;
const PATHS_MAX: usize = 300;
const TASKS_MAX: usize = 200;
const ENTRY_CHARS_MAX: usize = 200;
/// Of all entries together, finished tasks aside: the model reads them in each request.
pub(crate) const LEDGER_BYTES_MAX: usize = 12 * 1024;
/// The part of the context window that the ledger may take.
const WINDOW_SHARE: u64 = 8;
/// Of results, which may be long listings, fewer are taken than of what was said.
const RESULT_ENTRIES_MAX: usize = 100;

const FILE_EXTENSIONS: [&str; 40] = [
    "md", "txt", "rs", "py", "js", "ts", "tsx", "jsx", "go", "c", "h", "cpp", "hpp", "java", "kt",
    "rb", "php", "sh", "toml", "json", "jsonl", "yaml", "yml", "xml", "html", "css", "csv", "sql",
    "db", "log", "lock", "pdf", "png", "jpg", "jpeg", "svg", "zip", "gz", "docx", "xlsx",
];

/// What is summarised, in its order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LedgerText<'a> {
    /// The words of people and of the model.
    Said(&'a str),
    /// The output of a tool.
    Result(&'a str),
}

/// The most that a ledger may have in a conversation with a window of so many tokens, each of at least
/// three bytes. In a small window a long ledger would leave no room for the conversation.
pub(crate) fn bytes_max(context_window: u64) -> usize {
    match usize::try_from(context_window.saturating_mul(3) / WINDOW_SHARE) {
        Ok(0) | Err(_) => LEDGER_BYTES_MAX,
        Ok(share) => share.min(LEDGER_BYTES_MAX),
    }
}

/// The ledger after a compaction: what the one before held, what the texts name, and the tasks of
/// the summary.
pub(crate) fn next_ledger<'a>(
    before: Option<&Ledger>,
    texts: impl Iterator<Item = LedgerText<'a>>,
    summary: &str,
    bytes_max: usize,
) -> Ledger {
    let mut builder = LedgerBuilder::new(before);
    for text in texts {
        match text {
            LedgerText::Said(text) => {
                builder.add_names(text, usize::MAX);
                builder.add_tasks(text);
            }
            LedgerText::Result(text) => builder.add_names(text, RESULT_ENTRIES_MAX),
        }
    }
    builder.add_summary(summary);
    builder.finish(bytes_max)
}

struct LedgerBuilder {
    identifiers: EntryList,
    paths: EntryList,
    open: EntryList,
    done: EntryList,
}

impl LedgerBuilder {
    fn new(before: Option<&Ledger>) -> LedgerBuilder {
        let list = |take: fn(&Ledger) -> &[String], max: usize, is_folded: bool| {
            let mut list = EntryList { max, is_folded, ..EntryList::default() };
            for entry in before.map_or(&[][..], take) {
                list.add(entry);
            }
            list
        };
        LedgerBuilder {
            identifiers: list(|it| &it.identifiers, IDENTIFIERS_MAX, false),
            paths: list(|it| &it.paths, PATHS_MAX, false),
            open: list(|it| &it.open_tasks, TASKS_MAX, true),
            done: list(|it| &it.done_tasks, TASKS_MAX, true),
        }
    }

    fn add_names(&mut self, text: &str, max: usize) {
        let mut n_added = 0;
        for word in words(text) {
            let was_added = match kind_of(word) {
                Some(NameKind::Identifier) => self.identifiers.add(word),
                Some(NameKind::Path) => self.paths.add(word),
                None => false,
            };
            n_added += usize::from(was_added);
            if n_added >= max {
                return;
            }
        }
    }

    /// Items of task lists. The later mark counts, so a person may open a task again.
    fn add_tasks(&mut self, text: &str) {
        for line in text.lines() {
            match task_of(line) {
                Some((task, false)) => {
                    self.done.remove(task);
                    self.open.add(task);
                }
                Some((task, true)) => self.finish_task(task),
                None => (),
            }
        }
    }

    fn finish_task(&mut self, task: &str) {
        self.open.remove(task);
        self.done.add(task);
    }

    /// Tasks under the summary's headings. What is known to be done is not opened by it.
    fn add_summary(&mut self, summary: &str) {
        let mut section = SummarySection::Other;
        for line in summary.lines() {
            if let Some(heading) = heading_of(line) {
                section = heading;
                continue;
            }
            let task = match task_of(line) {
                Some((task, true)) => {
                    self.finish_task(task);
                    continue;
                }
                Some((task, false)) => task,
                None => match bullet_of(line) {
                    Some(task) => task,
                    None => continue,
                },
            };
            match section {
                SummarySection::OpenTasks if !self.done.contains(task) => {
                    self.open.add(task);
                }
                SummarySection::Done => self.finish_task(task),
                SummarySection::OpenTasks | SummarySection::Other => (),
            }
        }
    }

    fn finish(mut self, bytes_max: usize) -> Ledger {
        // The longest list gives way, its oldest entry first; tasks last.
        while self.identifiers.bytes() + self.paths.bytes() + self.open.bytes() > bytes_max {
            let mut lists = [&mut self.identifiers, &mut self.paths];
            lists.sort_by_key(|list| list.bytes());
            let [_, longest] = lists;
            let list = if longest.entries.is_empty() { &mut self.open } else { longest };
            let n_oldest = list.entries.len().div_ceil(8);
            list.entries.drain(..n_oldest);
        }
        Ledger {
            identifiers: self.identifiers.entries,
            paths: self.paths.entries,
            open_tasks: self.open.entries,
            done_tasks: self.done.entries,
        }
    }
}

/// Entries in the order in which they came, each once.
#[derive(Default)]
struct EntryList {
    entries: Vec<String>,
    known: HashSet<String>,
    max: usize,
    /// Whether entries that differ only in case and the mark at their end are one.
    is_folded: bool,
}

impl EntryList {
    /// False if it is known already. At the maximum the oldest entry goes.
    fn add(&mut self, entry: &str) -> bool {
        let entry: String = entry.chars().take(ENTRY_CHARS_MAX).collect();
        if !self.known.insert(self.form(&entry)) {
            return false;
        }
        if self.entries.len() == self.max {
            let oldest = self.entries.remove(0);
            self.known.remove(&self.form(&oldest));
        }
        self.entries.push(entry);
        true
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(String::len).sum()
    }

    fn contains(&self, entry: &str) -> bool {
        self.known.contains(&self.form(entry))
    }

    fn remove(&mut self, entry: &str) {
        let form = self.form(entry);
        if self.known.remove(&form) {
            let is_folded = self.is_folded;
            self.entries.retain(|it| form_of(it, is_folded) != form);
        }
    }

    fn form(&self, entry: &str) -> String {
        form_of(entry, self.is_folded)
    }
}

fn form_of(entry: &str, is_folded: bool) -> String {
    if is_folded { normal_form(entry) } else { entry.to_owned() }
}

/// Two tasks are the same if they differ in case, spaces and the mark at their end only.
fn normal_form(entry: &str) -> String {
    let entry = entry.trim().trim_end_matches(['.', '。', ';', '；', '!', '！', ',', '，']);
    let cut: String = entry.chars().take(ENTRY_CHARS_MAX).collect();
    cut.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[derive(Clone, Copy)]
enum NameKind {
    Identifier,
    Path,
}

/// The runs of characters that names are made of.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |ch: char| ch.is_ascii_alphanumeric() || "_-.#:/@+=~%&?".contains(ch);
    text.split(move |ch| !is_part(ch))
        .map(|word| word.trim_matches(['.', ':', '-', '=', '?', '&', '+', '%']))
        .filter(|word| (3..=ENTRY_CHARS_MAX).contains(&word.len()))
}

fn kind_of(word: &str) -> Option<NameKind> {
    if word.starts_with("http://") || word.starts_with("https://") {
        return Some(NameKind::Identifier);
    }
    let has_letter = word.bytes().any(|it| it.is_ascii_alphabetic());
    let n_digits = word.bytes().filter(u8::is_ascii_digit).count();
    if word.contains('@') {
        let is_address = word.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty() && host.contains('.') && !host.starts_with('.')
        });
        return is_address.then_some(NameKind::Identifier);
    }
    if has_letter && (word.contains('/') || has_known_extension(word)) {
        return Some(NameKind::Path);
    }
    let is_numbered = has_letter && n_digits > 0 && (word.len() >= 5 || word.contains('-'));
    let is_reference = word.starts_with('#') && n_digits > 0;
    (is_numbered || is_reference || n_digits >= 5).then_some(NameKind::Identifier)
}

fn has_known_extension(word: &str) -> bool {
    word.rsplit_once('.')
        .is_some_and(|(stem, extension)| stem.len() >= 2 && FILE_EXTENSIONS.contains(&extension))
}

/// An item of a task list, and whether it is ticked.
fn task_of(line: &str) -> Option<(&str, bool)> {
    let item = bullet_of(line)?;
    let (is_done, task) = if let Some(task) = item.strip_prefix("[ ]") {
        (false, task)
    } else {
        (true, item.strip_prefix("[x]").or_else(|| item.strip_prefix("[X]"))?)
    };
    let task = task.trim();
    (!task.is_empty()).then_some((task, is_done))
}

fn bullet_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let item = ["- ", "* ", "+ "].into_iter().find_map(|mark| line.strip_prefix(mark))?.trim();
    let is_none = item.is_empty() || item.eq_ignore_ascii_case("none") || item == "无";
    (!is_none).then_some(item)
}

#[derive(Clone, Copy)]
enum SummarySection {
    OpenTasks,
    Done,
    Other,
}

fn heading_of(line: &str) -> Option<SummarySection> {
    let line = line.trim();
    let is_marked = line.starts_with('#') || line.starts_with("**") || line.ends_with([':', '：']);
    if !is_marked || bullet_of(line).is_some() {
        return None;
    }
    let title = line.trim_matches(|ch: char| "#*:： ".contains(ch)).to_lowercase();
    Some(match title.as_str() {
        "open tasks" | "未完成" | "待办" => SummarySection::OpenTasks,
        "done" | "已完成" => SummarySection::Done,
        _ => SummarySection::Other,
    })
}

#[cfg(test)]
mod tests;
