//! The tables of controls: what each kept and left, the contest, regret, and guard's own figures.
//!
//! Reads the answer, gives [`Table`]s.

use analysis::{
    Estimate,
    contention::{Arm, Cell, Guarding},
    quantity::{ABSENT, Unit},
    verdicts::{Basis, Events, Judgement, Split},
};
use model::contention::Role;

use super::figures;
use crate::table::Table;

/// Every control of one cell.
pub(super) fn arms(cell: &Cell) -> Table {
    Table::of(&format!("Every control: {}", cell.name), &cell.arms)
        .head("control", "", |arm| arm.control.clone())
        .number("Wi-Fi", "Mb/s", |arm| figures::mean(Unit::ONE, arm.megabits.as_ref()))
        .number("Wi-Fi kept", "%", |arm| figures::mean(Unit::PER_CENT, arm.kept.as_ref()))
        .quiet("95 % interval", "%", |arm| figures::bracket(Unit::PER_CENT, arm.kept.as_ref()))
        .number("worst second", "in 100, %", |arm| figures::plain(Unit::PER_CENT, arm.kept_p01))
        .number("restored", "% of the loss", |arm| {
            figures::mean(Unit::PER_CENT, arm.restored.as_ref())
        })
        .quiet("95 % interval", "%", |arm| figures::bracket(Unit::PER_CENT, arm.restored.as_ref()))
        .number("p99", "× alone", |arm| figures::mean(Unit::ONE, arm.p99_ratio.as_ref()))
        .number("work kept", "%", |arm| figures::mean(Unit::PER_CENT, arm.work.as_ref()))
        .quiet("95 % interval", "%", |arm| figures::bracket(Unit::PER_CENT, arm.work.as_ref()))
        .number("CPU", "in use, %", |arm| figures::mean(Unit::PER_CENT, arm.cpu.as_ref()))
        .table()
}

/// Where Wi-Fi under a control was faster than alone: the anomaly that no figure counts as a win.
pub(super) fn above_alone(cells: &[&Cell]) -> Vec<String> {
    let above = |cell: &&Cell| {
        let names = cell.arms.iter().filter_map(|arm| {
            let uncapped = arm.kept_uncapped.as_ref().filter(|kept| kept.mean > 1.005)?;
            Some(format!("{} {}", arm.control, figures::short_whole(Some(uncapped))))
        });
        let names: Vec<_> = names.collect();
        (!names.is_empty()).then(|| format!("{}: {}", cell.name, names.join(", ")))
    };
    cells.iter().filter_map(above).collect()
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
        .number("guard’s work", "× its work", |(_, one)| {
            figures::mean(Unit::ONE, one.ratio.as_ref())
        })
        .quiet("95 % interval", "×", |(_, one)| figures::bracket(Unit::ONE, one.ratio.as_ref()))
        .table()
}

/// Controls against each other as steady difference and rare events, or why means are compared.
pub(super) fn versus(cells: &[&Cell]) -> Table {
    let rows = cells.iter().flat_map(|cell| cell.versus.iter().map(move |one| (cell, one)));
    let part = |one: &Judgement, of: fn(&Split) -> &Estimate| {
        one.split.as_ref().map_or(ABSENT.to_owned(), |split| Unit::ONE.mean(of(split)))
    };
    let events = |one: &Judgement, of: fn(&Split) -> &Events| {
        let of = |split: &Split| format!("{} of {}", of(split).count, split.periods);
        one.split.as_ref().map_or(ABSENT.to_owned(), of)
    };
    Table::of("One control against another: how much more Wi-Fi arrives", rows)
        .head("cell", "", |(cell, _)| cell.name.clone())
        .text("against", "", |(_, one)| one.base.clone())
        .text("control", "", |(_, one)| one.variant.clone())
        .number("more", "%", |(_, one)| figures::mean(Unit::PER_CENT, one.relative.as_ref()))
        .quiet("interval", "95 %", |(_, one)| {
            figures::bracket(Unit::PER_CENT, one.relative.as_ref())
        })
        .number("steady", "Mb/s", move |(_, one)| part(one, |split| &split.steady))
        .number("rare events", "Mb/s", move |(_, one)| part(one, |split| &split.events))
        .number("total", "Mb/s", move |(_, one)| part(one, |split| &split.total))
        .text("periods with an event", "of the first", move |(_, one)| {
            events(one, |split| &split.base)
        })
        .text("", "of the control", move |(_, one)| events(one, |split| &split.variant))
        .text("decides", "", |(_, one)| match (one.basis, one.means_because()) {
            (_, Some(why)) => format!("means: {why}"),
            (Basis::Total, _) => "total".to_owned(),
            _ => "steady".to_owned(),
        })
        .text("", "", |(_, one)| one.verdict.name().to_owned())
        .table()
}

