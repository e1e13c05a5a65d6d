//! What a verdict, an exit code, a gate, a metric or a doubt means.
//!
//! Nothing is written for it: the meanings are rows of the documentation's tables, and the sentences of a job's own result.

use super::answers::Explained;
use crate::answer::Answer;

/// Pages whose tables explain words: a row begins with the word, or has it as its second cell after a number.
const PAGES: [&str; 2] = [
    include_str!("../../../../docs/exit-codes.md"),
    include_str!("../../../../docs/guide/gates.md"),
];

/// What a word means, and what a job's result says of it.
pub(super) fn explain(about: &str, answer: Option<&Answer>) -> Result<Explained, String> {
    let word = about.trim().trim_matches('`').to_lowercase();
    let mut explained =
        Explained { about: about.to_owned(), meaning: Vec::new(), advice: Vec::new() };
    if let Some(answer) = answer.filter(|_| !word.is_empty()) {
        of_result(&word, answer, &mut explained);
    }
    explained.meaning.extend(PAGES.iter().flat_map(|page| rows(page, &word)));
    if explained.meaning.is_empty() {
        return Err(unknown(about, answer));
    }
    Ok(explained)
}

/// What a result says of a verdict's word, of what was decided, and of doubts.
fn of_result(word: &str, answer: &Answer, explained: &mut Explained) {
    if word == answer.verdict {
        explained.meaning.push(answer.sentence.clone());
    }
    let is_meant = |text: &str| text.to_lowercase().contains(word);
    for one in &answer.decided {
        if one.verdict == word || is_meant(&one.name) {
            explained.meaning.push(format!("{}: {}: {}", one.name, one.verdict, one.sentence));
        }
    }
    for doubt in &answer.doubts {
        if word.starts_with("doubt") || is_meant(&doubt.sentence) {
            explained.meaning.push(doubt.sentence.clone());
            explained.advice.push(doubt.advice.clone());
        }
    }
}

/// The rows of a page's tables for a word, as `name: value` by the head of their table.
fn rows<'a>(page: &'a str, word: &'a str) -> impl Iterator<Item = String> + 'a {
    let mut head: Vec<&str> = Vec::new();
    page.lines().filter_map(move |line| {
        let Some(cells) = cells(line) else {
            head.clear();
            return None;
        };
        if head.is_empty() {
            head = cells;
            return None;
        }
        let name = |cell: &str| cell.trim_matches('`').eq_ignore_ascii_case(word);
        let is_code = cells[0].parse::<u8>().is_ok() && head.len() == 3;
        let is_meant = name(cells[0]) || is_code && name(cells.get(1)?);
        let said = || head.iter().zip(&cells).filter(|(_, cell)| !cell.is_empty());
        is_meant.then(|| {
            said().map(|(name, cell)| format!("{name}: {cell}")).collect::<Vec<_>>().join("; ")
        })
    })
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

fn unknown(about: &str, answer: Option<&Answer>) -> String {
    let names = answer.map(|answer| answer.decided.iter().map(|one| one.name.as_str()).collect());
    let names: Vec<&str> = names.unwrap_or_default();
    let here =
        if names.is_empty() { String::new() } else { format!(", or of {}", names.join(", ")) };
    format!(
        "nothing explains `{about}`; ask about pass, fail, invalid, usage, environment, an exit code, a gate or a metric\
         {here}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Decided, Doubtful};

    fn answer() -> Answer {
        let decided = Decided {
            kind: "gate".to_owned(),
            name: "monotonic".to_owned(),
            verdict: "fail".to_owned(),
            counts: true,
            effect: None,
            sentence: "CPU falls between 18 and 60 clients.".to_owned(),
        };
        let doubt =
            Doubtful { sentence: "Few repetitions.".to_owned(), advice: "More.".to_owned() };
        Answer {
            verdict: "fail".to_owned(),
            sentence: "It fails.".to_owned(),
            headline: String::new(),
            decided: vec![decided],
            figures: Vec::new(),
            figures_left_out: 0,
            doubts: vec![doubt],
            flames: Vec::new(),
        }
    }

    #[test]
    fn codes_verdicts_gates_and_metrics_are_explained_by_the_documentation() {
        let meaning = |about| explain(about, None).unwrap().meaning.join("\n");
        assert!(meaning("3").contains("It could not be measured"));
        assert!(meaning("invalid").contains("Never a statement about the subject"));
        assert!(meaning("`monotonic`").contains("slope of a straight line"));
        assert!(meaning("slope").contains("CPU for each client"));
        assert!(explain("nonsense", None).unwrap_err().contains("ask about pass"));
    }

    #[test]
    fn a_result_says_first_what_it_found_and_what_to_do() {
        let answer = answer();
        let explained = explain("fail", Some(&answer)).unwrap();
        assert_eq!(explained.meaning[0], "It fails.");
        assert!(explained.meaning[1].contains("CPU falls between 18 and 60"));
        let explained = explain("doubts", Some(&answer)).unwrap();
        assert_eq!((explained.meaning.len(), explained.advice[0].as_str()), (1, "More."));
        assert!(explain("nonsense", Some(&answer)).unwrap_err().contains("or of monotonic"));
    }
}
