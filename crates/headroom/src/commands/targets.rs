//! What the verbs do with studies whose trials are made at named places, contention and completion alike: which words
//! they take, which of their entries are chosen, limits of the command line among their own, the plan that is shown, the
//! run, its page and its verdict.
//!
//! What is measured and how it is laid out is [`super::contention`]'s and [`super::completion`]'s.

use std::path::Path;

use analysis::{
    metrics::{
        Target,
        baseline::{self, Baselines},
    },
    verdicts::Judgement,
};
use lab::{
    Lab,
    missing::Needs,
    places::{self, Placed},
    run_folder::{self, Recorded},
    runner, shard,
};
use model::{
    experiment::{Experiment, Planned, RunOf, TrialOf},
    inert,
    limit::{Known, Limits as Gates},
    verdict::Verdict as Decided,
};
use report::{
    Given, Overall, Pending,
    index::{self, Entry, Limited},
    junit::{self, Took},
    verdict_lines::{Kind, VerdictLine},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    check,
    kinds::{FileOf, Following, Site, SoFar, Verbs},
    plan::{self, Plan},
    publish::Wanted,
};
#[cfg(feature = "mcp")]
use crate::answer::Answer;
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags::{self, Limits, On, Outputs},
    interrupted, live,
    options::Options,
    output,
    run_path::{PAGE, RunPath},
};

/// What differs between kinds whose trials are made at places.
pub(super) trait AtPlaces: Placed<Study: Serialize> + Default {
    /// Its kind of study with an article, where words for others are refused.
    const STUDY: &'static str;
    /// What it takes in their place.
    const HAS: &'static str;
    /// Whether the figures of a run are kept alongside its page.
    const KEEPS_FIGURES: bool;
    /// All that a run says.
    type Figures: Serialize;

    /// What limits of a study can speak of.
    fn known(study: &Self::Study) -> Known;

    /// Changes in a study what the command line says, and checks it.
    fn change(file: &mut FileOf<Self>, flags: &flags::Run) -> Result<(), Failure>;

    /// The question of a study, and lines on what its trials are made of.
    fn outline(study: &Self::Study) -> (&str, Vec<String>);

    /// Analyses a run with the limits of the command line among its study's.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for words that mean nothing to it.
    fn figures(
        recorded: &Recorded<Self>,
        limits: &Limits,
        near: Option<&Path>,
    ) -> Result<Self::Figures, Failure>;

    /// The run in one sentence.
    fn headline(figures: &Self::Figures) -> &str;

    /// The run's table, what can be asked of it, and what was decided on it.
    fn decided<'a>(figures: &'a Self::Figures, study: &Self::Study) -> Limited<'a>;

    /// The run for people and for a CI.
    fn said(figures: &Self::Figures) -> Said;

    /// The run's page.
    fn page(
        figures: &Self::Figures,
        run: &RunOf<Self>,
        given: Given<'_>,
    ) -> Result<String, report::Error>;

    /// A study with nothing in it but the question of `headroom compare`, so that the runner of whole studies makes its
    /// pairs and the analysis of whole studies judges them.
    fn question(file: FileOf<Self>, flags: &flags::Compare) -> Result<FileOf<Self>, Failure>;
}

impl<K: AtPlaces> Verbs for K {
    fn on_device(file: FileOf<K>, on: &On) -> Result<FileOf<K>, Failure> {
        if *on == On::Vm {
            return Ok(file);
        }
        Err(Failure::Usage(format!(
            "{} study says itself where each of its places is (`on = \"vm\"` or `on = \"host\"`), and none is a device; \
             leave --on out",
            K::STUDY
        )))
    }

    fn changed(mut file: FileOf<K>, flags: &flags::Run) -> Result<FileOf<K>, Failure> {
        let said = [
            ("--clients", !flags.clients.is_empty()),
            ("--only", !flags.only.is_empty()),
            ("--perturb", !flags.perturb.is_empty()),
            ("--symbols", !flags.symbols.folders.is_empty()),
        ];
        refuse(&said, K::STUDY, K::HAS)?;
        refuse_limits(&flags.limits, &K::known(&file.study))?;
        K::change(&mut file, flags)?;
        file.overrides.extend(flags.changes());
        Ok(file)
    }

    fn planned(file: &FileOf<K>) -> Vec<K::Planned> {
        let plan = K::trials(&file.study, &K::Calibration::default());
        shard::own::<K>(&file.study, plan, file.shard)
    }

    fn estimate(options: &Options, study: &K::Study, trials: &[K::Planned]) -> Estimate {
        let time = <K as Placed>::estimate(study, trials, options.workers);
        let options = &options.on(places::arch::<K>(study));
        Estimate::of(options, time, &Needs::of_places::<K>(study))
    }