/// Cells in which no other control keeps as much Wi-Fi as guard, with what guard and the next one kept, in words.
pub(super) fn unmatched(cells: &[&Cell]) -> Vec<String> {
    let of_cell = |cell: &&Cell| {
        let guard = cell.cure().filter(|_| cell.oracle.is_none())?.kept.as_ref()?;
        let others = cell.arms.iter().filter(|arm| !arm.is_guard);
        let others = others.filter_map(|arm| Some((arm, arm.kept.as_ref()?)));
        let (next, kept) = others.max_by(|left, right| left.1.mean.total_cmp(&right.1.mean))?;
        Some(format!(
            "{}: guard kept {}, the most that any other measured control kept is {} ({})",
            cell.name,
            figures::short_whole(Some(guard)),
            figures::short_whole(Some(kept)),
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
    .number("it kept", "%", |(_, oracle)| figures::mean(Unit::PER_CENT, Some(&oracle.kept)))
    .number("its work", "% of alone", |(_, oracle)| {
        figures::mean(Unit::PER_CENT, Some(&oracle.work))
    })
    .number("guard kept", "%", |(cell, _)| {
        figures::mean(Unit::PER_CENT, cell.cure().and_then(|arm| arm.kept.as_ref()))
    })
    .number("guard’s work", "% of alone", |(cell, _)| {
        figures::mean(Unit::PER_CENT, cell.cure().and_then(|arm| arm.work.as_ref()))
    })
    .number("regret", "% of its work", |(_, oracle)| {
        figures::mean(Unit::PER_CENT, oracle.regret.as_ref())
    })
    .quiet("95 % interval", "%", |(_, oracle)| {
        figures::bracket(Unit::PER_CENT, oracle.regret.as_ref())
    })
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
    .number("Wi-Fi", "% of alone", |(_, arm)| {
        figures::mean(Unit::PER_CENT, arm.kept_uncapped.as_ref())
    })
    .quiet("95 % interval", "%", |(_, arm)| {
        figures::bracket(Unit::PER_CENT, arm.kept_uncapped.as_ref())
    })
    .number("worst second", "in 100, %", |(_, arm)| figures::plain(Unit::PER_CENT, arm.kept_p01))
    .number("p99", "× alone", |(_, arm)| figures::mean(Unit::ONE, arm.p99_ratio.as_ref()))
    .quiet("95 % interval", "×", |(_, arm)| figures::bracket(Unit::ONE, arm.p99_ratio.as_ref()))
    .number("work kept", "%", |(_, arm)| figures::mean(Unit::PER_CENT, arm.work.as_ref()))
    .quiet("95 % interval", "%", |(_, arm)| figures::bracket(Unit::PER_CENT, arm.work.as_ref()))
    .number("CPU", "in use, %", |(_, arm)| figures::mean(Unit::PER_CENT, arm.cpu.as_ref()))
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
    let took = |guard: &Guarding| {
        let mut took: Vec<u64> = guard.protect_ms.iter().flatten().copied().collect();
        took.sort_unstable();
        took
    };
    let ms = |value: Option<&u64>| value.map_or(ABSENT.to_owned(), u64::to_string);
    Table::of("guard’s own figures", guarded(cells))
        .head("cell", "", |(cell, ..)| cell.name.clone())
        .text("setting", "", |(_, arm, _)| arm.control.clone())
        .number("CPU", "% of one core", |(.., guard)| {
            figures::mean(Unit::PER_CENT, Some(&guard.core))
        })
        .quiet("95 % interval", "%", |(.., guard)| {
            figures::bracket(Unit::PER_CENT, Some(&guard.core))
        })
        .number("memory", "KiB, most", |(.., guard)| guard.resident_kib.to_string())
        .number("writes", "a minute", |(.., guard)| {
            figures::mean(Unit::ONE, Some(&guard.writes_a_minute))
        })
        .number("protects in", "ms, median", |(.., guard)| {
            let took = took(guard);
            ms(took.get(took.len().saturating_sub(1) / 2))
        })
        .number("at worst", "ms", |(.., guard)| ms(took(guard).last()))
        .number("never", "trials", |(.., guard)| {
            guard.protect_ms.iter().filter(|took| took.is_none()).count().to_string()
        })
        .number("restored", "trials", |(.., guard)| {
            format!("{} of {}", guard.restored, guard.trials)
        })
        .table()
}

/// Every control that was guard, with its cell.
pub(super) fn guarded<'a>(cells: &[&'a Cell]) -> Vec<(&'a Cell, &'a Arm, &'a Guarding)> {
    let of_cell = |cell: &&'a Cell| {
        let cell = *cell;
        cell.arms.iter().filter_map(move |arm| Some((cell, arm, arm.guard.as_ref()?)))
    };
    cells.iter().flat_map(of_cell).collect()
}
