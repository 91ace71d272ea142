//! What a line may say in the right words and still may not mean.

use super::*;
use crate::event::EventRecord;

const ID: &str = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1";

/// Validates the event with this body; `$call`, `$id` and `$hash` stand for themselves.
fn verdict(envelope: &str, body: &str) -> Result<(), String> {
    let line = format!(r#"{{"seq":1,"id":"$id","ts":2,"clientId":"c",{envelope}{body}}}"#)
        .replace("$id", ID)
        .replace("$call", "0198a0b1c2d37e4f8a5b6c7d8e9fa0b1")
        .replace("$hash", &"0a".repeat(32));
    let record: EventRecord<'_> =
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
    validate(&record.event)
}

#[track_caller]
fn is_valid(envelope: &str, body: &str) {
    assert_eq!(verdict(envelope, body), Ok(()), "{body}");
}

#[track_caller]
fn is_refused(envelope: &str, body: &str, because: &str) {
    let error = verdict(envelope, body).expect_err(body);
    assert!(error.contains(because), "{error}: {body}");
}

const CONTROL: &str = "";
const TREE: &str = r#""parentId":null,"#;

fn snapshot_of(version: u32, kinds: &[&str]) -> String {
    let section = |kind: &&str| {
        let sources = r#""sources":[{"sourceType":"builtin","sha256":"$hash"}]"#;
        format!(r#"{{"kind":"{kind}","frozenAt":1,{sources},"renderedBlock":"","data":{{}}}}"#)
    };
    let sections: Vec<String> = kinds.iter().map(section).collect();
    format!(
        r#""type":"instruction_snapshot","snapshot":{{"version":{version},"cwd":"/","sections":[{}]}}"#,
        sections.join(",")
    )
}

const SECTIONS: [&str; 6] = ["baseline", "agents", "memory", "workspace", "environment", "time"];

#[test]
fn a_snapshot_has_this_version() {
    is_valid(CONTROL, &snapshot_of(1, &SECTIONS));
    for version in [0, 2] {
        is_refused(CONTROL, &snapshot_of(version, &SECTIONS), "snapshot version");
    }
}

#[test]
fn a_snapshot_has_every_section_once_and_in_order() {
    for (place, section) in SECTIONS.iter().enumerate() {
        let mut kinds = SECTIONS.to_vec();
        kinds.remove(place);
        is_refused(CONTROL, &snapshot_of(1, &kinds), "in this order");
        let mut kinds = SECTIONS.to_vec();
        kinds.insert(place, section);
        is_refused(CONTROL, &snapshot_of(1, &kinds), "in this order");
        let mut kinds = SECTIONS.to_vec();
        kinds.swap(place, (place + 1) % SECTIONS.len());
        is_refused(CONTROL, &snapshot_of(1, &kinds), "in this order");
    }
    is_refused(CONTROL, &snapshot_of(1, &[]), "in this order");
}

#[test]
fn a_snapshot_keeps_objects_and_hashes() {
    let good = snapshot_of(1, &SECTIONS);
    is_refused(
        CONTROL,
        &good.replacen(r#""data":{}"#, r#""data":[]"#, 1),
        "`data` is not an object",
    );
    is_refused(CONTROL, &good.replacen("$hash", "0a", 1), "`sha256` is not a SHA-256");
}

fn answer(calls: &[&str]) -> String {
    let call = |id: &&str| {
        format!(
            r#"{{"type":"tool_call","callId":"{id}","providerCallId":"x","tool":"t","input":{{}}}}"#
        )
    };
    let calls: Vec<String> = calls.iter().map(call).collect();
    let content = calls.join(r#",{"type":"text","text":"t"},"#);
    format!(
        r#""type":"assistant_message","message":{{"content":[{content}]}},"stopReason":"tool_call""#
    )
}

#[test]
fn a_call_id_is_derived_from_its_answer() {
    is_valid(TREE, &answer(&["$call_0", "$call_1"]));
    let other = "0198a0b1c2d37e4f8a5b6c7d8e9fa0b2_0";
    for calls in [&[other][..], &["$call_1"], &["$call_0", "$call_0"], &["$call_1", "$call_0"]] {
        is_refused(TREE, &answer(calls), "call id");
    }
}

#[test]
fn the_input_of_a_call_is_an_object() {
    for input in ["[]", "\"{}\"", "null", "1"] {
        let body = answer(&["$call_0"]).replace(r#""input":{}"#, &format!(r#""input":{input}"#));
        is_refused(TREE, &body, "`input` is not an object");
    }
}

#[test]
fn only_an_answer_calls_and_thinks() {
    let call =
        r#"{"type":"tool_call","callId":"$call_0","providerCallId":"x","tool":"t","input":{}}"#;
    let thinking = r#"{"type":"thinking","text":"hm"}"#;
    let author = r#""author":{"userId":"u","displayName":"U"},"trust":"owner""#;
    for (block, because) in [(call, "`tool_call` stands outside"), (thinking, "`thinking` stands")]
    {
        let message =
            format!(r#""type":"user_message","message":{{"content":[{block}]}},{author}"#);
        is_refused(TREE, &message, because);
        let result = format!(
            r#""type":"tool_result","callId":"$call_0","tool":"t","content":[{block}],"outcome":"done","trust":"owner""#
        );
        is_refused(TREE, &result, because);
        let queue = format!(
            r#""type":"queue_update","queue":"steer","items":[{{"id":"q","content":[{block}],"createdAt":1,"updatedAt":1,"clientId":"c",{author}}}]"#
        );
        is_refused(CONTROL, &queue, because);
    }
}

#[test]
fn media_are_named_by_their_hash() {
    for kind in ["image", "audio", "file"] {
        for (blob, is_good) in [("$hash", true), ("../../etc/passwd", false), ("", false)] {
            let block =
                format!(r#"{{"type":"{kind}","mediaType":"a/b","blob":"{blob}","bytes":1}}"#);
            let message = format!(
                r#""type":"user_message","message":{{"content":[{block}]}},"author":{{"userId":"u","displayName":"U"}},"trust":"owner""#
            );
            assert_eq!(verdict(TREE, &message).is_ok(), is_good, "{message}");
            let said = format!(
                r#""type":"assistant_message","message":{{"content":[{block}]}},"stopReason":"end_turn""#
            );
            assert_eq!(verdict(TREE, &said).is_ok(), is_good, "{said}");
        }
    }
}

#[test]
fn obligations_are_never_inherited() {
    let control = [
        r#""type":"turn_started","limits":{"steps":1,"repeats":1,"wallMs":1},"contextWindow":1,"model":"m","language":"en","attended":true"#,
        r#""type":"queue_update","queue":"follow_up","items":[]"#,
        r#""type":"leaf_moved","to":null,"reason":"branch""#,
        r#""type":"session_title_updated","title":"t","source":"user""#,
        r#""type":"model_requested","requestId":"$id","purpose":"turn","provider":"p","wire":"anthropic","model":"m","parameters":{},"rendererVersion":1,"bodySha256":"$hash","bodyBytes":2,"reserved":{"tokens":1}"#,
        r#""type":"model_failed","kind":"cut","message":"m","attempt":1"#,
        r#""type":"compact_requested","by":"u""#,
        r#""type":"call_judged","callId":"$call_0","tool":"t","effect":"read","verdict":"allow","reason":"r","sandbox":"none","digest":"$hash","facts":{}"#,
        r#""type":"approval_requested","approvalId":"a","callId":"$call_0","threadId":"cli:room:x","code":"c","summary":"s","paths":[],"digest":"$hash","risk":"r","approvers":[],"expiresAt":5"#,
        r#""type":"approval_replied","text":"t","author":{"userId":"u","displayName":"U"},"ingress":{"platform":"p","account":"a","messageId":"m","correlationId":"c"},"verdict":"allow","approvals":[]"#,
        r#""type":"approval_decided","approvalId":"a","decision":"allow","by":"u","via":"words""#,
        r#""type":"tool_started","callId":"$call_0","digest":"$hash""#,
        r#""type":"delegated","callId":"$call_0","sessionId":"$id""#,
        r#""type":"cancel_requested","by":"u""#,
        r#""type":"resumed","openCalls":[]"#,
        r#""type":"notice","text":"t","level":"info""#,
        r#""type":"turn_ended","reason":"done","steps":1"#,
        r#""type":"egress_intended","egressId":"e","of":"$id","threadId":"cli:room:x","parts":[]"#,
        r#""type":"egress_settled","egressId":"e","outcome":"sent""#,
        r#""type":"log_repaired","tornBytes":1,"tornFile":"f""#,
    ];
    for body in control {
        is_valid(CONTROL, body);
        for tag in ["clone", "priming_script"] {
            let envelope = format!(r#""sourceTag":"{tag}","#);
            is_refused(&envelope, body, "cannot be primed or cloned");
        }
    }
}

#[test]
fn what_is_told_may_be_inherited() {
    let told = [
        r#""type":"primed_record","record":{}"#,
        r#""type":"tool_result","callId":"$call_0","tool":"t","content":[],"outcome":"done","trust":"owner""#,
        &answer(&["$call_0"]),
    ];
    for body in told {
        is_valid(r#""parentId":null,"sourceTag":"clone","#, body);
    }
    is_valid(r#""sourceTag":"clone","#, &snapshot_of(1, &SECTIONS));
    is_valid(r#""sourceTag":"clone","#, r#""type":"skill_index_snapshot","entries":[]"#);
}

#[test]
fn objects_that_are_kept_as_they_are_are_objects() {
    for (envelope, body, field) in [
        (TREE, r#""type":"primed_record","record":[]"#, "record"),
        (
            TREE,
            r#""type":"harness_item","item":{"kind":"memory","origin":"system","content":"c","visibility":"hidden","data":1},"trust":"owner""#,
            "data",
        ),
        (
            TREE,
            r#""type":"tool_result","callId":"$call_0","tool":"t","content":[],"outcome":"done","trust":"owner","primed":"x""#,
            "primed",
        ),
        (
            TREE,
            r#""type":"assistant_message","message":{"content":[]},"stopReason":"end_turn","primed":[]"#,
            "primed",
        ),
        (
            TREE,
            r#""type":"user_message","message":{"content":[]},"author":{"userId":"u","displayName":"U"},"trust":"owner","primed":1"#,
            "primed",
        ),
        (
            TREE,
            r#""type":"harness_item","item":{"kind":"memory","origin":"system","content":"c","visibility":"hidden"},"trust":"owner","primed":[]"#,
            "primed",
        ),
        (
            CONTROL,
            r#""type":"model_requested","requestId":"$id","purpose":"turn","provider":"p","wire":"anthropic","model":"m","parameters":null,"rendererVersion":1,"bodySha256":"$hash","bodyBytes":2,"reserved":{"tokens":1}"#,
            "parameters",
        ),
        (
            CONTROL,
            r#""type":"call_judged","callId":"$call_0","tool":"t","effect":"read","verdict":"allow","reason":"r","sandbox":"none","digest":"$hash","facts":[]"#,
            "facts",
        ),
    ] {
        is_refused(envelope, body, &format!("`{field}` is not an object"));
    }
}

#[test]
fn hashes_are_whole_and_in_lower_case() {
    let upper = "0A".repeat(32);
    let short = "0a".repeat(31);
    for hash in [upper.as_str(), short.as_str(), "", "zz"] {
        for (envelope, body, field) in [
            (CONTROL, r#""type":"tool_started","callId":"$call_0","digest":"@""#, "digest"),
            (CONTROL, r#""type":"toolset_snapshot","tools":[],"sha256":"@""#, "sha256"),
            (
                TREE,
                r#""type":"tool_result","callId":"$call_0","tool":"t","content":[],"outcome":"done","trust":"owner","fullOutput":"@""#,
                "fullOutput",
            ),
            (
                CONTROL,
                r#""type":"model_requested","requestId":"$id","purpose":"turn","provider":"p","wire":"anthropic","model":"m","parameters":{},"rendererVersion":1,"bodySha256":"@","bodyBytes":2,"reserved":{"tokens":1}"#,
                "bodySha256",
            ),
        ] {
            let because = format!("`{field}` is not a SHA-256");
            is_refused(envelope, &body.replace('@', hash), &because);
        }
    }
}

#[test]
fn a_tool_list_names_each_tool_once() {
    let tools = |names: &[&str]| {
        let tool =
            |name: &&str| format!(r#"{{"name":"{name}","description":"d","inputSchema":{{}}}}"#);
        let tools: Vec<String> = names.iter().map(tool).collect();
        format!(r#""type":"toolset_snapshot","tools":[{}],"sha256":"$hash""#, tools.join(","))
    };
    is_valid(CONTROL, &tools(&[]));
    is_valid(CONTROL, &tools(&["a", "b"]));
    is_refused(CONTROL, &tools(&["a", "a"]), "stands twice");
    is_refused(CONTROL, &tools(&[""]), "is empty");
    let schema = tools(&["a"]).replace(r#""inputSchema":{}"#, r#""inputSchema":true"#);
    is_refused(CONTROL, &schema, "`inputSchema` is not an object");
}
