//! Every event as a line: what is read comes back byte for byte, and nothing else is read.

use serde_json::Value;

use super::*;

/// Every type with every field it may hold. `$id`, `$call` and `$hash` stand for themselves; what
/// is `{"any":…}` is JSON that nobody looks into.
const WHOLE: [&str; 30] = [
    r#""type":"instruction_snapshot","snapshot":{"version":1,"cwd":"/w","sections":[{"kind":"baseline","frozenAt":5,"sources":[{"sourceType":"agents_md","path":"/w/AGENTS.md","scope":"global_user","priority":0,"content":"c","sha256":"$hash","chars":8,"injectedChars":8}],"renderedBlock":"b","data":{"any":1}},{"kind":"agents","frozenAt":5,"renderedBlock":""}]}"#,
    r#""type":"toolset_snapshot","tools":[{"name":"read_file","description":"d","inputSchema":{"any":"object"}}],"sha256":"$hash""#,
    r#""type":"user_message","message":{"content":[{"type":"text","text":"你好 \u001b"},{"type":"image","mediaType":"image/png","blob":"$hash","bytes":3,"name":"a.png"},{"type":"audio","mediaType":"audio/ogg","blob":"$hash","bytes":3},{"type":"file","mediaType":"a/b","blob":"$hash","bytes":3}],"meta":true},"author":{"userId":"u","displayName":"U"},"trust":"paired","ingress":{"platform":"cli","account":"a","messageId":"m","correlationId":"c"},"queueItemId":"q1","primed":{"any":1}"#,
    r#""type":"turn_started","limits":{"steps":50,"repeats":5,"wallMs":1000,"tokens":7,"costMicros":8},"contextWindow":128000,"model":"m","language":"zh","attended":false"#,
    r#""type":"assistant_message","requestId":"$id","message":{"content":[{"type":"thinking","text":"hm","signature":"s","redacted":"r"},{"type":"text","text":"ok"},{"type":"tool_call","callId":"$call","providerCallId":"call_0","tool":"read_file","input":{"any":1.50},"rawInput":"{"}]},"provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"costMicros":5},"stopReason":"tool_call","primed":{"any":1}"#,
    r#""type":"tool_result","callId":"$call","tool":"read_file","content":[{"type":"text","text":"r"}],"outcome":"interrupted","trust":"untrusted","fullOutput":"$hash","primed":{"any":1}"#,
    r#""type":"harness_item","item":{"kind":"date_change","origin":"system","content":"c","visibility":"compact","data":{"any":1e3}},"trust":"owner","author":{"userId":"u","displayName":"U"},"queueItemId":"q1","mergedInto":"$id","primed":{"any":1}"#,
    r#""type":"compact","requestId":"$id","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"costMicros":5},"summary":"s","ledger":{"identifiers":["i"],"paths":["p"],"openTasks":["t"]},"firstKeptEventId":"$id","tokensBefore":9,"tokensAfter":3"#,
    r#""type":"primed_record","record":{"any":null}"#,
    r#""type":"skill_index_snapshot","entries":[{"name":"n","displayName":"N","description":"d","path":"p","scope":"home","sha256":"$hash"}]"#,
    r#""type":"skill_index_delta","added":[],"changed":[{"name":"n","displayName":"N","description":"d","path":"p","scope":"home","sha256":"$hash"}],"removed":["old"]"#,
    r#""type":"queue_update","queue":"follow_up","items":[{"id":"q1","content":[{"type":"text","text":"x"}],"createdAt":1,"updatedAt":2,"clientId":"c","author":{"userId":"u","displayName":"U"},"trust":"shared","ingress":{"platform":"cli","account":"a","messageId":"m","correlationId":"c"}}]"#,
    r#""type":"leaf_moved","to":"$id","reason":"branch""#,
    r#""type":"session_title_updated","title":"t","source":"generated""#,
    r#""type":"model_requested","requestId":"$id","purpose":"turn","provider":"p","wire":"openai_chat","model":"m","parameters":{"any":0.10},"rendererVersion":1,"bodySha256":"$hash","bodyBytes":2,"reserved":{"tokens":100,"costMicros":7}"#,
    r#""type":"model_failed","requestId":"$id","kind":"context_length","message":"m","attempt":1,"retryAt":5,"fallback":"b","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"costMicros":5,"isEstimate":true}"#,
    r#""type":"compact_requested","by":"u""#,
    r#""type":"call_judged","callId":"$call","tool":"t","effect":"self","verdict":"ask","reason":"r","rule":"x","grantId":"g","sandbox":"workspace","digest":"$hash","facts":{"any":[]}"#,
    r#""type":"approval_requested","approvalId":"a1","callId":"$call","threadId":"cli:room:x","code":"4F2","summary":"s","command":"c","paths":["p"],"digest":"$hash","risk":"r","approvers":["u"],"expiresAt":5"#,
    r#""type":"approval_replied","text":"同意","author":{"userId":"u","displayName":"U"},"ingress":{"platform":"cli","account":"a","messageId":"m","correlationId":"c"},"verdict":"askBack","approvals":["a1"]"#,
    r#""type":"approval_decided","approvalId":"a1","decision":"allow","by":"u","via":"words","grant":{"grantId":"g","argvPrefix":["git"],"path":"p","expiresAt":5},"reason":"r""#,
    r#""type":"tool_started","callId":"$call","digest":"$hash""#,
    r#""type":"delegated","callId":"$call","sessionId":"$id""#,
    r#""type":"cancel_requested","by":"u""#,
    r#""type":"resumed","openRequest":"$id","openCalls":["$call"]"#,
    r#""type":"notice","text":"t","level":"warn","about":"x""#,
    r#""type":"turn_ended","reason":"bound","bound":"repeats","steps":3,"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"costMicros":5,"isEstimate":true}"#,
    r#""type":"egress_intended","egressId":"e1","of":"$id","threadId":"cli:room:x","parts":[{"any":1}]"#,
    r#""type":"egress_settled","egressId":"e1","outcome":"unknown","platformMessageId":"m","error":"e""#,
    r#""type":"log_repaired","tornBytes":12,"tornFile":"f""#,
];

