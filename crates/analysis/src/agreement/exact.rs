//! Replies of a candidate, held against the base's byte by byte: all of them is equal but values that a table names as
//! changing, and those have a form that the base gives them.
//!
//! Both sides of a pair start from one snapshot, so both are asked about the same clients in the same state. What changes
//! between two rounds one side may see a round earlier: a part of a reply is the base's of this round, or of the one
//! before or after. Of a client that joins, leaves or roams around a round only [`super::rounds`] says something. Pure.

use std::collections::{BTreeMap, BTreeSet};

use model::witness::{CheckedRound, Witnessed};

use super::{
    Client, Station, Stations, rounds, sides, stations,
    subject::{Form, shortened},
    table::Entry,
    value::Rule,
};
use crate::verdicts::Conclusion;

/// Stands for a value that changes.
const CHANGES: &str = "~";

/// Compares the replies of pairs, `(base, candidate)`, and counts the parts of replies that are alike.
///
/// # Errors
///
/// The first difference with its pair, counted from 0, and its round; or that nothing could be compared in a pair.
pub(crate) fn of(pairs: &[(&Witnessed, &Witnessed)]) -> Result<u64, (usize, Conclusion)> {
    let sides: Vec<[Side<'_>; 2]> =
        pairs.iter().map(|(base, own)| [Side::of(base), Side::of(own)]).collect();
    let base = sides.iter().flat_map(|[base, _]| base.changing());
    let forms: Forms<'_> = base.map(ChangingValue::form).collect();
    let mut alike = 0;
    for (place, [base, own]) in sides.iter().enumerate() {
        alike += own.compared(base, &forms).map_err(|why| (place, why))?;
    }
    Ok(alike)
}

/// The forms that the base gives values: by key, with `#` for each number.
type Forms<'a> = BTreeSet<(&'a str, String)>;

#[derive(Debug, Default)]
struct Reply {
    /// Whose lines follow each other; `None` for lines about no client.
    order: Vec<Option<String>>,
    /// All that is said of each, piece by piece, without what changes.
    parts: BTreeMap<Option<String>, Vec<String>>,
    changing: Vec<ChangingValue>,
}

#[derive(Debug)]
struct ChangingValue {
    owner: Option<String>,
    entry: &'static Entry,
    value: String,
}

impl ChangingValue {
    fn form(&self) -> (&str, String) {
        (self.entry.key, form(&self.value))
    }
}

impl Reply {
    fn read(text: &str) -> Self {
        let (form, mut reply, mut owner) = (Form::of(text), Self::default(), None);
        for line in text.split_inclusive('\n') {
            owner = form.owner(line, owner);
            if reply.order.last() != Some(&owner) {
                reply.order.push(owner.clone());
            }
            let part = reply.parts.entry(owner.clone()).or_default();
            for (before, key, value) in form.pieces(line) {
                let entry = form.table().entry(key).filter(|entry| entry.rule != Rule::Fixed);
                part.push(format!("{before}{}", if entry.is_some() { CHANGES } else { value }));
                reply.changing.extend(entry.map(|entry| ChangingValue {
                    owner: owner.clone(),
                    entry,
                    value: value.to_owned(),
                }));
            }
        }
        reply
    }

    /// The order of those who are compared.
    fn order(&self, settled: &BTreeSet<String>) -> Vec<Option<&String>> {
        let mut order: Vec<Option<&String>> = self.order.iter().map(Option::as_ref).collect();
        order.retain(|owner| owner.is_none_or(|owner| settled.contains(owner)));
        order.dedup();
        order
    }
}

/// A value with `#` for each of its numbers.
fn form(value: &str) -> String {
    let mut form = String::new();
    for sign in value.chars() {
        match sign {
            '0'..='9' | '.' | '+' | '-' if form.ends_with('#') => {}
            '0'..='9' | '.' | '+' | '-' => form.push('#'),
            other => form.push(other),
        }
    }
    ["#e#", "true", "false"].iter().fold(form, |form, number| form.replace(number, "#"))
}

/// What one side of a pair was answered, checked round by checked round.
struct Side<'a>(Vec<Round<'a>>);

struct Round<'a> {
    checked: &'a CheckedRound,
    replies: Vec<Reply>,
    /// The clients that stay around it.
    settled: BTreeSet<String>,
}

impl<'a> Side<'a> {
    fn of(witnessed: &'a Witnessed) -> Self {
        let around = |round: &CheckedRound| <[_; 2]>::from(sides(&round.readings)).map(stations);
        let heard: Vec<[Stations; 2]> = witnessed.rounds.iter().map(around).collect();
        let round = |(place, checked)| Round {
            checked,
            replies: rounds::own(checked).map(Reply::read).collect(),
            settled: settled(&near(&heard, place).iter().flatten().collect::<Vec<_>>()),
        };
        Self(witnessed.rounds.iter().enumerate().map(round).collect())
    }

    fn changing(&self) -> impl Iterator<Item = &ChangingValue> {
        self.0.iter().flat_map(|round| &round.replies).flat_map(|reply| &reply.changing)
    }

