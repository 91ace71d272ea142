//! The input schema of a tool, from its type, so that the two cannot differ.
//!
//! Every byte of it stands in every request, so what a model does not need is left out: titles, the
//! address of the schema language, number formats, that an optional member may be null, and that
//! unknown members are refused, which a call that has one is told.

use kith_vocab::json::Json;
use kith_vocab::snapshot::ToolSpec;
use schemars::JsonSchema;
use serde_json::Value;

pub(crate) fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let input_schema = Json::of(&shortened(schemars::schema_for!(T).to_value()));
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
}

fn shortened(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(members) => {
            for name in ["$schema", "title", "format", "minimum", "default", "additionalProperties"]
            {
                // A property of this name is an object; the keyword is not.
                if members.get(name).is_some_and(|it| !it.is_object()) {
                    // The members keep their order.
                    members.shift_remove(name);
                }
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|it| it != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            // The description of the whole type is the tool's own.
            if members.contains_key("properties") {
                members.shift_remove("description");
            }
            for value in members.values_mut() {
                *value = shortened(value.take());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|it| *it = shortened(it.take())),
        _ => (),
    }
    schema
}
