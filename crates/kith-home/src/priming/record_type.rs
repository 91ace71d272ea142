//! The fourteen kinds of record with their fields.
//!
//! Thirteen are those of the runtime that scripts come from, so that its scripts can be read here
//! and ours there; one is ours, for reminders. The table is the whole of the format's knowledge
//! about records: the parser and the exporter ask it and know nothing themselves.

use std::fmt;

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordType {
    HumanText,
    AgentWords,
    AgentThought,
    UiOnlyMarkdown,
    FuncCall,
    FuncResult,
    GenStart,
    GenFinish,
    WebSearchCall,
    QuestForSup,
    TeammateCallResult,
    TeammateResponse,
    TeammateCallAnchor,
    HarnessItem,
}

/// The content of a record's block besides its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyRule {
    /// Text, and the name it has as a field.
    Text(&'static str),
    /// The block is one JSON object that holds the fields.
    Json,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRule {
    pub(crate) name: &'static str,
    pub(crate) form: FieldForm,
    pub(crate) required: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldForm {
    /// An integer from 0.
    Count,
    /// A string that is not blank.
    Name,
    Text,
    Names,
    Word(&'static [&'static str]),
    Object,
    Objects,
    /// What a web search did.
    SearchAction,
}

use FieldForm::{Count, Name, Names, Object, Objects, SearchAction, Text, Word};

const CALL_NAMES: &[&str] =
    &["tellaskBack", "tellask", "tellaskSessionless", "askHuman", "freshBootsReasoning"];
const RESPONSE_CALL_NAMES: &[&str] =
    &["tellaskBack", "tellask", "tellaskSessionless", "freshBootsReasoning"];
const ENDINGS: &[&str] = &["completed", "failed"];

const HUMAN_TEXT: &[FieldRule] = &[
    may("genseq", Count),
    may("msgId", Name),
    may("grammar", Word(&["markdown"])),
    may("userLanguageCode", Word(&["en", "zh"])),
    may("q4hAnswerCallIds", Names),
];
const WORDS: &[FieldRule] = &[may("genseq", Count)];
const GEN_START: &[FieldRule] = &[must("genseq", Count)];
const FUNC_CALL: &[FieldRule] =
    &[must("genseq", Count), must("id", Name), must("name", Name), must("arguments", Object)];
const FUNC_RESULT: &[FieldRule] =
    &[must("genseq", Count), must("id", Name), must("name", Name), may("contentItems", Objects)];
const GEN_FINISH: &[FieldRule] =
    &[must("genseq", Count), may("contextHealth", Object), may("llmGenModel", Name)];
const WEB_SEARCH_CALL: &[FieldRule] = &[
    must("genseq", Count),
    must("phase", Word(&["added", "done"])),
    may("itemId", Name),
    may("status", Name),
    may("action", SearchAction),
];
const QUEST_FOR_SUP: &[FieldRule] =
    &[must("genseq", Count), must("subDialogId", Name), may("mentionList", Names)];
const TEAMMATE_CALL_RESULT: &[FieldRule] = &[
    must("responderId", Name),
    must("callName", Word(CALL_NAMES)),
    must("tellaskContent", Text),
    must("status", Word(ENDINGS)),
    must("callId", Name),
    may("mentionList", Names),
    may("calling_genseq", Count),
];
const TEAMMATE_RESPONSE: &[FieldRule] = &[
    must("responderId", Name),
    must("callName", Word(RESPONSE_CALL_NAMES)),
    must("tellaskContent", Text),
    must("status", Word(ENDINGS)),
    must("callId", Name),
    must("agentId", Name),
    must("originMemberId", Name),
    may("mentionList", Names),
    may("calling_genseq", Count),
    may("calleeDialogId", Name),
    may("calleeCourse", Count),
    may("calleeGenseq", Count),
];
const TEAMMATE_CALL_ANCHOR: &[FieldRule] = &[
    must("anchorRole", Word(&["assignment", "response"])),
    must("callId", Name),
    must("genseq", Count),
    may("assignmentCourse", Count),
    may("assignmentGenseq", Count),
    may("callerDialogId", Name),
    may("callerCourse", Count),
];
const HARNESS_KINDS: &[&str] = &[
    "attachment",
    "skill_listing",
    "skill_delta",
    "memory",
    "date_change",
    "steer",
    "runtime_notice",
    "channel_context",
];
const HARNESS_ITEM: &[FieldRule] = &[
    must("genseq", Count),
    must("kind", Word(HARNESS_KINDS)),
    must("origin", Word(&["user", "system", "tool", "skill"])),
    must("visibility", Word(&["display", "hidden", "compact"])),
];

/// The fields of a script's front matter. `kind` and `version` are checked separately, because they
/// are not kept.
pub(crate) const FRONT_MATTER: &[FieldRule] = &[
    may("title", Text),
    may("applicableMemberIds", Names),
    may("ownerAgentId", Name),
    may("generatedAt", Name),
    may("sourceDialog", Object),
    may("trust", Word(&["owner", "paired", "shared", "peer", "untrusted"])),
];

const fn must(name: &'static str, form: FieldForm) -> FieldRule {
    FieldRule { name, form, required: true }
}

const fn may(name: &'static str, form: FieldForm) -> FieldRule {
    FieldRule { name, form, required: false }
}

const CONTENT: BodyRule = BodyRule::Text("content");
const QUESTION: BodyRule = BodyRule::Text("tellaskContent");
const RESULT: BodyRule = BodyRule::Text("result");
const RESPONSE: BodyRule = BodyRule::Text("response");
const NOTHING: BodyRule = BodyRule::Nothing;

/// The name, body and fields of each type, in the order of the enumeration.
const RULES: [(RecordType, &str, BodyRule, &[FieldRule]); 14] = [
    (RecordType::HumanText, "human_text_record", CONTENT, HUMAN_TEXT),
    (RecordType::AgentWords, "agent_words_record", CONTENT, WORDS),
    (RecordType::AgentThought, "agent_thought_record", CONTENT, WORDS),
    (RecordType::UiOnlyMarkdown, "ui_only_markdown_record", CONTENT, WORDS),
    (RecordType::FuncCall, "func_call_record", BodyRule::Json, FUNC_CALL),
    (RecordType::FuncResult, "func_result_record", CONTENT, FUNC_RESULT),
    (RecordType::GenStart, "gen_start_record", NOTHING, GEN_START),
    (RecordType::GenFinish, "gen_finish_record", NOTHING, GEN_FINISH),
    (RecordType::WebSearchCall, "web_search_call_record", NOTHING, WEB_SEARCH_CALL),
    (RecordType::QuestForSup, "quest_for_sup_record", QUESTION, QUEST_FOR_SUP),
    (RecordType::TeammateCallResult, "teammate_call_result_record", RESULT, TEAMMATE_CALL_RESULT),
    (RecordType::TeammateResponse, "teammate_response_record", RESPONSE, TEAMMATE_RESPONSE),
    (RecordType::TeammateCallAnchor, "teammate_call_anchor_record", NOTHING, TEAMMATE_CALL_ANCHOR),
    (RecordType::HarnessItem, "harness_item_record", CONTENT, HARNESS_ITEM),
];

impl RecordType {
    pub fn all() -> [RecordType; 14] {
        RULES.map(|(record_type, ..)| record_type)
    }

    pub fn name(self) -> &'static str {
        RULES[self as usize].1
    }

    /// Letters may have any case.
    pub fn from_name(name: &str) -> Option<RecordType> {
        RecordType::all().into_iter().find(|it| it.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn names() -> String {
        RecordType::all().map(|it| format!("`{it}`")).join(", ")
    }

    pub(crate) fn body(self) -> BodyRule {
        RULES[self as usize].2
    }

    pub(crate) fn fields(self) -> &'static [FieldRule] {
        RULES[self as usize].3
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_own_row() {
        for (place, record_type) in RecordType::all().into_iter().enumerate() {
            assert_eq!(record_type as usize, place);
            assert_eq!(RecordType::from_name(record_type.name()), Some(record_type));
        }
    }
}