    /// Holds all replies against the base's.
    fn compared(&self, base: &Side<'_>, forms: &Forms<'_>) -> Result<u64, Conclusion> {
        let places =
            |side: &Side| side.0.iter().map(|round| round.checked.place).collect::<Vec<_>>();
        if places(self) != places(base) {
            return Err(Conclusion::invalid("the base was checked in other rounds"));
        }
        let mut alike = 0;
        for (place, (round, of_base)) in self.0.iter().zip(&base.0).enumerate() {
            let settled = &round.settled & &of_base.settled;
            for (number, reply) in round.replies.iter().enumerate() {
                let known = near(&base.0, place).iter();
                let known: Vec<&Reply> =
                    known.filter_map(|round| round.replies.get(number)).collect();
                let same = alike_in(reply, &known, &settled).and_then(|parts| {
                    reply.changing.iter().try_for_each(|one| in_form(one, forms))?;
                    Ok(parts)
                });
                alike +=
                    same.map_err(|why| rounds::in_round(round.checked, Conclusion::fail(why)))?;
            }
        }
        self.moves(base).map_err(Conclusion::fail)?;
        if alike == 0 {
            let why =
                "no client stayed around any round, so no reply can be compared with the base's";
            return Err(Conclusion::invalid(why));
        }
        Ok(alike)
    }

    /// A value that nobody else tells changes where the base's does nearly always.
    fn moves(&self, base: &Side<'_>) -> Result<(), String> {
        let (own, known) = (self.alone(), base.alone());
        for (whose, values) in own {
            let different = known.get(&whose).map_or(0, BTreeSet::len);
            if values.len() == 1 && different > 1 && 2 * different > self.0.len() {
                let (key, owner) = whose;
                let of = of_client(owner.map(String::as_str));
                return Err(format!("{key}{of} never changes, and the base's does"));
            }
        }
        Ok(())
    }

    /// The values that nobody else tells.
    fn alone(&self) -> BTreeMap<(&str, Option<&String>), BTreeSet<&str>> {
        let mut alone: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for one in self.changing().filter(|one| one.entry.sources.is_empty()) {
            alone.entry((one.entry.key, one.owner.as_ref())).or_default().insert(&one.value);
        }
        alone
    }
}

/// What is at a place, before and behind it.
fn near<T>(all: &[T], place: usize) -> &[T] {
    &all[place.saturating_sub(1)..all.len().min(place + 2)]
}

/// The clients that all readings have on one interface, each since one moment.
fn settled(readings: &[&Stations]) -> BTreeSet<String> {
    let Some((first, others)) = readings.split_first() else { return BTreeSet::new() };
    let stays = |(client, station): &(&Client, &Station)| {
        let is_elsewhere = |other: &Client| other.1 == client.1 && other.0 != client.0;
        station.kernel.is_some()
            && others.iter().all(|all| {
                let now = all.get(*client);
                now.is_some_and(|now| !super::has_joined_anew(station, now))
                    && !all.keys().any(is_elsewhere)
            })
    };
    first.iter().filter(stays).map(|(client, _)| client.1.clone()).collect()
}

/// How many parts of a reply are the base's.
fn alike_in(reply: &Reply, known: &[&Reply], settled: &BTreeSet<String>) -> Result<u64, String> {
    let order = reply.order(settled);
    if !known.iter().any(|base| base.order(settled) == order) {
        return Err("it tells of clients in another order than the base".to_owned());
    }
    let mut alike = 0;
    for owner in settled.iter().cloned().map(Some).chain([None]) {
        let part = reply.parts.get(&owner);
        if !known.iter().any(|base| base.parts.get(&owner) == part) {
            let base = known.iter().find_map(|base| base.parts.get(&owner));
            return Err(difference(owner.as_deref(), part, base));
        }
        alike += u64::from(part.is_some());
    }
    Ok(alike)
}

/// The first piece that is not the base's.
fn difference(
    owner: Option<&str>,
    own: Option<&Vec<String>>,
    base: Option<&Vec<String>>,
) -> String {
    let [own, base] = [own, base].map(|part| part.map(Vec::as_slice).unwrap_or_default());
    let first = own.iter().zip(base).take_while(|(own, base)| own == base).count();
    let [own, base] = [own, base].map(|pieces| {
        let shown = |piece: &String| piece.trim_matches('\n').escape_debug().to_string();
        let piece = pieces.get(first).map(|piece| format!("“{}”", shortened(&shown(piece))));
        piece.unwrap_or_else(|| "nothing".to_owned())
    });
    format!("it says {own}{}, and the base {base}", of_client(owner))
}

fn of_client(owner: Option<&str>) -> String {
    owner.map(|owner| format!(" of {owner}")).unwrap_or_default()
}

/// Whether the base gives a value this form, too.
fn in_form(one: &ChangingValue, forms: &Forms<'_>) -> Result<(), String> {
    if forms.contains(&one.form()) {
        return Ok(());
    }
    let (key, of) = (one.entry.key, of_client(one.owner.as_deref()));
    let value = shortened(one.value.trim());
    Err(format!("{key}{of} is “{value}”, a form that the base never gives it"))
}

#[cfg(test)]
mod tests;
