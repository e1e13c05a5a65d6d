//! Keys of study files that are called otherwise since contention, completion and clients are one kind of study. Pure.

use toml::de::{DeTable, DeValue};

use super::{Fault, line_at};

/// Tables and keys of them as they were, each with what to write now. An array's entries are looked at one by one.
const RENAMED: &[(&str, &str)] = &[
    ("contention", "[trial]"),
    ("completion", "[trial]"),
    ("contention.blocks", "`repetitions`"),
    ("completion.blocks", "`repetitions`"),
    ("contention.sweep-blocks", "`sweep`"),
    ("contention.arch", "`arch` of [access-point]"),
    ("completion.arch", "`arch` of [access-point]"),
    ("contention.margin", "`margin` of [compare]"),
    ("completion.margin", "`margin` of [compare]"),
    ("contention.expect", "`expect` of [compare]"),
    ("completion.expect", "`expect` of [compare]"),
    ("completion.strategies", "[[variant]] name = \"busy\" strategy = \"busy\", one for each"),
    ("completion.completes-in", "`completes-in` of [card]"),
    ("caches", "[access-point.caches]"),
    ("place", PLACE),
    ("control", "[[variant]]"),
    ("control.fixed", "`candidate`"),
    ("cell.place", "on = \"vm\" or \"host\""),
    ("cell.controls", "`variants`"),
    ("cell.four-cases", "`cases`"),
    ("load.name", "[[cell]] name"),
    ("load.rates", "`card = { rate = […] }` of [[cell]]"),
    ("load.bytes", "`card = { bytes = … }` of [[cell]]"),
    ("load.bus-word", "`card = { bus-word = … }` of [[cell]]"),
    ("load.task-ms", "`card = { task = \"1s\" }` of [[cell]]"),
];
const PLACE: &str =
    "on = \"vm\" or \"host\" and mode of each [[cell]]; write [access-point] radios and clients";

/// Refuses a file that is written with old keys, once, with all its lines.
pub(super) fn refuse(text: &str) -> Result<(), Fault> {
    let (document, _) = DeTable::parse_recoverable(text);
    let document = document.get_ref();
    let old = ["contention", "completion", "place", "control"];
    if !old.iter().any(|key| document.contains_key(*key)) {
        return Ok(());
    }
    let mut found: Vec<(Vec<usize>, String)> = Vec::new();
    for (path, now) in RENAMED {
        let path: Vec<&str> = path.split('.').collect();
        let lines = offsets(document, &path).into_iter().map(|offset| line_at(text, offset));
        let lines: Vec<usize> = lines.collect();
        let shown = match path.as_slice() {
            [table] => format!("[{table}]"),
            path => format!("`{}`", path[path.len() - 1]),
        };
        if !lines.is_empty() {
            found.push((lines, format!("{shown} was replaced by {now}")));
        }
    }
    found.sort();
    let Some(line) = found.first().map(|(lines, _)| lines[0]) else { return Ok(()) };
    let each = found.iter().map(|(lines, what)| format!("{what} ({})", in_words(lines)));
    Err(Fault { line, why: each.collect::<Vec<_>>().join("; ") })
}

/// As `line 7`, or `lines 7, 9, 12`.
fn in_words(lines: &[usize]) -> String {
    let all: Vec<String> = lines.iter().map(usize::to_string).collect();
    format!("{} {}", if lines.len() == 1 { "line" } else { "lines" }, all.join(", "))
}

/// Where a key is written down: in a table once, in an array of tables in any entry.
fn offsets(table: &DeTable<'_>, path: &[&str]) -> Vec<usize> {
    let Some((first, rest)) = path.split_first() else { return Vec::new() };
    let Some((key, value)) = table.get_key_value(*first) else { return Vec::new() };
    match (rest, value.get_ref()) {
        ([], _) => vec![key.span().start],
        (rest, DeValue::Table(inner)) => offsets(inner, rest),
        (rest, DeValue::Array(entries)) => {
            let tables = entries.iter().filter_map(|one| one.get_ref().as_table());
            tables.flat_map(|table| offsets(table, rest)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_file_is_refused_once_with_all_its_lines() {
        let text = "question = \"?\"\n[completion]\nblocks = 6\n[[place]]\nname = \"ap\"\non = \"vm\"\n\
                    [[load]]\nname = \"small\"\nrates = [1]\n[[load]]\nname = \"full\"\nrates = [2]\n";
        let Fault { line, why } = refuse(text).unwrap_err();
        assert_eq!(line, 2);
        let first = "[completion] was replaced by [trial] (line 2); `blocks` was replaced by `repetitions` (line 3); ";
        let last = "`rates` was replaced by `card = { rate = […] }` of [[cell]] (lines 9, 12)";
        assert!(why.starts_with(first) && why.ends_with(last), "{why}");
        refuse("question = \"?\"\n[load]\nrun = \"true\"\n").unwrap();
    }
}
