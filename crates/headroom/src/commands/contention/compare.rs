//! `headroom compare` of a contention study: which two controls, of which traffic at which place, and how often.
//!
//! What is left of the study is the question alone, so that the runner of whole studies makes its pairs and the
//! analysis of whole studies judges them.

use lab::{contention::study, study_file::StudyFile};
use model::{
    contention::{Cell, Study, Versus},
    span::Span,
    verdict::{Expect, FEWEST_PAIRS},
};

use super::NONE;
use crate::{
    commands::targets,
    failure::Failure,
    flags::{self, On, Point},
};

/// A window is compared second by second where it has a few of them.
const SHORTEST: Span = Span::from_secs(6);

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
    Ok(StudyFile { study, is_cut: true, ..file })
}

/// Refuses the words of `headroom compare` that are for other studies.
fn refuse_others(flags: &flags::Compare) -> Result<(), Failure> {
    let said = [
        ("--with", flags.with.is_some()),
        ("--other-device", flags.other_device.is_some()),
        ("--other-rootfs", flags.other.is_named()),
        ("--a-a", flags.a_a),
        ("--clients", flags.clients.is_some()),
        ("--rate", flags.point.rate.is_some()),
        ("--up-to", flags.up_to.is_some()),
        ("--changes", !flags.changes.is_empty()),
        ("--on", flags.on != On::Vm),
        ("--symbols", !flags.symbols.folders.is_empty()),
        ("--junit", flags.outputs.junit.is_some()),
    ];
    let has =
        "--place, --load for its traffic, --pairs, --margin, --expect, --window and --markdown";
    targets::refuse(&said, "a contention", has)
}

fn asked(study: &Study, flags: &flags::Compare) -> Result<Study, Failure> {
    let controls = study.controls.iter().map(|control| control.name.as_str());
    let known = || controls.clone().chain([NONE]);
    let variant = flags.variant.clone().unwrap_or_default();
    let sides = [flags.base.clone(), variant.clone()];
    Failure::unless_known("control", sides.iter(), known())?;
    if sides[0] == sides[1] {
        let why = format!("`{variant}` is compared with itself; name two controls");
        return Err(Failure::Usage(why));
    }
    let mut asked = study.clone();
    asked.cells = vec![cell(study, &flags.point, &sides)?];
    asked.question = format!("Does {variant} keep more Wi-Fi than {}?", flags.base);
    asked.controls.retain(|control| sides.contains(&control.name));
    (asked.caches, asked.gates) = (None, None);
    let shape = &mut asked.contention;
    shape.blocks = flags.pairs.unwrap_or(shape.blocks.max(FEWEST_PAIRS));
    shape.window = flags.window.unwrap_or(shape.window.max(SHORTEST));
    shape.margin = flags.margin.or(shape.margin);
    shape.expect = flags.expect.map(Expect::from).or(shape.expect);
    shape.versus = Some(Versus { base: flags.base.clone(), variant });
    study::check(&asked).map_err(Failure::Usage)?;
    Ok(asked)
}

/// The first cell with traffic and an application, at the place and of the traffic that are named, that has both sides.
fn cell(study: &Study, point: &Point, sides: &[String; 2]) -> Result<Cell, Failure> {
    let is_named = |name: &Option<String>, of: Option<&String>| {
        name.as_ref().is_none_or(|name| of == Some(name))
    };
    let has = |cell: &Cell, side: &String| {
        side == NONE || cell.controls.is_empty() || cell.controls.contains(side)
    };
    let is_it = |cell: &&Cell| {
        cell.traffic.is_some()
            && cell.application.is_some()
            && is_named(&point.place, Some(&cell.place))
            && is_named(&point.load, cell.traffic.as_ref())
            && sides.iter().all(|side| has(cell, side))
    };
    let found = study.cells.iter().find(is_it).cloned();
    let mut cell = found.ok_or_else(|| {
        let [base, variant] = sides;
        Failure::Usage(format!(
            "the study has no cell with traffic, an application, `{base}` and `{variant}` where it is asked for; see its cells with --dry-run"
        ))
    })?;
    cell.controls = sides.iter().filter(|side| *side != NONE).cloned().collect();
    cell.four_cases = false;
    Ok(cell)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::flags::{Flags, Verb};

    fn asked(words: &str) -> Result<Study, String> {
        let text = "question = \"?\"\n[contention]\nwindow = \"3s\"\nblocks = 3\n[caches]\n\
             [[place]]\nname = \"ap\"\non = \"vm\"\nroad = \"radio\"\n\
             [[traffic]]\nname = \"full\"\nflow = \"udp\"\n[[traffic]]\nname = \"small\"\nflow = \"udp\"\nbytes = 200\n\
             [[application]]\nname = \"stream\"\nstressor = \"--stream\"\nworkers = 4\n\
             [[control]]\nname = \"idle\"\ncontrol = \"idle\"\n\
             [[control]]\nname = \"low\"\ncontrol = { weight = 2 }\n\
             [[cell]]\nplace = \"ap\"\ntraffic = \"full\"\napplication = \"stream\"\ncontrols = [\"idle\"]\n\
             [[cell]]\nplace = \"ap\"\ntraffic = \"small\"\napplication = \"stream\"\nfour-cases = true\n";
        let study = study::parse(&text.replace("[caches]\n", "")).unwrap();
        let words = format!("headroom compare study.toml {words}");
        let Verb::Compare(flags) = Flags::try_parse_from(words.split(' ')).unwrap().verb else {
            panic!()
        };
        let message = |failure| match failure {
            Failure::Usage(message) => message,
            other => panic!("{other:?}"),
        };
        refuse_others(&flags).and_then(|()| super::asked(&study, &flags)).map_err(message)
    }

    #[test]
    fn two_controls_of_the_first_cell_that_has_both_are_all_that_is_left() {
        let study = asked("none idle").unwrap();
        assert_eq!(study.cells.len(), 1);
        assert_eq!(study.cells[0].traffic.as_deref(), Some("full"));
        assert_eq!((study.contention.blocks, study.contention.window), (6, Span::from_secs(6)));
        let both = asked("low idle").unwrap();
        assert_eq!(both.cells[0].traffic.as_deref(), Some("small"), "the first one has no `low`");
        assert_eq!(both.controls.len(), 2);
        assert!(!both.cells[0].four_cases);
        let named = asked("none idle --load small --pairs 8 --window 10s --margin 2%").unwrap();
        assert_eq!(named.cells[0].traffic.as_deref(), Some("small"));
        assert_eq!((named.contention.blocks, named.contention.window), (8, Span::from_secs(10)));
        assert_eq!(named.contention.margin, Some("2%".parse().unwrap()));
    }

    #[test]
    fn words_that_mean_nothing_here_are_refused() {
        let refused = |words: &str| asked(words).unwrap_err();
        assert!(refused("none lwo").starts_with("the study has no control `lwo`"));
        assert!(refused("low low").contains("compared with itself"));
        assert!(refused("none low --place moon").contains("no cell"));
        assert!(refused("none --a-a").starts_with("--a-a means nothing to a contention study"));
    }
}
