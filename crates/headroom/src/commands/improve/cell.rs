//! A cell of a task: how many clients and what they do, how often they are asked about, how many pairs; and a comparison in it.
//!
//! The known cell is the task's; those of an acceptance are drawn from its seed. Measuring is [`super::super::compare`]'s.

use std::path::Path;

use improve::{Task, TaskFolder, folder::Error};
use lab::{Replaced, run_folder::Recorded, study_file::StudyFile};
use model::{
    architecture::Architecture,
    name::RelativePath,
    plural::count,
    span::Span,
    study::{Load, Study, VariantLoad},
};

use super::super::{
    compare::{self, Builds},
    study,
};
use crate::{code_files::SymbolFolders, failure::Failure, flags, options::Options};

/// Periods of a load are drawn in steps of so many ns.
const STEP_NS: u64 = 100_000_000;

/// What the clients of a secret cell do is drawn between these ends, ms: how often each sends, and how often one of them leaves
/// and comes back, and one roams. Windows have a few of each.
const TRAFFIC_MS: [u64; 2] = [400, 1600];
const CHURN_MS: [u64; 2] = [2500, 6000];
/// And how much later than the study says the window opens, within a turn of the slowest timer, ms.
const PHASE_MS: [u64; 2] = [0, 999];

/// The program of a study's that moves clients, as its variants name it.
const MOVES_CLIENTS: &str = "headroom-agent --move-clients";

/// A secret cell's window is so many times as long as the study's, in rounds: what is kept for every fifteenth round and done
/// there at once falls into it.
const LONGER: u64 = 3;

/// The test of a task runs once in so long: it has half of it, the other half is the window's beginning.
const TEST_EVERY: Span = Span::from_secs(120);
/// Pairs of a test: a base that answers in two ways is seen.
const TEST_PAIRS: u32 = 2;

/// Trials of the floor in a cell: counted, they hardly differ.
const FLOOR_TRIALS: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) clients: u32,
    /// In place of the load's own period.
    every: Option<Span>,
    pairs: u32,
    /// In place of the study's own.
    pub(super) arch: Option<Architecture>,
    weather: Option<Weather>,
}

/// What nobody who tries can know of a cell, besides its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Weather {
    packets: Span,
    leaves: Span,
    roams: Span,
    phase: Span,
}

impl Weather {
    fn drawn(between: &mut impl FnMut([u64; 2]) -> u64) -> Self {
        let mut span = |ends| Span::from_nanos(between(ends) * 1_000_000);
        Self {
            packets: span(TRAFFIC_MS),
            leaves: span(CHURN_MS),
            roams: span(CHURN_MS),
            phase: span(PHASE_MS),
        }
    }

    /// Puts a study into it. Where no variant moves clients, there are none to move.
    fn enter(&self, file: &mut StudyFile) {
        let Self { packets, leaves, roams, phase } = self;
        let Study { trial, variants, .. } = &mut file.study;
        trial.warm_up = Span::from_nanos(trial.warm_up.as_nanos() + phase.as_nanos());
        let words = format!("{MOVES_CLIENTS} packets={packets} leaves={leaves} roams={roams}");
        for background in variants.iter_mut().filter_map(|one| one.background.as_mut()) {
            if background.starts_with(MOVES_CLIENTS) {
                background.clone_from(&words);
            }
        }
        file.overrides
            .push(format!("trial.warm-up = {}, variant.background = {words}", trial.warm_up));
    }
}

impl Cell {
    /// The one that whoever tries knows.
    pub(super) fn known(task: &Task) -> Self {
        Self { clients: task.asked.clients, pairs: task.asked.pairs, ..Self::default() }
    }

    /// Those of an acceptance: nobody knows them before it.
    pub(super) fn secret(folder: &TaskFolder, id: u32) -> Result<Vec<Self>, Error> {
        let (acceptance, pairs) = (&folder.task.acceptance, folder.task.asked.pairs);
        let mut draws = folder.draws(id)?;
        let mut between = |[least, most]: [u64; 2]| least + draws.below(most - least + 1);
        let mut cell = |arch| {
            let clients = between(acceptance.clients.map(u64::from)) as u32;
            let steps = between(acceptance.every.map(|every| every.as_nanos().div_ceil(STEP_NS)));
            let every = Some(Span::from_nanos(steps * STEP_NS));
            Self { clients, every, pairs, arch, ..Self::default() }
        };
        let mut cells: Vec<Self> = (0..acceptance.cells).map(|_| cell(None)).collect();
        cells.extend(folder.task.source.arm64.is_some().then(|| cell(Some(Architecture::Arm64))));
        // Behind all numbers, which a seed of an older task gives again.
        cells.iter_mut().for_each(|cell| cell.weather = Some(Weather::drawn(&mut between)));
        Ok(cells)
    }

