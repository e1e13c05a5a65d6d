//! A cell of a task: how many clients, how often they are asked about, how many pairs; and a comparison in it.
//!
//! The known cell is the task's; those of an acceptance are drawn from its seed. Measuring is [`super::super::compare`]'s.

use std::path::Path;

use improve::{Task, TaskFolder, folder::Error, judge::Rule, ledger::Kind};
use lab::{Replaced, run_folder::Recorded, study_file::StudyFile};
use model::{
    experiment::Any,
    name::RelativePath,
    plural::count,
    span::Span,
    study::{Load, VariantLoad},
};

use super::super::{
    compare::{self, Builds},
    kinds, trials,
};
use crate::{
    code_files::SymbolFolders,
    failure::Failure,
    flags::{self, On, OtherFirmware},
    options::Options,
};

/// Periods of a load are drawn in steps of so many ns.
const STEP_NS: u64 = 100_000_000;

/// Trials of the floor in a cell: counted, they hardly differ.
const FLOOR_TRIALS: u32 = 2;

/// Where a comparison is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) clients: u32,
    /// In place of the load's own period.
    every: Option<Span>,
    pairs: u32,
}

impl Cell {
    /// The one that whoever tries knows.
    pub(super) fn known(task: &Task) -> Self {
        Self { clients: task.asked.clients, every: None, pairs: task.asked.pairs }
    }

    /// Those of an acceptance: nobody knows them before it.
    pub(super) fn secret(folder: &TaskFolder, id: u32) -> Result<Vec<Self>, Error> {
        let (acceptance, pairs) = (&folder.task.acceptance, folder.task.asked.pairs);
        let mut draws = folder.draws(id)?;
        let mut between = |[least, most]: [u64; 2]| least + draws.below(most - least + 1);
        let mut cell = || {
            let clients = between(acceptance.clients.map(u64::from)) as u32;
            let steps = between(acceptance.every.map(|every| every.as_nanos().div_ceil(STEP_NS)));
            Self { clients, every: Some(Span::from_nanos(steps * STEP_NS)), pairs }
        };
        Ok((0..acceptance.cells).map(|_| cell()).collect())
    }

    /// What a win is in it.
    pub(super) fn rule(&self, task: &Task, kind: Kind) -> Rule {
        let level = if kind == Kind::Try { analysis::judge::ERROR } else { task.level() };
        Rule { at_least: task.asked.at_least, level, gates: task.gates }
    }

    /// Puts a study into it.
    fn enter(&self, file: &mut StudyFile) {
        let Some(every) = self.every else { return };
        let with = |load: &mut Load| load.every = every;
        file.study.load.iter_mut().for_each(with);
        for variant in &mut file.study.variants {
            if let Some(VariantLoad::With(load)) = &mut variant.load {
                with(load);
            }
        }
        // Whole rounds in the window, and a sample between two of them, as the study had it.
        let trial = &mut file.study.trial;
        let rounds = trial.window.as_nanos().div_ceil(every.as_nanos());
        trial.window = Span::from_nanos(rounds * every.as_nanos());
        trial.sample_every = every;
        let window = trial.window;
        file.overrides.push(format!("load.every = {every}, trial.window = {window}"));
    }
}

/// Where something is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) cell: Cell,
    /// The run's folder.
    pub(super) run: &'a Path,
    /// What the floor costs there, µs of CPU a second.
    pub(super) floor_us: Option<f64>,
}

/// The builds that are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) base: &'a Path,
    /// `None`: the base once more.
    pub(super) program: Option<&'a Path>,
}

/// A task's study.
///
/// # Errors
///
/// [`Failure`] of the file, or where it cannot answer what is asked.
pub(super) fn study(options: &Options, path: &Path, task: &Task) -> Result<StudyFile, Failure> {
    let Any::Clients(file) = kinds::loaded(options, path, &On::Vm)? else {
        let why = "a task's study must be one of clients, which has [access-point]";
        return Err(Failure::Usage(format!("{}: {why}", path.display())));
    };
    improve::judge::check(task, &file.study)
        .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())))?;
    Ok(*file)
}

