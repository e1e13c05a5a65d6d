//! What was measured, with what and on what: the facts that make a run's identity.
//!
//! Hashes prove it; names and versions only help to recognise it. Reads the run and what
//! the access point said of itself; it judges nothing.

use jiff::Timestamp;
use model::{
    facts::Facts,
    plural::count,
    run::Run,
    study::{Mode, Perturb, Target},
};

use crate::{drawing::svg::escape, prose::once};

/// A name and its value; `code` is set in fixed width.
#[derive(Clone)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) code: bool,
}

/// Words of a value that is shown at once, at most; more are folded.
const SHOWN: usize = 40;

/// The facts as a list; empty without any.
pub(crate) fn html(facts: &[Fact]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let row = |Fact { name, value, code }: &Fact| {
        let words = value.split_whitespace().count();
        let text = escape(value);
        let text = match (words > SHOWN, code) {
            (true, _) => {
                format!("<details><summary>{words} in all</summary><code>{text}</code></details>")
            }
            (false, true) => format!("<code>{text}</code>"),
            (false, false) => text,
        };
        format!("<div><dt>{}</dt><dd>{text}</dd></div>", escape(name))
    };
    format!(r#"<dl class="facts">{}</dl>"#, facts.iter().map(row).collect::<String>())
}

pub(crate) fn plain(name: &'static str, value: String) -> Fact {
    Fact { name, value, code: false }
}

pub(crate) fn code(name: &'static str, value: String) -> Fact {
    Fact { name, value, code: true }
}

/// What is known of a run of any kind, without what is empty; `more` is its kind's.
pub(crate) fn of_run(run: &Run, more: Vec<Fact>) -> Vec<Fact> {
    let (lab, host) = (&run.lab, &run.host);
    let own = lab.firmware.iter();
    let sums = own.clone().flat_map(|firmware| firmware.sums.named());
    let firmware: Vec<_> = sums.map(|(name, sum)| format!("{name} {sum}")).collect();
    let notes: Vec<_> = own.flat_map(|firmware| firmware.notes.clone()).collect();
    let perturbed = lab.perturbed.iter().map(|(state, what)| format!("{state}: {what}"));
    let first = [
        plain("Study", run.study_name.clone()),
        code("Study file, SHA-256", run.study_sha256.clone()),
        plain("Changed on the command line", run.overrides.join("; ")),
    ];
    let last = [
        plain("Began", utc(run.began_unix)),
        plain("headroom", format!("{} (run format {})", run.headroom, run.format)),
        plain("Access point's kernel", lab.kernel.clone()),
        code("Image, SHA-256", lab.image.clone()),
        code("Agent, SHA-256", lab.agent.clone()),
        code("Packages", lab.packages.join(" ")),
        code("Firmware, SHA-256", firmware.join("; ")),
        plain("Beside the firmware", notes.join("; ")),
        plain("QEMU", lab.qemu.clone()),
        code("QEMU arguments, counted", lab.counted_arguments.join(" ")),
        plain("Accelerator, real-time", lab.accelerator.clone().unwrap_or_default()),
        code("Perturbed states", perturbed.collect::<Vec<_>>().join("; ")),
        plain("Host", host.system.clone()),
        plain("Host kernel", host.kernel.clone()),
        plain("Host CPU", format!("{}, {} used", host.cpu, count(host.cores, "core"))),
    ];
    let mut facts: Vec<Fact> = first.into_iter().chain(more).chain(last).collect();
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

/// What is known of a run of clients.
pub(crate) fn facts(run: &Run, machine: Option<&Facts>) -> Vec<Fact> {
    let (shape, access_point) = (&run.study.trial, &run.study.access_point);
    let counts: Vec<_> = access_point.clients.iter().map(u32::to_string).collect();
    let radios = match &access_point.kind {
        Target::Vm => format!(" over {}", count(access_point.radios, "radio")),
        Target::Host | Target::Device(_) => String::new(),
    };
    let perturbed = match shape.perturb {
        Perturb::Start => "each repetition starts at another moment",
        Perturb::Nothing => "every repetition starts from the same machine state",
    };
    let modes: Vec<_> = modes(run).into_iter().map(Mode::name).collect();
    let trial = format!(
        "{} warm-up, {} window, a sample every {}, {}; {perturbed}",
        shape.warm_up,
        shape.window,
        shape.sample_every,
        count(shape.repetitions, "repetition")
    );
    let mut more = vec![
        plain("Subject", subjects(run)),
        plain("Clients", counts.join(", ") + &radios),
        plain("Trial", trial),
        plain("Mode", modes.join(" and ")),
    ];
    more.extend(machine.into_iter().flat_map(self::access_point));
    of_run(run, more)
}

/// The processes whose CPU is the question, each once.
fn subjects(run: &Run) -> String {
    let variants = run.study.variants.iter();
    let names = once(variants.map(|variant| &*run.study.subject_of(variant).process));
    let by_variant = if names.len() > 1 { ", as the variant says" } else { "" };
    format!("every process named {}{by_variant}", names.join(", "))
}

/// The access point by its own words.
fn access_point(machine: &Facts) -> Vec<Fact> {
    let clock = machine.clock.as_deref().unwrap_or("unknown");
    let pmu = match (machine.pmu_events.as_slice(), machine.pmu_absent.as_slice()) {
        ([], _) => "none: hardware events are absent".to_owned(),
        (events, []) => events.join(", "),
        (events, absent) => format!("{}; absent: {}", events.join(", "), absent.join(", ")),
    };
    vec![
        plain(
            "Access point",
            format!(
                "{}, {} CPU, {} KiB of memory, clock {clock}, {} ticks a second",
                machine.machine, machine.cpus, machine.memory_kib, machine.clk_tck
            ),
        ),
        plain("Access point's PMU", pmu),
    ]
}

/// The modes that the study's variants use, each once.
pub(crate) fn modes(run: &Run) -> Vec<Mode> {
    let mut modes: Vec<_> =
        run.study.variants.iter().map(|variant| run.study.mode_of(variant)).collect();
    modes.sort_unstable();
    modes.dedup();
    modes
}

/// Seconds since 1970 as a UTC date and time.
pub(crate) fn utc(unix: u64) -> String {
    let at = i64::try_from(unix).ok().and_then(|unix| Timestamp::from_second(unix).ok());
    let date = at.map(|at| at.strftime("%Y-%m-%d %H:%M UTC").to_string());
    date.unwrap_or_else(|| format!("{unix} s after 1970"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_of_any_run_have_a_date() {
        assert_eq!(utc(1_709_251_199), "2024-02-29 23:59 UTC");
        assert_eq!(utc(u64::MAX), format!("{} s after 1970", u64::MAX));
    }
}