    /// The task's study in it, and the options with which that is measured: of the study's processor, where it names one.
    fn entered(
        &self,
        options: &Options,
        folder: &TaskFolder,
    ) -> Result<(StudyFile, Options), Failure> {
        let options = self.arch.map_or_else(|| options.clone(), |arch| options.on(arch));
        let mut file = study(&options, &folder.study_path(), &folder.task)?;
        self.enter(&mut file);
        let options = options.on(file.study.access_point.arch).counting_memory();
        Ok((file, options))
    }

    /// Puts a study into it: loads have another period, and windows [`LONGER`] as many rounds.
    fn enter(&self, file: &mut StudyFile) {
        if let Some(weather) = &self.weather {
            weather.enter(file);
        }
        let Some(every) = self.every else { return };
        let Study { load, variants, trial, .. } = &mut file.study;
        let own = variants.iter_mut().filter_map(|variant| match &mut variant.load {
            Some(VariantLoad::With(load)) => Some(load),
            _ => None,
        });
        let mut rounds = 1;
        for load in load.iter_mut().chain(own) {
            rounds = rounds.max(trial.window.as_nanos() / load.every.as_nanos().max(1));
            load.every = every;
        }
        trial.window = Span::from_nanos(LONGER * rounds * every.as_nanos());
        // A sample between two rounds.
        trial.sample_every = every;
        let window = trial.window;
        file.overrides.push(format!("load.every = {every}, trial.window = {window}"));
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) cell: Cell,
    pub(super) run: &'a Path,
    /// What the floor costs there, µs of CPU a second.
    pub(super) floor_us: Option<f64>,
}

impl Place<'_> {
    fn flags(&self, task: &Task) -> flags::Compare {
        flags::Compare {
            base: task.asked.variant.to_string(),
            clients: Some(self.cell.clients),
            pairs: Some(self.cell.pairs),
            out: Some(self.run.to_owned()),
            ..flags::Compare::default()
        }
    }
}

pub(super) fn study(options: &Options, path: &Path, task: &Task) -> Result<StudyFile, Failure> {
    let file = study::of_clients(options, path)?;
    improve::judge::check(task, &file.study)
        .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    Ok(file)
}

/// Compares a candidate with the base: `[base, candidate]`.
pub(super) fn compare(
    options: &Options,
    folder: &TaskFolder,
    place: Place<'_>,
    sides: [&Path; 2],
) -> Result<Recorded, Failure> {
    let (file, options) = place.cell.entered(options, folder)?;
    side_by_side(&options, file, place.flags(&folder.task), (&folder.task, sides))
}

fn side_by_side(
    options: &Options,
    file: StudyFile,
    flags: flags::Compare,
    (task, programs): (&Task, [&Path; 2]),
) -> Result<Recorded, Failure> {
    let [base, candidate] = programs;
    let installs_as = task.source.installs_as.as_str();
    let symbols = &SymbolFolders::of(options, &flags.symbols)?;
    let recorded = match installs_as.strip_prefix('/') {
        None => {
            let with = Some((installs_as.to_owned(), candidate.to_owned()));
            let builds = Builds { base: Some(base), other: None, symbols };
            compare::carried_out(options, file, &flags::Compare { with, ..flags }, builds)
        }
        Some(place) => {
            let wrong = |wrong| Failure::Usage(format!("source.installs-as: {wrong}"));
            let place: RelativePath = place.parse().map_err(wrong)?;
            let [ours, theirs] = programs.map(|program| {
                options.replacing(Replaced { place: place.clone(), file: program.to_owned() })
            });
            let builds = Builds { base: None, other: Some(&theirs), symbols };
            compare::carried_out(&ours, file, &flags, builds)
        }
    };
    let nothing = || {
        let clients = count(flags.clients.unwrap_or_default(), "client");
        Failure::Unmeasured(format!("nothing was measured at {clients}"))
    };
    recorded?.ok_or_else(nothing)
}

