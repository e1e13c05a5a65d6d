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

/// The longest file that a shard brings alongside its trials, bytes: stacks, or what explains them.
const LONGEST: u64 = 1 << 30;

/// What was made of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    pub folders: u32,
    pub trials: u32,
    /// The trials that all of them made.
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
    let canaries = same_canaries(shards, whole)?;
    let said = canaries.iter().map(|(trial, agreed)| how_alike(shards, trial, agreed)).collect();
    let trials = union(shards, canaries)?;
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
    Ok(Merged { folders: shards.len() as u32, trials: trials.len() as u32, canaries: said })
}

/// That no folder was named.
pub fn nothing() -> Error {
    Error::Usage("name the folders of a run's shards".to_owned())
}

fn part(recorded: &Recorded) -> Result<&Part, Error> {
    let whole = || format!("{} is no shard: it holds a whole run", recorded.path.display());
    recorded.run.part.as_ref().ok_or_else(|| Error::Usage(whole()))
}

/// Whether two shards are of one run: asked the same, planned the same, made of the same.
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

/// The trials that every shard made, once it is known that all of them read the same in most: of each, what most shards
/// read is what it is.
fn same_canaries<'a>(
    shards: &'a [Recorded],
    whole: &[PlannedTrial],
) -> Result<BTreeMap<TrialId, Found<'a>>, Error> {
    let ids: Vec<TrialId> = shard::canaries(whole).into_iter().map(|one| one.id.clone()).collect();
    let mut agreed = BTreeMap::new();
    for trial in &ids {
        let mut all = Vec::new();
        for shard in shards {
            let own = shard.trials.iter().find(|own| own.planned.id == *trial);
            let own = own.filter(|own| own.reading().is_some()).ok_or_else(|| {
                let shard = shard.path.display();
                Error::Invalid(format!(
                    "{shard} has no valid trial {trial}, which every shard makes; go on with it: `headroom run --resume \
                     {shard}`"
                ))
            })?;
            all.push((shard, own));
        }
        let alike = |(_, one): &Found<'a>| all.iter().filter(|(_, own)| same(one, own)).count();
        let most = all.iter().rev().max_by_key(|found| alike(found)).copied();
        agreed.extend(most.map(|found| (trial.clone(), found)));
    }
    for shard in shards {
        let differs = |(trial, agreed): &(&TrialId, &Found<'a>)| !reads(shard, trial, agreed.1);
        let different: Vec<_> = agreed.iter().filter(differs).collect();
        if let Some((trial, (one, _))) =
            different.first().filter(|_| 2 * different.len() > ids.len())
        {
            let (one, other) = (one.path.display(), shard.path.display());
            return Err(Error::Invalid(format!(
                "{one} and {other} disagree about {trial}, which every shard makes: their machines do not count alike, and \
                 their figures would not be of one lab"
            )));
        }
    }
    Ok(agreed)
}

/// Whether a shard read of a trial what most did.
fn reads(shard: &Recorded, trial: &TrialId, agreed: &Trial) -> bool {
    let own = shard.trials.iter().find(|own| own.planned.id == *trial);
    own.is_some_and(|own| same(own, agreed))
}

fn how_alike(shards: &[Recorded], trial: &TrialId, agreed: &Found<'_>) -> Canary {
    let alike = shards.iter().filter(|shard| reads(shard, trial, agreed.1)).count() as u32;
    Canary { trial: trial.to_string(), alike }
}

fn same(one: &Trial, other: &Trial) -> bool {
    matches!((one.reading(), other.reading()), (Some(one), Some(other)) if shard::alike(one, other))
}

/// A trial, and the shard that it is of.
type Found<'a> = (&'a Recorded, &'a Trial);

/// Every trial once: the valid one where a shard has made it again.
fn union<'a>(
    shards: &'a [Recorded],
    canaries: BTreeMap<TrialId, Found<'a>>,
) -> Result<BTreeMap<TrialId, Found<'a>>, Error> {
    let is_canary: BTreeSet<TrialId> = canaries.keys().cloned().collect();
    let mut all = canaries;
    for shard in shards {
        for trial in &shard.trials {
            let id = trial.planned.id.clone();
            if is_canary.contains(&id) {
                continue;
            }
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

/// What a trial left alongside its reading.
fn bring(source: &Folder, to: &RunFolder, id: &str) -> Result<(), Error> {
    let stacks = run_folder::stacks_name(id);
    let names = [format!("consoles/{id}.log"), proof_of(&stacks), stacks];
    names.iter().try_for_each(|name| copy(source, name, to))
}

/// The files that explain stacks, by content.
fn bring_objects(source: &Folder, to: &RunFolder) -> Result<(), Error> {
    let Ok(objects) = source.folder(OBJECTS).and_then(|objects| objects.entries()) else {
        return Ok(());
    };
    let mut files = objects.iter().filter(|entry| entry.is_file);
    files.try_for_each(|entry| copy(source, &format!("{OBJECTS}/{}", entry.name), to))
}

/// Copies a file of a shard's folder, where it is there.
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
