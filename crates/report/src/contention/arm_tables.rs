//! The tables of controls: harm, what each control kept and left, the contest, regret, and guard's own figures.

use analysis::{
    Estimate,
    contention::{Arm, Cell, Harm},
    quantity::{ABSENT, Unit},
};
use model::{
    cell::Role,
    figure::Figure::{
        self, CpuUse, GuardCpu, GuardWrites, Kept, KeptP01, KeptUncapped, P99Ratio, Received,
        Restored, Work,
    },
    inert,
    trial::NONE,
};

use super::{short, short_whole};
use crate::{
    table::{Table, fixed, plain},
    text::shortened,
};

const PER_CENT: Unit = Unit::PER_CENT;
/// Mb/s, from bits.
const MEGABITS: Unit = Unit::ONE.times(1e-6);
/// µs, from seconds.
const MICROS: Unit = Unit::ONE.times(1e6);
/// Columns of a terminal that a name gets.
const NAME_COLUMNS: usize = 44;

/// Harm cells for a terminal, or with intervals for a CI: what guard kept and left of them.
pub(super) fn harmed(cells: &[&Cell], is_whole: bool) -> Table {
    let share = |share: Option<Estimate>| match share {
        Some(share) if is_whole => short_whole(Some(&share)),
        share => short(share),
    };
    let of = |arm: Option<&Arm>, figure| share(arm.and_then(|arm| arm.of(figure)));
    let name = |cell: &&Cell| match is_whole {
        true => cell.name.clone(),
        false => shortened(&inert::line(&cell.name), NAME_COLUMNS),
    };
    Table::of("", cells.iter().copied())
        .head("cell", "", name)
        .text("harm", "", |cell| verdict(cell).1.to_owned())
        .number("none kept", "%", |cell| of(cell.arm(NONE), Kept))
        .number("guard kept", "%", |cell| of(cell.cure(), Kept))
        .number("work", "%", |cell| of(cell.cure(), Work))
        .number("regret", "%", |cell| share(cell.oracle.as_ref().and_then(|oracle| oracle.regret)))
        .table()
}

/// What was measured of every candidate without control, and Gate 0.
pub(super) fn harm(cells: &[&Cell]) -> Table {
    let none = |cell: &&&Cell, figure: Figure| cell.arm(NONE)?.of(figure);
    let percent = |cell: &&&Cell, of: fn(&Harm) -> Option<f64>, decimals| {
        fixed(cell.harm.as_ref().and_then(of).map(|share| 100.0 * share), decimals)
    };
    Table::of("Every cell without control, against traffic alone", cells)
        .head("cell", "", |cell| cell.name.clone())
        .text("Gate 0", "", |cell| verdict(cell).1.to_owned())
        .mean(["alone", "Mb/s"], MEGABITS, |cell| Some(cell.alone.as_ref()?.received))
        .mean(["with it", "Mb/s"], MEGABITS, |cell| none(cell, Received))
        .estimate(["Wi-Fi kept", "%"], PER_CENT, |cell| none(cell, Kept))
        .mean(["p99 alone", "µs"], MICROS, |cell| cell.alone.as_ref()?.p99)
        .mean(["p99", "× alone"], Unit::ONE, |cell| none(cell, P99Ratio))
        .number("sender waited alone", "% of window", |cell| {
            percent(cell, |harm| harm.endpoints_waited_alone, 2)
        })
        .number("with it", "% of window", |cell| percent(cell, |harm| harm.endpoints_waited, 2))
        .number("offered", "% of alone", |cell| percent(cell, |harm| harm.offered, 1))
        .table()
}

/// Class and word of Gate 0.
pub(super) fn verdict(cell: &Cell) -> (&'static str, &'static str) {
    match &cell.harm {
        Some(Harm { shown: Some(true), .. }) => ("fail", "harm"),
        Some(Harm { shown: Some(false), .. }) => ("pass", "no harm"),
        // Without an interval there is no bound that could show it, either way.
        Some(_) if cell.blocks < 2 => ("invalid", "one block"),
        Some(_) => ("invalid", "not decided"),
        None => ("invalid", "not measured"),
    }
}

