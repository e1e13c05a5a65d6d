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
mod past;
pub(crate) mod rounds;
mod station;
mod subject;
mod table;
mod value;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    parity::{Answer, Reading},
    verdict::Verdict,
};

use self::{
    past::Past,
    station::Station,
    subject::Said,
    table::{Entry, Source, Table},
    value::{Bracket, Rule, Value},
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Values that a second source confirms.
    pub(crate) values: u64,
    /// Those of them that are counters, whose age shows as soon as they move.
    pub(crate) counters: u64,
    /// Clients that have any.
    pub(crate) clients: BTreeSet<(String, String)>,
    /// Keys of which at least one value was confirmed.
    pub(crate) confirmed: BTreeSet<String>,
    /// Keys of which the subject tells a value, and nobody else does.
    pub(crate) alone: BTreeSet<String>,
    /// Keys that no source here has.
    pub(crate) unreported: BTreeSet<String>,
}

/// Why nothing is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Fail where a value, or a client, is another; invalid where it cannot be compared.
    pub(crate) verdict: Verdict,
    pub(crate) why: String,
}

impl Fault {
    fn differs(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, why: why.into() }
    }

    pub(crate) fn unable(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Invalid, why: why.into() }
    }
}

/// Compares all that was said in a trial.
///
/// # Errors
///
/// The first disagreement, with client, key and both values.
pub(crate) fn of(readings: &[Reading]) -> Result<Agreement, Fault> {
    compared(readings, Asked { hostapd: true, past: None })
}

/// Who was asked besides the subject, and what was said earlier in the same window.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// Whether hostapd was; where not, what only hostapd knows is the subject's alone.
    hostapd: bool,
    past: Option<&'a Past>,
}

impl Asked<'_> {
    fn of(self, entry: &Entry) -> impl Iterator<Item = &'static Source> {
        let is_asked = move |source: &&Source| self.hostapd || !source.of.starts_with("hostapd");
        entry.sources.iter().filter(is_asked)
    }
}

fn compared(readings: &[Reading], asked: Asked<'_>) -> Result<Agreement, Fault> {
    let witnesses = Witnesses::of(readings, asked)?;
    let mut agreement = Agreement::default();
    let own = readings.iter().filter_map(|reading| Some((reading, reading.subject()?)));
    for (reading, text) in own {
        let said = subject::read(text).map_err(Fault::unable)?;
        witnesses.confirm(reading, &said, &mut agreement)?;
    }
    if agreement.clients.is_empty() {
        return Err(Fault::unable("no value of any client was reported"));
    }
    let found: BTreeSet<String> = &agreement.confirmed | &agreement.alone;
    agreement.unreported.retain(|key| !found.contains(key));
    Ok(agreement)
}

/// A client, by its interface and its address in small letters.
type Client = (String, String);

/// What nl80211 and hostapd said before the subject, and after it.
struct Witnesses<'a> {
    asked: Asked<'a>,
    before: BTreeMap<Client, Station>,
    after: BTreeMap<Client, Station>,
    seconds: i128,
}

impl<'a> Witnesses<'a> {
    fn of(readings: &[Reading], asked: Asked<'a>) -> Result<Self, Fault> {
        let (before, after) = sides(readings);
        for (side, when) in [(before, "before"), (after, "after")] {
            let has = |of: fn(&Answer) -> bool| side.iter().any(|reading| of(&reading.answer));
            let missing = if !has(|answer| matches!(answer, Answer::Kernel(_))) {
                "nl80211"
            } else if asked.hostapd && !has(|answer| matches!(answer, Answer::Hostapd(_))) {
                "hostapd"
            } else {
                continue;
            };
            let why = format!("{missing} said nothing of the clients {when} the subject did");
            return Err(Fault::unable(why));
        }
        let span = |side: &[Reading]| {
            (side.first().map_or(0, |one| one.at_ns), side.last().map_or(0, |one| one.at_ns))
        };
        let (begun, ended) = (span(before).0, span(after).1);
        let seconds = i128::from(ended.saturating_sub(begun)) / 1_000_000_000 + 1;
        Ok(Self { asked, before: stations(before), after: stations(after), seconds })
    }

