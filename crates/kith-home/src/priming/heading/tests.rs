use super::*;

#[test]
fn a_record_heading_has_any_spacing_and_any_case() {
    for line in [
        "### record human_text_record",
        "###   record\thuman_text_record  ",
        "### Record Human_Text_Record",
        "### RECORD HUMAN_TEXT_RECORD\r",
    ] {
        assert_eq!(classify(line), LineKind::Record(RecordType::HumanText), "{line:?}");
    }
}

#[test]
fn prose_and_other_headings_are_comments() {
    for line in [
        "",
        "record human_text_record",
        "# Environment probe",
        "# Record of changes",
        "## Recording",
        "### User guide",
        "### users",
        "## user",
        "### The record",
        "#hashtag",
        "``inline``",
        "```code``` in a line",
        "--- ",
        "> ### record human_text_record",
    ] {
        assert_eq!(classify(line), LineKind::Comment, "{line:?}");
    }
}

#[test]
fn what_was_meant_as_a_record_is_refused_with_the_right_form() {
    for (line, expected) in [
        ("### user", "### record human_text_record"),
        ("### User:", "### record human_text_record"),
        ("###assistant", "### record agent_words_record"),
        ("  ### assistant", "### record agent_words_record"),
        ("#### record func_call_record", "### record func_call_record"),
        ("## record func_call_record", "### record func_call_record"),
        ("# record func_call_record", "### record func_call_record"),
        ("###record func_call_record", "### record func_call_record"),
        (" ### record func_call_record", "### record func_call_record"),
        ("### func_call_record", "### record func_call_record"),
        ("### recrod func_call_record", "### record func_call_record"),
        ("### record func_call_record x", "### record func_call_record"),
        ("### record func_call_record ###", "### record func_call_record"),
        ("### record", "### record <type>"),
        ("#### record approval", "### record <type>"),
    ] {
        let found = excerpt(line);
        let problem = ScriptProblem::Heading { found, expected: expected.to_owned() };
        assert_eq!(classify(line), LineKind::Malformed(problem), "{line:?}");
    }
}

#[test]
fn a_type_that_is_none_is_named() {
    let problem = ScriptProblem::UnknownType { found: "approval_decided".to_owned() };
    assert_eq!(classify("### record approval_decided"), LineKind::Malformed(problem));
}

#[test]
fn a_fence_is_three_or_more_of_one_mark() {
    for (line, fence) in [
        ("```", Some("```")),
        ("```json", Some("```")),
        ("  ~~~~ markdown `x`", Some("~~~~")),
        ("``````````markdown", Some("``````````")),
        ("``", None),
        ("```a`", None),
        ("~~", None),
        ("x```", None),
    ] {
        assert_eq!(open_fence(line), fence, "{line:?}");
    }
}
