//! What clients may spend in all, and the sentence that refuses more. Pure.

/// What jobs have taken, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) trials: u64,
    /// Seconds that pass on access points.
    pub(super) seconds: f64,
}

impl Cost {
    pub(super) fn and(self, other: Self) -> Self {
        Self { trials: self.trials + other.trials, seconds: self.seconds + other.seconds }
    }
}

/// What may be spent; `None` where there is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    pub(super) trials: Option<u64>,
    /// Seconds on access points.
    pub(super) seconds: Option<f64>,
}

impl Budget {
    /// What is said where more than all of it was taken.
    pub(super) fn overdrawn(&self, taken: Cost) -> Option<String> {
        let trials = self.trials.filter(|limit| taken.trials > *limit);
        let seconds = self.seconds.filter(|limit| taken.seconds > *limit);
        let limit = match (trials, seconds) {
            (Some(limit), _) => format!("{limit} trials"),
            (None, Some(limit)) => format!("{limit:.0} seconds on access points"),
            (None, None) => return None,
        };
        Some(format!("the budget of {limit} is spent; ask whoever started the server for more"))
    }

    /// Refuses what would go beyond it.
    pub(super) fn allow(&self, spent: Cost, wanted: Cost) -> Result<(), String> {
        let after = spent.and(wanted);
        if let Some(limit) = self.trials.filter(|limit| after.trials > *limit) {
            let left = limit.saturating_sub(spent.trials);
            return Err(format!(
                "the budget has {left} of {limit} trials left and this takes {}; ask for fewer, or ask whoever started \
                 the server for more (--budget-trials)",
                wanted.trials
            ));
        }
        if let Some(limit) = self.seconds.filter(|limit| after.seconds > *limit) {
            let left = (limit - spent.seconds).max(0.0);
            return Err(format!(
                "the budget has {left:.0} of {limit:.0} seconds on access points left and this takes {:.0}; ask for fewer \
                 or shorter trials, or ask whoever started the server for more (--budget-seconds)",
                wanted.seconds
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_budget_may_be_spent_and_no_more() {
        let budget = Budget { trials: Some(10), seconds: Some(60.0) };
        let cost = |trials, seconds| Cost { trials, seconds };
        assert_eq!(budget.allow(cost(4, 30.0), cost(6, 30.0)), Ok(()));
        assert!(budget.allow(cost(4, 0.0), cost(7, 0.0)).unwrap_err().contains("6 of 10 trials"));
        assert!(budget.allow(cost(0, 59.0), cost(1, 2.0)).unwrap_err().contains("1 of 60 seconds"));
        assert_eq!(budget.overdrawn(cost(10, 60.0)), None);
        assert!(budget.overdrawn(cost(10, 60.5)).unwrap().contains("60 seconds"));
    }
}
