//! What holds for every built-in tool.

use std::collections::BTreeSet;

use kith_vocab::event::calls::Effect;
use kith_vocab::tool::ToolOutcome;
use serde_json::Value;

use crate::fixture::{World, write_file};

#[test]
fn tools_stand_in_a_fixed_order() {
    let world = World::new("");
    let names: Vec<String> = world.tools().iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(
        names,
        [
            "read_file",
            "write_file",
            "edit_file",
            "list_files",
            "search_files",
            "exec_shell",
            "skill",
            "use_tool"
        ]
    );
}

#[test]
fn every_tool_is_among_the_known_names() {
    let names: BTreeSet<&str> = crate::TOOL_NAMES.into_iter().collect();
    assert_eq!(names.len(), crate::TOOL_NAMES.len());
    let tools = World::new("").tools();
    let unknown =
        tools.iter().map(|tool| &tool.spec().name).find(|it| !names.contains(it.as_str()));
    assert_eq!(unknown, None);
}

#[test]
fn the_model_is_told_this() {
    let tools = World::new("").tools();
    let specs: Vec<String> =
        tools.iter().map(|tool| serde_json::to_string(tool.spec()).unwrap()).collect();
    insta::assert_snapshot!(specs.join("\n"), @r#"
    {"name":"read_file","description":"Read a text file: numbered lines, in pages.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"line, from 1"},"limit":{"type":"integer"}},"required":["path"]}}
    {"name":"write_file","description":"Write a whole text file; read an existing one first.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}}
    {"name":"edit_file","description":"Replace `old`, an exact and unique piece of a file, by `new`.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"},"all":{"type":"boolean","description":"every occurrence"}},"required":["path","old","new"]}}
    {"name":"list_files","description":"List a folder, or the paths beneath it that match `pattern`; not ignored files.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"pattern":{"type":"string","description":"glob, e.g. **/*.rs"}}}}
    {"name":"search_files","description":"Search file contents; not ignored files.","inputSchema":{"type":"object","properties":{"pattern":{"type":"string","description":"Rust regex"},"path":{"type":"string","description":"file or folder"},"glob":{"type":"string","description":"e.g. *.rs"},"filesOnly":{"type":"boolean"},"ignoreCase":{"type":"boolean"},"context":{"type":"integer","description":"lines around, 0-5"}},"required":["pattern"]}}
    {"name":"exec_shell","description":"Run a bash command in a sandbox: it can change the workspace and gets no input.","inputSchema":{"type":"object","properties":{"command":{"type":"string"},"cwd":{"type":"string"},"timeout":{"type":"integer","description":"seconds"},"network":{"type":"boolean"},"background":{"type":"boolean"},"unsandboxed":{"type":"boolean","description":"asks the owner"}},"required":["command"]}}
    {"name":"skill","description":"Load a skill: its SKILL.md and its folder.","inputSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}
    {"name":"use_tool","description":"Use a further tool: todo_write, fetch_url, exec_output, exec_stop. Without `input` it is described.","inputSchema":{"type":"object","properties":{"name":{"type":"string"},"input":{"type":"object"}},"required":["name"]}}
    "#);
}

#[test]
fn the_prompt_spends_little_on_tools() {
    let world = World::new("");
    let n_bytes: usize = world
        .tools()
        .iter()
        .map(|tool| tool.spec().description.len() + tool.spec().input_schema.as_str().len())
        .sum();
    assert!(n_bytes <= 2100, "descriptions and schemas take {n_bytes} bytes");
}

#[test]
fn schemas_refuse_unknown_fields_as_the_tools_do() {
    let world = World::new("");
    for tool in world.tools() {
        let schema: Value = tool.spec().input_schema.read().unwrap();
        assert_eq!(schema["type"], "object");
        let text = world.call(&tool.spec().name, r#"{"paht":1}"#);
        assert!(text.starts_with("error: the input of"), "{text}");
        assert!(text.contains("unknown field `paht`"), "{text}");
    }
}

#[test]
fn input_that_is_no_object_is_refused() {
    let world = World::new("");
    for input in ["[]", "null", "\"a\"", "1"] {
        let text = world.call("read_file", input);
        assert_eq!(text, "error: the input of read_file must be a JSON object");
    }
}

#[test]
fn looking_tells_the_policy_the_real_path() {
    let world = World::new("//- yard/a.txt\na\n//- yard/l -> a.txt");
    let prepared = world.prepare("read_file", r#"{"path":"l"}"#).unwrap();
    assert_eq!(prepared.effects, [Effect::Read]);
    let facts = prepared.facts.as_str().replace(world.tmp.to_str().unwrap(), "<tmp>");
    assert_eq!(facts, r#"{"path":"<tmp>/yard/a.txt","roots":["<tmp>/yard","<tmp>/home"]}"#);
    assert_eq!(prepared.summary, "read_file l");
    assert!(
        prepared.digest.len() == 64 && prepared.digest.bytes().all(|it| it.is_ascii_hexdigit())
    );
}

#[test]
fn digest_covers_tool_input_and_real_path() {
    let world = World::new("//- yard/a.txt\na\n//- yard/b.txt\nb\n//- yard/l -> a.txt");
    let digest = |tool, input| world.prepare(tool, input).unwrap().digest;
    let first = digest("read_file", r#"{"path":"l"}"#);
    assert_eq!(first, digest("read_file", r#"{"path":"l","offset":null}"#), "one meaning");
    std::fs::remove_file(world.path("yard/l")).unwrap();
    world.write("//- yard/l -> b.txt");
    let digests = [
        first,
        digest("read_file", r#"{"path":"l"}"#),
        digest("read_file", r#"{"path":"b.txt"}"#),
        digest("read_file", r#"{"path":"l","limit":1}"#),
        digest("list_files", r#"{"path":"."}"#),
        digest("list_files", r#"{"pattern":"*"}"#),
        digest("search_files", r#"{"pattern":"a"}"#),
        digest("search_files", r#"{"pattern":"a","ignoreCase":true}"#),
        digest("search_files", r#"{"pattern":"a","path":"a.txt"}"#),
    ];
    assert_eq!(digests.iter().collect::<BTreeSet<_>>().len(), digests.len());
}

#[test]
fn link_moved_after_the_judgement_is_not_followed() {
    let world = World::new("//- yard/a.txt\na\n//- yard/b.txt\nb\n//- yard/l -> a.txt");
    let prepared = world.prepare("read_file", r#"{"path":"l"}"#).unwrap();
    std::fs::remove_file(world.path("yard/l")).unwrap();
    world.write("//- yard/l -> b.txt");
    let output = world.run("read_file", prepared);
    assert_eq!(output.outcome, ToolOutcome::Failed);
    let text = output.plain_text();
    assert!(text.starts_with("what it would act on is not what was judged"), "{text}");
}

#[test]
fn summary_is_one_line_whatever_the_file_is_called() {
    let world = World::new("");
    write_file(&world.path("yard/a\nb"), "x");
    let prepared = world.prepare("read_file", r#"{"path":"a\nb","offset":2,"limit":3}"#).unwrap();
    assert_eq!(prepared.summary, "read_file a\\u{a}b, lines 2-4");
    let prepared = world.prepare("list_files", r#"{"pattern":"**/*.rs"}"#).unwrap();
    assert_eq!(prepared.summary, "list_files ., pattern **/*.rs");
    let prepared = world.prepare("search_files", r#"{"pattern":"a\u202eb"}"#).unwrap();
    assert_eq!(prepared.summary, "search_files a\\u{202e}b in .");
    let prepared =
        world.prepare("search_files", r#"{"pattern":"a","path":"a\nb","glob":"*.rs"}"#).unwrap();
    assert_eq!(prepared.summary, "search_files a in a\\u{a}b, glob *.rs");
}
