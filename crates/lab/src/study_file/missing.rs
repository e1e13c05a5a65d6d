//! What to add to a study that lacks a key: serde says only which one it missed first. Pure.

use toml::de::DeTable;

/// Keys, each with what to write.
type Examples = &'static [(&'static str, &'static str)];

/// What a study must have at its top, but for a subject where its cells have traffic or a card.
const NEEDED: Examples = &[
    ("question", "question = \"What does it cost?\""),
    ("subject", "[subject] process = \"hostapd\""),
    ("variant", "[[variant]] name = \"as-it-is\""),
];

const INNER: Examples = &[
    ("clients", "clients = [18, 60]"),
    ("process", "process = \"hostapd\""),
    ("name", "name = \"…\""),
    ("run", "run = \"iw dev {interface} station dump\""),
    ("function", "[[count.function]] name = \"apply\" symbol = \"apply\""),
    ("flow", "flow = \"udp\""),
    ("stressor", "stressor = \"--stream\""),
    ("control", "control = { weight = 512 }"),
];

/// The words for serde's “missing field `x`”; `None` for another message.
pub(super) fn what_to_add(text: &str, message: &str) -> Option<String> {
    let key = message.strip_prefix("missing field `")?.split('`').next()?;
    let (document, _) = DeTable::parse_recoverable(text);
    let document = document.get_ref();
    let is_missing = |(key, _): &&(&str, &str)| {
        !document.contains_key(*key) && (*key != "subject" || !document.contains_key("cell"))
    };
    let missing: Vec<_> = NEEDED.iter().filter(is_missing).collect();
    if missing.iter().any(|(one, _)| *one == key) {
        let examples: Vec<&str> = missing.iter().map(|(_, example)| *example).collect();
        let names: Vec<String> = missing.iter().map(|(key, example)| named(key, example)).collect();
        let (names, examples) = (names.join(" and "), examples.join("   "));
        return Some(format!("a study needs {names}; add:  {examples}"));
    }
    let example = INNER.iter().find(|(one, _)| *one == key);
    let example = example.map_or(String::new(), |(_, example)| format!("; add:  {example}"));
    Some(format!("`{key}` is missing here{example}"))
}

fn named(key: &str, example: &str) -> String {
    match example {
        array if array.starts_with("[[") => format!("at least one [[{key}]]"),
        table if table.starts_with('[') => format!("[{key}]"),
        _ => format!("`{key}`"),
    }
}
