//! The answer: plain sentences that the report and the terminal open with.
//!
//! Takes what is already computed and puts it into words; nothing is computed here. Written for an
//! engineer who reads nothing else: figure, interval, unit, and of which core.

mod profiles;

use model::{
    run::Run,
    study::{HostLoad, Mode, Target},
};

use crate::{
    Analysis,
    cells::Cell,
    compare::Comparison,
    curve::{Curve, Full, Slope},
    doubt::Level,
    figures::Part,
    quantity::{self, Unit, count, cpu_short},
};

/// The core that a share is of, as words.
pub fn core_of(run: &Run, mode: Mode) -> String {
    if let Target::Device(name) = &run.study.access_point.kind {
        return format!("a core of {name}");
    }
    match (mode, run.host.cpu.as_str()) {
        (Mode::Counted, _) => OUR_CORE.to_owned(),
        (Mode::RealTime, "") => "a core of the host".to_owned(),
        (Mode::RealTime, cpu) => format!("a host core ({cpu})"),
    }
}

/// A slope that over all clients makes so small a part of the whole is none, whatever its interval.
const FLAT: f64 = 1e-3;

/// What the host does alongside a trial, as words.
pub const fn host_load_name(host_load: HostLoad) -> &'static str {
    match host_load {
        HostLoad::Anything => "whatever is quickest",
        HostLoad::Nothing => "nothing",
        HostLoad::Trial => "one other trial",
        HostLoad::Stress => "stress-ng",
    }
}

/// The sentences; at least one.
pub(crate) fn of(run: &Run, analysis: &Analysis) -> Vec<String> {
    if analysis.valid == 0 {
        return vec![nothing_valid(analysis)];
    }
    let mut sentences = if analysis.lab.asked {
        lab(analysis)
    } else if analysis.stages.asked {
        extremes(run, analysis).into_iter().chain(idle(run, analysis)).collect()
    } else {
        cost(run, analysis)
    };
    if !analysis.asks_for_cpu() {
        // No one asked what it costs.
        sentences = analysis.pauses.iter().map(|pause| format!("{}.", pause.sentence)).collect();
        if sentences.is_empty() {
            sentences = profiles::dearest(analysis);
        }
    }
    sentences.extend(profiles::of(analysis));
    sentences.push(standing(analysis));
    explain_core(&mut sentences);
    sentences
}

/// Says what our core is where it first stands.
fn explain_core(sentences: &mut [String]) {
    if let Some(first) = sentences.iter_mut().find(|sentence| sentence.contains(OUR_CORE)) {
        let explained = format!("{OUR_CORE} (each executed instruction takes 2 ns)");
        *first = first.replacen(OUR_CORE, &explained, 1);
    }
}

/// The core of counted mode.
const OUR_CORE: &str = "a 500-MIPS core";

fn nothing_valid(analysis: &Analysis) -> String {
    match analysis.invalid.first() {
        Some(first) => {
            let all = match analysis.invalid.len() {
                1 => "the only trial".to_owned(),
                all => format!("all {all} trials"),
            };
            format!("No result: {all} failed. {}: {}.", first.id, first.why)
        }
        None => "No result yet: no trial is done.".to_owned(),
    }
}

fn standing(analysis: &Analysis) -> String {
    let doubts = analysis.doubts.iter().filter(|doubt| doubt.level == Level::Doubt).count() as u32;
    let doubts = if doubts == 0 { "no doubts".to_owned() } else { count(doubts, "doubt") };
    let are = if analysis.planned == 1 { "is" } else { "are" };
    let valid =
        format!("{} of {} {are} valid", analysis.valid, count(analysis.planned, "planned trial"));
    if !analysis.asks_for_cpu() {
        return format!("{valid}; {doubts}.");
    }
    let repetitions = match analysis.repetitions() {
        (fewest, most) if fewest == most => count(most, "repetition"),
        (fewest, most) => format!("{fewest} to {most}", most = count(most, "repetition")),
    };
    format!("{valid}; brackets are 95 % intervals over {repetitions}; {doubts}.")
}

fn cost(run: &Run, analysis: &Analysis) -> Vec<String> {
    let working = analysis.curves.iter().filter(|curve| !curve.idle);
    working
        .flat_map(|curve| loaded_sentences(run, analysis, curve))
        .chain(ratios(analysis))
        .chain(idle(run, analysis))
        .collect()
}

/// Of many variants the dearest and the cheapest; the tables have the others.
fn extremes(run: &Run, analysis: &Analysis) -> Vec<String> {
    let Some((dearest, cheapest)) = analysis.stages.extremes() else { return Vec::new() };
    let curve = |variant: &str| analysis.curves.iter().find(|curve| curve.variant == variant);
    let cheapest = Some(&*cheapest.variant).filter(|variant| *variant != dearest.variant);
    let both = std::iter::once(&*dearest.variant).chain(cheapest).filter_map(curve);
    both.flat_map(|curve| loaded_sentences(run, analysis, curve)).collect()
}

fn idle(run: &Run, analysis: &Analysis) -> Vec<String> {
    let idle = analysis.curves.iter().filter(|curve| curve.idle);
    idle.filter_map(|curve| idle_sentence(run, analysis, curve)).collect()
}

