//! The keys of what `--json` prints: one spelling, snake_case.

use serde_json::Value;

/// Keys that are spelt otherwise, each with the way to it; a map's keys that are a user's names count as well, and the
/// fixtures have none with a dash.
pub(crate) fn misspelt(value: &impl serde::Serialize) -> Vec<String> {
    let mut found = Vec::new();
    walk("", &serde_json::to_value(value).expect("it is JSON"), &mut found);
    found
}

fn walk(way: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let way = format!("{way}.{key}");
                let is_snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                if !key.chars().all(is_snake) {
                    found.push(way.clone());
                }
                walk(&way, value, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(way, value, found)),
        _ => {}
    }
}