/// Every control of one cell.
pub(super) fn arms(cell: &Cell) -> Table {
    Table::of(&format!("Every control: {}", cell.name), &cell.arms)
        .head("control", "", |arm| arm.control.clone())
        .mean(["Wi-Fi", "Mb/s"], MEGABITS, |arm| arm.of(Received))
        .estimate(["Wi-Fi kept", "%"], PER_CENT, |arm| arm.of(Kept))
        .number("worst second", "in 100, %", |arm| plain(PER_CENT, arm.mean(KeptP01)))
        .estimate(["restored", "% of the loss"], PER_CENT, |arm| arm.of(Restored))
        .mean(["p99", "× alone"], Unit::ONE, |arm| arm.of(P99Ratio))
        .estimate(["work kept", "%"], PER_CENT, |arm| arm.of(Work))
        .mean(["CPU", "in use, %"], PER_CENT, |arm| arm.of(CpuUse))
        .table()
}

/// guard against others, in measured points.
pub(super) fn contests(cells: &[&Cell]) -> Table {
    let rows = cells.iter().flat_map(|cell| cell.contests.iter().map(move |one| (cell, one)));
    Table::of("guard against every other control, where it keeps as much Wi-Fi", rows)
        .head("cell", "", |(cell, _)| cell.name.clone())
        .text("against", "", |(_, one)| one.against.clone())
        .number("Wi-Fi that it keeps", "%", |(_, one)| Unit::PER_CENT.plain(one.kept))
        .number("its work", "% of alone", |(_, one)| Unit::PER_CENT.plain(one.work))
        .text("guard’s setting", "", |(_, one)| {
            one.setting.clone().unwrap_or_else(|| "no measured one keeps as much".to_owned())
        })
        .estimate(["guard’s work", "× its work"], Unit::ONE, |(_, one)| one.ratio)
        .table()
}

/// Cells in which no other control keeps as much Wi-Fi as guard, with what guard and the next one kept, in words.
pub(super) fn unmatched(cells: &[&Cell]) -> Vec<String> {
    let of_cell = |cell: &&Cell| {
        let guard = &cell.cure().filter(|_| cell.oracle.is_none())?.of(Kept)?;
        let others = cell.arms.iter().filter(|arm| !arm.is_guard);
        let others = others.filter_map(|arm| Some((arm, arm.of(Kept)?)));
        let (next, kept) = others.max_by(|left, right| left.1.mean.total_cmp(&right.1.mean))?;
        Some(format!(
            "{}: guard kept {}, the most that any other measured control kept is {} ({})",
            cell.name,
            short_whole(Some(guard)),
            short_whole(Some(&kept)),
            next.control
        ))
    };
    cells.iter().filter_map(of_cell).collect()
}

/// guard against the best other control of each cell.
pub(super) fn regrets(cells: &[&Cell]) -> Table {
    Table::of(
        "guard against the best other control that keeps as much Wi-Fi, of all that were measured",
        cells.iter().filter_map(|cell| Some((cell, cell.oracle.as_ref()?))),
    )
    .head("cell", "", |(cell, _)| cell.name.clone())
    .text("best other control", "", |(_, oracle)| oracle.control.clone())
    .number("Wi-Fi to keep", "%", |(_, oracle)| Unit::PER_CENT.plain(oracle.asked))
    .mean(["it kept", "%"], PER_CENT, |(_, oracle)| Some(oracle.kept))
    .mean(["its work", "% of alone"], PER_CENT, |(_, oracle)| Some(oracle.work))
    .mean(["guard kept", "%"], PER_CENT, |(cell, _)| cell.cure()?.of(Kept))
    .mean(["guard’s work", "% of alone"], PER_CENT, |(cell, _)| cell.cure()?.of(Work))
    .estimate(["regret", "% of its work"], PER_CENT, |(_, oracle)| oracle.regret)
    .table()
}

