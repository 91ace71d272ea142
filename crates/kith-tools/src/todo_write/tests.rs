use crate::fixture::World;

fn todo(world: &World, tasks: &str) -> String {
    world.call("use_tool", &format!(r#"{{"name":"todo_write","input":{{"tasks":{tasks}}}}}"#))
}

#[test]
fn the_list_is_shown_as_it_is_now() {
    let world = World::new("");
    let tasks = r#"[{"text":"read","state":"done"},{"text":"edit","state":"doing"},{"text":"test","state":"open"}]"#;
    assert_eq!(todo(&world, tasks), "1 of 3 done\n[x] read\n[>] edit\n[ ] test");
}

#[test]
fn a_list_that_cannot_be_is_refused() {
    let world = World::new("");
    let two = r#"[{"text":"a","state":"doing"},{"text":"b","state":"doing"}]"#;
    assert_eq!(todo(&world, two), "error: only one task can be `doing`");
    let many = format!("[{}]", vec![r#"{"text":"a","state":"open"}"#; 51].join(","));
    assert_eq!(todo(&world, &many), "error: a list holds at most 50 tasks");
    assert!(todo(&world, r#"[{"text":"a","state":"later"}]"#).contains("unknown variant"));
}
