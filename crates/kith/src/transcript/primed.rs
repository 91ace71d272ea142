//! What a person sees of a primed record that has no counterpart in the log.

use kith_home::priming::script::Record;
use kith_vocab::json::Json;

/// Its text, under the name of its type. A record without a text is a mark for programs.
pub(super) fn record(json: &Json, indented: impl Fn(&str) -> String) -> Option<String> {
    let record = Record::from_json(json)?;
    if record.body.trim().is_empty() {
        return None;
    }
    let name = record.record_type.name();
    let name = name.strip_suffix("_record").unwrap_or(name).replace('_', " ");
    Some(format!("({name}, primed)\n{}", indented(&record.body)))
}
