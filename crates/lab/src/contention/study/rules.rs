//! The rules of a contention study that its types cannot say.

use std::collections::BTreeSet;

use model::{
    contention::{
        Application, Cell, Control, Flow, Machine, NamedControl, Place, Road, Role, Study, Traffic,
    },
    nearest,
    span::Span,
};
use toml::de::DeTable;

use crate::study_file::{
    Fault,
    lines::{Checked, Lines},
    maxima,
};

/// Words that arms have already.
const TAKEN: [&str; 3] = ["none", "alone", "application"];

/// The smallest and the largest payload of a datagram that crosses the road in one packet, bytes: iperf3's own
/// header, and an Ethernet packet without those of IPv4 and UDP.
const PAYLOADS: std::ops::RangeInclusive<u32> = 16..=1472;

/// iperf3 opens no more streams (its `MAX_STREAMS`).
const MOST_STREAMS: u32 = 128;

/// Shares of a control group: 2 and 262144 are the kernel's `MIN_SHARES` and `MAX_SHARES`.
const WEIGHTS: std::ops::RangeInclusive<u32> = 2..=262_144;

/// Applications with more workers for each CPU measure the scheduler and nothing else.
const MOST_WORKERS: u32 = 64;

/// An agent is silent from its order to its record, and one that is silent for long counts as hung.
const LONGEST: Span = Span::from_secs(60);

/// Round trips in a second beyond which the probes are traffic themselves.
const MOST_PROBES: u32 = 1000;

pub(super) struct Rules<'a> {
    /// Empty for a study that has no lines any more.
    pub(super) text: &'a str,
    pub(super) study: &'a Study,
}

impl Rules<'_> {
    pub(super) fn check(&self) -> Result<(), Fault> {
        let (study, lines) = (self.study, Lines(self.text));
        self.shape().or_else(|(key, why)| lines.fault(&["contention", key], why))?;
        maxima::contention(study, lines)?;
        let places = study.places.iter().map(|one| (&*one.name, one));
        lines.each("place", places, |at, place| {
            road(place).and_then(|()| lines.place(at, place.on, place.mode))
        })?;
        let window = study.contention.window;
        let rule = |one: &Traffic| traffic(one).and_then(|()| bursts(one, window));
        let traffics = study.traffics.iter().map(|one| (&*one.name, &one.traffic));
        lines.each("traffic", traffics, |_, traffic| rule(traffic))?;
        let applications = study.applications.iter().map(|one| (&*one.name, &one.application));
        lines.each("application", applications, |_, one| application(one))?;
        if let Some(at) = study.controls.iter().position(|one| TAKEN.contains(&&*one.name)) {
            let why =
                format!("`{}` needs no entry: every cell has it already", study.controls[at].name);
            return lines.entry_fault("control", at, ("name", why));
        }
        let controls = study.controls.iter().map(|one| (&*one.name, one));
        lines.each("control", controls, |_, one| control(one))?;
        if study.cells.is_empty() {
            let why = "no [[cell]]; a contention study tries at least one";
            return lines.fault(&[], why.to_owned());
        }
        for (at, cell) in study.cells.iter().enumerate() {
            self.cell(cell).or_else(|fault| lines.entry_fault("cell", at, fault))?;
        }
        lines.limits(study.gates.as_ref().map_or(&[], |gates| &gates.limits), &study.known())
    }

    fn shape(&self) -> Checked {
        let shape = &self.study.contention;
        let whole = |span: Span| span.as_nanos().is_multiple_of(1_000_000_000);
        if shape.versus.is_some() && !self.text.is_empty() {
            let why = "headroom compare writes this key; leave it out, and say `headroom compare STUDY none CONTROL`";
            return Err(("versus", why.to_owned()));
        }
        if shape.window.as_nanos() == 0 || !whole(shape.window) {
            let why = format!("a window of {} is not a whole number of seconds", shape.window);
            return Err(("window", why));
        }
        for (key, span) in [("window", shape.window), ("warm-up", shape.warm_up)] {
            if span > LONGEST {
                return Err((key, format!("{span} of one trial; write at most {LONGEST}")));
            }
        }
        if shape.blocks == 0 {
            return Err(("blocks", "at least 1 block".to_owned()));
        }
        if shape.sweep_blocks == Some(0) {
            let why = "the candidates of the best fixed control would never be tried; at least 1";
            return Err(("sweep-blocks", why.to_owned()));
        }
        if shape.idle_gate.get() >= 1.0 {
            let why =
                format!("no machine is ever idle for {}; write for instance 94%", shape.idle_gate);
            return Err(("idle-gate", why));
        }
        Ok(())
    }

    fn cell(&self, cell: &Cell) -> Checked {
        let study = self.study;
        let places: Vec<&str> = study.places.iter().map(|place| place.name.as_str()).collect();
        let traffics: Vec<&str> = study.traffics.iter().map(|one| one.name.as_str()).collect();
        let applications: Vec<&str> =
            study.applications.iter().map(|one| one.name.as_str()).collect();
        let controls: Vec<&str> = study.controls.iter().map(|one| one.name.as_str()).collect();
        known("place", &cell.place, &places)?;
        cell.traffic.as_ref().map_or(Ok(()), |name| known("traffic", name, &traffics))?;
        cell.application
            .as_ref()
            .map_or(Ok(()), |name| known("application", name, &applications))?;
        let mut seen = BTreeSet::new();
        for name in &cell.controls {
            if name != "none" {
                known("control", name, &controls).map_err(|(_, why)| ("controls", why))?;
            }
            if !seen.insert(name) {
                return Err(("controls", format!("control `{name}` stands there twice")));
            }
        }
        let is_both = cell.traffic.is_some() && cell.application.is_some();
        if cell.traffic.is_none() && cell.application.is_none() {
            let why = "a cell without traffic and without an application; name at least one";
            return Err(("place", why.to_owned()));
        }
        if cell.four_cases && !is_both {
            let why = "four cases need both, traffic and an application";
            return Err(("four-cases", why.to_owned()));
        }
        if !is_both && cell.role != Role::NoHarm {
            let why = "only a negative control has traffic or an application alone; write role = \"no-harm\"";
            return Err(("role", why.to_owned()));
        }
        Ok(())
    }
}

