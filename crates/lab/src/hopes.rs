//! Which variants are measured no further: their first trials of this execution all failed.
//!
//! Pure: it is given how each trial ended. A trial that is left out is missing in the run, which is invalid then.

use std::collections::BTreeMap;

use model::name::VariantName;

/// So many of a variant's first trials fail before the rest is left out.
pub(crate) const FIRST: u32 = 3;

/// What is known of each variant.
#[derive(Debug, Default)]
pub(crate) struct Hopes(BTreeMap<VariantName, Hope>);

/// A variant's first trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hope {
    /// So many failed, and none was well.
    Failed(u32),
    /// One was well: from here on every failure is one trial's own.
    Some,
}

impl Hopes {
    /// Whether the rest of a variant is left out.
    pub(crate) fn is_lost(&self, variant: &VariantName) -> bool {
        matches!(self.0.get(variant), Some(Hope::Failed(FIRST..)))
    }

    /// Whether a trial of a variant was well.
    pub(crate) fn is_well(&self, variant: &VariantName) -> bool {
        self.0.get(variant) == Some(&Hope::Some)
    }

    /// Takes the end of a trial, with the reason where it failed; returns what is to be reported once, where the rest of
    /// its variant is left out from now on.
    pub(crate) fn see(&mut self, variant: &VariantName, invalid: Option<&str>) -> Option<String> {
        let hope = self.0.entry(variant.clone()).or_insert(Hope::Failed(0));
        match (*hope, invalid) {
            (Hope::Some, _) | (_, None) => *hope = Hope::Some,
            (Hope::Failed(before), Some(_)) => *hope = Hope::Failed(before + 1),
        }
        (*hope == Hope::Failed(FIRST)).then(|| {
            format!(
                "stopped measuring `{variant}`: its first {FIRST} trials failed (the last: {}). Fix the study or the program \
                 and start a new run; --resume uses the run's own copies of both",
                invalid.unwrap_or_default()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_first_failures_end_a_variant_and_are_reported_once() {
        let (lost, well) = (VariantName::literal("lost"), VariantName::literal("well"));
        let mut hopes = Hopes::default();
        assert_eq!(hopes.see(&lost, Some("no user")), None);
        assert_eq!(hopes.see(&well, Some("no user")), None);
        assert_eq!(hopes.see(&lost, Some("no user")), None);
        assert!(!hopes.is_lost(&lost));
        let message = hopes.see(&lost, Some("no user")).unwrap();
        assert!(
            message.contains("first 3 trials failed (the last: no user). Fix the study or the program and start a new run"),
            "{message}"
        );
        assert!(hopes.is_lost(&lost) && !hopes.is_lost(&well));
        assert_eq!(hopes.see(&lost, Some("no user")), None);
    }

    #[test]
    fn a_variant_that_was_measured_once_is_measured_to_the_end() {
        let name = VariantName::literal("flaky");
        let mut hopes = Hopes::default();
        assert_eq!(hopes.see(&name, None), None);
        assert!((0..9).all(|_| hopes.see(&name, Some("late")).is_none()));
        assert!(!hopes.is_lost(&name));
    }
}
