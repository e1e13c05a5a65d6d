//! The rules for `[witness]`: there must be rounds to check, and a reading must fit before the first of them.

use model::{plural::count, span::Span, study::WitnessShape};

use super::{Checked, Rules, lines::ensure};
use crate::plan;

/// Rounds of one window: what was said in each is in the trial's record.
const ROUNDS: u32 = 32;

const DRAIN: Span = Span::from_secs(600);

impl Rules<'_> {
    pub(super) fn witness(&self) -> Checked {
        let Some(witness) = &self.study.witness else { return Ok(()) };
        let WitnessShape { rounds, age, drain, hostapd, .. } = *witness;
        let (at, warm_up, window) =
            ("witness.rounds", self.study.trial.warm_up, self.study.trial.window);
        ensure!(
            rounds > 0,
            at,
            "0 rounds: nothing would be checked; check at least 1, or leave [witness] out"
        );
        ensure!(rounds <= ROUNDS, at, "`rounds`: {rounds}; a study has at most {ROUNDS}");
        ensure!(
            age > Span::default(),
            "witness.age",
            "0 s: every value is older than that when its reply is written"
        );
        ensure!(
            age < warm_up,
            "witness.age",
            "a reading is taken {age} before the first round, which the warm-up of {warm_up} has no room for"
        );
        ensure!(drain <= DRAIN, "witness.drain", "`drain`: {drain}; a study has at most {DRAIN}");
        let variants = self.study.variants.iter();
        let loads = variants.filter_map(|one| Some((one, self.study.load_of(one)?)));
        let has_load = loads.clone().next().is_some();
        ensure!(has_load, at, "no variant has a load, so there is no reply to check");
        for (variant, load) in loads {
            let (name, holds) = (&variant.name, plan::rounds_in(window, load));
            ensure!(
                !load.long_running,
                at,
                "the load of `{name}` runs all the time and has no rounds to check; give it `every` instead of `long-running`"
            );
            ensure!(
                u64::from(rounds) <= holds,
                at,
                "{} are to be checked, but the window of {window} holds {holds} of `{name}`",
                count(rounds, "round")
            );
            ensure!(
                !hostapd || self.study.subject_of(variant).process != "hostapd",
                "witness.hostapd",
                "hostapd is the subject of `{name}`: asking it would cost what is measured; leave `hostapd` out"
            );
        }
        Ok(())
    }
}
