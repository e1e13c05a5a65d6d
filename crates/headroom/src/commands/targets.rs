//! What studies with targets of their own share, be they of contention or of completion: which words they take,
//! which of their entries are chosen, where their page goes, and what their targets come to.
//!
//! What is measured and how it is laid out is [`super::contention`]'s and [`super::completion`]'s.

use std::path::Path;

use lab::{Lab, run_folder};
use model::verdict;

use super::report::Wanted;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    progress::Progress,
};

/// A study at this machine alone raises no access point, and needs no QEMU.
///
/// # Errors
///
/// As [`Options::lab`].
pub(super) fn lab_for(options: &Options, needs_vm: bool) -> Result<Lab, Failure> {
    let progress = Progress::of(options);
    if needs_vm { options.lab(progress) } else { options.lab_for_devices(progress) }
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
pub(super) fn refuse(said: &[(&str, bool)], (study, has): (&str, &str)) -> Result<(), Failure> {
    refuse_said(said, |word| format!("{word} means nothing to {study} study; it has {has}"))
}

/// Refuses words of `headroom run` that are for studies of clients and subjects.
///
/// # Errors
///
/// As [`refuse`].
pub(super) fn refuse_others(flags: &flags::Run, of: (&str, &str)) -> Result<(), Failure> {
    let said = [
        ("--clients", !flags.clients.is_empty()),
        ("--only", !flags.only.is_empty()),
        ("--symbols", !flags.symbols.folders.is_empty()),
        ("--gate", !flags.limits.gates.is_empty()),
        ("--baseline", flags.limits.baseline.is_some()),
        ("--junit", flags.outputs.junit.is_some()),
    ];
    refuse(&said, of)
}

/// Refuses words of `headroom check` that are for such studies; `run` is the run's kind with its article.
///
/// # Errors
///
/// [`Failure::Usage`].
pub(super) fn refuse_limits(flags: &flags::Check, run: &str) -> Result<(), Failure> {
    let said = [
        ("--gate", !flags.limits.gates.is_empty()),
        ("--baseline", flags.limits.baseline.is_some()),
        ("--save-baseline", flags.save_baseline.is_some()),
        ("--junit", flags.outputs.junit.is_some()),
    ];
    refuse_said(&said, |word| {
        format!("{word} means nothing to {run} run, which has its own targets; leave it out")
    })
}

/// Some of the entries, by their numbers from 1; `what` they are called.
///
/// # Errors
///
/// [`Failure::Usage`] for a number that there is not.
pub(super) fn chosen<T: Clone>(
    (what, entries): (&str, &[T]),
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

/// What an analysed run says, in every form.
#[derive(Debug)]
pub(super) struct Told {
    /// For machines: one line.
    pub(super) json: String,
    /// For a terminal, inert but for colours.
    pub(super) text: String,
    /// For a CI's summary.
    pub(super) markdown: String,
    /// Files that are not as they were written.
    pub(super) edited: Vec<String>,
    /// How the run ends.
    pub(super) verdict: Verdict,
}

impl Told {
    /// Prints it.
    fn print(&self, options: &Options) {
        if options.json {
            output::json_text(&self.json);
            return;
        }
        output::painted(self.text.trim_end());
        for file in &self.edited {
            output::line(format_args!("edited: trials/{file}.json is not as it was written"));
        }
    }

    /// Writes its Markdown where that is wanted, prints it, and gives its verdict.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the file cannot be written.
    pub(super) fn tell(
        &self,
        options: &Options,
        markdown: Option<&Path>,
    ) -> Result<Verdict, Failure> {
        if let Some(file) = markdown {
            run_folder::write_whole(file, self.markdown.as_bytes())?;
        }
        self.print(options);
        Ok(self.verdict)
    }

    /// Writes its page and its Markdown, prints it, and gives its verdict.
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
        let verdict = self.tell(options, wanted.outputs.markdown.as_deref())?;
        if !options.json {
            output::line(format_args!("report: {}", wanted.page.display()));
        }
        Ok(verdict)
    }
}

/// A target that was missed fails the run; one that could not be measured makes it invalid, and so does a run of
/// which nothing counts.
pub(super) fn verdict_of(
    counted: u32,
    targets: impl ExactSizeIterator<Item = verdict::Verdict>,
) -> Verdict {
    let are_none = targets.len() == 0;
    match verdict::Verdict::of_all(targets) {
        _ if counted == 0 || are_none => Verdict::Invalid,
        verdict::Verdict::Measured | verdict::Verdict::Pass => Verdict::Pass,
        verdict::Verdict::Fail => Verdict::Fail,
        verdict::Verdict::Invalid => Verdict::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::flags::{Flags, Verb};

    #[test]
    fn a_run_that_has_targets_is_held_against_no_other_limits() {
        let asked = |words: &str| {
            let flags = Flags::try_parse_from(format!("headroom check run {words}").split(' '));
            let Verb::Check(flags) = flags.unwrap().verb else { panic!() };
            refuse_limits(&flags, "a contention")
        };
        asked("--markdown file").unwrap();
        for words in ["--gate cpu<=2%", "--baseline run", "--save-baseline file", "--junit file"] {
            let Err(Failure::Usage(told)) = asked(words) else { panic!("{words}") };
            let word = words.split(' ').next().unwrap();
            assert!(
                told.starts_with(&format!("{word} means nothing to a contention run")),
                "{told}"
            );
        }
    }

    #[test]
    fn entries_are_chosen_by_the_numbers_that_people_count() {
        let cells = ["a", "b"];
        assert_eq!(chosen(("cell", &cells), &[2]).unwrap(), ["b"]);
        for wrong in [0, 3] {
            let Err(Failure::Usage(told)) = chosen(("cell", &cells), &[1, wrong]) else { panic!() };
            assert_eq!(told, format!("the study has no cell {wrong}; it has 1 to 2"));
        }
    }

    #[test]
    fn a_run_of_which_nothing_counts_is_no_pass() {
        use verdict::Verdict::{Fail, Pass};
        assert_eq!(verdict_of(3, [Pass, Pass].into_iter()), Verdict::Pass);
        assert_eq!(verdict_of(3, [Pass, Fail].into_iter()), Verdict::Fail);
        assert_eq!(verdict_of(0, [Pass].into_iter()), Verdict::Invalid);
        assert_eq!(verdict_of(3, [].into_iter()), Verdict::Invalid);
    }
}