/// The cells of a role, every control. Wi-Fi is uncapped here: nothing is to be won, and a gain would hide a
/// loss.
pub(super) fn of_role(cells: &[&Cell]) -> Table {
    Table::of(
        "Every control, against traffic alone and application alone",
        cells.iter().flat_map(|cell| cell.arms.iter().map(move |arm| (cell, arm))),
    )
    .head("cell", "", |(cell, _)| cell.name.clone())
    .text("control", "", |(_, arm)| arm.control.clone())
    .estimate(["Wi-Fi", "% of alone"], PER_CENT, |(_, arm)| arm.of(KeptUncapped))
    .number("worst second", "in 100, %", |(_, arm)| plain(PER_CENT, arm.mean(KeptP01)))
    .estimate(["p99", "× alone"], Unit::ONE, |(_, arm)| arm.of(P99Ratio))
    .estimate(["work kept", "%"], PER_CENT, |(_, arm)| arm.of(Work))
    .mean(["CPU", "in use, %"], PER_CENT, |(_, arm)| arm.of(CpuUse))
    .table()
}

/// What each role other than harm is called, and what it asks.
pub(super) const OTHER_ROLES: [(Role, &str, &str); 3] = [
    (
        Role::Paced,
        "Paced traffic, below what the path carries",
        "Wi-Fi has room here: a control should cost it nothing, keep round trips short, and leave the rest of the CPU to the application.",
    ),
    (
        Role::Changing,
        "Load that comes and goes",
        "Wi-Fi counts in the seconds in which traffic was on; work is over the whole window, so a control that lets go between bursts leaves more of it.",
    ),
    (
        Role::NoHarm,
        "Where nothing may be taken",
        "Traffic alone, an application alone, traffic that the radio limits: whatever guard takes here is a false alarm.",
    ),
];

pub(super) fn costs(cells: &[&Cell]) -> Table {
    // What each trial took to protect, the shortest first.
    let took = |arm: &Arm| {
        let mut took: Vec<u64> = arm.guard.iter().filter_map(|trial| trial.protect_ms).collect();
        took.sort_unstable();
        took
    };
    let ms = |value: Option<&u64>| value.map_or(ABSENT.to_owned(), u64::to_string);
    let kib = |arm: &Arm| arm.guard.iter().map(|trial| trial.resident_kib).max();
    Table::of("guard’s own figures", guarded(cells))
        .head("cell", "", |(cell, _)| cell.name.clone())
        .text("setting", "", |(_, arm)| arm.control.clone())
        .estimate(["CPU", "% of one core"], PER_CENT, |(_, arm)| arm.of(GuardCpu))
        .number("memory", "KiB, most", |(_, arm)| ms(kib(arm).as_ref()))
        .mean(["writes", "a minute"], Unit::ONE, |(_, arm)| arm.of(GuardWrites))
        .number("protects in", "ms, median", |(_, arm)| {
            let took = took(arm);
            ms(took.get(took.len().saturating_sub(1) / 2))
        })
        .number("at worst", "ms", |(_, arm)| ms(took(arm).last()))
        .number("never", "trials", |(_, arm)| (arm.guard.len() - took(arm).len()).to_string())
        .number("restored", "trials", |(_, arm)| {
            let restored = arm.guard.iter().filter(|trial| trial.restored).count();
            format!("{restored} of {}", arm.guard.len())
        })
        .table()
}

/// Every control that was guard, with its cell.
pub(super) fn guarded<'a>(cells: &[&'a Cell]) -> Vec<(&'a Cell, &'a Arm)> {
    let of_cell = |cell: &&'a Cell| {
        let cell = *cell;
        cell.arms.iter().filter(|arm| !arm.guard.is_empty()).map(move |arm| (cell, arm))
    };
    cells.iter().flat_map(of_cell).collect()
}
