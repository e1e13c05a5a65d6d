//! Verdicts as Markdown, for a CI's summary: `$GITHUB_STEP_SUMMARY`, or a comment on a merge request.

use analysis::{Analysis, quantity::count};
use model::{run::Run, verdict::Verdict};

use crate::{
    overall::overall,
    verdict_lines::{self, Kind, VerdictLine},
};

/// The summary.
pub fn summary(run: &Run, analysis: &Analysis) -> String {
    let lines = verdict_lines::all(run, analysis);
    let told = overall(run, analysis);
    let mut text = format!(
        "## {} {}\n\n{}\n\n{}\n",
        sign(told.verdict),
        told.verdict,
        cell(&run.study.question),
        cell(&told.sentence)
    );
    for sentence in &analysis.answer {
        text.push_str(&format!("\n- {}", sentence.replace('\n', " ")));
    }
    if !analysis.answer.is_empty() {
        text.push('\n');
    }
    let of = |kinds: &[Kind]| lines.iter().filter(|line| kinds.contains(&line.kind)).collect();
    text.push_str(&effects(of(&[Kind::Comparison, Kind::Pause])));
    text.push_str(&gates(of(&[Kind::Gate])));
    let (done, planned) = analysis.ledger.trials;
    text + &format!(
        "\n{done} of {}, {} valid, {:.0} s of wall time; image `{}`, study `{}`, headroom {}\n",
        count(planned, "trial"),
        analysis.valid,
        analysis.ledger.wall_s,
        short(&run.lab.image),
        short(&run.study_sha256),
        run.headroom
    )
}

const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
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

fn effects(lines: Vec<&VerdictLine>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let row = |line: &&VerdictLine| {
        format!(
            "| {} | {} | {} | {} |\n",
            word(line),
            cell(&line.name),
            line.effect.as_deref().unwrap_or("–"),
            cell(&line.sentence)
        )
    };
    let rows: String = lines.iter().map(row).collect();
    format!("\n| verdict | what | effect, 95 % interval | why |\n| --- | --- | --- | --- |\n{rows}")
}

fn gates(lines: Vec<&VerdictLine>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let row = |line: &&VerdictLine| {
        format!("| {} | {} | {} |\n", word(line), cell(&line.name), cell(&line.sentence))
    };
    let rows: String = lines.iter().map(row).collect();
    format!("\n| verdict | gate | why |\n| --- | --- | --- |\n{rows}")
}

/// Text that stays in its cell and is no HTML; code spans are kept.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
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
    fn a_text_cannot_leave_its_cell() {
        assert_eq!(cell("a | b\n<c>"), "a \\| b &lt;c>");
    }
}