    fn show(options: &Options, file: &FileOf<K>) -> Verdict {
        let study = &file.study;
        let trials = K::planned(file);
        let (question, mut lines) = K::outline(study);
        lines.extend(trials.iter().map(|one| format!("trial    {} {}", one.id(), one.name(study))));
        let shown = |one: &K::Planned| {
            let planned = json!(one);
            json!({"number": planned["number"], "name": one.name(study), "order": planned["order"]})
        };
        let shown: Vec<Value> = trials.iter().map(shown).collect();
        let estimate = <K as Verbs>::estimate(options, study, &trials);
        let value = json!({"study": study, "trials": shown});
        let device = plan::on_devices(&trials);
        Plan { question, value, lines, trials: trials.len(), device, estimate }.show(options)
    }

    fn carry_out(
        options: &Options,
        _: &Site<'_>,
        file: &FileOf<K>,
        path: &Path,
    ) -> Result<Recorded<K>, Failure> {
        let lab = live::shown::<K>(lab_for::<K>(options, &file.study)?, options);
        let ended = runner::run(&lab, &K::default(), file, path);
        ended
            .inspect_err(|_| live::ended::<K>(path))
            .map_err(|error| interrupted::explain(error, path))
    }

    fn may_go_on(_: &Recorded<K>, on: &On) -> Result<(), Failure> {
        if *on != On::Vm {
            let why = format!(
                "this run is of {} study, which no device has part in; leave --on out",
                K::STUDY
            );
            return Err(Failure::Usage(why));
        }
        Ok(())
    }

    fn go_on(options: &Options, _: &On, recorded: &Recorded<K>) -> Result<Recorded<K>, Failure> {
        let options = &options.of_run(places::arch::<K>(&recorded.run.study))?;
        let lab = live::shown::<K>(lab_for::<K>(options, &recorded.run.study)?, options);
        let ended = runner::resume(&lab, &K::default(), &recorded.path);
        ended
            .inspect_err(|_| live::ended::<K>(&recorded.path))
            .map_err(|error| interrupted::explain(error, &recorded.path))
    }

    fn so_far(recorded: &Recorded<K>, pending: Option<&Pending>) -> Result<SoFar, Failure> {
        let figures = K::figures(recorded, &Limits::default(), None)?;
        let given = Given { study_toml: &recorded.study_text, pending };
        let page = K::page(&figures, &recorded.run, given).map_err(Failure::Page)?;
        Ok(SoFar { page, headline: K::headline(&figures).to_owned() })
    }