/// Compares a candidate with the base.
///
/// # Errors
///
/// [`Failure`] of the lab.
pub(super) fn compare(
    options: &Options,
    folder: &TaskFolder,
    place: Place<'_>,
    candidate: Candidate<'_>,
) -> Result<Recorded, Failure> {
    let (task, Place { cell, run, .. }) = (&folder.task, place);
    let mut file = study(options, &folder.study_path(), task)?;
    cell.enter(&mut file);
    let installs_as = task.source.installs_as.as_str();
    let in_image = installs_as.strip_prefix('/');
    let put = |program: &Path| (installs_as.to_owned(), program.to_owned());
    let with = candidate.program.filter(|_| in_image.is_none()).map(put);
    let flags = asked(task, &cell, candidate.program.is_none(), run);
    let flags = flags::Compare { with, ..flags };
    let replacing = |program: &Path| -> Result<Options, Failure> {
        let Some(place) = in_image else { return Ok(options.clone()) };
        let place = place.parse::<RelativePath>();
        let place =
            place.map_err(|wrong| Failure::Usage(format!("source.installs-as: {wrong}")))?;
        Ok(options.replacing(Replaced { place, file: program.to_owned() }))
    };
    let ours = replacing(candidate.base)?;
    let theirs = candidate.program.filter(|_| in_image.is_some()).map(replacing).transpose()?;
    let builds = Builds { base: Some(candidate.base), other: theirs.as_ref() };
    let recorded = compare::carried_out(&ours, file, &flags, builds)?;
    recorded.ok_or_else(|| {
        Failure::Unmeasured(format!("nothing was measured at {}", count(cell.clients, "client")))
    })
}

/// What the floor costs in a cell, µs of CPU a second; `None` where the task has none.
///
/// # Errors
///
/// [`Failure`] of the lab, or where the floor could not be measured.
pub(super) fn floor(
    options: &Options,
    folder: &TaskFolder,
    cell: &Cell,
    run: &Path,
) -> Result<Option<f64>, Failure> {
    let Some(floor) = &folder.task.asked.floor else { return Ok(None) };
    let mut file = study(options, &folder.study_path(), &folder.task)?;
    cell.enter(&mut file);
    // It does less than the job: there is no reply to check.
    file.study.witness = None;
    let flags = flags::Run {
        variant: vec![floor.to_string()],
        clients: vec![cell.clients],
        repetitions: Some(FLOOR_TRIALS),
        ..flags::Run::default()
    };
    let file = trials::changed(file, &flags)?;
    let symbols = SymbolFolders::of(options, &flags.symbols);
    let recorded = trials::measured(options, trials::plain(&flags.on, &symbols), &file, run)?;
    let analysis = analysis::analyse(&recorded.run, &recorded.trials);
    let cost = analysis.cell(floor, cell.clients).and_then(|cell| cell.cpu.subject);
    let unmeasured = || Failure::Unmeasured(format!("the floor `{floor}` could not be measured"));
    cost.map(|cost| Some(cost.mean)).ok_or_else(unmeasured)
}

fn asked(task: &Task, cell: &Cell, twice: bool, run: &Path) -> flags::Compare {
    flags::Compare {
        study: Default::default(),
        base: task.asked.variant.to_string(),
        variant: None,
        with: None,
        other_device: None,
        other: OtherFirmware::default(),
        a_a: twice,
        clients: Some(cell.clients),
        point: flags::Point::default(),
        pairs: Some(cell.pairs),
        up_to: None,
        margin: None,
        expect: None,
        perturb: Vec::new(),
        changes: Vec::new(),
        window: None,
        on: On::Vm,
        dry_run: false,
        out: Some(run.to_owned()),
        open: false,
        symbols: flags::Symbols::default(),
        outputs: flags::Outputs::default(),
    }
}
