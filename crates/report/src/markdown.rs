//! Verdicts as Markdown, for a CI's summary: `$GITHUB_STEP_SUMMARY`, or a comment on a merge request.

use analysis::{Analysis, quantity::count};
use model::{inert, run::Run, verdict::Verdict};

use crate::{
    overall::{Overall, overall},
    table::Table,
    text::sentences,
    verdict_lines::{self, Kind, VerdictLine},
};

/// The summary of a run of clients.
pub fn summary(run: &Run, analysis: &Analysis) -> String {
    let lines = verdict_lines::all(run, analysis);
    let sentences = sentences(&analysis.headline, &analysis.answer);
    let head = head(&overall(run, analysis), &run.study.question, &sentences);
    let (done, planned) = analysis.ledger.trials;
    head + &verdicts(&lines).markdown()
        + &format!(
            "\n{done} of {}, {} valid, {:.0} s of wall time; image `{}`, study `{}`, headroom {}\n",
            count(planned, "trial"),
            analysis.valid,
            analysis.ledger.wall_s,
            cell(short(&run.lab.image)),
            cell(short(&run.study_sha256)),
            cell(&run.headroom)
        )
}

/// The verdict, the question, why it was decided so, and the answer in sentences.
pub(crate) fn head(overall: &Overall, question: &str, sentences: &[&str]) -> String {
    let sentences: String = sentences.iter().map(|one| format!("\n- {}", cell(one))).collect();
    let Overall { verdict, sentence } = overall;
    let (sign, question, why) = (sign(*verdict), cell(question), cell(sentence));
    format!("## {sign} {verdict}\n\n{question}\n\n{why}\n{sentences}\n")
}

const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Measured => "📏",
        Verdict::Pass => "✅",
        Verdict::Fail => "❌",
        Verdict::Invalid => "⚠️",
    }
}

/// The verdict's word; of a finding that is no limit, in brackets and without a sign.
fn word(line: &VerdictLine) -> String {
    if line.counts {
        format!("{} {}", sign(line.verdict), line.verdict)
    } else {
        format!("({})", line.verdict)
    }
}

/// Every comparison, pause and gate.
fn verdicts(lines: &[VerdictLine]) -> Table {
    Table::of("", lines.iter().filter(|line| line.kind != Kind::Run))
        .text("verdict", "", |line| word(line))
        .text("what", "", |line| line.name.clone())
        .text("effect", "95 % interval", |line| line.effect.clone().unwrap_or("–".to_owned()))
        .text("why", "", |line| line.sentence.clone())
        .table()
}

/// Text that stays in its cell, links nowhere and is no HTML; code spans are kept. Whatever Markdown is put together
/// of text from outside, it goes through here.
pub(crate) fn cell(text: &str) -> String {
    let plain = |letter: char| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if inert::acts(letter) => '\u{fffd}',
        letter => letter,
    };
    let text: String = text.chars().map(plain).collect();
    let mut rest = text.trim_start();
    // What begins a line can make a heading, a list, a rule or a quote of it.
    let mut cell =
        if rest.starts_with(['#', '-', '+', '=', '*', '>', '~']) { "\\" } else { "" }.to_owned();
    while let Some(tick) = rest.find('`') {
        let (before, span) = rest.split_at(tick);
        cell.push_str(&prose(before));
        let run = span.len() - span.trim_start_matches('`').len();
        let (ticks, behind) = span.split_at(run);
        // Within code a backslash is one, and could no longer keep a bar from ending the cell.
        match code(behind, run).filter(|code| !code.contains('\\')) {
            Some(code) => {
                cell.push_str(&format!(
                    "{ticks}{}{ticks}",
                    code.replace('|', "\\|").replace('<', "&lt;")
                ));
                rest = &behind[code.len() + run..];
            }
            None => {
                cell.push_str(&"\\`".repeat(run));
                rest = behind;
            }
        }
    }
    cell + &prose(rest)
}

/// What stands before the next run of exactly so many backticks: CommonMark's code span.
fn code(text: &str, run: usize) -> Option<&str> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('`')?;
        let ticks = text[at..].len() - text[at..].trim_start_matches('`').len();
        if ticks == run {
            return Some(&text[..at]);
        }
        from = at + ticks;
    }
}

/// Text outside of code: no cell ends in it, and neither tags, links nor pictures begin.
fn prose(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace("](", "]\\(")
        .replace("][", "]\\[")
        .replace("]:", "]\\:")
        .replace("://", ":\\//")
        .replace("www.", "www\\.")
}

/// Enough of a hash to tell it from others.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_what_people_read_in_a_ci() {
        let (run, analysis) = verdict_lines::fixture();
        insta::assert_snapshot!(summary(&run, &analysis));
    }

    #[test]
    fn a_text_stays_in_its_cell_links_nowhere_and_moves_nothing() {
        for (text, expected) in [
            ("a | b\n<c>", "a \\| b &lt;c>"),
            // Nor by escaping our escape.
            ("a \\| b", "a \\\\\\| b"),
            ("`a|b` `c", "`a\\|b` \\`c"),
            ("`a\\|b`", "\\`a\\\\\\|b\\`"),
            ("``a`b`` c", "``a`b`` c"),
            ("![x](http://a) [1.0, 2.0]", "![x]\\(http:\\//a) [1.0, 2.0]"),
            ("# big\u{1b}[2J\u{202e}", "\\# big\u{fffd}[2J\u{fffd}"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn a_question_from_outside_is_inert_in_a_summary() {
        let (mut run, analysis) = verdict_lines::fixture();
        run.study.question =
            "\u{1b}]0;t\u{7}<img src=x onerror=alert(1)> | [a](http://b) `".to_owned();
        let text = summary(&run, &analysis);
        assert!(!text.contains(|letter| letter != '\n' && inert::acts(letter)), "{text:?}");
        assert!(text.contains("&lt;img") && text.contains("\\| [a]\\(http:\\//b) \\`\n"), "{text}");
    }
}
