//! Does what a subject says of its clients agree with what nl80211 and hostapd say of them, value by value?
//!
//! ```text
//! readings of a trial ─► station   nl80211's values and hostapd's words, before and after ─┐
//!                     └► subject   the subject's own words, in between ────────────────────┴─► table, value ─► agreement
//! ```
//!
//! Pure. Each client that both readings around the subject's have must be there, with every key of its table: a
//! value that a second source tells lies where the key's rule allows it, and one that the source does not know is
//! unknown to the subject as well. Keys without a second source are named, never counted as compared.

mod abilities;
pub(crate) mod exact;
mod own;
pub(crate) mod rounds;
mod station;
mod subject;
mod table;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use model::parity::{Answer, Reading};

use self::{
    station::Station,
    subject::Statement,
    table::{Entry, Source, Table},
    value::{Bracket, Rule, Value},
};
use crate::verdicts::Conclusion;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Values that a second source confirms.
    pub(crate) values: u64,
    /// Those of them that are counters, whose age shows as soon as they move.
    pub(crate) counters: u64,
    /// Clients that have any.
    pub(crate) clients: BTreeSet<Client>,
    /// Keys of which at least one value was confirmed.
    pub(crate) confirmed: BTreeSet<String>,
    /// Keys of which the subject tells a value, and nobody else does.
    pub(crate) alone: BTreeSet<String>,
    /// Keys that no source here has.
    pub(crate) unreported: BTreeSet<String>,
}

/// A client, by its interface and its address in small letters.
type Client = (String, String);

/// What nl80211 and hostapd say of each client.
type Stations = BTreeMap<Client, Station>;

/// Compares all that was said in a trial.
///
/// # Errors
///
/// The first disagreement, with client, key and both values: fail where a value, or a client, is another; invalid where it
/// cannot be compared.
pub(crate) fn of(readings: &[Reading]) -> Result<Agreement, Conclusion> {
    compared(readings, Others { hostapd: true, past: &[] })
}

/// Which other sources were asked, and what they said in the same window, by the moment, ns.
#[derive(Clone, Copy)]
struct Others<'a> {
    /// Whether hostapd was asked; where not, what only hostapd knows is the subject's alone.
    hostapd: bool,
    past: &'a [(u64, Stations)],
}

fn compared(readings: &[Reading], others: Others<'_>) -> Result<Agreement, Conclusion> {
    let witnesses = Witnesses::of(readings, others)?;
    let mut agreement = Agreement::default();
    let own = readings.iter().filter_map(|reading| Some((reading, reading.subject()?)));
    for (reading, text) in own {
        let said = subject::read(text).map_err(Conclusion::invalid)?;
        witnesses.confirm(reading, &said, &mut agreement)?;
    }
    if agreement.clients.is_empty() {
        return Err(Conclusion::invalid("no value of any client was reported"));
    }
    let found: BTreeSet<String> = &agreement.confirmed | &agreement.alone;
    agreement.unreported.retain(|key| !found.contains(key));
    Ok(agreement)
}

/// What nl80211 and hostapd said before the subject, and after it.
struct Witnesses<'a> {
    others: Others<'a>,
    before: Stations,
    after: Stations,
    seconds: i128,
}

impl<'a> Witnesses<'a> {
    fn of(readings: &[Reading], others: Others<'a>) -> Result<Self, Conclusion> {
        let (before, after) = sides(readings);
        for (side, when) in [(before, "before"), (after, "after")] {
            let has = |of: fn(&Answer) -> bool| side.iter().any(|reading| of(&reading.answer));
            let missing = if !has(|answer| matches!(answer, Answer::Kernel(_))) {
                "nl80211"
            } else if others.hostapd && !has(|answer| matches!(answer, Answer::Hostapd(_))) {
                "hostapd"
            } else {
                continue;
            };
            let why = format!("{missing} said nothing of the clients {when} the subject did");
            return Err(Conclusion::invalid(why));
        }
        let at_ns = |reading: Option<&Reading>| reading.map_or(0, |one| one.at_ns);
        let span_ns = at_ns(after.last()).saturating_sub(at_ns(before.first()));
        let seconds = i128::from(span_ns) / 1_000_000_000 + 1;
        Ok(Self { others, before: stations(before), after: stations(after), seconds })
    }

