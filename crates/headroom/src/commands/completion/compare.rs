//! `headroom compare` of a completion study: which two strategies, where, alongside which load, and how often.
//!
//! What is left of the study is the question alone, so that the runner of whole studies makes its pairs and the
//! analysis of whole studies judges them.

use lab::{completion::study, study_file::StudyFile};
use model::{
    completion::{Load, Study, Versus},
    verdict::{Expect, FEWEST_PAIRS},
};

use crate::{
    commands::targets::{self, A_A_PAIRS},
    failure::Failure,
    flags::{self, On, Point},
};

/// The rate that the field report's 6.6 % are of: 5 Mb/s of full frames, in frames a second.
const REPORTED_RATE: u32 = 440;

/// The study with nothing in it but the question.
///
/// # Errors
///
/// [`Failure::Usage`] for words that mean nothing to it.
pub(super) fn question(
    file: StudyFile<Study>,
    flags: &flags::Compare,
) -> Result<StudyFile<Study>, Failure> {
    refuse_others(flags)?;
    let study = asked(&file.study, flags)?;
    Ok(StudyFile { study, ..file })
}

/// Refuses the words of `headroom compare` that are for studies of clients and subjects.
fn refuse_others(flags: &flags::Compare) -> Result<(), Failure> {
    let said = [
        ("--with", flags.with.is_some()),
        ("--other-device", flags.other_device.is_some()),
        ("--other-rootfs", flags.other.is_named()),
        ("--clients", flags.clients.is_some()),
        ("--up-to", flags.up_to.is_some()),
        ("--changes", !flags.changes.is_empty()),
        ("--perturb", !flags.perturb.is_empty()),
        ("--on", flags.on != On::Vm),
        ("--symbols", !flags.symbols.folders.is_empty()),
        ("--junit", flags.outputs.junit.is_some()),
    ];
    let has =
        "--place, --load, --rate, --pairs, --margin, --expect, --window, --a-a and --markdown";
    targets::refuse(&said, "a completion", has)
}

fn asked(study: &Study, flags: &flags::Compare) -> Result<Study, Failure> {
    let versus = versus(study, flags)?;
    let mut study = study.clone();
    let usual = if flags.a_a { A_A_PAIRS } else { study.completion.blocks.max(FEWEST_PAIRS) };
    study.completion.blocks = flags.pairs.unwrap_or(usual);
    study.completion.window = flags.window.unwrap_or(study.completion.window);
    study.completion.strategies =
        [Some(versus.base), versus.variant].into_iter().flatten().collect();
    study.completion.versus = Some(versus);
    study.gates = None;
    study.completion.margin = flags.margin.or(study.completion.margin);
    let expect = flags.expect.map(Expect::from).or(study.completion.expect);
    // The same twice is to be shown to be the same, whatever is said.
    study.completion.expect = expect.filter(|_| !flags.a_a);
    let Point { place, load, rate } = &flags.point;
    if let Some(name) = place {
        study.places = vec![named("place", &study.places, |one| &one.name, name)?];
    }
    study.places.truncate(1);
    let load = match load {
        Some(name) => named("load", &study.loads, |one| &one.name, name)?,
        None => usual_load(&study.loads, *rate)?,
    };
    let rate = rate_of(&load, *rate)?;
    study.loads = vec![Load { rates: vec![rate], ..load }];
    study::check(&study).map_err(Failure::Usage)?;
    Ok(study)
}

/// The two sides.
fn versus(study: &Study, flags: &flags::Compare) -> Result<Versus, Failure> {
    let strategies = &study.completion.strategies;
    let find = |name: &String| named("strategy", strategies, |one| one.name(), name);
    let base = find(&flags.base)?;
    let variant = flags.variant.as_ref().map(find).transpose()?;
    if variant == Some(base) {
        return Err(Failure::Usage(format!(
            "`{}` is compared with itself; say --a-a to learn how often this lab cries wolf",
            base.name()
        )));
    }
    Ok(Versus { base, variant })
}