    /// Confirms one reading of the subject, of one interface or of all.
    fn confirm(
        &self,
        reading: &Reading,
        said: &Said,
        agreement: &mut Agreement,
    ) -> Result<(), Fault> {
        let interface = reading.interface.as_deref();
        let here = |client: &&Client| interface.is_none_or(|name| name == client.0);
        let mut expected: BTreeMap<&str, &Client> = BTreeMap::new();
        for client in self.before.keys().chain(self.after.keys()).filter(here) {
            expected.insert(&client.1, client);
        }
        if let Some(stranger) = said.clients.keys().find(|one| !expected.contains_key(one.as_str()))
        {
            let why =
                format!("it tells of a client {stranger}, which neither nl80211 nor hostapd has");
            return Err(Fault::differs(why));
        }
        for (address, client) in expected {
            match (said.clients.get(address), self.before.get(client), self.after.get(client)) {
                (Some(values), before, after) => {
                    let (none, seconds) = (Station::default(), self.seconds);
                    let (before, after) = (before.unwrap_or(&none), after.unwrap_or(&none));
                    let (asked, at_ns) = (self.asked, reading.at_ns);
                    let reported =
                        Reported { asked, client, values, before, after, seconds, at_ns };
                    reported.confirm(said.table, agreement)?;
                }
                (None, Some(before), Some(after)) if !has_joined_anew(before, after) => {
                    let (interface, address) = client;
                    let why =
                        format!("it tells nothing of {address} on {interface}, which nl80211 has");
                    return Err(Fault::differs(why));
                }
                // It came or left in between.
                (None, ..) => {}
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
fn stations(readings: &[Reading]) -> BTreeMap<Client, Station> {
    let mut all: BTreeMap<Client, Station> = BTreeMap::new();
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

/// One client, as everybody tells of it.
struct Reported<'a> {
    asked: Asked<'a>,
    client: &'a Client,
    values: &'a BTreeMap<String, Value>,
    before: &'a Station,
    after: &'a Station,
    seconds: i128,
    /// When the subject had said it, ns.
    at_ns: u64,
}

impl Reported<'_> {
    fn confirm(&self, table: &Table, agreement: &mut Agreement) -> Result<(), Fault> {
        if let Some(key) =
            self.values.keys().find(|key| table.is_whole && table.entry(key).is_none())
        {
            let why = format!("`{key}` is in no table of values, so nobody can confirm it");
            return Err(Fault::unable(why));
        }
        for entry in table.entries() {
            let reported = self.entry(entry)?;
            let keys = match reported {
                Confirmed::Yes => &mut agreement.confirmed,
                Confirmed::Alone => &mut agreement.alone,
                Confirmed::Unreported => &mut agreement.unreported,
            };
            keys.insert(entry.key.to_owned());
            let counts = matches!(entry.rule, Rule::Counter(_));
            agreement.counters += u64::from(counts && reported == Confirmed::Yes);
            agreement.values += u64::from(reported == Confirmed::Yes);
        }
        agreement.clients.insert(self.client.clone());
        Ok(())
    }

    /// One value: every source that knows it must agree.
    fn entry(&self, entry: &Entry) -> Result<Confirmed, Fault> {
        let own = match self.values.get(entry.key) {
            Some(value) => Some((entry.own)(value).ok_or_else(|| self.unreadable(entry, value))?),
            None => None,
        };
        let mut confirmed = if own.is_some() { Confirmed::Alone } else { Confirmed::Unreported };
        for source in self.asked.of(entry) {
            let [before, after] = [self.before, self.after].map(|side| (source.read)(side));
            if [&before, &after].contains(&&Some(Value::Unclear)) {
                continue;
            }
            let bracket = Bracket { before, after, seconds: self.seconds };
            if self.agrees(entry, own.as_ref(), &bracket) {
                confirmed = if own.is_some() { Confirmed::Yes } else { confirmed };
            } else if self.asked.past.is_some_and(|past| past.swings(self.client, entry, source)) {
                // A level that goes to and fro may have been anything in between.
            } else if self.is_unsettled(entry, own.as_ref()) {
                // It was joining: a flag is not set yet, a rate not known.
            } else {
                return Err(self.differs(entry, own.as_ref(), (source, &bracket)));
            }
        }
        Ok(confirmed)
    }

    fn agrees(&self, entry: &Entry, own: Option<&Value>, bracket: &Bracket) -> bool {
        match own {
            Some(own) => entry.rule.holds(own, bracket),
            None => bracket.before.is_none() || bracket.after.is_none(),
        }
    }

    fn is_unsettled(&self, entry: &Entry, own: Option<&Value>) -> bool {
        let is_passing = own.is_none() || entry.rule.is_state();
        is_passing && has_joined_anew(self.before, self.after)
    }

    fn unreadable(&self, entry: &Entry, value: &Value) -> Fault {
        let (interface, address) = self.client;
        let Entry { key, .. } = entry;
        Fault::differs(format!(
            "{key} of {address} on {interface} is {value}, which cannot be read"
        ))
    }

    fn differs(&self, entry: &Entry, own: Option<&Value>, reported: (&Source, &Bracket)) -> Fault {
        let ((interface, address), (source, bracket)) = (self.client, reported);
        let unit = if entry.unit.is_empty() { String::new() } else { format!(" {}", entry.unit) };
        let own = own.map_or_else(|| "unknown".to_owned(), |own| format!("{own}{unit}"));
        let is_known = bracket.before.is_some() || bracket.after.is_some();
        let unit = if is_known { unit } else { String::new() };
        let (key, of) = (entry.key, source.of);
        let why = format!("{key} of {address} on {interface} is {own}, {of} is {bracket}{unit}");
        Fault::differs(why + &self.age(entry, source))
    }

    /// How old the subject's value is, where an earlier reading shows it.
    fn age(&self, entry: &Entry, source: &Source) -> String {
        let own = self.values.get(entry.key).and_then(entry.own);
        let age = self.asked.past.zip(own).and_then(|(past, own)| {
            past.age(self.client, &past::Late { entry, source, own: &own, at_ns: self.at_ns })
        });
        age.map(|age| format!(", {age}")).unwrap_or_default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmed {
    /// A second source says the same.
    Yes,
    /// The subject alone tells it.
    Alone,
    /// Nobody does.
    Unreported,
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
