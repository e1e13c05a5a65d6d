//! Says when which span begins, in samples. Pure.

use model::pause::{PauseSpan, PauseState};

/// The window's spans by the samples that begin them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// The sample at which a span begins, and what happens in it.
    begins: Vec<(u64, PauseState)>,
    /// The last sample, which ends the last span.
    ends: u64,
}

impl Schedule {
    /// The schedule of a window of so many intervals between samples.
    pub(crate) fn of(spans: &[PauseSpan], intervals: u64) -> Result<Self, String> {
        let mut begins = Vec::with_capacity(spans.len());
        let mut ends = 0;
        for span in spans {
            if span.intervals == 0 {
                return Err("a span of no interval was ordered".to_owned());
            }
            begins.push((ends, span.state));
            ends += u64::from(span.intervals);
        }
        if ends != intervals || spans.is_empty() {
            return Err(format!(
                "the spans are {ends} sampling intervals, and the window is {intervals}"
            ));
        }
        Ok(Self { begins, ends })
    }

    /// What changes at a sample: the state that begins, or that the last one ends.
    pub(crate) fn change_at(&self, sample: u64) -> Option<Option<PauseState>> {
        if sample == self.ends {
            return Some(None);
        }
        let place = self.begins.binary_search_by_key(&sample, |&(begins, _)| begins).ok()?;
        self.begins.get(place).map(|&(_, state)| Some(state))
    }

    /// Whether a state is in it.
    pub(crate) fn has(&self, state: PauseState) -> bool {
        self.begins.iter().any(|&(_, one)| one == state)
    }
}

#[cfg(test)]
mod tests {
    use PauseState::{Runs, Sham, Stopped};

    use super::*;

    fn span(state: PauseState, intervals: u32) -> PauseSpan {
        PauseSpan { state, intervals }
    }

    #[test]
    fn a_span_begins_where_the_one_before_ends_and_the_last_sample_ends_all() {
        let spans = [span(Runs, 2), span(Stopped, 1), span(Sham, 2)];
        let schedule = Schedule::of(&spans, 5).unwrap();
        let changes: Vec<_> = (0..7).map(|sample| schedule.change_at(sample)).collect();
        let expected =
            [Some(Some(Runs)), None, Some(Some(Stopped)), Some(Some(Sham)), None, Some(None), None];
        assert_eq!(changes, expected);
        assert!(schedule.has(Sham) && schedule.has(Stopped));
    }

    #[test]
    fn spans_that_are_not_the_window_are_refused() {
        assert!(Schedule::of(&[span(Runs, 4)], 5).unwrap_err().contains("4 sampling intervals"));
        assert!(Schedule::of(&[], 0).is_err());
        assert!(Schedule::of(&[span(Runs, 0), span(Runs, 5)], 5).is_err());
    }
}
