//! Whether two sides differ in nothing but what their comparison names, by content.
//!
//! Reads identities, facts and plans of trials and lists what differs alongside the named difference, one line
//! each; any such line makes a comparison invalid. What had to be repaired before a trial is no difference:
//! it is listed elsewhere. Trials whose plan did not ask for identities have none, and nothing is said of it.

use std::{collections::BTreeSet, fmt::Debug};

use model::plural::count;
use model::{
    facts::Facts,
    identity::{
        FileDoubt, FileIdentity, Identity, InterfaceIdentity, Overlay, ProcessIdentity, Role,
    },
    name::Sha256Hex,
    order::TrialOrder,
    reading::Reading,
    trial::Trial,
    verdict::Difference,
    wire::{PUT, SIDES},
};

/// So many characters tell two hashes apart for a reader.
const SHORT_HASH: usize = 12;

/// What differs across all pairs beyond the named difference, each line once: `(base, variant)` of each
/// pair, and the trials of each side among themselves.
pub fn across(pairs: &[(&Trial, &Trial)], allowed: &Difference) -> Vec<String> {
    let Some((base, variant)) = pairs.first() else { return Vec::new() };
    let mut found = Vec::new();
    for (one, other) in pairs {
        found.extend(strangers(one, other, allowed));
        for (first, later) in [(base, one), (variant, other)] {
            found.extend(unlike(first, later));
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|line| seen.insert(line.clone()));
    found
}

/// What differs between the two sides of one pair beyond the named difference, one line each.
pub fn strangers(base: &Trial, variant: &Trial, allowed: &Difference) -> Vec<String> {
    let mut sides = Sides::of(base, variant, allowed);
    sides.plans();
    let (Some(one), Some(other)) = (base.reading(), variant.reading()) else {
        return sides.found;
    };
    sides.facts(&one.facts, &other.facts);
    for (trial, recording) in [(base, one), (variant, other)] {
        sides.doubts(trial, recording);
    }
    if let (Some(one), Some(other)) = (&one.identity, &other.identity) {
        sides.identities(one, other);
    }
    sides.found
}

/// What differs between two trials of one side: nothing may.
fn unlike(first: &Trial, later: &Trial) -> Vec<String> {
    let identities = [first, later].map(|trial| trial.reading()?.identity.as_deref());
    let [Some(one), Some(other)] = identities else { return Vec::new() };
    if one == other {
        return Vec::new();
    }
    let mut sides = Sides::of(first, later, &Difference::Nothing);
    sides.names = ["an earlier trial".to_owned(), "a later one".to_owned()];
    sides.identities(one, other);
    let name = &first.planned.id.variant;
    let found = sides.found.into_iter();
    found.map(|line| format!("trials of `{name}` differ among themselves: {line}")).collect()
}

/// Two trials, and what differs between them so far.
struct Sides<'a> {
    trials: [&'a Trial; 2],
    names: [String; 2],
    allowed: &'a Difference,
    found: Vec<String>,
}

impl<'a> Sides<'a> {
    fn of(base: &'a Trial, variant: &'a Trial, allowed: &'a Difference) -> Self {
        let trials = [base, variant];
        let names = trials.map(|trial| format!("`{}`", trial.planned.id.variant));
        Self { trials, names, allowed, found: Vec::new() }
    }

    fn is_image(&self) -> bool {
        matches!(self.allowed, Difference::Image { .. })
    }

    fn is_variants(&self) -> bool {
        matches!(self.allowed, Difference::Variants)
    }

    /// Notes two values that are not the same.
    fn same<T: PartialEq>(&mut self, what: &str, values: [&T; 2], show: impl Fn(&T) -> String) {
        let [one, other] = values;
        if one != other {
            let [base, variant] = &self.names;
            let line = format!("{what}: {} in {base}, {} in {variant}", show(one), show(other));
            self.found.push(line);
        }
    }

    fn plans(&mut self) {
        let [base, variant] = self.trials;
        let planned = [&base.planned, &variant.planned];
        let orders = planned.map(|planned| &planned.order);
        self.same("the clock's mode", planned.map(|one| &one.mode), |mode| mode.name().to_owned());
        self.same("the window", orders.map(|order| &order.window), ToString::to_string);
        self.same("the warm-up", orders.map(|order| &order.warm_up), ToString::to_string);
        self.same(
            "the time between samples",
            orders.map(|order| &order.sample_every),
            ToString::to_string,
        );
        self.same("the start's phase", orders.map(|order| &order.offset), ToString::to_string);
        self.same("the machine's state", orders.map(|order| &order.state), plain);
        self.same("the topology that was ordered", orders.map(|order| &order.topology), plain);
    }

    fn facts(&mut self, one: &Facts, other: &Facts) {
        let facts = [one, other];
        self.same("CLK_TCK", facts.map(|facts| &facts.clk_tck), ToString::to_string);
        self.same("the governor", facts.map(|facts| &facts.governor), shown);
        self.same("turbo", facts.map(|facts| &facts.turbo), plain);
        self.same("the clock source", facts.map(|facts| &facts.clock), shown);
        self.same("the number of CPUs", facts.map(|facts| &facts.cpus), ToString::to_string);
        self.same("the architecture", facts.map(|facts| &facts.machine), Clone::clone);
        if !self.is_image() {
            self.same("the kernel's release", facts.map(|facts| &facts.kernel), Clone::clone);
        }
    }

    /// What speaks against one side by itself.
    fn doubts(&mut self, trial: &Trial, recording: &Reading) {
        let name = &trial.planned.id.variant;
        let Some(identity) = &recording.identity else {
            if trial.planned.order.identify {
                self.found.push(format!("the agent did not say what it measured in `{name}`"));
            }
            return;
        };
        for process in &identity.processes {
            let lines = process.files.iter().filter_map(|file| doubt(file, process));
            self.found.extend(lines);
        }
    }

    fn identities(&mut self, one: &Identity, other: &Identity) {
        self.interfaces(&one.interfaces, &other.interfaces);
        if self.is_image() {
            return;
        }
        let both = [one, other];
        let kernels = both.map(|identity| &identity.kernel);
        // A device of OpenWrt always has some; those of a process's own files are doubts of theirs.
        self.same("the overlays", both.map(|identity| &identity.overlays), |overlays| {
            let one = |one: &Overlay| format!("{} in {}", count(one.files, "file"), one.upper);
            overlays.iter().map(one).collect::<Vec<_>>().join(", ")
        });
        self.same("the agent", both.map(|identity| &identity.agent), hash);
        self.same("the kernel", kernels.map(|kernel| &kernel.notes), hash);
        self.same("the kernel's modules", kernels.map(|kernel| &kernel.modules), hash);
        self.same("the kernel's command line", kernels.map(|kernel| &kernel.command_line), shown);
        self.processes(&one.processes, &other.processes);
        if let Difference::Program { name, base, variant } = self.allowed {
            let [first, second] = &self.names;
            self.found.extend(wrong_program(name, one, base, first));
            self.found.extend(wrong_program(name, other, variant, second));
        }
    }

    fn interfaces(&mut self, one: &[InterfaceIdentity], other: &[InterfaceIdentity]) {
        let is_image = self.is_image();
        let number = |value: Option<u32>| value.map_or("?".to_owned(), |value| value.to_string());
        let words = |each: &InterfaceIdentity| {
            let address = each.address.as_deref().filter(|_| !is_image).unwrap_or("?");
            let (at, wide) = (number(each.megahertz), number(each.width_megahertz));
            format!("{} {address} at {at} MHz ({wide} wide)", each.name)
        };
        let all = [one, other].map(|side| {
            let mut all: Vec<String> = side.iter().map(words).collect();
            all.sort();
            all.join(", ")
        });
        self.same("the access-point interfaces", all.each_ref(), Clone::clone);
    }

    fn processes(&mut self, one: &[ProcessIdentity], other: &[ProcessIdentity]) {
        for process in one {
            match counterpart(process, one, other) {
                Some(counterpart) => self.process(process, counterpart),
                None => self.unmatched(process, 0),
            }
        }
        for process in other.iter().filter(|process| counterpart(process, other, one).is_none()) {
            self.unmatched(process, 1);
        }
    }

    fn process(&mut self, one: &ProcessIdentity, other: &ProcessIdentity) {
        let name = &one.name;
        if !self.is_variants() {
            let words = [one, other].map(|process| without_sides(&process.command));
            self.same(&format!("the words of `{name}`"), [&words[0], &words[1]], |words| {
                format!("`{}`", words.join(" "))
            });
        }
        // Other words name other files; and another build of the named program may need other libraries, which is a
        // part of that difference.
        let other_words = self.is_variants() && one.command != other.command;
        let named = match self.allowed {
            Difference::Program { name, .. } => Some(name),
            _ => None,
        };
        let is_named =
            |file: &&FileIdentity| named.is_some_and(|name| is_program(&file.path, name));
        let runs_it =
            |process: &ProcessIdentity| process.files.first().as_ref().is_some_and(is_named);
        let may_differ = other_words || runs_it(one) || runs_it(other);
        for (side, own, others) in [(0, one, other), (1, other, one)] {
            for file in own.files.iter().filter(|file| !is_named(file)) {
                let path = &file.path;
                match others.files.iter().find(|same| same.path == *path) {
                    Some(same) if side == 0 => {
                        let what = format!("{path} of `{name}`");
                        self.same(&what, [&file.sha256, &same.sha256], hash);
                    }
                    None if !may_differ => {
                        let alone = &self.names[side];
                        self.found.push(format!("{path} is a file of `{name}` in {alone} alone"));
                    }
                    _ => {}
                }
            }
        }
    }

    /// A process that only one side has.
    fn unmatched(&mut self, process: &ProcessIdentity, side: usize) {
        if self.is_variants() && self.plan_differs(process.role) {
            return;
        }
        let (name, side) = (&process.name, &self.names[side]);
        self.found.push(format!("`{name}` was measured in {side} alone"));
    }

    /// Whether the sides' plans have other processes of that role.
    fn plan_differs(&self, role: Role) -> bool {
        let [one, other] = self.trials.map(|trial| &trial.planned.order);
        let programs = |order: &TrialOrder| -> Vec<String> {
            let commands = order.load.iter().flat_map(|load| load.work.commands());
            commands.filter_map(|words| words.first().cloned()).collect()
        };
        match role {
            Role::Subject => one.process() != other.process(),
            Role::Other => one.others != other.others,
            Role::Load => programs(one) != programs(other),
        }
    }
}

/// What speaks against a side in which the named program must be, and be the one that was named.
fn wrong_program(name: &str, identity: &Identity, named: &str, side: &str) -> Vec<String> {
    let (loads, others): (Vec<_>, Vec<_>) =
        identity.processes.iter().partition(|process| process.role == Role::Load);
    let files = others.into_iter().chain(loads).flat_map(|process| &process.files);
    let mut found = files.filter(|file| is_program(&file.path, name)).peekable();
    if found.peek().is_none() {
        return vec![format!("nothing that was measured in {side} has `{name}` in it")];
    }
    let is_another =
        |file: &&FileIdentity| file.sha256.as_deref().is_some_and(|sha256| sha256 != named);
    let line = |file: &FileIdentity| {
        format!(
            "`{name}` in {side} is {}, and {} was to be measured",
            hash(&file.sha256),
            short(named)
        )
    };
    found.filter(is_another).map(line).collect()
}

/// The process of the same role and name: of several, as one process for each interface, the one with the same
/// words, else the one in the same place among them.
fn counterpart<'a>(
    process: &ProcessIdentity,
    own: &[ProcessIdentity],
    among: &'a [ProcessIdentity],
) -> Option<&'a ProcessIdentity> {
    let is_like =
        |other: &&ProcessIdentity| other.role == process.role && other.name == process.name;
    let place = own.iter().filter(is_like).position(|other| std::ptr::eq(other, process));
    let same_words = among.iter().filter(is_like).find(|other| other.command == process.command);
    same_words.or_else(|| among.iter().filter(is_like).nth(place.unwrap_or(0)))
}

