//! Counts each variant's failures, so that the runner can stop measuring one that never works.

use std::collections::BTreeMap;

use model::name::VariantName;

/// A variant is given up when this many of its first trials fail and none succeeds.
pub(crate) const GIVE_UP_AFTER: u32 = 3;

/// Failures of each variant in this execution; `None` once one of its trials succeeded.
#[derive(Debug, Default)]
pub(crate) struct FailureStreaks(BTreeMap<VariantName, Option<u32>>);

impl FailureStreaks {
    /// Whether the rest of a variant is left out: it is missing in the run, which is invalid then.
    pub(crate) fn is_given_up(&self, variant: &VariantName) -> bool {
        matches!(self.0.get(variant), Some(Some(GIVE_UP_AFTER..)))
    }

    pub(crate) fn has_succeeded(&self, variant: &VariantName) -> bool {
        self.0.get(variant) == Some(&None)
    }

    /// Records how a trial ended. Returns the warning to print when that gives the variant up.
    pub(crate) fn record(
        &mut self,
        variant: &VariantName,
        failure: Option<&str>,
    ) -> Option<String> {
        let streak = self.0.entry(variant.clone()).or_insert(Some(0));
        let Some(why) = failure else {
            *streak = None;
            return None;
        };
        let failures = streak.as_mut()?;
        *failures += 1;
        (*failures == GIVE_UP_AFTER).then(|| {
            format!(
                "stopped measuring `{variant}`: its first {GIVE_UP_AFTER} trials failed (the last: {why}). Fix the study or the \
                 program and start a new run; --resume uses the run's own copies of both"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_up_after_three_failures_and_no_success() {
        // x failed, . measured; the trial after which the warning comes; and what is known at the end.
        let cases = [
            ("xx", None, (false, false)),
            ("xxx", Some(3), (true, false)),
            ("xxxxx", Some(3), (true, false)),
            (".xxxxxxxxx", None, (false, true)),
            ("xx.xxx", None, (false, true)),
        ];
        let other = VariantName::literal("other");
        for (trials, expected, end) in cases {
            let (mut streaks, name) = (FailureStreaks::default(), VariantName::literal("polling"));
            streaks.record(&other, Some("no user"));
            let ended = trials.chars().map(|trial| (trial == 'x').then_some("no user"));
            let warnings: Vec<_> = ended.map(|failure| streaks.record(&name, failure)).collect();
            let warned = (1..).zip(&warnings).filter_map(|(at, text)| Some((at, text.as_deref()?)));
            let warned: Vec<_> = warned.collect();
            assert_eq!(warned.first().map(|(at, _)| *at), expected, "{trials}");
            assert!(
                warned
                    .iter()
                    .all(|(_, text)| text.contains("3 trials failed (the last: no user). Fix"))
            );
            assert_eq!((warned.len() > 1, streaks.is_given_up(&other)), (false, false), "{trials}");
            assert_eq!((streaks.is_given_up(&name), streaks.has_succeeded(&name)), end, "{trials}");
        }
    }
}
