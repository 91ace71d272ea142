//! Whether the fields of a record, or of a script, are what they must be.

use std::collections::BTreeMap;

use kith_vocab::json::Json;

use super::record_type::{BodyRule, FRONT_MATTER, FieldForm, FieldRule, RecordType};
use super::script::{
    GENSEQ_MAX, PrimingRecord, SCRIPT_KIND, SCRIPT_VERSION, ScriptError, ScriptField,
    ScriptProblem, Warning, excerpt, warn,
};
use super::yaml::YamlEntry;

/// The fields of a record, checked. Unknown keys are kept and warned about.
pub(crate) fn record_fields(
    record_type: RecordType,
    line: usize,
    entries: Vec<YamlEntry>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ScriptField>, ScriptError> {
    let mut fields = Vec::with_capacity(entries.len());
    for entry in entries {
        let error = |problem| ScriptError::new(entry.line, problem);
        match (entry.name.as_str(), record_type.body()) {
            ("type", BodyRule::Json) => {
                let form = FieldForm::Word(&["func_call_record"]);
                check_form("type", form, &entry.value).map_err(error)?;
                continue;
            }
            ("type", _) => return Err(error(ScriptProblem::TypeInside)),
            (name, BodyRule::Text(field)) if name == field => {
                return Err(error(ScriptProblem::BodyInside { field }));
            }
            ("sourceTag", _) => {
                let form = FieldForm::Word(&["priming_script"]);
                check_form("sourceTag", form, &entry.value).map_err(error)?;
            }
            (name, _) => {
                check_known(record_type.fields(), name, &entry, record_type.name(), warnings)?;
            }
        }
        fields.push(ScriptField::new(entry.name, entry.value));
    }
    for rule in record_type.fields().iter().filter(|rule| rule.required) {
        if !fields.iter().any(|field| field.name == rule.name) {
            let (field, expected) = (rule.name, expected(rule.form));
            let misspelt = fields.iter().find(|it| letters(&it.name) == letters(field));
            let record = record_type;
            let problem = match misspelt {
                Some(found) => {
                    ScriptProblem::MisspeltField { record, field, found: found.name.clone() }
                }
                None => ScriptProblem::MissingField { record, field, expected },
            };
            return Err(ScriptError::new(line, problem));
        }
    }
    Ok(fields)
}

/// The front matter of a script, checked; `kind` and `version` are dropped.
pub(crate) fn script_fields(
    entries: Vec<YamlEntry>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ScriptField>, ScriptError> {
    let mut fields = Vec::with_capacity(entries.len());
    for mut entry in entries {
        let error = |problem| ScriptError::new(entry.line, problem);
        match entry.name.as_str() {
            "kind" => {
                check_form("kind", FieldForm::Word(&[SCRIPT_KIND]), &entry.value).map_err(error)?;
                continue;
            }
            "version" => {
                if entry.value != Json::of(&SCRIPT_VERSION) {
                    let expected = format!("`{SCRIPT_VERSION}`");
                    return Err(error(wrong("version", expected, &entry.value)));
                }
                continue;
            }
            name => check_known(FRONT_MATTER, name, &entry, "the front matter", warnings)?,
        }
        if entry.name == "title" {
            let title: String = entry.value.read().unwrap_or_default();
            entry.value = Json::of(&title.trim());
        }
        fields.push(ScriptField::new(entry.name, entry.value));
    }
    Ok(fields)
}

/// Checks that each result follows its call, and that call ids are unique.
#[derive(Debug, Default)]
pub(crate) struct CallChecker {
    /// By id: the tool, the line of the call and that of its result.
    seen: BTreeMap<String, (String, usize, Option<usize>)>,
}

impl CallChecker {
    pub(crate) fn check(&mut self, record: &PrimingRecord) -> Result<(), ScriptError> {
        let error = |problem| Err(ScriptError::new(record.line, problem));
        let is_call = record.record_type == RecordType::FuncCall;
        if !is_call && record.record_type != RecordType::FuncResult {
            return Ok(());
        }
        let id = record.get_text("id").unwrap_or_default();
        let name = record.get_text("name").unwrap_or_default();
        match self.seen.get_mut(&id) {
            Some((_, first_line, _)) if is_call => {
                let first_line = *first_line;
                error(ScriptProblem::DuplicateCall { id: excerpt(&id), first_line })
            }
            None if is_call => {
                self.seen.insert(id, (name, record.line, None));
                Ok(())
            }
            None => error(ScriptProblem::OrphanResult { id: excerpt(&id) }),
            Some((_, _, Some(first_line))) => {
                let first_line = *first_line;
                error(ScriptProblem::SecondResult { id: excerpt(&id), first_line })
            }
            Some((called, call_line, _)) if *called != name => error(ScriptProblem::OtherTool {
                id: excerpt(&id),
                found: excerpt(&name),
                called: excerpt(called),
                call_line: *call_line,
            }),
            Some((_, _, result_line)) => {
                *result_line = Some(record.line);
                Ok(())
            }
        }
    }
}

/// A key as people misspell it: `msgid` and `msg_id` are meant to be `msgId`.
fn letters(name: &str) -> String {
    name.replace(['_', '-'], "").to_lowercase()
}

fn check_known(
    rules: &[FieldRule],
    name: &str,
    entry: &YamlEntry,
    owner: &str,
    warnings: &mut Vec<Warning>,
) -> Result<(), ScriptError> {
    if let Some(rule) = rules.iter().find(|rule| rule.name == name) {
        return check_form(rule.name, rule.form, &entry.value)
            .map_err(|problem| ScriptError::new(entry.line, problem));
    }
    let meant = rules.iter().find(|rule| letters(rule.name) == letters(name));
    let meant = meant.map_or_else(String::new, |rule| format!("; did you mean `{}`?", rule.name));
    let message = format!("`{}` is not a key of {owner} (kept, ignored){meant}", excerpt(name));
    warn(warnings, entry.line, message);
    Ok(())
}

fn check_form(name: &str, form: FieldForm, value: &Json) -> Result<(), ScriptProblem> {
    let text = || value.read::<String>().ok();
    let fits = match form {
        FieldForm::Count => value.read::<u64>().is_ok_and(|count| count <= GENSEQ_MAX),
        FieldForm::Name => text().is_some_and(|text| !text.trim().is_empty()),
        FieldForm::Text => text().is_some(),
        FieldForm::Names => value
            .read::<Vec<String>>()
            .is_ok_and(|names| names.iter().all(|name| !name.trim().is_empty())),
        FieldForm::Word(words) => text().is_some_and(|text| words.contains(&text.as_str())),
        FieldForm::Object => value.is_object(),
        FieldForm::Objects => {
            value.read::<Vec<Json>>().is_ok_and(|items| items.iter().all(Json::is_object))
        }
        FieldForm::SearchAction => is_search_action(value),
    };
    if fits { Ok(()) } else { Err(wrong(name, expected(form), value)) }
}

fn is_search_action(value: &Json) -> bool {
    let Ok(fields) = value.read::<BTreeMap<String, serde_json::Value>>() else { return false };
    let allowed: &[&str] = match fields.get("type").and_then(|it| it.as_str()) {
        Some("search") => &["query"],
        Some("open_page") => &["url"],
        Some("find_in_page") => &["url", "pattern"],
        _ => return false,
    };
    fields.iter().all(|(name, value)| !allowed.contains(&name.as_str()) || value.is_string())
}

fn expected(form: FieldForm) -> String {
    match form {
        FieldForm::Count => "an integer from 0".to_owned(),
        FieldForm::Name => "a string that is not blank".to_owned(),
        FieldForm::Text => "a string".to_owned(),
        FieldForm::Names => "a list of strings that are not blank".to_owned(),
        FieldForm::Word([word]) => format!("`{word}`"),
        FieldForm::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("one of {}", words.join(", "))
        }
        FieldForm::Object => "an object".to_owned(),
        FieldForm::Objects => "a list of objects".to_owned(),
        FieldForm::SearchAction => "`{type: search, query?}`, `{type: open_page, url?}` or \
                                    `{type: find_in_page, url?, pattern?}`"
            .to_owned(),
    }
}

fn wrong(field: &str, expected: String, value: &Json) -> ScriptProblem {
    let found = excerpt(value.as_str());
    // A number or `true` where a string is wanted is nearly always a string without its quotes.
    let bare = !value.as_str().starts_with(['"', '[', '{']) && value.as_str() != "null";
    let hint = if bare && expected.starts_with("a string") { "; put it in quotes" } else { "" };
    ScriptProblem::WrongField {
        field: field.to_owned(),
        expected,
        found: format!("`{found}`{hint}"),
    }
}