/// The entry of a study that has this name.
fn named<T: Clone>(
    what: &str,
    all: &[T],
    name_of: impl Fn(&T) -> &str,
    name: &str,
) -> Result<T, Failure> {
    let found = all.iter().find(|one| name_of(one) == name).cloned();
    found.ok_or_else(|| Failure::unknown(what, name, all.iter().map(&name_of)))
}

/// The load where none is named: of those that have the rate the first of a single one, which is no sweep, or else
/// the first.
fn usual_load(loads: &[Load], rate: Option<u32>) -> Result<Load, Failure> {
    let mut having = loads.iter().filter(|load| rate.is_none_or(|rate| load.rates.contains(&rate)));
    let first = having.clone().next();
    having.find(|load| load.rates.len() == 1).or(first).cloned().ok_or_else(|| {
        let rates: Vec<u32> = loads.iter().flat_map(|load| load.rates.clone()).collect();
        no_rate("the study", rates, rate.unwrap_or_default())
    })
}

/// The rate: what is said, where the load has it; else the load's own.
fn rate_of(load: &Load, said: Option<u32>) -> Result<u32, Failure> {
    let has = |rate: &u32| load.rates.contains(rate);
    let usual = Some(REPORTED_RATE).filter(has).or(load.rates.first().copied());
    let wrong =
        || no_rate(&format!("load `{}`", load.name), load.rates.clone(), said.unwrap_or_default());
    said.or(usual).filter(has).ok_or_else(wrong)
}

