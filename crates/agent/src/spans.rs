//! Pairs the last beginning of a thread with its next return, which is a call.
//!
//! Pure: it is given hits as the rings give them. Each CPU has a ring of its own and a thread may change its CPU
//! within a call, so hits are put in order of time before they are paired.

use std::collections::BTreeMap;

use model::instrument::CallSpan;

/// Calls of one probe that are kept; further ones are counted only.
pub(crate) const MOST_SPANS: usize = 200_000;

/// A probe's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Which {
    /// The probe's place in the order.
    pub(crate) probe: usize,
    pub(crate) returns: bool,
}

/// One hit of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) time_ns: u64,
    pub(crate) tid: u32,
    pub(crate) which: Which,
    /// The argument, where one was asked for and is known.
    pub(crate) argument: Option<u64>,
}

/// What became of the calls of one probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls {
    /// In the order of their returns.
    pub(crate) spans: Vec<CallSpan>,
    /// Beginnings without an end, and ends without a beginning.
    pub(crate) unpaired: u64,
    /// Calls that were not kept.
    pub(crate) dropped: u64,
}

/// Hits that wait for their turn, and calls that wait for their end.
#[derive(Debug)]
pub(crate) struct Pairing {
    waiting: Vec<Hit>,
    begun: BTreeMap<(usize, u32), Vec<Hit>>,
    calls: Vec<Calls>,
}

impl Pairing {
    pub(crate) fn new(probes: usize) -> Self {
        Self {
            waiting: Vec::with_capacity(1 << 14),
            begun: BTreeMap::new(),
            calls: vec![Calls::default(); probes],
        }
    }

    pub(crate) fn see(&mut self, hit: Hit) {
        self.waiting.push(hit);
    }

    /// Pairs all that happened up to a moment before which every ring has been emptied; what happened
    /// later waits, because another ring may hold what comes before it.
    pub(crate) fn pair(&mut self, until_ns: u64) {
        self.waiting.sort_unstable_by_key(|hit| hit.time_ns);
        let due = self.waiting.partition_point(|hit| hit.time_ns <= until_ns);
        let Self { waiting, begun, calls } = self;
        for hit in waiting.drain(..due) {
            let stack = begun.entry((hit.which.probe, hit.tid)).or_default();
            let Some(calls) = calls.get_mut(hit.which.probe) else { continue };
            if hit.which.returns {
                calls.end(&hit, stack.pop());
            } else {
                stack.push(hit);
            }
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Calls> {
        self.pair(u64::MAX);
        for ((probe, _), stack) in &self.begun {
            if let Some(calls) = self.calls.get_mut(*probe) {
                calls.unpaired += stack.len() as u64;
            }
        }
        self.calls
    }
}

impl Calls {
    fn end(&mut self, hit: &Hit, begun: Option<Hit>) {
        let Some(begun) = begun else {
            self.unpaired += 1;
            return;
        };
        if self.spans.len() == MOST_SPANS {
            self.dropped += 1;
            return;
        }
        let took_ns = hit.time_ns.saturating_sub(begun.time_ns);
        self.spans.push(CallSpan { tid: hit.tid, took_ns, argument: begun.argument });
    }

    /// Keeps the first calls that fit into so many bytes of a frame; how many bytes they take.
    pub(crate) fn fit(&mut self, bytes: usize) -> usize {
        let mut taken = 0;
        let fitting = self.spans.iter().position(|span| {
            taken += length(span);
            taken > bytes
        });
        if let Some(fitting) = fitting {
            self.dropped += (self.spans.len() - fitting) as u64;
            self.spans.truncate(fitting);
        }
        self.spans.iter().map(length).sum()
    }
}

/// Bytes of a call in a frame: three numbers with seven bits in a byte, and a byte for “there is one”.
fn length(span: &CallSpan) -> usize {
    let number = |number: u64| (64 - number.leading_zeros()).div_ceil(7).max(1) as usize;
    number(span.tid.into()) + number(span.took_ns) + 1 + span.argument.map_or(0, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(probe: usize, tid: u32, time_ns: u64, returns: bool) -> Hit {
        let argument = (!returns).then_some(time_ns * 10);
        Hit { time_ns, tid, which: Which { probe, returns }, argument }
    }

    fn took(calls: &Calls) -> Vec<(u32, u64)> {
        calls.spans.iter().map(|span| (span.tid, span.took_ns)).collect()
    }

    #[test]
    fn a_return_belongs_to_the_last_beginning_of_its_thread_and_probe() {
        let mut pairing = Pairing::new(2);
        for (probe, tid, time, returns) in [
            (0, 1, 10, false),
            (0, 2, 11, false),
            (1, 1, 12, false),
            (0, 1, 13, false),
            (0, 1, 15, true),
            (0, 2, 20, true),
            (1, 1, 22, true),
            (0, 1, 30, true),
        ] {
            pairing.see(hit(probe, tid, time, returns));
        }
        let calls = pairing.finish();
        assert_eq!(took(&calls[0]), [(1, 2), (2, 9), (1, 20)]);
        assert_eq!(took(&calls[1]), [(1, 10)]);
        assert_eq!(calls[0].spans[2].argument, Some(100));
        assert_eq!(calls[0].unpaired + calls[1].unpaired, 0);
    }

    #[test]
    fn a_thread_may_return_on_another_cpu_whose_ring_is_read_first() {
        let mut pairing = Pairing::new(1);
        // The second ring was read when the return was there, the first before the beginning was.
        pairing.see(hit(0, 1, 105, true));
        pairing.pair(100);
        pairing.see(hit(0, 1, 101, false));
        pairing.pair(200);
        let calls = pairing.finish();
        assert_eq!((took(&calls[0]), calls[0].unpaired), (vec![(1, 4)], 0));
    }

    #[test]
    fn what_lies_partly_outside_of_the_window_is_counted_and_has_no_span() {
        let mut pairing = Pairing::new(1);
        pairing.see(hit(0, 1, 10, true));
        pairing.see(hit(0, 2, 20, false));
        let calls = pairing.finish();
        assert_eq!((calls[0].spans.len(), calls[0].unpaired), (0, 2));
    }

    #[test]
    fn what_does_not_fit_is_counted_as_dropped() {
        let span = CallSpan { tid: 300, took_ns: 1_000_000, argument: Some(0) };
        let mut calls = Calls { spans: vec![span; 10], ..Calls::default() };
        assert_eq!(length(&span), 2 + 3 + 1 + 1);
        assert_eq!(calls.fit(30), 28);
        assert_eq!((calls.spans.len(), calls.dropped), (4, 6));
        assert_eq!((calls.fit(28), calls.dropped), (28, 6));
    }
}
