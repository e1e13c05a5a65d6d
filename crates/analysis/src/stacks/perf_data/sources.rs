//! The records of a recording's files as those of one.
//!
//! A folder of `perf record --threads` has a file for each ring, without rounds: each is in order of time by itself.

use std::io::Read;

use super::records::{Broken, Record, Records};

/// A file that is read, and its record that comes next.
struct Source<R> {
    records: Records<R>,
    ahead: Option<(u64, Record)>,
    is_over: bool,
}

pub(super) struct Sources<R> {
    all: Vec<Source<R>>,
    /// A record that was taken, for its memory.
    free: Record,
}

impl<R: Read> Sources<R> {
    /// The records of the file that has the head, of which one may have been read, and those of the others.
    pub(super) fn new(records: Records<R>, first: Option<Record>, others: Vec<Records<R>>) -> Self {
        let ahead = first.map(|record| (0, record));
        let others =
            others.into_iter().map(|records| Source { records, ahead: None, is_over: false });
        let all =
            std::iter::once(Source { records, ahead, is_over: false }).chain(others).collect();
        Self { all, free: Record::default() }
    }

    /// The oldest of the files' next records; whether there is one. A file that is broken is over, and said once.
    pub(super) fn next(
        &mut self,
        record: &mut Record,
        time: impl Fn(&Record) -> u64,
    ) -> Result<bool, Broken> {
        for (place, source) in self.all.iter_mut().enumerate() {
            if source.ahead.is_some() || source.is_over {
                continue;
            }
            let mut next = std::mem::take(&mut self.free);
            match source.records.next(&mut next) {
                Ok(true) => source.ahead = Some((time(&next), next)),
                end => {
                    source.is_over = true;
                    end.map_err(|broken| match place.checked_sub(1) {
                        Some(ring) => format!("data.{ring}: {broken}"),
                        None => broken,
                    })?;
                }
            }
        }
        let waiting = self.all.iter_mut().filter(|source| source.ahead.is_some());
        let oldest = waiting.min_by_key(|source| source.ahead.as_ref().map(|ahead| ahead.0));
        let Some((_, next)) = oldest.and_then(|source| source.ahead.take()) else {
            return Ok(false);
        };
        self.free = std::mem::replace(record, next);
        Ok(true)
    }
}