fn loaded_sentences(run: &Run, analysis: &Analysis, curve: &Curve) -> Vec<String> {
    let price = widest_cell(analysis, curve).and_then(|cell| price(run, curve, cell));
    let slope = curve.slope(Part::Sum);
    price.into_iter().chain(slope.map(|slope| slope_sentence(curve, slope))).collect()
}

/// The cell with the most clients that has a figure.
fn widest_cell<'a>(analysis: &'a Analysis, curve: &Curve) -> Option<&'a Cell> {
    let largest = curve.counts.iter().max()?;
    analysis.cell(&curve.variant, *largest)
}

fn price(run: &Run, curve: &Curve, cell: &Cell) -> Option<String> {
    Some(format!(
        "At {}, `{}` ({}) uses {}.",
        count(cell.clients, "client"),
        curve.variant,
        curve.load.as_deref().unwrap_or("no load"),
        cell_price(run, cell)?
    ))
}

/// Figure, share of which core, and in whom.
fn cell_price(run: &Run, cell: &Cell) -> Option<String> {
    let sum = cell.cpu.sum.as_ref()?;
    let unit = quantity::cpu_unit(sum.mean);
    Some(format!(
        "{} of CPU a second, {} % of {}{}",
        unit.with_interval(sum),
        Unit::CORE.plain(sum.mean),
        core_of(run, cell.mode),
        in_whom(cell)
    ))
}

fn in_whom(cell: &Cell) -> String {
    let load = cell.cpu.load.map(|load| (load, "the load's own programs"));
    let others = cell.others.iter().filter_map(|other| Some((other.cpu?, other.name.as_str())));
    let companions: Vec<_> = load.into_iter().chain(others).collect();
    let Some(subject) = cell.cpu.subject.filter(|_| !companions.is_empty()) else {
        return String::new();
    };
    let parts = std::iter::once((subject, cell.subject.as_str())).chain(companions);
    let parts: Vec<_> =
        parts.map(|(cpu, whose)| format!("{} in {whose}", cpu_short(cpu.mean))).collect();
    format!(": {}", parts.join(", "))
}

fn slope_sentence(curve: &Curve, slope: &Slope) -> String {
    let per_client = Unit::MICROS.with_interval(&slope.per_client);
    match &slope.full {
        Full::At { clients, .. } => format!(
            "Each client adds {per_client} of CPU a second to `{}`; on that straight line one core would \
             be full at {}, an extrapolation.",
            curve.variant,
            count(Unit::WHOLE.with_interval(clients), "client")
        ),
        Full::NotRising => format!(
            "The CPU of `{}` does not change measurably with the clients: {per_client} a second for each.",
            curve.variant
        ),
    }
}

/// Ratios at the largest count only; the table has the others.
fn ratios(analysis: &Analysis) -> Vec<String> {
    let largest = analysis.comparisons.iter().map(|each| each.clients).max();
    let at_largest = analysis.comparisons.iter().filter(|each| Some(each.clients) == largest);
    at_largest.filter_map(ratio).collect()
}

fn ratio(comparison: &Comparison) -> Option<String> {
    let sum = comparison.sum.as_ref()?;
    let ratio = sum.ratio.as_ref()?;
    let (clients, ratio) = (count(comparison.clients, "client"), Unit::ONE.with_interval(ratio));
    let Comparison { base, variant, .. } = comparison;
    Some(match sum.difference.differs_from_zero() {
        true => format!("At {clients} `{variant}` uses {ratio} times the CPU of `{base}`."),
        false => format!(
            "At {clients} `{variant}` and `{base}` cannot be distinguished: a ratio of {ratio}."
        ),
    })
}

fn idle_sentence(run: &Run, analysis: &Analysis, curve: &Curve) -> Option<String> {
    let cell = widest_cell(analysis, curve)?;
    let subject = cell.cpu.subject.as_ref()?;
    let is_worth_saying = |slope: &Slope| {
        slope.per_client.differs_from_zero()
            && slope.per_client.mean.abs() * f64::from(cell.clients) >= FLAT * subject.mean
    };
    let slope = match curve.slope(Part::Sum) {
        Some(slope) if is_worth_saying(slope) => {
            format!(", {} for each client", Unit::MICROS.with_interval(&slope.per_client))
        }
        Some(_) => ", and no measurable amount for each client".to_owned(),
        None => String::new(),
    };
    Some(format!(
        "With {} and no load (`{}`), {} takes {} of CPU a second, {} % of {}{slope}.",
        count(cell.clients, "client"),
        curve.variant,
        curve.subject,
        quantity::cpu_unit(subject.mean).with_interval(subject),
        Unit::CORE.plain(subject.mean),
        core_of(run, cell.mode)
    ))
}

fn lab(analysis: &Analysis) -> Vec<String> {
    Mode::ALL.into_iter().filter_map(|mode| lab_summary(analysis, mode)).collect()
}

fn lab_summary(analysis: &Analysis, mode: Mode) -> Option<String> {
    let (spread, shift) = analysis.lab.worst(mode);
    let shift = shift.map_or(String::new(), |shift| {
        format!(
            ", and what else the host does moves the mean by {} at most",
            quantity::percent(shift)
        )
    });
    let mode = match mode {
        Mode::Counted => "Counted",
        Mode::RealTime => "Real-time",
    };
    Some(format!(
        "{mode} trials repeat to {} (the largest coefficient of variation){shift}.",
        quantity::percent(spread?),
    ))
}
