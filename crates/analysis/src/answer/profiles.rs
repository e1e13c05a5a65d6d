//! Where the CPU goes, in a few sentences: what a cure took away, and what waits.
//!
//! Only changes that repetitions tell apart, and only at the largest count that was profiled.

use crate::{
    Analysis,
    profiles::{Difference, FunctionChange, FunctionCost, ProfileFigures, Waiting},
    quantity::{self, cpu_unit},
};
use model::plural::count;

/// Sentences of each kind; the pictures have the rest.
const MOST: usize = 3;
/// A change of a smaller part of the whole is not worth a sentence.
const WORTH_SAYING: f64 = 0.05;
/// What holds so much of everything is the program's loop, and explains nothing.
const EVERYTHING: f64 = 0.8;
/// Waiting of a smaller share is not worth a sentence.
const WAITS: f64 = 0.02;

/// The sentences; none without profiles.
pub(super) fn of(analysis: &Analysis) -> Vec<String> {
    let largest = analysis.profiles.iter().filter_map(|profile| profile.clients).max();
    let differences = analysis.differences.iter().filter(|one| one.clients == largest);
    let profiles = analysis.profiles.iter().filter(|one| one.clients == largest);
    let changes = differences.filter_map(change).take(MOST);
    changes.chain(profiles.filter_map(waits).take(MOST)).collect()
}

/// What changed most: of all that came or went the largest, else the largest change below the loop.
fn change(difference: &Difference) -> Option<String> {
    let (before, after) = difference.totals()?;
    let size = |change: &FunctionChange| (change.after - change.before).abs();
    let worth = |change: &&FunctionChange| {
        change.significant
            && size(change) >= WORTH_SAYING * before.max(after)
            && change.before < EVERYTHING * before
            && change.after < EVERYTHING * after
    };
    // They come by the size of their change.
    let mut changes = difference.functions.iter().filter(worth);
    let gone = changes.clone().find(|change| change.before == 0.0 || change.after == 0.0);
    let FunctionChange { name, before: from, after: to, .. } = gone.or_else(|| changes.next())?;
    let clients = at_clients(difference.clients);
    let unit = cpu_unit(before.max(after));
    let part = |part: f64, whole: f64, variant: &str| {
        format!("{} of {} {} in `{variant}`", unit.plain(part), unit.plain(whole), unit.name)
    };
    let Difference { before: old, after: new, .. } = difference;
    let takes = match (*from > 0.0, *to > 0.0) {
        (true, false) => {
            format!("{} of CPU a second, and is not seen in `{new}`", part(*from, before, old))
        }
        (false, _) => {
            format!("{} of CPU a second, and is not seen in `{old}`", part(*to, after, new))
        }
        (true, true) => {
            format!("{} of CPU a second and {}", part(*from, before, old), part(*to, after, new))
        }
    };
    Some(format!("{clients} `{name}` with what it calls takes {takes}."))
}

/// The functions whose own code takes most, of each profile at the largest count: the answer where nothing but
/// stacks was asked for.
pub(super) fn dearest(analysis: &Analysis) -> Vec<String> {
    let largest = analysis.profiles.iter().filter_map(|profile| profile.clients).max();
    let profiles = analysis.profiles.iter().filter(|one| one.clients == largest);
    profiles.filter_map(own_code).take(MOST).collect()
}

fn own_code(profile: &ProfileFigures) -> Option<String> {
    let mut functions: Vec<_> =
        profile.functions.iter().filter(|one| one.own_share > 0.0).collect();
    functions.sort_by(|one, other| other.own_share.total_cmp(&one.own_share));
    let share = |function: &&FunctionCost| {
        format!("`{}` ({})", function.name, quantity::percent(function.own_share))
    };
    let first: Vec<String> = functions.iter().take(MOST).map(share).collect();
    let (last, others) = first.split_last()?;
    let list =
        if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
    let (clients, variant) = (at_clients(profile.clients), &profile.variant);
    Some(match profile.cpu_us_per_s().map(quantity::cpu_short) {
        Some(cpu) => format!(
            "{clients} `{variant}` takes {cpu} of CPU a second; the most is in the code of {list}."
        ),
        None => format!("{clients} most samples of `{variant}` are in the code of {list}."),
    })
}

fn waits(profile: &ProfileFigures) -> Option<String> {
    let Waiting { function, caller, reason, share, .. } = profile
        .waiting
        .iter()
        .filter(|one| one.share >= WAITS)
        .max_by(|a, b| a.share.total_cmp(&b.share))?;
    let caller = caller.as_ref().map_or(String::new(), |caller| format!(", called by `{caller}`"));
    Some(format!(
        "{} {} of the samples of `{}` are in `{function}`{caller}: {reason}.",
        at_clients(profile.clients),
        quantity::percent(*share),
        profile.variant
    ))
}

fn at_clients(clients: Option<u32>) -> String {
    clients.map_or("In the recording".to_owned(), |clients| {
        format!("At {clients}", clients = count(clients, "client"))
    })
}

#[cfg(test)]
mod tests {
    use crate::fixture;

    #[test]
    fn what_a_cure_took_away_and_what_waits_is_said() {
        let (_, analysis) = fixture::profiled();
        let said = super::of(&analysis);
        assert!(said.iter().all(|one| analysis.answer.contains(one)), "{:?}", analysis.answer);
        assert!(
            said[0]
                .starts_with("At 114 clients `station::trace::line` with what it calls takes 13"),
            "{said:?}"
        );
        assert!(
            said[0].ends_with("in `found` of CPU a second, and is not seen in `write-on-change`.")
        );
        assert!(said.iter().any(|one| one.contains("spins for a lock that another CPU holds")));
    }

    #[test]
    fn one_repetition_says_nothing_of_a_change() {
        let (_, mut analysis) = fixture::profiled();
        for change in analysis.differences.iter_mut().flat_map(|one| &mut one.functions) {
            change.significant = false;
        }
        assert!(super::of(&analysis).iter().all(|one| !one.contains("not seen")));
    }
}
