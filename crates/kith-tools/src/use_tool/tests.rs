use kith_vocab::event::calls::Effect;

use crate::fixture::World;

#[test]
fn a_tool_is_described_when_only_its_name_is_given() {
    let world = World::new("");
    let told = world.call("use_tool", r#"{"name":"todo_write"}"#);
    assert!(told.starts_with("todo_write: Replace the list of tasks"), "{told}");
    assert!(told.contains(r#""enum":["open","doing","done"]"#), "{told}");
}

#[test]
fn the_plan_of_a_call_is_that_of_the_inner_tool() {
    let world = World::new("");
    let input = r#"{"name":"todo_write","input":{"tasks":[]}}"#;
    let plan = world.prepare("use_tool", input).unwrap();
    assert_eq!(
        (plan.summary.as_str(), plan.effects.as_slice()),
        ("todo_write: 0 tasks", &[Effect::Read][..])
    );
    assert!(plan.facts.as_str().contains(r#""tool":"todo_write""#), "{}", plan.facts.as_str());
}

#[test]
fn an_unknown_tool_and_a_bad_inner_input_are_refused() {
    let world = World::new("");
    let told = world.call("use_tool", r#"{"name":"nothing","input":{}}"#);
    assert!(
        told.starts_with("error: there is no tool `nothing` here (there are: todo_write"),
        "{told}"
    );
    let told = world.call("use_tool", r#"{"name":"todo_write","input":{"x":1}}"#);
    assert!(
        told.starts_with("error: the input of todo_write is wrong: unknown field `x`"),
        "{told}"
    );
}
