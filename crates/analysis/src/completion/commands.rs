//! The census: which commands each variant used and how long they took, from the driver's own counters.

use std::collections::BTreeMap;

use model::{card::CardReading, cell::Cell, study::Variant};

use super::{Command, points::Groups};

/// Every command that was used, by place, in the study's order of variants.
pub(super) fn all(groups: &Groups<'_>) -> Vec<Command> {
    let places = groups.cells.chunk_by(|one, other| one.place() == other.place());
    places
        .flat_map(|cells| groups.variants().map(move |variant| (cells, variant)))
        .flat_map(|(cells, variant)| of(groups, cells, variant))
        .collect()
}

/// The commands of one variant at one place.
fn of(groups: &Groups<'_>, cells: &[Cell], variant: &Variant) -> Vec<Command> {
    let Some(place) = cells.first().map(Cell::place) else { return Vec::new() };
    let mut sums: BTreeMap<&str, model::card::Command> = BTreeMap::new();
    for measured in cells.iter().filter_map(|cell| groups.blocks(cell, &variant.name)).flatten() {
        add(&mut sums, measured.1);
    }
    let mut commands: Vec<Command> = sums
        .into_values()
        .filter(|sum| sum.count + sum.failed > 0)
        .map(|sum| {
            let timed = sum.count.saturating_sub(sum.deferred);
            let us = |ns: f64| (timed > 0).then_some(ns / 1e3);
            Command {
                place: place.to_owned(),
                variant: variant.name.to_string(),
                mean_us: us(sum.total_ns as f64 / timed as f64),
                least_us: us(sum.least_ns as f64),
                most_us: us(sum.most_ns as f64),
                name: sum.name,
                count: sum.count,
                deferred: sum.deferred,
                failed: sum.failed,
            }
        })
        .collect();
    commands.sort_by_key(|command| std::cmp::Reverse(command.count));
    commands
}

fn add<'a>(sums: &mut BTreeMap<&'a str, model::card::Command>, measured: &'a CardReading) {
    for one in measured.commands.iter().filter(|one| one.count + one.failed > 0) {
        let sum = sums.entry(&one.name).or_insert_with(|| model::card::Command {
            name: one.name.clone(),
            least_ns: u64::MAX,
            ..model::card::Command::default()
        });
        sum.count += one.count;
        sum.deferred += one.deferred;
        sum.total_ns += one.total_ns;
        if one.count > one.deferred {
            sum.least_ns = sum.least_ns.min(one.least_ns);
        }
        sum.most_ns = sum.most_ns.max(one.most_ns);
        sum.failed += one.failed;
    }
}
