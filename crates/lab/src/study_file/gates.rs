//! The rules for what a study decides: what a variant stands against, what it changes, `[gates]`, `[parity]`, `[pause]`,
//! `[compare]`, and how the access point must look.

use std::collections::BTreeSet;

use linux::proc::LONGEST_COMM;
use model::{
    nearest,
    plural::count,
    span::Span,
    study::{Pause, Variant},
    verdict::FEWEST_PAIRS,
};

use super::{
    Checked, Rules, is_no_command,
    lines::{Lines, ensure},
};
use crate::plan;

/// Centres of the channels of 2.4, 5 and 6 GHz, MHz (IEEE 802.11-2020 annex E, 802.11ax).
const CHANNELS: std::ops::RangeInclusive<u32> = 2412..=7115;

impl Rules<'_> {
    /// All of the above but what stands in a variant.
    pub(super) fn decisions(&self) -> Checked {
        self.gates()?;
        self.parity()?;
        self.witness()?;
        self.pause()?;
        self.compare()?;
        self.topology()
    }

    fn gates(&self) -> Checked {
        let Some(gates) = &self.study.gates else { return Ok(()) };
        if let Some(budget) = gates.unknown_frames {
            let at = "gates.unknown-frames";
            ensure!(budget.get() <= 1.0, at, "{budget} of the samples is more than all of them");
            ensure!(
                self.study.profile.repetitions > 0,
                at,
                "nothing is profiled (`[profile] repetitions = 0`), so no frame can be unknown"
            );
        }
        ensure!(
            !gates.parity || self.study.parity.is_some(),
            "gates.parity",
            "there is no [parity]; it says what every variant is asked"
        );
        ensure!(
            !gates.witness || self.study.witness.is_some(),
            "gates.witness",
            "there is no [witness]; it says how many rounds are checked"
        );
        let memory = [
            ("gates.memory-per-client-kib", gates.memory_per_client_kib),
            ("gates.memory-growth-kib", gates.memory_growth_kib),
        ];
        for (at, most) in memory.iter().filter_map(|(at, most)| Some((*at, (*most)?))) {
            ensure!(most.is_finite() && most >= 0.0, at, "{most} KiB is no limit");
        }
        let known = self.study.known();
        gates.limits.iter().try_for_each(|text| {
            let limit = Lines(self.text).limit(text, &known);
            limit.map_err(|why| ("gates.limits".to_owned(), why))
        })
    }

    fn parity(&self) -> Checked {
        let Some(parity) = &self.study.parity else { return Ok(()) };
        ensure!(
            parity.clients.is_some() || !parity.values.is_empty() || parity.leave,
            "parity",
            "nothing is asked; write `clients`, `values`, or `leave = true`"
        );
        ensure!(
            !parity.traffic || !parity.values.is_empty(),
            "parity.traffic",
            "frames are caused for values to be read after them, but there are no `values`"
        );
        let clients = parity.clients.iter().map(|command| ("parity.clients", command));
        let values = parity.values.iter().map(|command| ("parity.values", command));
        clients.chain(values).try_for_each(|(at, command)| is_command(at, command))?;
        self.known_variants(&parity.variants, "parity.variants")
    }

    /// How a variant is asked must be a command, and something must ask.
    pub(super) fn parity_of(&self, variant: &Variant) -> Checked {
        let Some(own) = &variant.parity else { return Ok(()) };
        ensure!(
            self.study.parity.is_some() || self.is_cut(),
            "parity",
            "it says how parity asks it, but there is no [parity]"
        );
        let mut commands = own.clients.iter().chain(own.values.iter().flatten());
        commands.try_for_each(|command| is_command("parity", command))
    }

    fn pause(&self) -> Checked {
        self.own_consumers()?;
        let Some(pause) = &self.study.pause else { return Ok(()) };
        let Pause { process, group, span, settle, .. } = pause;
        ensure!(
            process.is_none() || group.is_none(),
            "pause.group",
            "`process` and `group` are two consumers; name one"
        );
        let own = self.study.variants.iter().any(|variant| variant.pause.is_some());
        ensure!(
            process.is_some() || group.is_some() || own,
            "pause",
            "nothing is paused; name a `process` or a `group`"
        );
        if let Some(name) = process {
            ensure!(!is_no_process(name), "pause.process", "{}", no_process(name));
        }
        ensure!(pause.repetitions > 0, "pause.repetitions", "at least 1 repetition");
        let every = self.study.trial.sample_every;
        let shortest = shortest_span(*settle, every);
        // A step of 0 has been refused before.
        ensure!(
            span.as_nanos() > 0 && span.as_nanos().is_multiple_of(every.as_nanos().max(1)),
            "pause.span",
            "a span of {span} is not a whole number of {every} samples"
        );
        ensure!(
            *span >= shortest,
            "pause.span",
            "a span of {span} has no two samples of {every} once {settle} have settled; the shortest that gives an \
             answer is {shortest}"
        );
        // Spans hold whole rounds of the load, or the load itself makes neighbouring spans differ.
        let variants = self.study.variants.iter();
        let paused = variants.filter(|variant| plan::is_paused(self.study, pause, variant));
        for every in paused.filter_map(|variant| Some(self.study.load_of(variant)?.every)) {
            let round = every.as_nanos().max(1);
            let fits = Span::from_nanos(span.as_nanos().div_ceil(round) * round);
            ensure!(
                *span == fits,
                "pause.span",
                "a span of {span} holds no whole number of load rounds of {every}; {fits} does"
            );
        }
        self.known_variants(&pause.variants, "pause.variants")?;
        self.some_of_the_clients(&pause.clients, "pause.clients")
    }

    fn own_consumers(&self) -> Checked {
        for (at, variant) in self.study.variants.iter().enumerate() {
            let (name, at) = (&variant.name, format!("variant.{at}.pause"));
            let Some(consumer) = &variant.pause else { continue };
            ensure!(!is_no_process(consumer), at, "variant `{name}`: {}", no_process(consumer));
            ensure!(
                self.study.pause.is_some() || self.is_cut(),
                at,
                "variant `{name}`: `{consumer}` is to be paused, but there is no [pause]"
            );
        }
        Ok(())
    }

    fn compare(&self) -> Checked {
        let compare = &self.study.compare;
        let numbers = [
            ("compare.pairs", compare.pairs.unwrap_or(FEWEST_PAIRS)),
            ("compare.up-to", compare.up_to),
        ];
        for (at, pairs) in numbers {
            ensure!(
                pairs >= FEWEST_PAIRS,
                at,
                "{}; with fewer than {FEWEST_PAIRS} the exact p cannot reach 0.05",
                count(pairs, "pair")
            );
        }
        if let Some(margin) = compare.margin {
            ensure!(
                margin.get() > 0.0 && margin.get() < 1.0,
                "compare.margin",
                "a margin of {margin}; it is above 0 and below 100%, for instance 0.5%"
            );
        }
        let mut seen = BTreeSet::new();
        for state in &compare.perturb {
            ensure!(
                seen.insert(state),
                "compare.perturb",
                "the state `{state}` stands there twice"
            );
        }
        Ok(())
    }

    fn topology(&self) -> Checked {
        let place = &self.study.access_point;
        let (mut seen, at) = (BTreeSet::new(), "access-point.interface");
        for interface in &place.interfaces {
            let name = interface.name.as_str();
            let is_name = !name.is_empty() && !name.contains(['/', ' ']);
            ensure!(is_name, at, "`{name}` is not an interface");
            ensure!(seen.insert(name), at, "the interface `{name}` stands there twice");
            if let Some(on) = interface.megahertz {
                ensure!(
                    CHANNELS.contains(&on),
                    at,
                    "`{name}` on {on} MHz; Wi-Fi is on 2412 to 7115"
                );
            }
        }
        let (mut seen, at) = (BTreeSet::new(), "access-point.process");
        for process in &place.processes {
            let name = process.name.as_str();
            ensure!(!is_no_process(name), at, "{}", no_process(name));
            ensure!(seen.insert(name), at, "the process `{name}` stands there twice");
            if let Some(command) = &process.command {
                ensure!(
                    !is_no_command(command),
                    at,
                    "the command line of `{name}` is empty or has an open quote: `{command}`"
                );
            }
        }
        Ok(())
    }

    /// Variants that a table names must be there, unless the command line left them out.
    pub(super) fn known_variants(&self, names: &[String], at: &str) -> Checked {
        let known: Vec<&str> = self.study.variants.iter().map(|one| one.name.as_str()).collect();
        for name in names {
            let is_known = self.is_cut() || known.contains(&name.as_str());
            ensure!(is_known, at, "{}", unknown_of("variant", name, &known));
        }
        Ok(())
    }

    /// Variants that are compared with must be there, once, and others.
    pub(super) fn against(&self, variant: &Variant) -> Checked {
        let variants = self.study.variants.iter().map(|one| one.name.as_str());
        let others: Vec<&str> = variants.filter(|name| variant.name != *name).collect();
        let mut seen = BTreeSet::new();
        for name in variant.against.iter().map(String::as_str) {
            ensure!(variant.name != name, "against", "it stands against itself");
            ensure!(
                others.contains(&name),
                "against",
                "against the {}",
                unknown_of("variant", name, &others)
            );
            ensure!(seen.insert(name), "against", "it stands against `{name}` twice");
        }
        Ok(())
    }

    /// What a variant changes must be counted: only so can it be seen whether it ran.
    pub(super) fn changes(&self, variant: &Variant) -> Checked {
        let functions = self.study.count.iter().flat_map(|count| &count.functions);
        let known: Vec<&str> = functions.map(|function| function.name.as_str()).collect();
        for name in &variant.changes {
            ensure!(
                !known.is_empty(),
                "changes",
                "it changes `{name}`, but nothing is counted; name it in a [[count.function]]"
            );
            ensure!(
                known.contains(&name.as_str()),
                "changes",
                "it changes the {}",
                unknown_of("function", name, &known)
            );
        }
        Ok(())
    }
}