    fn publish(
        options: &Options,
        recorded: &Recorded<K>,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure> {
        let figures = K::figures(recorded, wanted.limits, wanted.near)?;
        let html = K::page(&figures, &recorded.run, (&recorded.study_text).into())
            .map_err(Failure::Page)?;
        wanted.write_page(&recorded.path, &html)?;
        // Next to a pipe or a device nobody looks for them.
        if K::KEEPS_FIGURES && wanted.page.is_file() {
            let json = serde_json::to_string_pretty(&figures).unwrap_or_default() + "\n";
            run_folder::write_whole(&wanted.page.with_extension("json"), json.as_bytes())?;
        }
        let run = Concluded::of(recorded, &figures);
        let verdict = run.print(options, wanted.outputs, &run.said.text)?;
        wanted.say_where(options, &recorded.path);
        Ok(verdict)
    }

    #[cfg(feature = "mcp")]
    fn answer(recorded: &Recorded<K>, _: &SymbolFolders) -> Result<Answer, Failure> {
        let figures = K::figures(recorded, &Limits::default(), None)?;
        let said = K::said(&figures);
        let answer = Answer::of(&said.overall, &said.lines, K::headline(&figures));
        Ok(answer.with_figures(K::decided(&figures, &recorded.run.study).table))
    }

    fn check(
        options: &Options,
        recorded: &Recorded<K>,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure> {
        let figures = K::figures(recorded, &flags.limits, None)?;
        if let Some(file) = &flags.save_baseline {
            let Limited { table, counted, .. } = K::decided(&figures, &recorded.run.study);
            let planned = recorded.run.plan.len() as u32;
            check::save(file, counted, planned, || baseline::of(&recorded.run, table))?;
        }
        let run = Concluded::of(recorded, &figures);
        let text = check::plain(&run.said.lines, &run.said.overall);
        run.print(options, &flags.outputs, &text)
    }

    fn compare(
        options: &Options,
        file: FileOf<K>,
        flags: &flags::Compare,
    ) -> Result<Verdict, Failure> {
        let file = K::question(file, flags)?;
        if flags.dry_run {
            return Ok(K::show(options, &file));
        }
        let path = RunPath::choose(flags.out.as_ref(), &file.name)?;
        let symbols = SymbolFolders::of(options, &flags.symbols)?;
        let recorded =
            K::carry_out(options, &Site { on: &flags.on, symbols: &symbols }, &file, &path)?;
        let page = recorded.path.join(PAGE);
        let wanted =
            Wanted { outputs: &flags.outputs, open: flags.open, ..Wanted::of(&page, &symbols) };
        K::publish(options, &recorded, &wanted)
    }

    fn entry(
        recorded: &Recorded<K>,
        following: &Following<'_>,
        place: index::Place<'_>,
    ) -> Result<Entry, String> {
        let figures = K::figures(recorded, &Limits::default(), None);
        let figures = figures.map_err(|failure| failure.sentence())?;
        let limited = K::decided(&figures, &recorded.run.study);
        Ok(index::by_targets(&recorded.run, limited, following.figure, place))
    }
}

/// What an analysed run says, in every form.
#[derive(Debug)]
pub(super) struct Said {
    /// For a terminal, inert but for colours.
    pub(super) text: String,
    /// Every verdict.
    pub(super) lines: Vec<VerdictLine>,
    /// The verdict on the run.
    pub(super) overall: Overall,
    /// For a CI's summary.
    pub(super) markdown: String,
}

/// What is said of a run of one question: its verdict as one line, and whatever else was asked of it.
pub(super) fn one_question(
    question: &str,
    name: String,
    judged: &Judgement,
    targets: &[Target],
) -> Said {
    let own = VerdictLine {
        kind: Kind::Comparison,
        name,
        verdict: judged.verdict,
        counts: true,
        effect: judged.effect(),
        sentence: judged.sentence.clone(),
    };
    let others = report::targets::lines(targets.get(1..).unwrap_or_default());
    let lines: Vec<VerdictLine> = [own].into_iter().chain(others).collect();
    let verdict = Decided::of_all(lines.iter().map(|line| line.verdict));
    let worst = lines.iter().find(|line| line.verdict == verdict);
    let sentence = worst.map(|line| {
        let of_verdict = format!("{verdict}: ");
        let why = line.sentence.strip_prefix(&of_verdict).unwrap_or(&line.sentence);
        format!("{}: {why}", line.name)
    });
    let overall = Overall { verdict, sentence: sentence.unwrap_or_default() };
    let text = format!("{}\n\n{}", inert::line(question), check::plain(&lines, &overall));
    Said { text, lines, overall, markdown: String::new() }
}

/// A run, analysed.
struct Concluded<'a, K: AtPlaces> {
    recorded: &'a Recorded<K>,
    figures: &'a K::Figures,
    said: Said,
}

impl<'a, K: AtPlaces> Concluded<'a, K> {
    fn of(recorded: &'a Recorded<K>, figures: &'a K::Figures) -> Self {
        Self { recorded, figures, said: K::said(figures) }
    }

    /// Writes what CI reads, prints this text, and gives the verdict.
    fn print(&self, options: &Options, outputs: &Outputs, text: &str) -> Result<Verdict, Failure> {
        let Self { recorded, figures, said } = self;
        let question = K::decided(figures, &recorded.run.study).question;
        let junit = || junit::document(&recorded.run, question, &said.lines, took(recorded));
        check::write_files(outputs, junit, || said.markdown.clone())?;
        if options.json {
            output::json_text(&serde_json::to_string(figures).unwrap_or_default());
        } else {
            output::painted(text.trim_end());
            for file in &recorded.edited {
                output::line(format_args!("edited: trials/{file}.json is not as it was written"));
            }
        }
        Ok(said.overall.verdict.into())
    }
}

/// Pairs of an A/A run: enough subsets to see how often the lab cries wolf.
pub(super) const A_A_PAIRS: u32 = 20;

/// A study at this machine alone raises no access point, and needs no QEMU.
fn lab_for<K: Placed>(options: &Options, study: &K::Study) -> Result<Lab, Failure> {
    let options = options.on(places::arch::<K>(study));
    if places::needs_vm::<K>(study) { options.lab() } else { options.lab_for_devices() }
}

/// Refuses the first word that was said, with what is wrong with it.
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
pub(super) fn refuse(said: &[(&str, bool)], study: &str, has: &str) -> Result<(), Failure> {
    refuse_said(said, |word| format!("{word} means nothing to {study} study; it has {has}"))
}

/// Refuses the words of a completion study where the study is another.
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
pub(super) fn refuse_baseline(limits: &Limits) -> Result<(), Failure> {
    let said = limits.baseline.is_some() || !limits.gates.iter().all(check::names_none);
    refuse_said(&[("a baseline", said)], |word| {
        format!(
            "{word} means nothing to a comparison: its other side is measured with it; leave it out"
        )
    })
}

/// How much worse than a baseline a run may be where no limit says.
const BY: &str = "5%";

/// Refuses limits of the command line that speak of what the study does not have, before anything is measured.
fn refuse_limits(limits: &Limits, known: &Known) -> Result<(), Failure> {
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
fn took<K: Experiment>(recorded: &Recorded<K>) -> Took {
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
