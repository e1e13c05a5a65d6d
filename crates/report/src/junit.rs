//! Verdicts as JUnit XML, as CI systems read it: a suite for the run, a case for each gate, comparison and pause.
//!
//! What fails is a `failure`, what could not be measured an `error`: the first is about the subject, the
//! second never is. The form is the one that Jenkins' xUnit plugin describes and GitLab and GitHub's actions
//! take.

use std::fmt::Write;

use model::{run::Run, verdict::Verdict};

use crate::{drawing::svg::escape, verdict_lines::VerdictLine};

#[derive(Clone, Copy, Debug)]
pub struct Took {
    /// Trials that were made, and those of the plan.
    pub trials: (u32, u32),
    /// Wall time, s.
    pub wall_s: f64,
}

/// The document of a run of any kind.
pub fn document(run: &Run, question: &str, lines: &[VerdictLine], took: Took) -> String {
    let with = |verdict| lines.iter().filter(|line| line.counts && line.verdict == verdict).count();
    let is_skipped = |line: &&VerdictLine| !line.counts || line.verdict == Verdict::Measured;
    let skipped = lines.iter().filter(is_skipped).count();
    let attributes = format!(
        "name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{skipped}\" time=\"{}\"",
        escaped(&run.study_name),
        lines.len(),
        with(Verdict::Fail),
        with(Verdict::Invalid),
        format_args!("{:.3}", took.wall_s),
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail.
    let _ = writeln!(text, "<testsuites {attributes}>");
    let _ = writeln!(text, "  <testsuite {attributes}>");
    text.push_str(&properties(run, question, took));
    for line in lines {
        text.push_str(&case(&run.study_name, line));
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn properties(run: &Run, question: &str, took: Took) -> String {
    let (done, planned) = took.trials;
    let all = [
        ("headroom", run.headroom.clone()),
        ("question", question.to_owned()),
        ("study-sha256", run.study_sha256.clone()),
        ("image-sha256", run.lab.image.clone()),
        ("agent-sha256", run.lab.agent.clone()),
        ("trials", format!("{done} of {planned}")),
    ];
    let property = |(name, value): &(&str, String)| {
        format!("      <property name=\"{name}\" value=\"{}\"/>\n", escaped(value))
    };
    let properties: String = all.iter().map(property).collect();
    format!("    <properties>\n{properties}    </properties>\n")
}

fn case(study: &str, line: &VerdictLine) -> String {
    let head = format!(
        "    <testcase classname=\"{}.{}\" name=\"{}\" time=\"0\"",
        escaped(study),
        line.kind.name(),
        escaped(&line.name)
    );
    let sentence = escaped(&line.sentence);
    let inner = match line.verdict {
        _ if !line.counts => format!("<skipped message=\"A finding, no limit: {sentence}\"/>"),
        Verdict::Measured => format!("<skipped message=\"{sentence}\"/>"),
        Verdict::Pass => format!("<system-out>{sentence}</system-out>"),
        Verdict::Fail => format!("<failure type=\"fail\" message=\"{sentence}\"/>"),
        Verdict::Invalid => format!("<error type=\"invalid\" message=\"{sentence}\"/>"),
    };
    format!("{head}>\n      {inner}\n    </testcase>\n")
}

/// Text that may stand between tags and in an attribute, where a line break would be read as a space. Characters that XML 1.0
/// forbids (§2.2) become U+FFFD.
fn escaped(text: &str) -> String {
    let text = escape(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    text.replace('\t', "&#9;").replace('\n', "&#10;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict_lines;

    #[test]
    fn nothing_in_a_text_can_end_an_attribute_or_the_document() {
        assert_eq!(
            escaped("<a href=\"x\">'&'\u{0}\u{1b}\n\u{9b}\u{202e}"),
            "&lt;a href=&quot;x&quot;&gt;'&amp;'\u{fffd}\u{fffd}&#10;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn a_document_is_what_ci_systems_read() {
        let (run, analysis) = verdict_lines::fixture();
        let took = Took { trials: analysis.ledger.trials, wall_s: analysis.ledger.wall_s };
        let lines = verdict_lines::all(&run, &analysis);
        insta::assert_snapshot!(document(&run, &run.study.question, &lines, took));
    }
}