/// Only a virtual access point has radios.
fn road(place: &Place) -> Checked {
    if place.on == Machine::Host && place.road == Road::Radio {
        let why = "this machine has no radios of its own; write road = \"veth\"";
        return Err(("road", why.to_owned()));
    }
    Ok(())
}

fn known(what: &'static str, name: &str, all: &[&str]) -> Checked {
    if all.contains(&name) {
        return Ok(());
    }
    let meant = nearest::or_all(name, all, "there are:");
    let why = format!("no [[{what}]] is named `{name}`; {meant}");
    Err((what, why))
}

fn traffic(traffic: &Traffic) -> Checked {
    let is_udp = traffic.flow == Flow::Udp;
    if traffic.rate.is_some() && traffic.paced.is_some() {
        let why = "`rate` and `paced` both say how fast; leave one out";
        return Err(("paced", why.to_owned()));
    }
    for (key, is_said) in [("rate", traffic.rate.is_some()), ("paced", traffic.paced.is_some())] {
        if is_said && !is_udp {
            return Err((key, "TCP finds its own rate; a rate is for flow = \"udp\"".to_owned()));
        }
    }
    if traffic.rate == Some(0) || traffic.link_limit == Some(0) {
        let key = if traffic.rate == Some(0) { "rate" } else { "link-limit" };
        return Err((
            key,
            "0 bits in a second is no traffic; leave it out for no limit".to_owned(),
        ));
    }
    if let Some(paced) = traffic.paced.filter(|paced| !(0.01..=1.0).contains(&paced.get())) {
        return Err(("paced", format!("{paced} of the rate alone; write 1% to 100%")));
    }
    if !PAYLOADS.contains(&traffic.bytes) {
        let (least, most) = (PAYLOADS.start(), PAYLOADS.end());
        let why =
            format!("{} bytes; a datagram in one packet has {least} to {most}", traffic.bytes);
        return Err(("bytes", why));
    }
    if let Flow::Tcp(streams) = traffic.flow
        && !(1..=MOST_STREAMS).contains(&streams)
    {
        return Err(("flow", format!("{streams} streams; iperf3 has 1 to {MOST_STREAMS}")));
    }
    if traffic.probes > MOST_PROBES {
        let why = format!("{} probes in a second; at most {MOST_PROBES}", traffic.probes);
        return Err(("probes", why));
    }
    Ok(())
}