    /// Confirms one reading of the subject, of one interface or of all.
    fn confirm(
        &self,
        reading: &Reading,
        said: &Statement,
        agreement: &mut Agreement,
    ) -> Result<(), Conclusion> {
        let interface = reading.interface.as_deref();
        let here = |client: &&Client| interface.is_none_or(|name| name == client.0);
        let known = self.before.keys().chain(self.after.keys()).filter(here);
        let expected: BTreeMap<&str, &Client> =
            known.map(|client| (client.1.as_str(), client)).collect();
        let mut own = said.clients.keys();
        if let Some(stranger) = own.find(|one| !expected.contains_key(one.as_str())) {
            let why =
                format!("it tells of a client {stranger}, which neither nl80211 nor hostapd has");
            return Err(Conclusion::fail(why));
        }
        for (address, client) in expected {
            let sides = (self.before.get(client), self.after.get(client));
            match (said.clients.get(address), sides) {
                (Some(values), (before, after)) => {
                    let (witnesses, none, at_ns) = (self, Station::default(), reading.at_ns);
                    let [before, after] = [before, after].map(|side| side.unwrap_or(&none));
                    let report = Report { witnesses, client, values, before, after, at_ns };
                    report.confirm(said.table, agreement)?;
                }
                (None, (Some(before), Some(after))) if !has_joined_anew(before, after) => {
                    let (interface, address) = client;
                    let why =
                        format!("it tells nothing of {address} on {interface}, which nl80211 has");
                    return Err(Conclusion::fail(why));
                }
                // It came or left in between.
                (None, _) => {}
            }
        }
        Ok(())
    }
}

/// The readings before the subject's, and those after them.
fn sides(readings: &[Reading]) -> (&[Reading], &[Reading]) {
    let is_own = |reading: &Reading| reading.subject().is_some();
    let first = readings.iter().position(is_own).unwrap_or(readings.len());
    let last = readings.iter().rposition(is_own).map_or(readings.len(), |place| place + 1);
    (&readings[..first], &readings[last..])
}

/// What one side's readings say of each client.
fn stations(readings: &[Reading]) -> Stations {
    let mut all = Stations::new();
    for reading in readings {
        let Some(interface) = &reading.interface else { continue };
        let client = |address| (interface.clone(), address);
        match &reading.answer {
            Answer::Kernel(list) => {
                for values in &list.stations {
                    let station = all.entry(client(values.address.clone())).or_default();
                    (station.unix_ms, station.noise_dbm) = (list.unix_ms, list.noise_dbm);
                    station.kernel = Some(values.clone());
                }
            }
            Answer::Hostapd(text) => {
                let (status, stations) = station::hostapd(text);
                for (address, words) in stations {
                    let station = all.entry(client(address)).or_default();
                    (station.hostapd, station.status) = (Some(words), status.clone());
                }
            }
            Answer::Subject(_) => {}
        }
    }
    all
}

/// Whether a client joined between two readings, or left and joined again: by the moment of its association.
fn has_joined_anew(before: &Station, after: &Station) -> bool {
    let moment = |station: &Station| station.kernel.as_ref()?.associated_at_boottime_ns;
    moment(after).is_some_and(|after| moment(before) != Some(after))
}

/// One client, as every source tells of it.
struct Report<'a> {
    witnesses: &'a Witnesses<'a>,
    client: &'a Client,
    values: &'a BTreeMap<String, Value>,
    before: &'a Station,
    after: &'a Station,
    /// When the subject had said it, ns.
    at_ns: u64,
}

