//! A tool as clients see it: a name, what it is for, and the schemas of what it takes and answers. A client hands these to a
//! model, and models' interfaces take less than all of JSON Schema: so a schema has one type for each value, and no formats.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{
    JsonSchema, Schema,
    transform::{RecursiveTransform, Transform},
};
use serde_json::Value;

/// A tool that takes an `I` and answers with an `O`.
pub(super) fn tool<I, O>(name: &'static str, about: &'static str, hints: &ToolAnnotations) -> Tool
where
    I: JsonSchema + 'static,
    O: JsonSchema + 'static,
{
    let tool = Tool::new(name, about, Arc::new(JsonObject::new()));
    let mut tool = tool.with_input_schema::<I>().with_output_schema::<O>();
    tool.input_schema = portable(&tool.input_schema);
    tool.output_schema = tool.output_schema.as_ref().map(portable);
    tool.with_annotations(hints.clone())
}

fn portable(schema: &Arc<JsonObject>) -> Arc<JsonObject> {
    let mut schema = Schema::from((**schema).clone());
    RecursiveTransform(without_null_and_format).transform(&mut schema);
    Arc::new(schema.ensure_object().clone())
}

/// A value that may be absent is absent ([`present`]), never null; and Rust's sizes of numbers are no format that others know.
fn without_null_and_format(schema: &mut Schema) {
    schema.remove("format");
    let properties = schema.get("properties").and_then(Value::as_object);
    let may_be_absent: Vec<Value> = properties
        .into_iter()
        .flatten()
        .filter(|(_, property)| is_nullable(property))
        .map(|(name, _)| name.as_str().into())
        .collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !may_be_absent.contains(name));
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|one| one["type"] != "null");
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            schema.remove("anyOf");
            one.into_iter().for_each(|(key, value)| drop(schema.insert(key, value)));
        }
    }
}

fn is_nullable(schema: &Value) -> bool {
    let is_null = |one: &Value| one == "null" || one["type"] == "null";
    ["type", "anyOf"]
        .iter()
        .any(|key| schema[key].as_array().is_some_and(|all| all.iter().any(is_null)))
}

/// An answer without what is absent from it.
pub(super) fn present(answer: Value) -> Value {
    match answer {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(key, value)| (key, present(value))).collect())
        }
        Value::Array(entries) => Value::Array(entries.into_iter().map(present).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::tools;

    #[test]
    fn a_schema_has_one_type_for_each_value_and_no_formats() {
        for tool in tools::all() {
            let output = tool.output_schema.unwrap();
            for schema in [&tool.input_schema, &output] {
                let text = Value::Object((**schema).clone()).to_string();
                assert!(!text.contains("\"null\"") && !text.contains("\"format\":"), "{text}");
            }
            if tool.name == "result" {
                assert_eq!(output["properties"]["answer"]["$ref"], "#/$defs/Answer");
                assert_eq!(output["required"], json!(["job", "resources", "folder"]));
                let status = &output["$defs"]["Status"]["properties"];
                assert_eq!(status["trials_planned"]["type"], "integer");
            }
        }
    }

    #[test]
    fn what_is_absent_is_not_in_an_answer() {
        let answer = json!({"a": null, "b": [{"c": null, "d": 1}, null], "e": false});
        assert_eq!(present(answer), json!({"b": [{"d": 1}, null], "e": false}));
    }
}
