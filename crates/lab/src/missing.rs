//! What a plan needs and the cache lacks: the image, access points, and a first guess at how long they take to make.
//!
//! Only looks. It makes nothing, reads no entry as a whole, and takes an entry that is there to be sound.

use std::time::Duration;

use model::{
    study::{AccessPoint, Mode, Study},
    trial::PlannedTrial,
};

use crate::{
    Lab,
    image::{self, Cached},
    plan::{self, Start},
    vm::{Accelerator, Shape, snapshot},
};

/// Fetching the packages and unpacking them, and putting our programs on top: on a 2-core machine with a mirror nearby.
const PACKAGES: Duration = Duration::from_secs(30);
const PROGRAMS: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The image's packages, which come from the network.
    pub packages: bool,
    pub image: bool,
    pub access_points: Vec<(u32, Mode)>,
}

impl Missing {
    /// What the cache lacks of what a study's trials need. An image whose programs cannot be found is lacking too; a device and
    /// this machine need nothing to be made.
    pub fn of(lab: &Lab, study: &Study, trials: &[PlannedTrial]) -> Self {
        let AccessPoint { arch, radios, packages, .. } = &study.access_point;
        let starts = plan::snapshots(trials);
        if starts.is_empty() {
            return Self::default();
        }
        let cached = image::cached(lab, packages).unwrap_or(Cached::Nothing);
        let is_missing = |start: &&Start| match &cached {
            Cached::Image(image) => !is_cached(lab, image, &Shape::of(*arch, *radios, **start)),
            Cached::Base | Cached::Nothing => true,
        };
        let missing = starts.iter().filter(is_missing);
        Self {
            packages: matches!(cached, Cached::Nothing),
            image: !matches!(cached, Cached::Image(_)),
            access_points: missing.map(|start| (start.clients, start.mode)).collect(),
        }
    }

    pub fn is_nothing(&self) -> bool {
        !self.image && self.access_points.is_empty()
    }

    /// A first guess at the wall time that it takes to make, with this many access points raised at a time.
    pub fn time(&self, workers: usize) -> Duration {
        let raised = |(clients, _): &(u32, Mode)| plan::raising(*clients);
        let work: Duration = self.access_points.iter().map(raised).sum();
        let longest = self.access_points.iter().map(raised).max().unwrap_or_default();
        let packages = if self.packages { PACKAGES } else { Duration::ZERO };
        let programs = if self.image { PROGRAMS } else { Duration::ZERO };
        packages + programs + longest.max(work / workers.max(1) as u32)
    }
}

/// In real time it depends on the host what runs a guest; either will do, because to know it a guest has to be tried.
fn is_cached(lab: &Lab, image: &image::Image, shape: &Shape) -> bool {
    [Accelerator::Tcg, Accelerator::Kvm]
        .into_iter()
        .any(|accelerator| snapshot::is_cached(lab, image, &Shape { accelerator, ..shape.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_takes_longer_the_more_it_is() {
        let of = |image, counts: &[u32]| Missing {
            packages: false,
            image,
            access_points: counts.iter().map(|clients| (*clients, Mode::Counted)).collect(),
        };
        assert!(Missing::default().is_nothing());
        assert_eq!(Missing::default().time(2), Duration::ZERO);
        assert!(of(false, &[6]).time(2) < of(true, &[6]).time(2));
        assert_eq!(of(false, &[6, 6]).time(2), of(false, &[6]).time(2));
        assert!(of(false, &[6, 6]).time(1) > of(false, &[6]).time(1));
    }
}
