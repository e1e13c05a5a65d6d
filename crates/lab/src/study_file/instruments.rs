//! The rules for `[profile]` and `[count]`: what may be recorded with counters, and where.

use std::collections::BTreeSet;

use model::{plural::count, study::Function};

use super::{Checked, Rules, gates::unknown_of, lines::ensure};

/// The kernel copies no more of a stack: a record's length is 16 bits (`perf_event_open(2)`).
const LONGEST_COPY: u32 = 65_528;

/// Faster than this a sampler measures itself.
const FASTEST: u32 = 20_000;

/// Registers that hold arguments on every architecture that is known.
const ARGUMENTS: u8 = 6;

impl Rules<'_> {
    pub(super) fn profile(&self) -> Checked {
        let profile = &self.study.profile;
        ensure!(
            (1..=FASTEST).contains(&profile.frequency),
            "profile.frequency",
            "{} a second; 1 to {FASTEST} can be taken",
            count(profile.frequency, "sample")
        );
        let bytes = profile.stack_bytes;
        ensure!(
            bytes <= LONGEST_COPY && bytes.is_multiple_of(8),
            "profile.stack-bytes",
            "a stack copy of {bytes} bytes; it is a multiple of 8, at most {LONGEST_COPY}"
        );
        self.known_variants(&profile.variants, "profile.variants")?;
        self.some_of_the_clients(&profile.clients, "profile.clients")
    }

    pub(super) fn count(&self) -> Checked {
        let Some(count) = &self.study.count else { return Ok(()) };
        let has_functions = !count.functions.is_empty();
        ensure!(has_functions, "count", "no [[count.function]]; nothing is counted");
        ensure!(count.repetitions > 0, "count.repetitions", "at least 1 repetition");
        self.some_of_the_clients(&count.clients, "count.clients")?;
        self.known_variants(&count.variants, "count.variants")?;
        let mut seen = BTreeSet::new();
        for function in &count.functions {
            let name = function.name.as_str();
            let checked = match !name.is_empty() && seen.insert(name) {
                true => self.function(function),
                false => Err("each function needs a name of its own".to_owned()),
            };
            checked
                .map_err(|why| ("count.function".into(), format!("function `{name}`: {why}")))?;
        }
        Ok(())
    }

    /// What a function's keys say must make sense together.
    fn function(&self, function: &Function) -> Result<(), String> {
        let Function { symbol, kernel, of, argument, census, .. } = function;
        let why = match (symbol, kernel) {
            (None, None) => "it needs `symbol` or `kernel`",
            (Some(_), Some(_)) => "`symbol` and `kernel` are two functions; name one",
            (None, Some(_)) if of.is_some() => "the kernel's functions are `of` no file",
            _ if argument.is_some() && !census => {
                "`argument` groups a census; write `census = true` too"
            }
            _ if argument.is_some_and(|argument| argument >= ARGUMENTS) => {
                return Err(format!("arguments 0 to {} are in registers", ARGUMENTS - 1));
            }
            _ => return self.per(function),
        };
        Err(why.to_owned())
    }

    fn per(&self, function: &Function) -> Result<(), String> {
        let Some(per) = &function.per else { return Ok(()) };
        let functions = self.study.count.iter().flat_map(|count| &count.functions);
        let names = functions.map(|other| other.name.as_str());
        let others: Vec<&str> = names.filter(|other| *other != function.name).collect();
        match others.contains(&per.as_str()) {
            true => Ok(()),
            false if others.is_empty() => {
                Err(format!("per the unknown function `{per}`; there is no other"))
            }
            false => Err(format!("per the {}", unknown_of("function", per, &others))),
        }
    }

    /// Client counts must be among the study's: the snapshots are theirs.
    pub(super) fn some_of_the_clients(&self, clients: &[u32], at: &str) -> Checked {
        let known = &self.study.access_point.clients;
        for clients in clients {
            ensure!(
                self.is_cut() || known.contains(clients),
                at,
                "{} are not among the study's, which are {known:?}",
                count(clients, "client")
            );
        }
        Ok(())
    }
}