fn is_command(at: &str, command: &str) -> Checked {
    ensure!(
        !is_no_command(command),
        at,
        "the command line is empty or has an open quote: `{command}`"
    );
    Ok(())
}

/// A name that is not known, with the one that was meant or all that there are.
pub(super) fn unknown_of(what: &str, name: &str, known: &[&str]) -> String {
    format!("unknown {what} `{name}`; {}", nearest::or_all(name, known, "there are:"))
}

/// Whether no process and no thread of the kernel can be called so. Those of the kernel have slashes and spaces in their
/// names, as `ksoftirqd/0` and `mt76-tx phy0`; a path and a command line do not fit into what it keeps of a name.
pub(super) fn is_no_process(name: &str) -> bool {
    let has_arguments = name.contains(" -") || name.ends_with(' ');
    let is_path = name.starts_with(['/', '.', '~']) || has_arguments;
    let is_long = name.len() > LONGEST_COMM && name.contains(['/', ' ']);
    name.is_empty() || is_path || is_long || name.contains(char::is_control)
}

pub(super) fn no_process(name: &str) -> String {
    format!("`{name}` is not a process name; it is the program's, without a folder and arguments")
}

/// The shortest span in which two samples are left: the first one after settling, and the last one before the end.
fn shortest_span(settle: Span, every: Span) -> Span {
    let every = every.as_nanos().max(1);
    Span::from_nanos((settle.as_nanos() / every + 3).saturating_mul(every))
}
