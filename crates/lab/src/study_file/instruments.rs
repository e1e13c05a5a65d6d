//! The rules for `[profile]` and `[count]`: what may be recorded alongside counters, and where.

use std::collections::BTreeSet;

use model::plural::count;
use model::study::Function;

use super::{Fault, Rules, gates};

/// The kernel copies no more of a stack: a record's length is 16 bits (`perf_event_open(2)`).
const LONGEST_COPY: u32 = 65_528;

/// Faster than this a sampler measures itself.
const FASTEST: u32 = 20_000;

/// Registers that hold arguments on every architecture that is known.
const ARGUMENTS: u8 = 6;

impl Rules<'_> {
    pub(super) fn profile(&self) -> Result<(), Fault> {
        let profile = &self.study.profile;
        let at = |key| ["profile", key];
        if !(1..=FASTEST).contains(&profile.frequency) {
            let why = format!(
                "{} a second; 1 to {FASTEST} can be taken",
                count(profile.frequency, "sample")
            );
            return self.fault(&at("frequency"), why);
        }
        if profile.stack_bytes > LONGEST_COPY || !profile.stack_bytes.is_multiple_of(8) {
            let why = format!(
                "a stack copy of {} bytes; it is a multiple of 8, at most {LONGEST_COPY}",
                profile.stack_bytes
            );
            return self.fault(&at("stack-bytes"), why);
        }
        self.known_variants(&profile.variants, &at("variants"))?;
        self.some_of_the_clients(&profile.clients, &at("clients"))
    }

    pub(super) fn count(&self) -> Result<(), Fault> {
        let Some(count) = &self.study.count else { return Ok(()) };
        let at = |key| ["count", key];
        if count.functions.is_empty() {
            return self.fault(&["count"], "no [[count.function]]; nothing is counted".to_owned());
        }
        if count.repetitions == 0 {
            return self.fault(&at("repetitions"), "at least 1 repetition".to_owned());
        }
        self.some_of_the_clients(&count.clients, &at("clients"))?;
        self.known_variants(&count.variants, &at("variants"))?;
        let mut seen = BTreeSet::new();
        for function in &count.functions {
            let name = function.name.as_str();
            let message =
                |why: String| self.fault(&at("function"), format!("function `{name}`: {why}"));
            if name.is_empty() || !seen.insert(name) {
                return message("each function needs a name of its own".to_owned());
            }
            self.function(function).or_else(message)?;
        }
        Ok(())
    }

    /// What a function's keys say must make sense together.
    fn function(&self, function: &Function) -> Result<(), String> {
        match (&function.symbol, &function.kernel) {
            (None, None) => return Err("it needs `symbol` or `kernel`".to_owned()),
            (Some(_), Some(_)) => {
                return Err("`symbol` and `kernel` are two functions; name one".to_owned());
            }
            (None, Some(_)) if function.of.is_some() => {
                return Err("the kernel's functions are `of` no file".to_owned());
            }
            _ => {}
        }
        if function.argument.is_some() && !function.census {
            return Err("`argument` groups a census; write `census = true` too".to_owned());
        }
        if function.argument.is_some_and(|argument| argument >= ARGUMENTS) {
            return Err(format!("arguments 0 to {} are in registers", ARGUMENTS - 1));
        }
        self.per(function)
    }

    fn per(&self, function: &Function) -> Result<(), String> {
        let Some(per) = &function.per else { return Ok(()) };
        let functions = self.study.count.iter().flat_map(|count| &count.functions);
        let others: Vec<&str> = functions
            .map(|other| other.name.as_str())
            .filter(|other| *other != function.name)
            .collect();
        if others.contains(&per.as_str()) {
            return Ok(());
        }
        if others.is_empty() {
            return Err(format!("per the unknown function `{per}`; there is no other"));
        }
        Err(format!("per the {}", gates::unknown_of("function", per, &others)))
    }

    /// Client counts must be among the study's: the snapshots are theirs.
    pub(super) fn some_of_the_clients(&self, clients: &[u32], at: &[&str]) -> Result<(), Fault> {
        // A study that the command line has cut down no longer holds all of them, which is no fault.
        if self.text.is_empty() {
            return Ok(());
        }
        let known = &self.study.access_point.clients;
        match clients.iter().find(|count| !known.contains(count)) {
            Some(unknown) => self.fault(
                at,
                format!(
                    "{unknown} are not among the study's, which are {known:?}",
                    unknown = count(unknown, "client")
                ),
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    fn message(keys: &str) -> String {
        let text = format!(
            "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"s\"\n\
             [[variant]]\nname = \"a\"\n{keys}\n"
        );
        parse(&text)
            .map_or_else(|fault| format!("{}: {}", fault.line, fault.why), |_| String::new())
    }

    #[test]
    fn what_is_wrong_with_an_instrument_is_reported_with_its_line() {
        let function = |keys: &str| message(&format!("[[count.function]]\n{keys}"));
        let faults = [
            message("[profile]\nfrequency = 0"),
            message("[profile]\nfrequency = 1000000"),
            message("[profile]\nstack-bytes = 65535"),
            message("[profile]\nstack-bytes = 100"),
            message("[profile]\nclients = [114]"),
            message("[profile]\nscope = \"everything\""),
            message("[profile]\nfrequencies = 1"),
            message("[count]\nfunction = []"),
            message("[count]\nrepetitions = 2"),
            message(
                "[count]\nvariants = [\"b\"]\n[[count.function]]\nname = \"f\"\nsymbol = \"f\"",
            ),
            function("name = \"f\""),
            function("name = \"f\"\nsymbol = \"f\"\nkernel = \"f\""),
            function("name = \"f\"\nkernel = \"f\"\nof = \"libc.so.6\""),
            function("name = \"f\"\nsymbol = \"f\"\nargument = 1"),
            function("name = \"f\"\nsymbol = \"f\"\nargument = 9\ncensus = true"),
            function("name = \"f\"\nsymbol = \"f\"\nper = \"rpcs\""),
            function(
                "name = \"f\"\nsymbol = \"f\"\n[[count.function]]\nname = \"f\"\nsymbol = \"g\"",
            ),
        ];
        insta::assert_snapshot!(faults.join("\n"));
    }

    #[test]
    fn good_instruments_are_taken() {
        let good = "[profile]\nclients = [18, 60]\nscope = { group = \"wifi\" }\n[count]\n\
                    [[count.function]]\nname = \"rpcs\"\nsymbol = \"0x1000\"\n\
                    [[count.function]]\nname = \"dumps\"\nkernel = \"f\"\nper = \"rpcs\"\ncensus = true\nargument = 0";
        assert_eq!(message(good), "");
        assert_eq!(message("[profile]\nrepetitions = 0"), "");
    }
}
