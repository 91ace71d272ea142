//! How two texts differ, in lines, with a limit on everything.

use crate::line_diff::{FinalLineBreak, unified};

/// Lines of a difference that are shown.
pub(super) const DIFFERENCE_LINES_MAX: usize = 120;
/// Bytes of a difference that are shown.
pub(super) const DIFFERENCE_BYTES_MAX: usize = 8 * 1024;
/// Comparing takes time by the square of the lines, so longer texts are not compared.
pub(super) const COMPARED_LINES_MAX: usize = 2_000;

/// A diff of the two texts, as far as there is room. A cut is marked.
pub(super) fn between(before: &str, now: &str, shown: &str, room: usize) -> String {
    let bytes_max = room.min(DIFFERENCE_BYTES_MAX);
    if bytes_max == 0 {
        return format!("[… left out, because too much changed at once; read `{shown}` …]");
    }
    let (n_before, n_now) = (before.lines().count(), now.lines().count());
    if n_before.max(n_now) > COMPARED_LINES_MAX {
        return format!(
            "[… {n_before} lines became {n_now}, too many to compare; read `{shown}` …]"
        );
    }
    // A missing line break at the end is not worth a line of the reminder.
    let text = unified(before, now, FinalLineBreak::AsIs, None);
    cut(&text, bytes_max, shown)
}

fn cut(text: &str, bytes_max: usize, shown: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    for line in lines.by_ref().take(DIFFERENCE_LINES_MAX) {
        if kept.len() + line.len() < bytes_max {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        // One line may be longer than all that is shown.
        let end = line.floor_char_boundary(bytes_max.saturating_sub(kept.len()));
        kept.push_str(&line[..end]);
        let n_left = lines.count();
        return format!(
            "{kept}\n[… the rest of this line and {n_left} more of the difference are left out; \
             read `{shown}` …]"
        );
    }
    match lines.count() {
        0 => kept.trim_end_matches('\n').to_owned(),
        n_left => {
            format!(
                "{kept}[… {n_left} more lines of the difference are left out; read `{shown}` …]"
            )
        }
    }
}

#[cfg(test)]
mod tests;
