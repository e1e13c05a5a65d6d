//! The rules for `[witness]`: there must be rounds to check, and a reading must fit before the first of them.

use model::{
    plural::count,
    span::Span,
    study::{Load, Variant, WitnessShape},
};

use super::{Fault, Rules};
use crate::plan;

/// Rounds of one window: what was said in each is in the trial's record.
pub const ROUNDS: u32 = 32;

/// The longest that is waited for put-off work.
pub const DRAIN: Span = Span::from_secs(600);

impl Rules<'_> {
    pub(super) fn witness(&self) -> Result<(), Fault> {
        let Some(witness) = &self.study.witness else { return Ok(()) };
        let faults = [self.witness_numbers(witness), self.witness_loads(witness)];
        match faults.into_iter().flatten().next() {
            Some((key, why)) => self.fault(&["witness", key], why),
            None => Ok(()),
        }
    }

    /// The first number that has no meaning.
    fn witness_numbers(&self, witness: &WitnessShape) -> Option<(&'static str, String)> {
        let (age, warm_up) = (witness.age, self.study.trial.warm_up);
        if witness.rounds == 0 {
            let why =
                "0 rounds: nothing would be checked; check at least 1, or leave [witness] out";
            return Some(("rounds", why.to_owned()));
        }
        if witness.rounds > ROUNDS {
            let why = format!("`rounds`: {}; a study has at most {ROUNDS}", witness.rounds);
            return Some(("rounds", why));
        }
        if age == Span::default() {
            let why = "0 s: every value is older than that when its reply is written".to_owned();
            return Some(("age", why));
        }
        if age >= warm_up {
            let why = format!(
                "a reading is taken {age} before the first round, which the warm-up of {warm_up} has no room for"
            );
            return Some(("age", why));
        }
        if witness.drain > DRAIN {
            let why = format!("`drain`: {}; a study has at most {DRAIN}", witness.drain);
            return Some(("drain", why));
        }
        None
    }

    /// The first variant of which no round can be checked.
    fn witness_loads(&self, witness: &WitnessShape) -> Option<(&'static str, String)> {
        let variants = self.study.variants.iter();
        let loaded: Vec<(&Variant, &Load)> =
            variants.filter_map(|variant| Some((variant, self.study.load_of(variant)?))).collect();
        if loaded.is_empty() {
            let why = "no variant has a load, so there is no reply to check".to_owned();
            return Some(("rounds", why));
        }
        loaded.into_iter().find_map(|(variant, load)| self.witness_load(witness, variant, load))
    }

    fn witness_load(
        &self,
        witness: &WitnessShape,
        variant: &Variant,
        load: &Load,
    ) -> Option<(&'static str, String)> {
        let name = &variant.name;
        if load.long_running {
            let why = format!(
                "the load of `{name}` runs all the time and has no rounds to check; give it `every` instead of `long-running`"
            );
            return Some(("rounds", why));
        }
        let rounds = plan::rounds_in(self.study.trial.window, load);
        if u64::from(witness.rounds) > rounds {
            let why = format!(
                "{} are to be checked, but the window of {} holds {rounds} of `{name}`",
                count(witness.rounds, "round"),
                self.study.trial.window
            );
            return Some(("rounds", why));
        }
        if witness.hostapd && self.study.subject_of(variant).process == "hostapd" {
            let why = format!(
                "hostapd is the subject of `{name}`: asking it would cost what is measured; leave `hostapd` out"
            );
            return Some(("hostapd", why));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::study_file::parse;

    fn message(keys: &str) -> String {
        let text = format!(
            "question = \"?\"\n[access-point]\nclients = [3]\n[subject]\nprocess = \"hostapd\"\n{keys}\n\
             [[variant]]\nname = \"a\"\n"
        );
        parse(&text).err().map(|fault| fault.why).unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_checked_is_refused_with_what_to_do() {
        let load = "[load]\nrun = \"iw dev {interface} station dump\"\n";
        let with = |keys: &str| message(&format!("{load}[witness]\n{keys}"));
        assert_eq!(with(""), "");
        assert_eq!(with("rounds = 20\nage = \"4s\"\ndrain = \"0s\"\nseed = 7"), "");
        for (keys, words) in [
            (
                "rounds = 0",
                "0 rounds: nothing would be checked; check at least 1, or leave [witness] out",
            ),
            ("rounds = 33", "a study has at most 32"),
            ("rounds = 21", "21 rounds are to be checked, but the window of 20s holds 20 of `a`"),
            ("age = \"5s\"", "which the warm-up of 5s has no room for"),
            ("age = \"0s\"", "every value is older than that"),
            ("drain = \"11m\"", "a study has at most 10m"),
            ("hostapd = true", "asking it would cost what is measured"),
            ("round = 3", "did you mean `rounds`?"),
        ] {
            assert!(with(keys).contains(words), "{keys}: {}", with(keys));
        }
    }

    #[test]
    fn a_load_without_rounds_is_refused() {
        let none = message("[witness]\nrounds = 4");
        assert!(none.contains("no variant has a load"), "{none}");
        let stays =
            message("[load]\nrun = \"monitor\"\nlong-running = true\n[witness]\nrounds = 4");
        let words = "the load of `a` runs all the time and has no rounds to check";
        assert!(stays.starts_with(words), "{stays}");
        let gate = message("[gates]\nwitness = true");
        assert!(gate.contains("there is no [witness]"), "{gate}");
    }
}
