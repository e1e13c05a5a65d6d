//! What contention and completion studies share: which words they take, which of their entries are chosen, limits of
//! the command line among their own, and what their limits come to.
//!
//! What is measured and how it is laid out is [`super::contention`]'s and [`super::completion`]'s.

use std::path::Path;

use analysis::metrics::baseline::Baselines;
use lab::{
    Lab,
    run_folder::{self, Recorded},
};
use model::{
    baseline::Baseline,
    experiment::{Experiment, TrialOf},
    limit::{Known, Limits as Gates},
};
use report::{Overall, junit::Took, verdict_lines::VerdictLine};
use serde::Serialize;
use serde_json::{Value, json};

use super::{check, plan::Plan, publish::Wanted};
use crate::{
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags::{self, Limits, Outputs},
    options::Options,
    output,
};

/// Pairs of an A/A run: enough subsets to see how often the lab cries wolf.
pub(super) const A_A_PAIRS: u32 = 20;

/// A study at this machine alone raises no access point, and needs no QEMU.
///
/// # Errors
///
/// As [`Options::lab`].
pub(super) fn lab_for(options: &Options, needs_vm: bool) -> Result<Lab, Failure> {
    if needs_vm { options.lab() } else { options.lab_for_devices() }
}

/// Refuses the first word that was said, with what is wrong with it.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn refuse_said(
    said: &[(&str, bool)],
    why: impl FnOnce(&str) -> String,
) -> Result<(), Failure> {
    match said.iter().find(|(_, said)| *said) {
        Some((word, _)) => Err(Failure::Usage(why(word))),
        None => Ok(()),
    }
}

/// Refuses words for other studies: they mean nothing here, and silence about them would mislead. `study` is its kind
/// with its article, `has` what it takes in their place.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn refuse(said: &[(&str, bool)], study: &str, has: &str) -> Result<(), Failure> {
    refuse_said(said, |word| format!("{word} means nothing to {study} study; it has {has}"))
}

/// Refuses words of `headroom run` that are for studies of clients and subjects.
///
/// # Errors
///
/// As [`refuse`].
pub(super) fn refuse_others(flags: &flags::Run, study: &str, has: &str) -> Result<(), Failure> {
    let said = [
        ("--clients", !flags.clients.is_empty()),
        ("--only", !flags.only.is_empty()),
        ("--symbols", !flags.symbols.folders.is_empty()),
    ];
    refuse(&said, study, has)
}

/// Refuses the words of a completion study where the study is another.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn refuse_point(study: &Path, point: &flags::Point) -> Result<(), Failure> {
    let said = [
        ("--place", point.place.is_some()),
        ("--load", point.load.is_some()),
        ("--rate", point.rate.is_some()),
    ];
    let study = study.display();
    refuse_said(&said, |word| {
        format!("{word} is for completion studies, and {study} is none; leave it out")
    })
}

/// Refuses baselines in a comparison.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn refuse_baseline(limits: &Limits) -> Result<(), Failure> {
    let said = limits.baseline.is_some() || !limits.gates.iter().all(check::names_none);
    refuse_said(&[("a baseline", said)], |word| {
        format!(
            "{word} means nothing to a comparison: its other side is measured with it; leave it out"
        )
    })
}

/// Writes what later runs are judged by, where that is asked; `counted` are the valid trials.
///
/// # Errors
///
/// [`Failure::Unmeasured`] unless all trials are valid, and [`Failure`] of the file.
pub(super) fn save<K: Experiment>(
    flags: &flags::Check,
    recorded: &Recorded<K>,
    baseline: impl FnOnce() -> Baseline,
    counted: u32,
) -> Result<(), Failure> {
    match &flags.save_baseline {
        Some(file) => check::save(file, counted, recorded.run.plan.len() as u32, baseline),
        None => Ok(()),
    }
}

/// How much worse than a baseline a run may be where no limit says.
const BY: &str = "5%";

/// Refuses limits of the command line that speak of what the study does not have, before anything is measured.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn refuse_limits(limits: &Limits, known: &Known) -> Result<(), Failure> {
    limits.gates.iter().try_for_each(|limit| known.check(limit)).map_err(Failure::Usage)
}

/// Adds the limits of the command line to a study's gates, and reads the baselines that they name from here or from the
/// first of `places` that has them.
///
/// # Errors
///
/// [`Failure::Usage`] for a limit that speaks of what the study does not have, and for the command line's baseline where
/// it cannot be read.
pub(super) fn add_limits(
    gates: &mut Option<Gates>,
    limits: &Limits,
    known: &Known,
    places: &[Option<&Path>],
) -> Result<Baselines, Failure> {
    *gates = with_limits(gates.take(), limits, known)?;
    check::baselines(gates.iter().flat_map(|gates| &gates.limits), limits, places)
}

/// A study's gates with the limits of the command line.
///
/// # Errors
///
/// [`Failure::Usage`] for a limit that speaks of what the study does not have.
fn with_limits(
    gates: Option<Gates>,
    limits: &Limits,
    known: &Known,
) -> Result<Option<Gates>, Failure> {
    refuse_limits(limits, known)?;
    let mut texts = gates.map(|gates| gates.limits).unwrap_or_default();
    texts.extend(limits.gates.iter().map(|limit| limit.text.clone()));
    if let Some(file) = &limits.baseline
        && check::files(&texts).is_empty()
    {
        texts.push(format!("no slower than {} by {BY}", file.display()));
    }
    Ok((!texts.is_empty()).then_some(Gates { limits: texts }))
}