impl Report<'_> {
    fn confirm(&self, table: &Table, agreement: &mut Agreement) -> Result<(), Conclusion> {
        let is_unknown = |key: &&String| table.is_whole && table.entry(key).is_none();
        if let Some(key) = self.values.keys().find(is_unknown) {
            let why = format!("`{key}` is in no table of values, so nobody can confirm it");
            return Err(Conclusion::invalid(why));
        }
        for entry in table.entries() {
            let own = self.own(entry)?;
            let is_confirmed = self.is_confirmed(entry, own.as_ref())?;
            let keys = match (own, is_confirmed) {
                (Some(_), true) => &mut agreement.confirmed,
                (Some(_), false) => &mut agreement.alone,
                (None, _) => &mut agreement.unreported,
            };
            keys.insert(entry.key.to_owned());
            agreement.values += u64::from(is_confirmed);
            let is_counter = matches!(entry.rule, Rule::Counter(_));
            agreement.counters += u64::from(is_confirmed && is_counter);
        }
        agreement.clients.insert(self.client.clone());
        Ok(())
    }

    /// The subject's own value, in the table's unit.
    fn own(&self, entry: &Entry) -> Result<Option<Value>, Conclusion> {
        let Some(value) = self.values.get(entry.key) else { return Ok(None) };
        let why = || format!("{} is {value}, which cannot be read", self.named(entry));
        (entry.own)(value).map(Some).ok_or_else(|| Conclusion::fail(why()))
    }

    /// Whether some source confirms a value; every source that knows it must agree.
    fn is_confirmed(&self, entry: &Entry, own: Option<&Value>) -> Result<bool, Conclusion> {
        let others = self.witnesses.others;
        let is_asked = |source: &&Source| others.hostapd || !source.of.starts_with("hostapd");
        let mut is_confirmed = false;
        for source in entry.sources.iter().filter(is_asked) {
            let [before, after] = [self.before, self.after].map(|side| (source.read)(side));
            if [&before, &after].contains(&&Some(Value::Unclear)) {
                continue;
            }
            let bracket = Bracket { before, after, seconds: self.witnesses.seconds };
            let agrees = match own {
                Some(own) => entry.rule.holds(own, &bracket),
                None => bracket.before.is_none() || bracket.after.is_none(),
            };
            if agrees {
                is_confirmed = own.is_some();
            } else if !self.may_differ(entry, source, own) {
                return Err(self.differs(entry, own, (source, &bracket)));
            }
        }
        Ok(is_confirmed)
    }

    /// A level that goes to and fro in the window may have been anything in between; and of a client that was joining a
    /// flag is not set yet, a rate not known.
    fn may_differ(&self, entry: &Entry, source: &Source, own: Option<&Value>) -> bool {
        let mut past = self.past(source).map(|(_, value)| value);
        let first = past.next();
        let is_state = entry.rule.is_state();
        (own.is_none() || is_state) && has_joined_anew(self.before, self.after)
            || is_state && past.any(|value| Some(value) != first)
    }

    /// What a source said of this client in the window, by the moment, ns.
    fn past(&self, source: &Source) -> impl DoubleEndedIterator<Item = (u64, Option<Value>)> {
        let past = self.witnesses.others.past.iter();
        past.filter_map(|(at_ns, all)| Some((*at_ns, (source.read)(all.get(self.client)?))))
    }

    fn named(&self, entry: &Entry) -> String {
        let (interface, address) = self.client;
        format!("{} of {address} on {interface}", entry.key)
    }

    fn differs(
        &self,
        entry: &Entry,
        own: Option<&Value>,
        (source, bracket): (&Source, &Bracket),
    ) -> Conclusion {
        let unit = if entry.unit.is_empty() { String::new() } else { format!(" {}", entry.unit) };
        let age = own.and_then(|own| self.age(entry, source, own)).unwrap_or_default();
        let own = own.map_or_else(|| "unknown".to_owned(), |own| format!("{own}{unit}"));
        let is_known = bracket.before.is_some() || bracket.after.is_some();
        let (unit, of) = (if is_known { &*unit } else { "" }, source.of);
        Conclusion::fail(format!("{} is {own}, {of} is {bracket}{unit}{age}", self.named(entry)))
    }

    /// How old the subject's value is: when it was the right one, or at least how long ago it must have been read.
    fn age(&self, entry: &Entry, source: &Source, own: &Value) -> Option<String> {
        let earlier = || self.past(source).filter(|(at_ns, _)| *at_ns < self.at_ns);
        let seconds = |at_ns: u64| (self.at_ns - at_ns) as f64 / 1e9;
        if let Some((at_ns, _)) = earlier().rev().find(|(_, value)| value.as_ref() == Some(own)) {
            return Some(format!(", which is the value of {:.1} s before", seconds(at_ns)));
        }
        let (Rule::Counter(_), Value::Whole(own)) = (entry.rule, own) else { return None };
        let is_past = |value: &Option<Value>| matches!(value, Some(Value::Whole(it)) if it > own);
        let (at_ns, _) = earlier().find(|(_, value)| is_past(value))?;
        Some(format!(", which is at least {:.1} s old", seconds(at_ns)))
    }
}

/// The table of a full reply as documentation has it: key, unit, second sources, rule or reason.
pub fn documented() -> Vec<[String; 4]> {
    let row = |entry: &Entry| {
        let sources: Vec<&str> = entry.sources.iter().map(|source| source.of).collect();
        let rule = if sources.is_empty() { entry.alone } else { entry.rule.words() };
        [entry.key.to_owned(), entry.unit.to_owned(), sources.join(", "), rule.to_owned()]
    };
    table::FULL.entries().map(row).collect()
}

#[cfg(test)]
mod tests;