/// Whether a path is the program of that name.
fn is_program(path: &str, name: &str) -> bool {
    path == name || path.rsplit('/').next() == Some(name)
}

/// What speaks against a file; seconds and the like differ from trial to trial and are left out.
fn doubt(file: &FileIdentity, process: &ProcessIdentity) -> Option<String> {
    let what = match file.doubt.as_ref()? {
        FileDoubt::ChangedSinceBoot(_) if is_ours(&file.path) => return None,
        FileDoubt::ChangedSinceBoot(_) => "was written after the kernel booted".to_owned(),
        FileDoubt::InOverlay(upper) => {
            format!("comes from the overlay {upper} and hides a file of the image")
        }
        FileDoubt::Replaced => "is not what is at its path any more".to_owned(),
        FileDoubt::Unreadable(why) => format!("cannot be read: {why}"),
    };
    Some(format!("{} of `{}` {what}", file.path, process.name))
}

/// Words in which both sides' builds have one place: that they lie in two folders is headroom's doing.
fn without_sides(words: &[String]) -> Vec<String> {
    let folders = SIDES.map(|side| format!("{PUT}/{side}/"));
    let plain = |word: &String| {
        folders.iter().fold(word.clone(), |word, folder| word.replace(folder, &format!("{PUT}/")))
    };
    words.iter().map(plain).collect()
}

fn is_ours(path: &str) -> bool {
    path.strip_prefix(PUT).is_some_and(|rest| rest.starts_with('/'))
}

fn hash(sha256: &Option<Sha256Hex>) -> String {
    sha256.as_deref().map_or_else(|| "unknown".to_owned(), short)
}

fn short(sha256: &str) -> String {
    sha256.chars().take(SHORT_HASH).collect()
}

fn shown(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "unknown".to_owned())
}

/// Values that only an engineer looks at.
fn plain<T: Debug>(value: &T) -> String {
    format!("{value:?}")
}

#[cfg(test)]
mod tests;