/// What a run of any kind took, for a CI.
pub(super) fn took<K: Experiment>(recorded: &Recorded<K>) -> Took {
    let ends = |trial: &TrialOf<K>| trial.began_unix + trial.cost.measure_ms / 1000;
    let trials = || recorded.trials.iter().filter(|trial| trial.same_as.is_none());
    let (first, last) = (trials().map(|trial| trial.began_unix).min(), trials().map(ends).max());
    let wall_s = first.zip(last).map_or(0.0, |(first, last)| last.saturating_sub(first) as f64);
    Took { trials: (recorded.trials.len() as u32, recorded.run.plan.len() as u32), wall_s }
}

/// Some of the entries, by their numbers from 1; `what` they are called.
///
/// # Errors
///
/// [`Failure::Usage`] for a number that there is not.
pub(super) fn chosen<T: Clone>(
    what: &str,
    entries: &[T],
    numbers: &[u32],
) -> Result<Vec<T>, Failure> {
    let all = 1..=entries.len() as u32;
    if let Some(number) = numbers.iter().find(|number| !all.contains(number)) {
        let all = entries.len();
        return Err(Failure::Usage(format!("the study has no {what} {number}; it has 1 to {all}")));
    }
    let chosen = all.zip(entries).filter(|(number, _)| numbers.contains(number));
    Ok(chosen.map(|(_, entry)| entry.clone()).collect())
}

/// The trials of a study that numbers them, before they are made.
pub(super) struct Numbered<'a, S> {
    /// The study.
    pub(super) study: &'a S,
    /// Number, name and order of each.
    pub(super) trials: Vec<(u32, String, Value)>,
    /// How long they will take.
    pub(super) estimate: Estimate,
}

impl<S: Serialize> Numbered<'_, S> {
    /// Prints them as a plan, behind lines on what they are made of.
    pub(super) fn show(self, options: &Options, question: &str, mut lines: Vec<String>) -> Verdict {
        let line =
            |(number, name, _): &(u32, String, Value)| format!("trial    {number:04} {name}");
        lines.extend(self.trials.iter().map(line));
        let value = |(number, name, order): &(u32, String, Value)| json!({"number": number, "name": name, "order": order});
        let trials: Vec<Value> = self.trials.iter().map(value).collect();
        let plan = Plan {
            question,
            value: json!({"study": self.study, "trials": trials}),
            lines,
            trials: trials.len(),
            estimate: self.estimate,
        };
        plan.show(options)
    }
}

/// What an analysed run says, in every form.
#[derive(Debug)]
pub(super) struct Conclusion {
    /// For machines: one line.
    pub(super) json: String,
    /// For a terminal, inert but for colours.
    pub(super) text: String,
    /// Every verdict, for a terminal.
    pub(super) lines: Vec<VerdictLine>,
    /// The verdict on the run.
    pub(super) overall: Overall,
    /// For a CI's summary.
    pub(super) markdown: String,
    /// For a CI.
    pub(super) junit: String,
    /// Files that are not as they were written.
    pub(super) edited: Vec<String>,
}

impl Conclusion {
    /// Prints every verdict, writes what CI reads, and gives the verdict.
    ///
    /// # Errors
    ///
    /// [`Failure`] where a file cannot be written.
    pub(super) fn check(&self, options: &Options, outputs: &Outputs) -> Result<Verdict, Failure> {
        let text = check::plain(&self.lines, &self.overall);
        self.print(options, outputs, &text)
    }

    /// Writes its page and what CI reads, prints it, and gives its verdict.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the page could not be made, or a file cannot be written.
    pub(super) fn conclude(
        &self,
        options: &Options,
        html: Result<String, report::Error>,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure> {
        run_folder::write_whole(wanted.page, html.map_err(Failure::Page)?.as_bytes())?;
        let verdict = self.print(options, wanted.outputs, &self.text)?;
        if !options.json {
            output::line(format_args!("report: {}", wanted.page.display()));
        }
        Ok(verdict)
    }

    fn print(&self, options: &Options, outputs: &Outputs, text: &str) -> Result<Verdict, Failure> {
        check::write_files(outputs, || self.junit.clone(), || self.markdown.clone())?;
        if options.json {
            output::json_text(&self.json);
        } else {
            output::painted(text.trim_end());
            for file in &self.edited {
                output::line(format_args!("edited: trials/{file}.json is not as it was written"));
            }
        }
        Ok(self.overall.verdict.into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::flags::{Flags, Verb};

    #[test]
    fn limits_of_the_command_line_stand_behind_the_studys_own() {
        let asked = |words: &str| {
            let flags = Flags::try_parse_from(format!("headroom check run {words}").split(' '));
            let Verb::Check(flags) = flags.unwrap().verb else { panic!() };
            let known = Known { figures: vec!["kept".to_owned()], ..Known::default() };
            let own = Gates { limits: vec!["kept >= 1%".to_owned()] };
            with_limits(Some(own), &flags.limits, &known)
        };
        assert_eq!(asked("--gate kept>=2%").unwrap().unwrap().limits, ["kept >= 1%", "kept>=2%"]);
        let with = asked("--baseline file").unwrap().unwrap();
        assert_eq!(with.limits, ["kept >= 1%", "no slower than file by 5%"]);
        let Err(Failure::Usage(message)) = asked("--gate cpu<=2%") else { panic!() };
        assert!(message.contains("known are kept"), "{message}");
    }

    #[test]
    fn entries_are_chosen_by_the_numbers_that_people_count() {
        let cells = ["a", "b"];
        assert_eq!(chosen("cell", &cells, &[2]).unwrap(), ["b"]);
        for wrong in [0, 3] {
            let Err(Failure::Usage(message)) = chosen("cell", &cells, &[1, wrong]) else {
                panic!()
            };
            assert_eq!(message, format!("the study has no cell {wrong}; it has 1 to 2"));
        }
    }
}
