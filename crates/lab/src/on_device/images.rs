//! Images that a study's variants name: built on this machine, got onto the device before the trials that run from them,
//! and known by their content.
//!
//! How an image gets there, and what proves that the device runs from it, is [`crate::flash`]'s. Only a study file that
//! somebody names has its commands run; a run's folder does not.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use model::{
    event::Event,
    name::{Sha256Hex, VariantName},
    trial::PlannedTrial,
};

use crate::{
    Error, Lab, cache,
    device_file::DeviceFile,
    flash::{self, Flashed},
    host_command::HostCommand,
    power,
    study_file::StudyFile,
};

const BUILD: Duration = Duration::from_secs(4 * 3600);

/// An image's file, as it was when the run began.
#[derive(Clone, Debug)]
struct Built {
    path: PathBuf,
    sha256: Sha256Hex,
}

#[derive(Debug, Default)]
pub(super) struct Images {
    of: BTreeMap<VariantName, Built>,
    running: Option<Sha256Hex>,
}

impl Images {
    /// Builds what the variants name; all of them or none do, because nobody knows what a device runs from otherwise.
    pub(super) fn build(lab: &Lab, named: &DeviceFile, file: &StudyFile) -> Result<Self, Error> {
        let mut images = Self::default();
        if !file.study.names_images() {
            return Ok(images);
        }
        if named.flash.is_none() {
            return Err(flash::no_way(named));
        }
        for variant in &file.study.variants {
            let why = || format!("variant `{}` names no image, and others do", variant.name);
            let image = variant.image.as_ref().ok_or_else(|| Error::Usage(why()))?;
            if let Some(text) = &image.build {
                build(lab, &file.folder, variant.name.as_str(), text)?;
            }
            let path = file.folder.join(&image.file);
            let sha256 = cache::sum_of_given(&path, &lab.cancel)?;
            images.of.insert(variant.name.clone(), Built { path, sha256 });
        }
        Ok(images)
    }

    /// Whether a variant's image has to get onto the device before its next trial.
    pub(super) fn needs(&self, variant: &VariantName) -> bool {
        let sum = self.sum(variant.as_str());
        sum.is_some() && self.running.as_ref() != sum
    }

    /// Has the device run from a variant's image: `None` where no variant has one.
    pub(super) fn have(
        &mut self,
        lab: &Lab,
        named: &DeviceFile,
        variant: &VariantName,
    ) -> Result<Option<Flashed>, Error> {
        let Some(Built { path, sha256 }) = self.of.get(variant) else { return Ok(None) };
        let now = cache::sum_of_given(path, &lab.cancel)?;
        if now != *sha256 {
            let why = format!("{} was changed while the run went on", path.display());
            return Err(Error::Usage(why));
        }
        // Whatever comes of it, it is not known any more what the device runs from.
        self.running = None;
        let address = power::on(lab, named)?;
        let flashed = flash::flash(lab, named, &address, path)?;
        self.running = Some(sha256.clone());
        Ok(Some(flashed))
    }

    pub(super) fn sum(&self, variant: &str) -> Option<&Sha256Hex> {
        let mut all = self.of.iter();
        all.find_map(|(name, built)| (*name == *variant).then_some(&built.sha256))
    }
}

fn build(lab: &Lab, folder: &Path, variant: &str, text: &str) -> Result<(), Error> {
    let step = "building its image".to_owned();
    lab.emit(Event::DeviceStep { device: variant.to_owned(), step });
    let (device, name, values) = (variant, "image build", &[]);
    HostCommand { device, name, text, folder, values, deadline: BUILD }.run(&lab.cancel).map(drop)
}

/// The same trials with as few changes of image as a drift allows: the first half of each image's trials in the order of
/// the images, then the other halves backwards (A B B A). To flash takes longer than a trial.
pub(crate) fn in_turns(part: Vec<PlannedTrial>) -> Vec<PlannedTrial> {
    let mut images: Vec<(VariantName, Vec<PlannedTrial>)> = Vec::new();
    for trial in part {
        let variant = trial.id.variant.clone();
        match images.iter_mut().find(|(name, _)| *name == variant) {
            Some((_, trials)) => trials.push(trial),
            None => images.push((variant, vec![trial])),
        }
    }
    let halves = images.into_iter().map(|(_, mut trials)| {
        let second = trials.split_off(trials.len().div_ceil(2));
        (trials, second)
    });
    let (first, mut second): (Vec<_>, Vec<_>) = halves.unzip();
    second.reverse();
    first.into_iter().chain(second).flatten().collect()
}

#[cfg(test)]
mod tests {
    use model::{
        share::Share,
        verdict::{Difference, Expect, Pairs, Versus},
    };

    use super::*;
    use crate::{plan, study_file::parse};

    const STUDY: &str = "question = \"?\"\n[access-point]\nclients = [18]\n[subject]\nprocess = \"hostapd\"\n\
                         [[variant]]\nname = \"a\"\nimage = { file = \"a.img\" }\n\
                         [[variant]]\nname = \"b\"\nimage = { file = \"b.img\", build = \"make b.img\" }\n";

    #[test]
    fn images_take_turns_and_each_pair_stays_whole() {
        let versus = Versus {
            base: "a".to_owned(),
            variant: "b".to_owned(),
            cell: model::name::CellName::literal("18"),
            clients: 18,
            difference: Difference::Variants,
            expect: Expect::NoSlower,
            margin: Share::of(0.01),
            pairs: Pairs::Fixed(6),
            changes: Vec::new(),
        };
        let study = parse(STUDY).unwrap();
        assert!(study.names_images());
        let plan = plan::shown(&study, Some(&versus));
        let turns = in_turns(plan.clone());
        let order: String = turns.iter().map(|trial| trial.id.variant.as_str()).collect();
        assert_eq!(order, "aaabbbbbbaaa");
        let mut sorted = (plan, turns);
        let key = |trial: &PlannedTrial| trial.id.to_string();
        sorted.0.sort_by_key(key);
        sorted.1.sort_by_key(key);
        assert_eq!(sorted.0, sorted.1);
    }
}