/// A window that ends in the middle of a burst would lose what a control only made later.
fn bursts(traffic: &Traffic, window: Span) -> Checked {
    let Some((on, off)) = traffic.bursts else { return Ok(()) };
    if on.as_nanos() == 0 || off.as_nanos() == 0 {
        return Err(("bursts", "a burst and a pause are longer than 0s".to_owned()));
    }
    let round = on.as_nanos().saturating_add(off.as_nanos());
    if !window.as_nanos().is_multiple_of(round) {
        let round = Span::from_nanos(round);
        let why = format!("a window of {window} is not a whole number of rounds of {round}");
        return Err(("bursts", why));
    }
    Ok(())
}

fn application(application: &Application) -> Checked {
    stressor("stressor", &application.stressor)?;
    if !(1..=MOST_WORKERS).contains(&application.workers) {
        let why =
            format!("{} workers for each CPU; write 1 to {MOST_WORKERS}", application.workers);
        return Err(("workers", why));
    }
    let ours = ["--timeout", "-t", "--metrics", "--metrics-brief"];
    if let Some(word) = application.words.iter().find(|word| ours.contains(&word.as_str())) {
        return Err(("words", format!("`{word}` is said by headroom itself; leave it out")));
    }
    match &application.swap {
        Some((_, every)) if every.as_nanos() == 0 => {
            Err(("swap", "each takes its turn for longer than 0s".to_owned()))
        }
        Some((word, _)) if !word.is_empty() => stressor("swap", word),
        _ => Ok(()),
    }
}

fn stressor(key: &'static str, word: &str) -> Checked {
    let plain = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    match word.strip_prefix("--") {
        Some(name) if plain(name) => Ok(()),
        _ => Err((key, format!("`{word}` is not a stressor; write stress-ng's word, as --stream"))),
    }
}

fn control(named: &NamedControl) -> Checked {
    match &named.control {
        Control::Together(parts) => together(parts),
        alone => control_alone(alone),
    }
}

/// Several at once: each kind once, and none that is more than a setting or a rule.
fn together(parts: &[Control]) -> Checked {
    let wrong = |why: &str| Err(("control", why.to_owned()));
    if parts.len() < 2 {
        return wrong("`together` has at least two controls; write one alone without it");
    }
    let is_more =
        |part: &Control| matches!(part, Control::None | Control::Guard(_) | Control::Together(_));
    if parts.iter().any(is_more) {
        return wrong("`together` is of settings and rules; guard and no control stand alone");
    }
    let kinds: Vec<_> = parts.iter().map(std::mem::discriminant).collect();
    if (1..kinds.len()).any(|at| kinds[..at].contains(&kinds[at])) {
        return wrong("`together` has one kind of control twice; keep one of them");
    }
    let is_quota = |part: &&Control| matches!(part, Control::Quota(_) | Control::Headroom(_));
    if parts.iter().filter(is_quota).count() > 1 {
        return wrong("`quota` and `headroom` set the same figure; keep one of them");
    }
    parts.iter().try_for_each(control_alone)
}

fn control_alone(control: &Control) -> Checked {
    let wrong = |why: String| Err(("control", why));
    match control {
        Control::None => wrong("no control needs no entry: every cell has it already".to_owned()),
        Control::Weight(weight) if !WEIGHTS.contains(weight) => {
            wrong(format!("a weight of {weight}; the kernel has 2 to 262144, 1024 is the default"))
        }
        Control::Quota(share) if !(0.001..=1.0).contains(&share.get()) => {
            wrong(format!("a quota of {share}; write 0.1% to 100% of all CPUs"))
        }
        Control::Headroom(share) if !(0.0..1.0).contains(&share.get()) => {
            wrong(format!("headroom of {share}; write less than 100%"))
        }
        Control::PacketNice(nice) if !(-20..=19).contains(nice) => {
            wrong(format!("a nice value of {nice}; the kernel has -20 to 19, 0 is the default"))
        }
        Control::FreezeAbove(0) => {
            wrong("frozen above 0 packets a second is frozen always; write at least 1".to_owned())
        }
        Control::Guard(policy) => match DeTable::parse(policy) {
            Ok(_) => Ok(()),
            Err(error) => {
                wrong(format!("the policy is no TOML: {}", error.message().replace('\n', "; ")))
            }
        },
        _ => Ok(()),
    }
}
