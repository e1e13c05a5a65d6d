//! The rules for what a study decides: whom a variant stands against, what it changes, `[gates]`,
//! `[parity]`, `[pause]`, `[compare]`, and how the access point must look.

use std::collections::BTreeSet;

use model::{
    nearest,
    span::Span,
    study::{Gates, Pause, Variant},
    verdict::FEWEST_PAIRS,
};

use linux::proc::LONGEST_COMM;

use super::{Fault, Rules, is_no_command, lines::Lines};
use crate::plan;

/// Centres of the channels of 2.4, 5 and 6 GHz, MHz (IEEE 802.11-2020 annex E, 802.11ax).
const CHANNELS: std::ops::RangeInclusive<u32> = 2412..=7115;

impl Rules<'_> {
    /// All of the above but what stands in a variant.
    pub(super) fn decisions(&self) -> Result<(), Fault> {
        self.gates()?;
        self.parity()?;
        self.witness()?;
        self.pause()?;
        self.compare()?;
        self.topology()
    }

    fn gates(&self) -> Result<(), Fault> {
        let Some(gates) = &self.study.gates else { return Ok(()) };
        self.budgets(gates)?;
        Lines(self.text).limits(&gates.limits, &self.study.known())
    }

    fn budgets(&self, gates: &Gates) -> Result<(), Fault> {
        let at = |key| ["gates", key];
        if let Some(budget) = gates.unknown_frames {
            if budget.get() > 1.0 {
                let why = format!("{budget} of the samples is more than all of them");
                return self.fault(&at("unknown-frames"), why);
            }
            if self.study.profile.repetitions == 0 {
                let why =
                    "nothing is profiled (`[profile] repetitions = 0`), so no frame can be unknown";
                return self.fault(&at("unknown-frames"), why.to_owned());
            }
        }
        if gates.parity && self.study.parity.is_none() {
            let why = "there is no [parity]; it says what every variant is asked";
            return self.fault(&at("parity"), why.to_owned());
        }
        if gates.witness && self.study.witness.is_none() {
            let why = "there is no [witness]; it says how many rounds are checked";
            return self.fault(&at("witness"), why.to_owned());
        }
        let memory = [
            ("memory-per-client-kib", gates.memory_per_client_kib),
            ("memory-growth-kib", gates.memory_growth_kib),
        ];
        for (key, most) in memory {
            if let Some(most) = most.filter(|most| !most.is_finite() || *most < 0.0) {
                return self.fault(&at(key), format!("{most} KiB is no limit"));
            }
        }
        Ok(())
    }

    fn parity(&self) -> Result<(), Fault> {
        let Some(parity) = &self.study.parity else { return Ok(()) };
        if parity.clients.is_none() && parity.values.is_empty() && !parity.leave {
            let why = "nothing is asked; write `clients`, `values`, or `leave = true`";
            return self.fault(&["parity"], why.to_owned());
        }
        if parity.traffic && parity.values.is_empty() {
            let why =
                "frames are caused for values to be read after them, but there are no `values`";
            return self.fault(&["parity", "traffic"], why.to_owned());
        }
        let clients = parity.clients.iter().map(|command| ("clients", command));
        let values = parity.values.iter().map(|command| ("values", command));
        for (key, command) in clients.chain(values) {
            if is_no_command(command) {
                let why = format!("the command line is empty or has an open quote: `{command}`");
                return self.fault(&["parity", key], why);
            }
        }
        self.known_variants(&parity.variants, &["parity", "variants"])
    }

    /// How a variant is asked must be a command, and something must ask.
    pub(super) fn asked(&self, variant: &Variant) -> Result<(), String> {
        let Some(own) = &variant.parity else { return Ok(()) };
        if self.study.parity.is_none() && !self.text.is_empty() {
            return Err("it says how parity asks it, but there is no [parity]".to_owned());
        }
        let mut commands = own.clients.iter().chain(own.values.iter().flatten());
        match commands.find(|command| is_no_command(command)) {
            Some(command) => {
                Err(format!("the command line is empty or has an open quote: `{command}`"))
            }
            None => Ok(()),
        }
    }

    fn pause(&self) -> Result<(), Fault> {
        self.own_consumers()?;
        let Some(pause) = &self.study.pause else { return Ok(()) };
        let at = |key| ["pause", key];
        let own = self.study.variants.iter().any(|variant| variant.pause.is_some());
        match (&pause.process, &pause.group) {
            (Some(_), Some(_)) => {
                let why = "`process` and `group` are two consumers; name one".to_owned();
                return self.fault(&at("group"), why);
            }
            (None, None) if !own => {
                let why = "nothing is paused; name a `process` or a `group`".to_owned();
                return self.fault(&["pause"], why);
            }
            (Some(name), None) if is_no_process(name) => {
                return self.fault(&at("process"), no_process(name));
            }
            _ => {}
        }
        if pause.repetitions == 0 {
            return self.fault(&at("repetitions"), "at least 1 repetition".to_owned());
        }
        let every = self.study.trial.sample_every;
        let span = pause.span.as_nanos();
        // A step of 0 has been refused before.
        if span == 0 || !span.is_multiple_of(every.as_nanos().max(1)) {
            let why = format!("a span of {} is not a whole number of {every} samples", pause.span);
            return self.fault(&at("span"), why);
        }
        let shortest = shortest_span(pause.settle, every);
        if span < shortest.as_nanos() {
            let why = format!(
                "a span of {} has no two samples of {every} once {} have settled; the shortest that gives an \
                 answer is {shortest}",
                pause.span, pause.settle
            );
            return self.fault(&at("span"), why);
        }
        self.whole_rounds(pause)?;
        self.known_variants(&pause.variants, &at("variants"))?;
        self.some_of_the_clients(&pause.clients, &at("clients"))
    }

    /// Spans hold whole rounds of the load, or the load itself makes neighbouring spans differ.
    fn whole_rounds(&self, pause: &Pause) -> Result<(), Fault> {
        let variants = self.study.variants.iter();
        let paused = variants.filter(|variant| plan::is_paused(self.study, pause, variant));
        for load in paused.filter_map(|variant| self.study.load_of(variant)) {
            let every = load.every.as_nanos().max(1);
            if !pause.span.as_nanos().is_multiple_of(every) {
                let fits = Span::from_nanos(pause.span.as_nanos().div_ceil(every) * every);
                let why = format!(
                    "a span of {} holds no whole number of load rounds of {}; {fits} does",
                    pause.span, load.every
                );
                return self.fault(&["pause", "span"], why);
            }
        }
        Ok(())
    }

    fn own_consumers(&self) -> Result<(), Fault> {
        for variant in &self.study.variants {
            let Some(consumer) = &variant.pause else { continue };
            let refused = |why: String| {
                let line = self.key_line(&variant.name, "pause");
                Err(Fault { line, why: format!("variant `{}`: {why}", variant.name) })
            };
            if is_no_process(consumer) {
                return refused(no_process(consumer));
            }
            if self.study.pause.is_none() && !self.text.is_empty() {
                return refused(format!("`{consumer}` is to be paused, but there is no [pause]"));
            }
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), Fault> {
        let compare = &self.study.compare;
        let numbers = [("pairs", compare.pairs.unwrap_or(FEWEST_PAIRS)), ("up-to", compare.up_to)];
        if let Some((key, pairs)) = numbers.into_iter().find(|(_, pairs)| *pairs < FEWEST_PAIRS) {
            let why = format!(
                "{}; with fewer than {FEWEST_PAIRS} the exact p cannot reach 0.05",
                model::plural::count(pairs, "pair")
            );
            return self.fault(&["compare", key], why);
        }
        if let Some(margin) =
            compare.margin.filter(|margin| margin.get() <= 0.0 || margin.get() >= 1.0)
        {
            let why =
                format!("a margin of {margin}; it is above 0 and below 100%, for instance 0.5%");
            return self.fault(&["compare", "margin"], why);
        }
        let mut seen = BTreeSet::new();
        match compare.perturb.iter().find(|state| !seen.insert(**state)) {
            Some(twice) => {
                let why = format!("the state `{twice}` stands there twice");
                self.fault(&["compare", "perturb"], why)
            }
            None => Ok(()),
        }
    }

    fn topology(&self) -> Result<(), Fault> {
        let place = &self.study.access_point;
        let mut seen = BTreeSet::new();
        for interface in &place.interfaces {
            let refused = |why: String| self.fault(&["access-point", "interface"], why);
            let name = interface.name.as_str();
            if name.is_empty() || name.contains(['/', ' ']) {
                return refused(format!("`{name}` is not an interface"));
            }
            if !seen.insert(name) {
                return refused(format!("the interface `{name}` stands there twice"));
            }
            if let Some(at) = interface.megahertz.filter(|at| !CHANNELS.contains(at)) {
                return refused(format!("`{name}` on {at} MHz; Wi-Fi is on 2412 to 7115"));
            }
        }
        let mut seen = BTreeSet::new();
        for process in &place.processes {
            let refused = |why: String| self.fault(&["access-point", "process"], why);
            let name = process.name.as_str();
            if is_no_process(name) {
                return refused(no_process(name));
            }
            if !seen.insert(name) {
                return refused(format!("the process `{name}` stands there twice"));
            }
            if let Some(command) = process.command.as_ref().filter(|words| is_no_command(words)) {
                let why = format!(
                    "the command line of `{name}` is empty or has an open quote: `{command}`"
                );
                return refused(why);
            }
        }
        Ok(())
    }

    /// Variants that a table names must be there, unless the command line left them out.
    pub(super) fn known_variants(&self, names: &[String], at: &[&str]) -> Result<(), Fault> {
        if self.text.is_empty() {
            return Ok(());
        }
        let known: Vec<&str> = self.study.variants.iter().map(|one| one.name.as_str()).collect();
        match names.iter().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => self.fault(at, unknown_of("variant", unknown, &known)),
            None => Ok(()),
        }
    }

    /// Variants that are compared with must be there, once, and others.
    pub(super) fn against(&self, variant: &Variant) -> Result<(), String> {
        let variants = self.study.variants.iter().map(|one| one.name.as_str());
        let others: Vec<&str> = variants.filter(|name| variant.name != *name).collect();
        let mut seen = BTreeSet::new();
        for name in variant.against.iter().map(String::as_str) {
            if variant.name == name {
                return Err("it stands against itself".to_owned());
            }
            if !others.contains(&name) {
                return Err(format!("against the {}", unknown_of("variant", name, &others)));
            }
            if !seen.insert(name) {
                return Err(format!("it stands against `{name}` twice"));
            }
        }
        Ok(())
    }

    /// What a variant changes must be counted: only so can it be seen whether it ran.
    pub(super) fn changes(&self, variant: &Variant) -> Result<(), String> {
        let functions = self.study.count.iter().flat_map(|count| &count.functions);
        let known: Vec<&str> = functions.map(|function| function.name.as_str()).collect();
        match variant.changes.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) if known.is_empty() => Err(format!(
                "it changes `{name}`, but nothing is counted; name it in a [[count.function]]"
            )),
            Some(name) => Err(format!("it changes the {}", unknown_of("function", name, &known))),
            None => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::super::parse;

    fn message(keys: &str) -> String {
        let text = format!(
            "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"s\"\n\
             [[variant]]\nname = \"bulk\"\n{keys}\n"
        );
        parse(&text)
            .map_or_else(|fault| format!("{}: {}", fault.line, fault.why), |_| String::new())
    }

    #[test]
    fn what_is_wrong_with_a_decision_is_reported_with_its_line() {
        let limit = |text: &str| message(&format!("[gates]\nlimits = [\"{text}\"]"));
        let faults = [
            message("[gates]\nmonotonous = true"),
            message("[gates]\nunknown-frames = \"2\""),
            message("[profile]\nrepetitions = 0\n[gates]\nunknown-frames = \"1%\""),
            message("[gates]\nunknown-frames = \"some\""),
            message("[gates]\nparity = true"),
            message("[gates]\nmemory-growth-kib = -1.0"),
            limit("cpu"),
            limit("cpu <= 2%, slope <= 1us"),
            limit("bluk: cpu <= 2%"),
            limit("cpu at 61 clients <= 2%"),
            limit("transactions <= 1/s"),
            limit("no slower than baseline.json by much"),
            message("[parity]\nleave = false"),
            message("[parity]\nclients = \"'\""),
            message("[parity]\nvalues = [\"one\", \"'\"]"),
            message("[parity]\nleave = true\ntraffic = true"),
            message("[parity]\nleave = true\nvariants = [\"bluk\"]"),
            message("parity = { values = [\"one\"] }"),
            message("parity = { clients = \"'\" }\n[parity]\nleave = true"),
            message("[pause]\nrepetitions = 1"),
            message("[pause]\nprocess = \"/usr/bin/m\""),
            message("[pause]\nprocess = \"m\"\ngroup = \"g\""),
            message("[pause]\nprocess = \"m\"\nspan = \"1500ms\""),
            message("[pause]\nprocess = \"m\"\nspan = \"2s\""),
            message("[pause]\nprocess = \"m\"\nclients = [61]"),
            message("[pause]\nprocess = \"m\"\nvariants = [\"everything\"]"),
            message("[pause]\nprocess = \"m\"\nrepetitions = 0"),
            message("pause = \"m\""),
            message("pause = \"/m\"\n[pause]"),
            message("[compare]\npairs = 5"),
            message("[compare]\nup-to = 5"),
            message("[compare]\nmargin = \"0%\""),
            message("[[access-point.interface]]\nname = \"wlan0\"\nmegahertz = 6"),
            message(
                "[[access-point.interface]]\nname = \"a\"\n[[access-point.interface]]\nname = \"a\"",
            ),
            message("[[access-point.process]]\nname = \"/sbin/x\"\nmust = \"rest\""),
            message("[[access-point.process]]\nname = \"x\"\nmust = \"sleep\""),
            message("[[access-point.process]]\nname = \"x\"\nmust = \"run\"\ncommand = \"'\""),
            message("changes = [\"apply\"]"),
            message("changes = [\"aply\"]\n[[count.function]]\nname = \"apply\"\nsymbol = \"f\""),
        ];
        insta::assert_snapshot!(faults.join("\n"));
    }

    #[test]
    fn threads_of_the_kernel_have_slashes_and_spaces_in_their_names() {
        for name in ["ksoftirqd/0", "mt76-tx phy0", "napi/phy0-8193", "kworker/u9:1-ev", "hostapd"]
        {
            assert!(!super::is_no_process(name), "{name}");
        }
        let wrong =
            ["", "/usr/bin/m", "./m", "m --every 1s", "m -v", "usr/local/bin/monitor", "m\n"];
        for name in wrong {
            assert!(super::is_no_process(name), "{name}");
        }
    }

    #[test]
    fn good_decisions_are_taken() {
        let good = "changes = [\"apply\"]\n[compare]\nmargin = \"0.1%\"\npairs = 8\n\
                    [gates]\nmonotonic = true\nunknown-frames = \"0.1%\"\nparity = true\n\
                    limits = [\"bulk: cpu at 60 clients ≤ 2 %\", \"apply <= 1/s\"]\n\
                    [parity]\nclients = \"count\"\nleave = true\n[pause]\nprocess = \"monitor\"\n\
                    [[access-point.interface]]\nname = \"wlan0\"\nmegahertz = 5180\n\
                    [[access-point.process]]\nname = \"steerd\"\nmust = \"rest\"\n\
                    [[count.function]]\nname = \"apply\"\nsymbol = \"f\"";
        assert_eq!(message(good), "");
    }
}
