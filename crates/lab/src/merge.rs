//! Shards of one run become that run, or it is said why they are none.
//!
//! Shards come from other machines and are not trusted: what they are of must be the same, most of the canaries that each
//! of them made must agree to the nanosecond, and whatever else more than one has must be equal. Which trials a shard makes is
//! [`crate::shard`]'s.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use linux::folder::Folder;
use model::{
    plural::count,
    run::Run,
    shard::{Part, Shard},
    trial::{PlannedTrial, Trial, TrialId},
};

use crate::{
    Error,
    run_folder::{self, OBJECTS, Recorded, RunFolder},
    shard,
    stack_file::proof_of,
};

/// The longest file that a shard brings with its trials, bytes: stacks, or what explains them.
const LONGEST: u64 = 1 << 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub folders: u32,
    pub trials: u32,
    pub canaries: Vec<Canary>,
}

/// A trial that every shard made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canary {
    pub trial: String,
    /// How many shards read what most of them read, to the nanosecond.
    pub alike: u32,
}

/// Merges shards into a new run. What does not fit is refused before anything is written.
pub fn merge(shards: &[Recorded], path: &Path) -> Result<Merged, Error> {
    let first = shards.first().ok_or_else(nothing)?;
    let whole = &part(first)?.whole;
    shards.iter().try_for_each(|other| same_run(first, other))?;
    let (agreed, canaries) = same_canaries(shards, whole)?;
    let trials = union(shards, agreed)?;
    refuse_missing(shards, part(first)?, &trials)?;
    let run = Run {
        plan: whole.clone(),
        part: None,
        began_unix: shards.iter().map(|shard| shard.run.began_unix).min().unwrap_or_default(),
        ..first.run.clone()
    };
    let folder = RunFolder::create(path, &run, &first.study_text)?;
    folder.keep_calibration(&first.calibration)?;
    for shard in shards {
        let source = run_folder::opened(&shard.path)?;
        for (id, (_, trial)) in trials.iter().filter(|(_, (of, _))| of.path == shard.path) {
            bring(&source, &folder, &id.to_string())?;
            folder.keep(trial)?;
        }
        bring_objects(&source, &folder)?;
    }
    Ok(Merged { folders: shards.len() as u32, trials: trials.len() as u32, canaries })
}

pub fn nothing() -> Error {
    Error::Usage("name the folders of a run's shards".to_owned())
}

fn part(recorded: &Recorded) -> Result<&Part, Error> {
    let whole = || format!("{} is no shard: it holds a whole run", recorded.path.display());
    recorded.run.part.as_ref().ok_or_else(|| Error::Usage(whole()))
}

fn same_run(one: &Recorded, other: &Recorded) -> Result<(), Error> {
    let (ours, theirs) = (part(one)?, part(other)?);
    let (a, b) = (&one.run, &other.run);
    let differences = [
        ("number of shards", ours.shard.of() != theirs.shard.of()),
        ("study", a.study != b.study || one.study_text != other.study_text),
        ("plan", ours.whole != theirs.whole),
        ("headroom", a.headroom != b.headroom),
        ("image", a.lab.image != b.lab.image),
    ];
    let counted_by = a.lab.counted_by().into_iter().zip(b.lab.counted_by());
    let others = [
        ("access point", a.lab != b.lab),
        ("question", a.versus != b.versus),
        ("calibration", one.calibration != other.calibration),
    ];
    let differences = differences
        .into_iter()
        .chain(counted_by.map(|((what, ours), (_, theirs))| (what, ours != theirs)))
        .chain(others);
    match differences.into_iter().find(|(_, differs)| *differs) {
        Some((what, _)) => {
            let (one, other) = (one.path.display(), other.path.display());
            Err(Error::Usage(format!(
                "{other} is of another run than {one}: its {what} is another; shards of one run differ in nothing but \
                 their trials"
            )))
        }
        None => Ok(()),
    }
}

/// The trials that every shard made, if all of them read the same in most. What most shards read of a trial counts.
fn same_canaries<'a>(
    shards: &'a [Recorded],
    whole: &[PlannedTrial],
) -> Result<(BTreeMap<TrialId, Found<'a>>, Vec<Canary>), Error> {
    let (mut agreed, mut canaries) = (BTreeMap::new(), Vec::new());
    // Of each shard the trials in which it differs from most, each with a shard that is one of these.
    let mut different: Vec<Vec<(&TrialId, &Recorded)>> = vec![Vec::new(); shards.len()];
    let planned = shard::canaries(whole);
    for trial in planned.iter().map(|planned| &planned.id) {
        let all: Vec<Found<'a>> =
            shards.iter().map(|shard| canary(shard, trial)).collect::<Result<_, _>>()?;
        let alike = |(_, one): &Found<'a>| all.iter().filter(|(_, own)| same(one, own)).count();
        let Some(most) = all.iter().rev().max_by_key(|found| alike(found)) else { continue };
        canaries.push(Canary { trial: trial.to_string(), alike: alike(most) as u32 });
        for ((_, own), different) in all.iter().zip(&mut different) {
            if !same(own, most.1) {
                different.push((trial, most.0));
            }
        }
        agreed.insert(trial.clone(), *most);
    }
    let is_much = |(_, different): &(_, &Vec<_>)| 2 * different.len() > planned.len();
    if let Some((shard, different)) = shards.iter().zip(&different).find(is_much) {
        let (trial, one) = different[0];
        let (one, other) = (one.path.display(), shard.path.display());
        return Err(Error::Invalid(format!(
            "{one} and {other} disagree about {trial}, which every shard makes: their machines do not count alike, and \
             their figures would not be of one lab"
        )));
    }
    Ok((agreed, canaries))
}

