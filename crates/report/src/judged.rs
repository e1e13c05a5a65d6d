//! The tables of comparisons, for every kind of run: what was found, and what steady cost and rare events add to it.

use analysis::{
    Estimate,
    limited::Versus,
    quantity::{self, ABSENT, Unit},
    verdicts::{Basis, Events, Finding, Judgement, Quantity},
};

use crate::{
    prose::signed,
    table::{Rows, Table, percent},
};

/// A comparison, and what stands before it in its row.
pub(crate) type Compared<'a> = (Vec<String>, &'a Judgement);

/// A comparison with its cell and its variant before it.
pub(crate) fn with_cell(versus: &Versus) -> Compared<'_> {
    let judgement = &versus.judgement;
    (vec![versus.cell.clone(), judgement.variant.clone()], judgement)
}

/// What was found, as a word.
pub(crate) const fn finding(judgement: &Judgement, finding: Finding) -> &'static str {
    match (finding, judgement.quantity) {
        (Finding::Dearer, Quantity::Cpu) => "dearer",
        (Finding::Dearer, Quantity::Time) => "slower",
        (Finding::Dearer, Quantity::Wifi) => "keeps less",
        (Finding::Cheaper, Quantity::Cpu) => "cheaper",
        (Finding::Cheaper, Quantity::Time) => "faster",
        (Finding::Cheaper, Quantity::Wifi) => "keeps more",
        (Finding::Equivalent, _) => "the same",
        (Finding::Undecided, _) => "undecided",
        (Finding::NoOp, _) => "no-op",
        (Finding::NotComparable, _) => "not comparable",
        (Finding::Unstable, _) => "not in every state",
    }
}

/// All comparisons, a row each, a table for each quantity.
pub(crate) fn overview(heads: &[&str], compared: &[Compared<'_>]) -> String {
    let of = |(quantity, what): (Quantity, &str)| {
        let of_it = compared.iter().filter(|(_, judgement)| judgement.quantity == quantity);
        let of_it: Vec<Compared<'_>> = of_it.cloned().collect();
        let (unit, name) = unit_of(&of_it, |each| [each.before, each.after]);
        rows(&format!("{what}: every comparison, paired by repetition"), heads, of_it)
            .text("against", "", |(_, each)| each.base.clone())
            .mean(["before", &name], unit, |(_, each)| each.before)
            .mean(["after", &name], unit, |(_, each)| each.after)
            .effect(|(_, each)| each.relative)
            .number("p", "exact", |(_, each)| probability(each.p))
            .number("detectable", "%", |(_, each)| percent(each.detectable))
            .number("pairs", "", |(_, each)| each.pairs.to_string())
            .text("found", "", |(_, each)| finding(each, each.finding).to_owned())
            .text("verdict", "", |(_, each)| each.verdict.name().to_owned())
            .table()
            .html()
    };
    [(Quantity::Cpu, "CPU"), (Quantity::Time, "Time of a task"), (Quantity::Wifi, "Wi-Fi")]
        .map(of)
        .concat()
}

/// Each comparison as steady cost and rare events, which are the total together, or why its means are compared.
pub(crate) fn parts(heads: &[&str], compared: &[Compared<'_>]) -> Table {
    let (unit, name) = unit_of(compared, |each| {
        let split = each.split.as_ref();
        split.map_or([None; 2], |split| [Some(split.steady), Some(split.events)])
    });
    let of_one = |(labels, judgement): &Compared<'_>| {
        let events = |side: &Events, periods: u32| {
            let largest = side.largest_us.filter(|_| judgement.quantity == Quantity::Cpu);
            let size = largest.map(|us| format!(", up to {}", quantity::cpu_short(us)));
            format!("{} of {periods}{}", side.count, size.unwrap_or_default())
        };
        let none = [const { String::new() }; 2];
        let parts = match (&judgement.split, judgement.means_because()) {
            (Some(split), _) => vec![
                ("steady".to_owned(), Some(split.steady), none.clone()),
                (
                    "rare events".to_owned(),
                    Some(split.events),
                    [&split.base, &split.variant].map(|side| events(side, split.periods)),
                ),
                ("total".to_owned(), Some(split.total), none),
            ],
            (None, Some(why)) => vec![(format!("means: {why}"), None, none)],
            (None, None) => Vec::new(),
        };
        let decides = if judgement.basis == Basis::Total { "total" } else { "steady" };
        let row = move |(part, difference, events)| {
            let decides = if part == decides { "yes" } else { "" };
            (labels.clone(), (part, difference, events, decides))
        };
        parts.into_iter().map(row).collect::<Vec<_>>()
    };
    let sides = match compared {
        [(_, only)] => [only.base.as_str(), &only.variant],
        _ => ["of the first", "of the second"],
    };
    let caption = "Steady cost and rare events: what the sides differ by";
    rows(caption, heads, compared.iter().flat_map(of_one).collect())
        .text("part", "", |(_, (part, ..))| part.clone())
        .number("difference", &name, |(_, (_, difference, ..))| {
            difference.map_or(String::new(), |difference| signed(unit, &difference))
        })
        .quiet("interval", &name, |(_, (_, difference, ..))| {
            difference.map_or(String::new(), |difference| unit.bracket(&difference))
        })
        .text("periods with an event", sides[0], |(_, (.., [base, _], _))| base.clone())
        .text("", sides[1], |(_, (.., [_, variant], _))| variant.clone())
        .text("decides", "", |(_, (.., decides))| (*decides).to_owned())
        .table()
}

/// A table that begins with the labels of each row.
fn rows<T>(caption: &str, heads: &[&str], all: Vec<(Vec<String>, T)>) -> Rows<(Vec<String>, T)> {
    let mut table = Table::of(caption, all);
    for (at, head) in heads.iter().enumerate() {
        let cell = |(labels, _): &(Vec<String>, T)| labels[at].clone();
        table = if at == 0 { table.head(head, "", cell) } else { table.text(head, "", cell) };
    }
    table
}

/// The unit of comparisons' figures, and what it is called; of CPU the one that fits the largest.
fn unit_of(
    compared: &[Compared<'_>],
    figures: impl Fn(&Judgement) -> [Option<Estimate>; 2],
) -> (Unit, String) {
    let all = compared.iter().flat_map(|(_, each)| figures(each)).flatten();
    match compared.first().map(|(_, each)| each.quantity) {
        Some(Quantity::Time) => (Unit::ONE, "s".to_owned()),
        Some(Quantity::Wifi) => (Unit::ONE, "Mb/s".to_owned()),
        Some(Quantity::Cpu) | None => {
            let unit = quantity::cpu_unit(all.map(|one| one.mean.abs()).fold(0.0, f64::max));
            (unit, format!("{}/s", unit.name))
        }
    }
}

pub(crate) fn probability(p: Option<f64>) -> String {
    p.map_or(ABSENT.to_owned(), |p| quantity::number(p, None))
}
