//! How long a plan will take: its trials, and before them what the cache lacks.
//!
//! The guesses are `lab`'s; here they become a sentence, or keys of JSON. Nothing is made.

use std::time::Duration;

use indicatif::HumanDuration;
use lab::{missing::Missing, plan};
use model::{plural::count, study::Study, trial::PlannedTrial};
use serde_json::{Value, json};

use crate::{options::Options, output};

#[derive(Clone, Debug)]
pub(crate) struct Estimate {
    trials: Duration,
    /// What is made first.
    missing: Missing,
    making: Duration,
    /// Cores of this machine that the trials share; `None` where they are made on a device.
    cores: Option<usize>,
}

impl Estimate {
    /// For trials on virtual access points.
    pub(crate) fn of(options: &Options, study: &Study, planned: &[PlannedTrial]) -> Self {
        let missing =
            options.look().map(|lab| Missing::of(&lab, study, planned)).unwrap_or_default();
        let making = missing.time(options.workers);
        let trials = plan::estimate(study, planned, options.workers);
        Self { trials, missing, making, cores: Some(options.workers) }
    }

    /// For trials on a device, where they are made one after the other and nothing has to be made first.
    pub(crate) fn on_device(trials: Duration) -> Self {
        Self { trials, missing: Missing::default(), making: Duration::ZERO, cores: None }
    }

    pub(crate) fn trials(&self) -> Duration {
        self.trials
    }

    /// As words: `about 3 minutes on 2 cores, and about 40 seconds more to make …`.
    pub(crate) fn words(&self) -> String {
        let trials = HumanDuration(self.trials);
        let cores = self.cores.map(|cores| format!(" on {}", count(cores as u32, "core")));
        format!("about {trials}{}{}", cores.unwrap_or_default(), self.before())
    }

    /// What is made before the trials; empty where nothing is.
    fn before(&self) -> String {
        let points = self.missing.access_points.len();
        let points = match points {
            0 => None,
            1 => Some("the access point".to_owned()),
            _ => Some(format!("{points} access points")),
        };
        let image = self.missing.image.then(|| "the image".to_owned());
        let made: Vec<String> = image.into_iter().chain(points).collect();
        let is = match self.missing.access_points.len() + usize::from(self.missing.image) {
            0 => return String::new(),
            1 => "is",
            _ => "are",
        };
        let (made, time) = (made.join(" and "), HumanDuration(self.making));
        format!(", and about {time} more to make {made}, which {is} not in the cache")
    }

    pub(crate) fn add_to(&self, plan: &mut Value) {
        let points = self.missing.access_points.iter();
        let points = points.map(|(clients, mode)| json!({ "clients": clients, "mode": mode }));
        plan["estimated_seconds"] = self.trials.as_secs_f64().into();
        plan["not_cached"] = json!({
            "image": self.missing.image,
            "access_points": points.collect::<Vec<_>>(),
            "estimated_seconds": self.making.as_secs_f64(),
        });
    }

    /// Says it before work begins, to people.
    pub(crate) fn say(&self, options: &Options, planned: usize) {
        if planned > 0 && !options.json && !options.quiet {
            output::note(format_args!(
                "plan: {}, {}",
                count(planned as u32, "trial"),
                self.words()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::study::Mode;

    use super::*;

    #[test]
    fn an_estimate_says_what_is_not_in_the_cache() {
        for (image, counts, says) in [
            (false, &[][..], ""),
            (true, &[6], "the image and the access point, which are not in the cache"),
            (false, &[6], "the access point, which is not in the cache"),
            (false, &[6, 18], "2 access points, which are not in the cache"),
        ] {
            let access_points = counts.iter().map(|clients| (*clients, Mode::Counted)).collect();
            let missing = Missing { packages: false, image, access_points };
            let [trials, making] = [180, 60].map(Duration::from_secs);
            let words = Estimate { trials, making, missing, cores: Some(2) }.words();
            let more = format!(", and about 60 seconds more to make {says}");
            let more = if says.is_empty() { says } else { &more };
            assert_eq!(words, format!("about 3 minutes on 2 cores{more}"));
        }
    }
}