/// Those that have optional fields, without them.
const BARE: [&str; 17] = [
    r#""type":"instruction_snapshot","snapshot":{"version":1,"cwd":"/w","sections":[{"kind":"time","frozenAt":5,"renderedBlock":"b"},{"kind":"memory","frozenAt":5,"sources":[{"sourceType":"soul"}],"renderedBlock":"b"}]}"#,
    r#""type":"user_message","message":{"content":[]},"author":{"userId":"u","displayName":"U"},"trust":"peer""#,
    r#""type":"turn_started","limits":{"steps":50,"repeats":5,"wallMs":1000},"contextWindow":128000,"model":"m","language":"zh","attended":true"#,
    r#""type":"assistant_message","message":{"content":[{"type":"thinking","text":"hm"},{"type":"tool_call","callId":"$call","providerCallId":"","tool":"t","input":{"any":1}}]},"stopReason":"end_turn""#,
    r#""type":"tool_result","callId":"$call","tool":"t","content":[],"outcome":"done","trust":"owner""#,
    r#""type":"harness_item","item":{"kind":"steer","origin":"user","content":"c","visibility":"display"},"trust":"owner""#,
    r#""type":"compact","requestId":"$id","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4},"summary":"s","ledger":{"identifiers":[],"paths":[],"openTasks":[]},"firstKeptEventId":"$id","tokensBefore":9,"tokensAfter":3"#,
    r#""type":"queue_update","queue":"steer","items":[{"id":"q1","content":[],"createdAt":1,"updatedAt":2,"clientId":"c","author":{"userId":"u","displayName":"U"},"trust":"shared"}]"#,
    r#""type":"model_requested","requestId":"$id","purpose":"compact","provider":"p","wire":"anthropic","model":"m","parameters":{"any":1},"rendererVersion":1,"bodySha256":"$hash","bodyBytes":2,"reserved":{"tokens":100}"#,
    r#""type":"model_failed","kind":"budget","message":"m","attempt":1"#,
    r#""type":"call_judged","callId":"$call","tool":"t","effect":"read","verdict":"allow","reason":"r","sandbox":"none","digest":"$hash","facts":{"any":1}"#,
    r#""type":"approval_requested","approvalId":"a1","callId":"$call","threadId":"cli:room:x","code":"4F2","summary":"s","paths":[],"digest":"$hash","risk":"r","approvers":[],"expiresAt":5"#,
    r#""type":"approval_decided","approvalId":"a1","decision":"deny","by":"u","via":"expiry","grant":{"grantId":"g","expiresAt":5}"#,
    r#""type":"resumed","openCalls":[]"#,
    r#""type":"notice","text":"t","level":"info""#,
    r#""type":"turn_ended","reason":"done","steps":3"#,
    r#""type":"egress_settled","egressId":"e1","outcome":"sent""#,
];

