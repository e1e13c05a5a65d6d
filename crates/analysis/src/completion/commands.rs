//! The census: which commands each strategy used and how long they took, from the driver's own counters.

use std::collections::BTreeMap;

use model::completion::{Measured, Strategy};

use super::{Command, points::Made};

/// Every command that was used, by place, in the study's order of strategies.
pub(super) fn all(made: &Made<'_>) -> Vec<Command> {
    let places = 0..made.run.study.places.len();
    places
        .flat_map(|place| made.strategies().iter().map(move |strategy| (place, *strategy)))
        .flat_map(|(place, strategy)| of(made, place, strategy))
        .collect()
}

fn of(made: &Made<'_>, place: usize, strategy: Strategy) -> Vec<Command> {
    let is_ours =
        |key: &&(usize, usize, u32, Option<Strategy>)| key.0 == place && key.3 == Some(strategy);
    let mut sums: BTreeMap<&str, model::completion::Command> = BTreeMap::new();
    let blocks = made.by_key.iter().filter(|(key, _)| is_ours(key)).flat_map(|(_, blocks)| blocks);
    for (_, measured) in blocks {
        add(&mut sums, measured);
    }
    let mut commands: Vec<Command> = sums
        .into_values()
        .filter(|sum| sum.count + sum.failed > 0)
        .map(|sum| {
            let timed = sum.count.saturating_sub(sum.deferred);
            let us = |ns: f64| (timed > 0).then_some(ns / 1e3);
            Command {
                place: made.place(place),
                strategy,
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

fn add<'a>(sums: &mut BTreeMap<&'a str, model::completion::Command>, measured: &'a Measured) {
    for one in measured.commands.iter().filter(|one| one.count + one.failed > 0) {
        let sum = sums.entry(&one.name).or_insert_with(|| model::completion::Command {
            name: one.name.clone(),
            least_ns: u64::MAX,
            ..model::completion::Command::default()
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