fn canary<'a>(shard: &'a Recorded, trial: &TrialId) -> Result<Found<'a>, Error> {
    let own = shard.trials.iter().find(|own| own.planned.id == *trial);
    let own = own.filter(|own| own.reading().is_some()).ok_or_else(|| {
        let shard = shard.path.display();
        Error::Invalid(format!(
            "{shard} has no valid trial {trial}, which every shard makes; go on with it: `headroom run --resume {shard}`"
        ))
    })?;
    Ok((shard, own))
}

fn same(one: &Trial, other: &Trial) -> bool {
    matches!((one.reading(), other.reading()), (Some(one), Some(other)) if shard::alike(one, other))
}

type Found<'a> = (&'a Recorded, &'a Trial);

/// Every trial once: the valid one where a shard has made it again.
fn union<'a>(
    shards: &'a [Recorded],
    agreed: BTreeMap<TrialId, Found<'a>>,
) -> Result<BTreeMap<TrialId, Found<'a>>, Error> {
    let mut all = agreed.clone();
    for shard in shards {
        let others = |trial: &&Trial| !agreed.contains_key(&trial.planned.id);
        for trial in shard.trials.iter().filter(others) {
            let id = trial.planned.id.clone();
            let before = all.get(&id).and_then(|(one, before)| Some((*one, before.reading()?)));
            match (before, trial.reading()) {
                (Some((one, before)), Some(reading)) if !shard::alike(before, reading) => {
                    let (one, other) = (one.path.display(), shard.path.display());
                    return Err(Error::Invalid(format!(
                        "{one} and {other} have trial {id} with different results: one of them is not of this run"
                    )));
                }
                (Some(_), _) => {}
                (None, _) => {
                    all.insert(id, (shard, trial));
                }
            }
        }
    }
    Ok(all)
}

/// Refuses a run that would lack trials. One that could not measure is there: it is what its shard found.
fn refuse_missing(
    shards: &[Recorded],
    Part { shard, whole }: &Part,
    trials: &BTreeMap<TrialId, Found<'_>>,
) -> Result<(), Error> {
    let lacking: BTreeSet<&TrialId> =
        whole.iter().map(|one| &one.id).filter(|id| !trials.contains_key(id)).collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let first = shards.first().ok_or_else(nothing)?;
    let parts = shard::parts(&first.run.study, whole, shard.of());
    let lacks = |part: &Vec<PlannedTrial>| part.iter().any(|one| lacking.contains(&one.id));
    let lacking_ones = Shard::all(shard.of()).zip(parts).filter(|(_, part)| lacks(part));
    let missing = lacking_ones.map(|(shard, _)| {
        let own = shards.iter().find(|one| part(one).is_ok_and(|part| part.shard == shard));
        match own.map(|own| own.path.display()) {
            Some(folder) => {
                format!("shard {shard} (go on with it: `headroom run --resume {folder}`)")
            }
            None => format!("shard {shard} (run it as the others were, with `--shard {shard}`)"),
        }
    });
    let missing = missing.collect::<Vec<_>>().join(", ");
    let of = count(whole.len() as u32, "trial");
    Err(Error::Invalid(format!("{} of {of} are missing: {missing}", lacking.len())))
}

/// What a trial left with its reading.
fn bring(source: &Folder, to: &RunFolder, id: &str) -> Result<(), Error> {
    let stacks = run_folder::stacks_name(id);
    let names = [format!("consoles/{id}.log"), proof_of(&stacks), stacks];
    names.iter().try_for_each(|name| copy(source, name, to))
}

fn bring_objects(source: &Folder, to: &RunFolder) -> Result<(), Error> {
    let Ok(objects) = source.folder(OBJECTS).and_then(|objects| objects.entries()) else {
        return Ok(());
    };
    let mut files = objects.iter().filter(|entry| entry.is_file);
    files.try_for_each(|entry| copy(source, &format!("{OBJECTS}/{}", entry.name), to))
}

fn copy(source: &Folder, name: &str, to: &RunFolder) -> Result<(), Error> {
    let failed = || Error::file("read", source.path_of(name));
    match source.file(name) {
        Ok(file) if file.metadata().map_err(failed())?.len() > LONGEST => {
            Err(failed()(io::ErrorKind::FileTooLarge.into()))
        }
        Ok(file) => to.bring(name, &file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed()(error)),
    }
}