const TREE: [&str; 6] = [
    "user_message",
    "assistant_message",
    "tool_result",
    "harness_item",
    "compact",
    "primed_record",
];

const ID: &str = "0198a0b1-c2d3-7e4f-8a5b-6c7d8e9fa0b1";

fn type_of(body: &str) -> &str {
    body.split('"').nth(3).unwrap()
}

/// The line of a body, with the keys of an envelope before it.
fn line(envelope: &str, body: &str) -> String {
    let line =
        format!(r#"{{"seq":7,"id":"$id","ts":1794744000000,"clientId":"c",{envelope}{body}}}"#);
    line.replace("$id", ID)
        .replace("$call", "0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_0")
        .replace("$hash", &"0a".repeat(32))
}

fn own_line(body: &str) -> String {
    line(if TREE.contains(&type_of(body)) { r#""parentId":null,"# } else { "" }, body)
}

fn own_lines() -> Vec<String> {
    WHOLE.iter().chain(&BARE).map(|body| own_line(body)).collect()
}

fn body_of(type_name: &str) -> &'static str {
    WHOLE.iter().find(|body| type_of(body) == type_name).unwrap()
}

fn parse(line: &str) -> Result<EventRecord<'static>, serde_json::Error> {
    serde_json::from_str(line)
}

#[track_caller]
fn comes_back(line: &str) {
    let record = parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(serde_json::to_string(&record).unwrap(), line);
}

#[track_caller]
fn is_refused(line: &str, because: &str) {
    match parse(line) {
        Ok(_) => panic!("accepted: {line}"),
        Err(error) => assert!(error.to_string().contains(because), "{error}: {line}"),
    }
}

#[test]
fn every_type_has_a_sample() {
    assert_eq!(WHOLE.map(type_of), Body::TYPES);
}

#[test]
fn every_event_comes_back_byte_for_byte() {
    for line in own_lines() {
        comes_back(&line);
    }
}

#[test]
fn every_envelope_comes_back_byte_for_byte() {
    for body in WHOLE {
        let parent = if TREE.contains(&type_of(body)) { r#""parentId":"$id","# } else { "" };
        for (key, tag, batch) in [
            (r#""ingressKey":"cli:a:1","#, r#""sourceTag":"clone","#, r#""batch":[1,2],"#),
            ("", r#""sourceTag":"priming_script","#, ""),
            ("", "", r#""batch":[3,3],"#),
        ] {
            comes_back(&line(&format!("{key}{parent}{tag}{batch}"), body));
        }
    }
}

#[test]
fn the_word_of_a_type_is_what_the_tree_says() {
    for body in WHOLE {
        let record = parse(&own_line(body)).unwrap();
        assert_eq!(record.event.body.type_name(), type_of(body));
        assert_eq!(record.event.is_tree(), TREE.contains(&type_of(body)));
    }
}

#[test]
fn the_enumeration_is_closed() {
    for unknown in ["system_reminder", "UserMessage", "user-message", "session_header", ""] {
        is_refused(&line("", &format!(r#""type":"{unknown}""#)), "unknown variant");
    }
}

#[test]
fn a_reminder_is_not_a_type_and_nobody_speaks_as_the_system() {
    assert!(Body::TYPES.iter().all(|type_name| !type_name.contains("system")));
    for type_name in ["user_message", "assistant_message"] {
        let body = body_of(type_name);
        let forged = body.replace(r#""message":{"#, r#""message":{"role":"system","#);
        is_refused(&own_line(&forged), "unknown field `role`");
    }
}

#[test]
fn an_unknown_key_is_refused_wherever_it_stands() {
    for line in own_lines() {
        let mut n_places = 0;
        for (at, _) in line.match_indices('{') {
            let rest = &line[at + 1..];
            // Brackets in texts and JSON that is kept as it is are no objects of ours.
            if !rest.starts_with('"') || rest.starts_with(r#""any""#) || rest.starts_with("\",\"") {
                continue;
            }
            is_refused(&format!("{}\"extra\":1,{rest}", &line[..=at]), "");
            n_places += 1;
        }
        assert!(n_places > 0);
        is_refused(&format!(r#"{},"extra":1}}"#, &line[..line.len() - 1]), "unknown field `extra`");
    }
}

#[test]
fn a_key_that_is_not_optional_is_required() {
    for body in BARE {
        let whole: Value = serde_json::from_str(&own_line(body)).unwrap();
        let mut places = Vec::new();
        collect_keys(&whole, "", &mut places);
        assert!(places.len() > 5);
        for (pointer, key) in places {
            // Both optional, and here only to hold what is required inside them.
            if key == "sources" || key == "grant" {
                continue;
            }
            let mut line = whole.clone();
            let object = line.pointer_mut(&pointer).and_then(Value::as_object_mut).unwrap();
            object.shift_remove(&key);
            is_refused(&line.to_string(), "");
        }
    }
}

/// Every key of every object of ours, as a JSON pointer and a name.
fn collect_keys(value: &Value, pointer: &str, keys: &mut Vec<(String, String)>) {
    match value {
        Value::Object(object) if !object.contains_key("any") => {
            for (key, value) in object {
                collect_keys(value, &format!("{pointer}/{key}"), keys);
                keys.push((pointer.to_owned(), key.clone()));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_keys(item, &format!("{pointer}/{index}"), keys);
            }
        }
        _ => (),
    }
}

#[test]
fn a_key_stands_once() {
    for line in own_lines() {
        is_refused(&line.replacen(r#""seq":7,"#, r#""seq":7,"seq":7,"#, 1), "expected key `id`");
    }
    let twice = body_of("notice").replace(r#""text":"t""#, r#""text":"t","text":"t""#);
    is_refused(&line("", &twice), "duplicate field");
}

#[test]
fn the_keys_of_the_envelope_have_one_order() {
    let body = body_of("user_message");
    for envelope in [
        r#""parentId":null,"ingressKey":"k","#,
        r#""sourceTag":"clone","parentId":null,"#,
        r#""batch":[1,2],"parentId":null,"#,
        r#""parentId":null,"batch":[1,2],"sourceTag":"clone","#,
        r#""v":2,"parentId":null,"#,
    ] {
        is_refused(&line(envelope, body), "expected key `type`, found");
    }
    let good = own_line(body);
    let swapped =
        good.replacen(&format!(r#""seq":7,"id":"{ID}""#), &format!(r#""id":"{ID}","seq":7"#), 1);
    is_refused(&swapped, "expected key `seq`, found `id`");
    is_refused("{}", "missing field `seq`");
    is_refused("[]", "an event");
}

#[test]
fn the_envelope_is_read_strictly() {
    let good = own_line(body_of("user_message"));
    for (from, to) in [
        (r#""seq":7"#, r#""seq":-7"#),
        (r#""seq":7"#, r#""seq":"7""#),
        (r#""seq":7"#, r#""seq":7.0"#),
        (ID, &ID.to_uppercase()),
        (ID, "0198a0b1-c2d3-4e4f-8a5b-6c7d8e9fa0b1"),
        (r#""clientId":"c""#, r#""clientId":null"#),
        (r#""parentId":null"#, r#""ingressKey":null,"parentId":null"#),
        (r#""parentId":null"#, r#""parentId":"root""#),
        (r#""parentId":null"#, r#""parentId":null,"sourceTag":null"#),
        (r#""parentId":null"#, r#""parentId":null,"sourceTag":"import""#),
        (r#""parentId":null"#, r#""parentId":null,"batch":[1]"#),
        (r#""parentId":null"#, r#""parentId":null,"batch":[-1,2]"#),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        is_refused(&bad, "");
    }
}

#[test]
fn events_of_the_tree_have_a_parent_and_others_have_none() {
    for body in WHOLE {
        if TREE.contains(&type_of(body)) {
            is_refused(&line("", body), "missing field `parentId`");
        } else {
            is_refused(&line(r#""parentId":null,"#, body), "`parentId` on a control event");
            is_refused(&line(r#""parentId":"$id","#, body), "`parentId` on a control event");
        }
    }
}

#[test]
fn a_word_outside_its_list_is_refused() {
    for (type_name, key, word) in [
        ("instruction_snapshot", "kind", "baseline"),
        ("instruction_snapshot", "sourceType", "agents_md"),
        ("instruction_snapshot", "scope", "global_user"),
        ("user_message", "type", "image"),
        ("user_message", "trust", "paired"),
        ("assistant_message", "stopReason", "tool_call"),
        ("tool_result", "outcome", "interrupted"),
        ("tool_result", "trust", "untrusted"),
        ("harness_item", "kind", "date_change"),
        ("harness_item", "origin", "system"),
        ("harness_item", "visibility", "compact"),
        ("queue_update", "queue", "follow_up"),
        ("leaf_moved", "reason", "branch"),
        ("session_title_updated", "source", "generated"),
        ("model_requested", "purpose", "turn"),
        ("model_requested", "wire", "openai_chat"),
        ("model_failed", "kind", "context_length"),
        ("call_judged", "effect", "self"),
        ("call_judged", "verdict", "ask"),
        ("call_judged", "sandbox", "workspace"),
        ("approval_replied", "verdict", "askBack"),
        ("approval_decided", "decision", "allow"),
        ("approval_decided", "via", "words"),
        ("notice", "level", "warn"),
        ("turn_ended", "reason", "bound"),
        ("turn_ended", "bound", "repeats"),
        ("egress_settled", "outcome", "unknown"),
    ] {
        let body = body_of(type_name);
        let from = format!(r#""{key}":"{word}""#);
        assert!(body.contains(&from), "{type_name}: {from}");
        for to in ["other", &word.to_uppercase(), ""] {
            let bad = body.replacen(&from, &format!(r#""{key}":"{to}""#), 1);
            is_refused(&own_line(&bad), "unknown variant");
        }
        let null = body.replacen(&from, &format!(r#""{key}":[]"#), 1);
        is_refused(&own_line(&null), "");
    }
}

#[test]
fn ids_inside_an_event_have_one_spelling() {
    for (type_name, from, to) in [
        ("tool_result", "$call", "call_0"),
        ("tool_result", "$call", "0198A0B1C2D37E4F8A5B6C7D8E9FA0B1_0"),
        ("tool_result", "$call", "0198a0b1c2d37e4f8a5b6c7d8e9fa0b1_00"),
        ("model_requested", "$id", "req-1"),
        ("delegated", "\"sessionId\":\"$id\"", "\"sessionId\":\"s-1\""),
        ("approval_requested", "cli:room:x", "cli"),
    ] {
        let bad = body_of(type_name).replacen(from, to, 1);
        is_refused(&own_line(&bad), "is not a");
    }
}

#[test]
fn money_and_counts_are_whole_numbers() {
    for (type_name, from, to) in [
        ("compact", r#""costMicros":5"#, r#""costMicros":0.5"#),
        ("compact", r#""input":1"#, r#""input":-1"#),
        ("turn_started", r#""steps":50"#, r#""steps":4294967296"#),
        ("turn_started", r#""attended":false"#, r#""attended":0"#),
    ] {
        is_refused(&own_line(&body_of(type_name).replacen(from, to, 1)), "");
    }
}

#[test]
fn a_line_cut_anywhere_is_refused() {
    for line in own_lines() {
        for len in (0..line.len()).filter(|len| line.is_char_boundary(*len)) {
            assert!(parse(&line[..len]).is_err(), "{}", &line[..len]);
        }
    }
}

#[test]
fn what_was_primed_or_cloned_was_not_lived() {
    let body = body_of("user_message");
    assert!(parse(&own_line(body)).unwrap().event.is_lived());
    for tag in ["clone", "priming_script"] {
        let tagged = line(&format!(r#""parentId":null,"sourceTag":"{tag}","#), body);
        assert!(!parse(&tagged).unwrap().event.is_lived());
    }
}

#[test]
fn what_was_primed_is_known_also_in_a_copy() {
    // As a copy has it: the tag says `clone`, and what the record said is still there.
    let whole =
        ["user_message", "assistant_message", "tool_result", "harness_item", "primed_record"];
    for type_name in whole {
        let tagged = line(r#""parentId":null,"sourceTag":"clone","#, body_of(type_name));
        let mut event = parse(&tagged).unwrap().event.into_owned();
        assert!(event.is_primed(), "{type_name}");
        event.source_tag = None;
        assert!(!event.is_primed(), "{type_name}: it happened in this session");
        event.source_tag = Some(SourceTag::Clone);
        match &mut event.body {
            Body::UserMessage(it) => it.primed = None,
            Body::AssistantMessage(it) => it.primed = None,
            Body::ToolResult(it) => it.primed = None,
            Body::HarnessItem(it) => it.primed = None,
            _ => continue,
        }
        assert!(!event.is_primed(), "{type_name}");
        event.source_tag = Some(SourceTag::PrimingScript);
        assert!(event.is_primed(), "{type_name}");
    }
}