/// Has the task's test answered by the base and by a candidate, in comparisons of their own: instead of the load, which is
/// what is measured, and of clients that move.
pub(super) fn tested(
    options: &Options,
    folder: &TaskFolder,
    place: Place<'_>,
    sides: [&Path; 2],
) -> Result<Recorded, Failure> {
    let (file, options) = place.cell.entered(options, folder)?;
    let run = place.run.with_extension("test");
    let flags =
        flags::Compare { pairs: Some(TEST_PAIRS), out: Some(run), ..place.flags(&folder.task) };
    side_by_side(&options, asking(file, &folder.task)?, flags, (&folder.task, sides))
}

/// A study whose load is the test: once before the window, once in it, where its answer is kept.
fn asking(mut file: StudyFile, task: &Task) -> Result<StudyFile, Failure> {
    let quoted =
        shlex::try_quote(&task.test).map_err(|why| Failure::Usage(format!("test: {why}")))?;
    let load = Load { run: format!("sh -c {quoted}"), every: TEST_EVERY, long_running: false };
    let Study { trial, variants, witness, .. } = &mut file.study;
    trial.window = TEST_EVERY;
    for variant in variants {
        variant.load = Some(VariantLoad::With(load.clone()));
        variant.background = None;
    }
    if let Some(witness) = witness {
        (witness.rounds, witness.drain, witness.hostapd) = (1, Span::default(), false);
    }
    file.overrides.push("load = the task's test".to_owned());
    Ok(file)
}

/// What the floor costs in a cell, µs of CPU a second; `None` where the task has none.
pub(super) fn floor(
    options: &Options,
    folder: &TaskFolder,
    cell: &Cell,
    run: &Path,
) -> Result<Option<f64>, Failure> {
    let Some(floor) = &folder.task.asked.floor else { return Ok(None) };
    let (mut file, options) = cell.entered(options, folder)?;
    let options = &options;
    // It does less than the job: there is no reply to check.
    file.study.witness = None;
    let flags = flags::Run {
        variant: vec![floor.to_string()],
        clients: vec![cell.clients],
        repetitions: Some(FLOOR_TRIALS),
        ..flags::Run::default()
    };
    let file = study::changed(file, &flags)?;
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    let recorded = study::measured(options, study::plain(&flags.on, &symbols), &file, run)?;
    let analysis = analysis::unjudged(&recorded.run, &recorded.trials);
    let cost = analysis.cell(floor, cell.clients).and_then(|cell| cell.cpu.subject);
    let unmeasured = || Failure::Unmeasured(format!("the floor `{floor}` could not be measured"));
    cost.map(|cost| Some(cost.mean)).ok_or_else(unmeasured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::study_file::StudyText;

    fn study(variants: &str) -> StudyFile {
        let text = format!(
            "question = \"?\"\n[access-point]\nclients = [3]\n[subject]\nprocess = \"hostapd\"\n[load]\nrun = \"iw dev\"\n\
             [witness]\nrounds = 10\n[trial]\nwindow = \"10s\"\n{variants}"
        );
        StudyText::named("a", &text).study().unwrap()
    }

    #[test]
    fn what_clients_do_and_when_a_window_opens_is_drawn_and_each_draw_is_a_study() {
        let variants = "[[variant]]\nname = \"a\"\nbackground = \"headroom-agent --move-clients packets=1s\"\n\
                        [[variant]]\nname = \"b\"\nbackground = \"sleep 9\"\n";
        for drawn in [0, 1] {
            let mut file = study(variants);
            let usual = file.study.trial.warm_up;
            Weather::drawn(&mut |ends| ends[drawn]).enter(&mut file);
            assert_eq!(file.overrides.len(), 1);
            let words = file.study.variants[0].background.as_deref().unwrap();
            let expected =
                ["packets=400ms leaves=2500ms roams=2500ms", "packets=1600ms leaves=6s roams=6s"];
            assert_eq!(words, format!("{MOVES_CLIENTS} {}", expected[drawn]));
            assert_eq!(file.study.variants[1].background.as_deref(), Some("sleep 9"));
            let later = file.study.trial.warm_up.as_nanos() - usual.as_nanos();
            assert_eq!(later, [0, 999_000_000][drawn]);
            lab::study_file::check(&file.study).unwrap();
        }
    }

    #[test]
    fn a_secret_window_has_thrice_the_rounds_whatever_their_period() {
        let mut file = study("[[variant]]\nname = \"a\"\n");
        let every = Span::from_nanos(1_400_000_000);
        Cell { every: Some(every), ..Cell::default() }.enter(&mut file);
        assert_eq!(file.study.trial.window, Span::from_secs(3 * 14));
        assert_eq!(file.study.load.as_ref().unwrap().every, every);
        lab::study_file::check(&file.study).unwrap();
    }
}
