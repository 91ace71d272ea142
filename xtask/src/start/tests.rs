use super::*;

#[track_caller]
fn check(path: &str, expected: &str) {
    assert_eq!(shown(Path::new(path), Path::new("/w/kith")), expected);
}

#[test]
fn paths_are_shown_as_they_work_when_typed_here() {
    check("/w/kith/target/debug/kith", "target/debug/kith");
    check("/w/kith/my-agent", "my-agent");
    check("/w/other/target/debug/kith", "/w/other/target/debug/kith");
    check("/w/kith", ".");
    assert_eq!(shown_program(Path::new("/w/kith/kith"), Path::new("/w/kith")), "./kith");
}

#[test]
fn the_agent_lies_in_the_workspace_or_where_one_says() {
    let root = Path::new("/w/kith");
    let here = Path::new("/w/kith/docs");
    let folder = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        agent_folder(&args, root, here).ok()
    };
    assert_eq!(folder(&[]), Some(PathBuf::from("/w/kith/my-agent")));
    assert_eq!(folder(&["luna"]), Some(PathBuf::from("/w/kith/docs/luna")));
    assert_eq!(folder(&["/tmp/luna"]), Some(PathBuf::from("/tmp/luna")));
}

#[test]
fn both_ways_to_talk_use_the_demo_model() {
    assert_eq!(chat("kith", "my-agent").to_string(), "kith --home my-agent --model demo");
    assert_eq!(
        ask("kith", "my-agent", GREETING).to_string(),
        "kith ask --home my-agent --model demo 'Hello! What can you do?'"
    );
}