fn no_rate(whose: &str, mut rates: Vec<u32>, rate: u32) -> Failure {
    rates.sort_unstable();
    rates.dedup();
    let rates: Vec<String> = rates.iter().map(u32::to_string).collect();
    Failure::Usage(format!("{whose} offers no {rate} frames/s; it has {}", rates.join(", ")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use model::completion::{Run, Strategy};

    use super::*;
    use crate::flags::{Flags, Verb};

    fn study() -> Study {
        let text = "question = \"?\"\n[completion]\nblocks = 3\n\
             [[place]]\nname = \"ap\"\non = \"vm\"\n\
             [[place]]\nname = \"host\"\non = \"host\"\n\
             [[load]]\nname = \"small\"\nrates = [100, 440, 7000]\nbytes = 66\n\
             [[load]]\nname = \"full\"\nrates = [440]\nbytes = 1500\n\
             [[load]]\nname = \"task\"\nrates = [990]\nbytes = 66\ntask-ms = 1000\n";
        study::parse(text).unwrap()
    }

    /// What is asked with these words behind `headroom compare STUDY`.
    fn asked(words: &str) -> Result<Study, String> {
        let words = format!("headroom compare study.toml {words}");
        let flags = Flags::try_parse_from(words.split(' ')).unwrap();
        let Verb::Compare(flags) = flags.verb else { panic!() };
        let message = |failure| match failure {
            Failure::Usage(message) => message,
            other => panic!("{other:?}"),
        };
        refuse_others(&flags).and_then(|()| super::asked(&study(), &flags)).map_err(message)
    }

    /// Where, alongside which load, at which rate.
    fn point(words: &str) -> (String, String, u32) {
        let study = asked(words).unwrap();
        assert_eq!((study.places.len(), study.loads.len(), study.loads[0].rates.len()), (1, 1, 1));
        (study.places[0].name.clone(), study.loads[0].name.clone(), study.loads[0].rates[0])
    }

    #[test]
    fn a_comparison_is_at_one_point_the_field_reports_where_none_is_named() {
        let point = |words: &str| {
            let (place, load, rate) = point(&format!("busy event{words}"));
            format!("{place} {load} {rate}")
        };
        assert_eq!(point(""), "ap full 440");
        assert_eq!(point(" --load task --place host"), "host task 990");
        assert_eq!(point(" --load small"), "ap small 440");
        assert_eq!(point(" --rate 440"), "ap full 440");
        assert_eq!(point(" --rate 100"), "ap small 100");
        assert_eq!(point(" --rate 990"), "ap task 990");
        assert_eq!(point(" --load small --rate 7000"), "ap small 7000");
    }

    #[test]
    fn the_sides_are_all_that_is_left_and_blocks_are_their_pairs() {
        let shape = |words: &str| asked(words).unwrap().completion;
        let two = shape("hybrid busy");
        assert_eq!(two.strategies, [Strategy::Hybrid, Strategy::Busy], "the base comes first");
        assert_eq!(
            (two.blocks, two.window),
            (6, study().completion.window),
            "never fewer than six"
        );
        assert_eq!(shape("busy event --pairs 8 --window 3s").blocks, 8);
        let same = shape("event --a-a");
        assert_eq!((same.strategies, same.blocks), (vec![Strategy::Event], A_A_PAIRS));
        assert_eq!(same.versus, Some(Versus { base: Strategy::Event, variant: None }));
    }

    #[test]
    fn what_is_to_be_shown_and_the_margin_are_fixed_before_the_first_trial() {
        let shown = |words: &str| {
            let shape = asked(words).unwrap().completion;
            (shape.expect, shape.margin)
        };
        assert_eq!(shown("busy event"), (None, None));
        let margin = "0.5%".parse().unwrap();
        let same = shown("busy event --expect same --margin 0.5%");
        assert_eq!(same, (Some(Expect::Same), Some(margin)));
        assert_eq!(shown("busy --a-a --margin 0.5%"), (None, Some(margin)));
    }

    #[test]
    fn the_page_has_the_command_that_asks_the_same_again() {
        for words in [
            "busy event",
            "hybrid batch --load task --place host --pairs 8",
            "event --a-a --load small --rate 7000 --window 3s --margin 0.1%",
            "busy event --expect no-slower --margin 2%",
        ] {
            let study = asked(words).unwrap();
            let run = Run { study: study.clone(), ..analysis::fixture::completion::run() };
            let analysed = analysis::completion::analyse(
                &run,
                &[],
                &analysis::metrics::baseline::Baselines::new(),
            );
            let page = report::completion::page(&analysed, &run, "").unwrap();
            let start = "headroom compare study.toml ";
            let (_, again) = page.split_once(start).unwrap();
            let (again, _) = again.split_once(['\n', '<']).unwrap();
            assert_eq!(asked(again).unwrap(), study, "{words}: {again}");
        }
    }

    #[test]
    fn what_the_study_does_not_have_is_reported() {
        let message = |words: &str| asked(words).unwrap_err();
        assert_eq!(
            message("busy evnet"),
            "the study has no strategy `evnet`; did you mean `event`?"
        );
        assert!(message("busy busy").contains("compared with itself"));
        assert_eq!(
            message("busy event --place here"),
            "the study has no place `here`; it has ap, host"
        );
        assert_eq!(
            message("busy event --load all"),
            "the study has no load `all`; it has small, full, task"
        );
        assert_eq!(
            message("busy event --rate 5"),
            "the study offers no 5 frames/s; it has 100, 440, 990, 7000"
        );
        assert_eq!(
            message("busy event --load full --rate 990"),
            "load `full` offers no 990 frames/s; it has 440"
        );
        assert!(message("busy event --window 0s").contains("measures nothing"));
    }

    #[test]
    fn words_of_other_studies_are_refused_each() {
        for words in [
            "busy --with txd=txd",
            "busy --other-device folder",
            "busy --other-rootfs root.tar",
            "busy event --clients 18",
            "busy event --up-to 48",
            "busy event --changes spin",
            "busy event --on local",
            "busy event --symbols folder",
            "busy event --junit file",
        ] {
            let message = asked(words).unwrap_err();
            let word = words.split(' ').find(|word| word.starts_with("--")).unwrap();
            assert!(
                message.starts_with(word) && message.contains("means nothing"),
                "{words}: {message}"
            );
        }
        asked("busy event --expect faster --margin 1% --on vm").unwrap();
    }

    #[test]
    fn words_of_completion_studies_are_refused_elsewhere() {
        let point = Point { rate: Some(440), ..Point::default() };
        let Err(Failure::Usage(message)) =
            targets::refuse_point(std::path::Path::new("scale.toml"), &point)
        else {
            panic!()
        };
        assert_eq!(
            message,
            "--rate is for completion studies, and scale.toml is none; leave it out"
        );
        targets::refuse_point(std::path::Path::new("scale.toml"), &Point::default()).unwrap();
    }
}
