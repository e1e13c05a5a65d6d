//! A limit as people say it: `bulk: cpu at 114 clients <= 2%`, `no slower than baseline.json by 1%`.
//!
//! Reads the words and says what a study knows of them. Whether a run keeps a limit is `analysis`'s to say.
//!
//! ```text
//! [VARIANT:] METRIC [at N clients] (<= | ≤ | >= | ≥) VALUE
//! [VARIANT:] no slower than FILE [at N clients] by SHARE
//! [VARIANT:] [worst | median | p90] METRIC [at PLACE [and PLACE]] (<= | ≤ | >= | ≥) VALUE
//! ```
//!
//! The third form is of contention and completion studies: `guard-100: kept at harmed cells >= 95%`.

use std::fmt;

use crate::{
    figure::{Figure, Measure, Part},
    nearest,
    purpose::Purpose,
    share::Share,
};

/// A limit that a run must keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// As it was written, without spaces at its ends.
    pub text: String,
    pub at: At,
    pub over: Over,
    pub asked: Asked,
}

/// Which of a run's figures of one name are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Of this variant; `None` is every one that has the figure.
    pub variant: Option<String>,
    /// At so many clients; `None` is at every count.
    pub clients: Option<u32>,
    /// At points that are called by all of these words; empty is everywhere.
    pub places: Vec<String>,
}

impl Limit {
    /// Whether trials at this client count alone can answer it.
    pub fn is_answered_at(&self, clients: u32) -> bool {
        let is_over_counts =
            matches!(&self.asked, Asked::Bound { metric, .. } if metric.is_over_counts());
        self.at.clients.is_none_or(|count| count == clients) && !is_over_counts
    }
}

/// What of several points a limit asks about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// Every one, each by the bounds of its interval.
    #[default]
    Every,
    /// The mean of the worst.
    Worst,
    /// The median of the means.
    Median,
    /// The 90th percentile of all values, the nearest rank.
    P90,
}

/// What people write before a metric for that.
const OVERS: [(&str, Over); 3] =
    [("worst ", Over::Worst), ("median ", Over::Median), ("p90 ", Over::P90)];

#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A figure on one side of a value.
    Bound {
        metric: Metric,
        side: Side,
        /// The value, in the metric's unit.
        value: f64,
    },
    /// The study's key figure against a baseline.
    NoSlower {
        file: String,
        /// By how much more it may be.
        by: Share,
    },
}

impl Asked {
    /// The trials that give the figure.
    pub const fn purpose(&self) -> Purpose {
        match self {
            Asked::Bound { metric: Metric::Figure(Figure::UnknownFrames), .. } => Purpose::Stacks,
            Asked::Bound { metric: Metric::Rate(_), .. } => Purpose::Counts,
            Asked::Bound { .. } | Asked::NoSlower { .. } => Purpose::Cpu,
        }
    }
}

/// What a limit can be put on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    Figure(Figure),
    /// Calls of a function that the study counts, a second.
    Rate(String),
    /// What only some studies have, by its name: `work-over-NAME`, or nothing at all.
    Other(String),
}

/// A side of a value, the value included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    AtMost,
    AtLeast,
}

/// Operators as people type them.
const SIDES: [(&str, Side); 4] =
    [("<=", Side::AtMost), ("≤", Side::AtMost), (">=", Side::AtLeast), ("≥", Side::AtLeast)];

/// The words between a metric and a baseline's file.
const NO_SLOWER: &str = "no slower than ";

const OVER_COUNTS: &str = "a slope is over all client counts, not at one";

/// Units that a value may have, each with what one of it is in the figure's unit.
type Units = &'static [(&'static str, f64)];

impl Metric {
    fn of(word: &str) -> Self {
        Figure::named(word).map_or_else(|| Metric::Other(word.to_owned()), Metric::Figure)
    }

    /// A figure whose values have a unit of their own, which a study of a subject has.
    fn of_subject(&self) -> Option<Figure> {
        match self {
            Metric::Figure(figure) => Some(*figure).filter(|one| one.needs(Part::Subject)),
            _ => None,
        }
    }

    fn is_over_counts(&self) -> bool {
        self.of_subject().is_some_and(Figure::is_over_counts)
    }

    /// What its values say that it is: calls of a function have a rate.
    fn with_value(self, value: &str) -> Self {
        if value.ends_with("/s") && self.of_subject().is_none() {
            Metric::Rate(self.to_string())
        } else {
            self
        }
    }

    /// What a value must look like, and the units that it may have.
    fn units(&self) -> (&'static str, Units) {
        const CPU: Units =
            &[("ns", 1e-3), ("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6), ("%", 1e4)];
        const KIB: Units = &[("KiB", 1.0), ("MiB", 1024.0), ("GiB", 1_048_576.0)];
        const ANY: Units = &[
            ("%", 0.01),
            ("x", 1.0),
            ("×", 1.0),
            ("", 1.0),
            ("us", 1e-6),
            ("µs", 1e-6),
            ("ms", 1e-3),
            ("s", 1.0),
            ("KiB", 1.0),
            ("MiB", 1024.0),
        ];
        match (self.of_subject(), self) {
            (_, Metric::Rate(_)) => ("1/s", &[("/s", 1.0)]),
            (Some(Figure::Slope), _) => ("60us of CPU a second for each client", CPU),
            (Some(figure), _) => match figure.unit() {
                Measure::Cpu => ("2% of a core, or 900us of CPU a second", CPU),
                Measure::Kib => ("12MiB or 900KiB", KIB),
                _ => ("0.1%", &[("%", 0.01), ("", 1.0)]),
            },
            (None, _) => ("95%, 1.25x, 10ms, 4MiB or a number", ANY),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Metric::Figure(figure) => figure.name(),
            Metric::Rate(name) | Metric::Other(name) => name,
        })
    }
}

/// Reads a limit; else says in one line what is wrong, and what would be right.
pub fn parse(text: &str) -> Result<Limit, String> {
    let text = text.trim();
    let (variant, rest) = variant_of(text);
    let wrong = |why: String| format!("the limit `{text}`: {why}");
    let over = OVERS.iter().find_map(|(word, over)| Some((rest.strip_prefix(word)?, *over)));
    let (rest, over) = over.unwrap_or((rest, Over::Every));
    let (at, asked) = match rest.strip_prefix(NO_SLOWER) {
        Some(rest) => no_slower(rest),
        None => bound(rest),
    }
    .map_err(wrong)?;
    let at = At { variant: variant.map(str::to_owned), ..at };
    Ok(Limit { text: text.to_owned(), at, over, asked })
}

/// What stands before a colon; two colons are inside of a function's name.
fn variant_of(text: &str) -> (Option<&str>, &str) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    match text.split_once(':') {
        Some((name, rest)) if !rest.starts_with(':') && name.trim().chars().all(plain) => {
            (Some(name.trim()), rest.trim())
        }
        _ => (None, text),
    }
}

fn no_slower(rest: &str) -> Result<(At, Asked), String> {
    let (file, by) = rest
        .rsplit_once(" by ")
        .ok_or("by how much may it be slower? write for instance `by 1%`")?;
    let (file, at) = at(file)?;
    let by = by.parse().map_err(|error| format!("{error}"))?;
    Ok((at, Asked::NoSlower { file: file.to_owned(), by }))
}

fn bound(rest: &str) -> Result<(At, Asked), String> {
    let sides = SIDES.iter().filter_map(|(word, side)| Some((rest.split_once(word)?, *side)));
    let ((figure, value), side) = sides
        .min_by_key(|((figure, _), _)| figure.len())
        .ok_or("no <= and no >= in it; write for instance `cpu at 114 clients <= 2%`")?;
    let (metric, at) = at(figure)?;
    if metric.is_empty() || metric.contains(char::is_whitespace) {
        let known: Vec<&str> = Part::Subject.figures().collect();
        return Err(format!("`{metric}` is not a figure; known are {}", known.join(", ")));
    }
    let metric = Metric::of(metric).with_value(value.trim());
    if at.clients.is_some() && metric.is_over_counts() {
        return Err(OVER_COUNTS.to_owned());
    }
    let value = value_of(&metric, value.trim())?;
    Ok((at, Asked::Bound { metric, side, value }))
}

/// Takes `at N clients`, or `at` and other places, off the end.
fn at(text: &str) -> Result<(&str, At), String> {
    let text = text.trim();
    let Some((before, place)) = text.rsplit_once(" at ") else { return Ok((text, At::default())) };
    let (before, place) = (before.trim(), place.trim());
    let Some(count) = place.strip_suffix("clients").or_else(|| place.strip_suffix("client")) else {
        let name = |one: &str| one.trim().trim_end_matches(" cells").to_owned();
        let places: Vec<String> = place.split(" and ").map(name).collect();
        if places.iter().any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
            return Err(format!(
                "`at {place}` is not a place; write for instance `at harmed cells`"
            ));
        }
        return Ok((before, At { places, ..At::default() }));
    };
    let clients = count.trim().parse().map_err(|_| no_count(place))?;
    Ok((before, At { clients: Some(clients), ..At::default() }))
}

fn value_of(metric: &Metric, text: &str) -> Result<f64, String> {
    let (example, units) = metric.units();
    let wrong = || format!("`{text}` is not a value for {metric}; write for instance {example}");
    let signed = metric.of_subject().is_none() && !matches!(metric, Metric::Rate(_));
    let (sign, text) = match text.strip_prefix(['-', '−']).filter(|_| signed) {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor = units.iter().find(|(name, _)| *name == unit.trim());
    let factor = factor.ok_or_else(wrong)?.1;
    // 95 % is 0.95 and not the nearest number to 95 × 0.01.
    let value = sign * if factor < 1.0 { number / (1.0 / factor).round() } else { number * factor };
    if value.is_finite() { Ok(value) } else { Err(wrong()) }
}

/// What limits of a study can speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    pub figures: Vec<String>,
    /// Functions whose calls it counts: figures that have a rate.
    pub functions: Vec<String>,
    /// Its variants: controls and strategies are some.
    pub variants: Vec<String>,
    /// Where its figures are measured.
    pub points: Points,
    /// The figure that a run is no slower in than a baseline.
    pub key: Option<Key>,
}

/// The figure that says whether a run became slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    pub figure: &'static str,
    /// On which side of the earlier run's it is to be.
    pub side: Side,
}

/// Where a study's figures are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Points {
    Clients(Vec<u32>),
    /// At what is called by these words.
    Places(Vec<String>),
}

impl Default for Points {
    fn default() -> Self {
        Self::Places(Vec::new())
    }
}

impl Known {
    /// Whether the study has what a limit speaks of; else what is not known, and what is, in one line.
    pub fn check(&self, limit: &Limit) -> Result<(), String> {
        self.has_figure(&limit.asked)
            .and_then(|()| match &limit.at.variant {
                Some(name) => one_of("variant", name, &self.variants),
                None => Ok(()),
            })
            .and_then(|()| self.points.have(limit))
            .map_err(|why| format!("the limit `{}`: {why}", limit.text))
    }

    /// Whether the study has the figure that is asked about, wherever that is measured.
    pub fn has_figure(&self, asked: &Asked) -> Result<(), String> {
        let Asked::Bound { metric, .. } = asked else {
            let none = || format!("the study has no baseline; {}", known(&self.figures));
            return self.key.map(|_| ()).ok_or_else(none);
        };
        let name = metric.to_string();
        match metric {
            Metric::Rate(_) if self.functions.contains(&name) => Ok(()),
            _ if self.functions.contains(&name) => {
                Err(format!("calls of `{name}` have a rate; write for instance 1/s"))
            }
            _ => one_of("figure", &name, &[&self.figures[..], &self.functions].concat()),
        }
    }
}

impl Points {
    fn have(&self, limit: &Limit) -> Result<(), String> {
        match self {
            Self::Places(places) => match limit.at.clients {
                Some(clients) => {
                    Err(format!("no {clients} clients here; places are {}", places.join(", ")))
                }
                None => limit.at.places.iter().try_for_each(|place| one_of("place", place, places)),
            },
            Self::Clients(counts) => {
                if let Some(place) = limit.at.places.first() {
                    return Err(no_count(place));
                }
                if limit.over != Over::Every {
                    let why = "every client count is asked about; leave the word before it out";
                    return Err(why.to_owned());
                }
                match limit.at.clients.filter(|clients| !counts.contains(clients)) {
                    Some(clients) => Err(format!(
                        "{clients} clients are not among the study's, which are {counts:?}"
                    )),
                    None => Ok(()),
                }
            }
        }
    }
}

fn one_of(what: &str, name: &str, all: &[String]) -> Result<(), String> {
    if all.iter().any(|one| one == name) {
        return Ok(());
    }
    let names: Vec<&str> = all.iter().map(String::as_str).collect();
    Err(format!("unknown {what} `{name}`; {}", nearest::or_all(name, &names, "known are")))
}

fn known(all: &[String]) -> String {
    format!("known are {}", all.join(", "))
}

fn no_count(place: &str) -> String {
    format!("`at {place}` is not a client count; write for instance `at 114 clients`")
}

/// Figures of a run, as people name them: a limit without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub at: At,
    pub figure: String,
}

/// Reads `[VARIANT:] METRIC [at N clients | at PLACE [and PLACE]]`.
pub fn selection(text: &str) -> Result<Selection, String> {
    let (variant, rest) = variant_of(text.trim());
    let (figure, at) = at(rest)?;
    if variant == Some("") || figure.is_empty() || figure.contains(char::is_whitespace) {
        return Err(format!(
            "`{text}` names no figure; write [VARIANT:] FIGURE [at N clients], as in `bulk: cpu at 114 clients`"
        ));
    }
    if at.clients.is_some() && Metric::of(figure).is_over_counts() {
        return Err(OVER_COUNTS.to_owned());
    }
    let at = At { variant: variant.map(str::to_owned), ..at };
    Ok(Selection { at, figure: figure.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of a limit, in its order: variant, clients, places, over, and what is asked; else why it is none.
    fn read(text: &str) -> String {
        let Limit { at: At { variant, clients, places }, over, asked, .. } = match parse(text) {
            Ok(limit) => limit,
            Err(why) => return why,
        };
        let (variant, places) = (variant.unwrap_or_default(), places.join("+"));
        let asked = match asked {
            Asked::Bound { metric, side, value } => format!("{metric:?} {side:?} {value}"),
            Asked::NoSlower { file, by } => format!("{file} {by}"),
        };
        format!("{variant},{},{places},{over:?},{asked}", clients.unwrap_or_default())
    }

    #[test]
    fn a_limit_is_read_as_people_say_it_or_refused_in_one_line() {
        for (text, expected) in [
            ("bulk: cpu at 114 clients <= 2%", "bulk,114,,Every,Figure(Cpu) AtMost 20000"),
            ("cpu≤2 %", ",0,,Every,Figure(Cpu) AtMost 20000"),
            ("sum at 1 client >= 1.5ms", ",1,,Every,Figure(Sum) AtLeast 1500"),
            (" slope <= 60us ", ",0,,Every,Figure(Slope) AtMost 60"),
            ("memory ≤ 12MiB", ",0,,Every,Figure(Memory) AtMost 12288"),
            ("unknown-frames <= 0.5", ",0,,Every,Figure(UnknownFrames) AtMost 0.5"),
            ("b: calls <= 1/s", "b,0,,Every,Rate(\"calls\") AtMost 1"),
            ("a::b ≥ 3 /s", ",0,,Every,Rate(\"a::b\") AtLeast 3"),
            (
                "found: no slower than ci/my baseline.json at 60 clients by 1%",
                "found,60,,Every,ci/my baseline.json 1%",
            ),
            (
                "guard-100: median kept at harmed cells and ap >= 95%",
                "guard-100,0,harmed+ap,Median,Figure(Kept) AtLeast 0.95",
            ),
            ("waiting-error >= -3%", ",0,,Every,Figure(WaitingError) AtLeast -0.03"),
            ("p90 protect <= 1s", ",0,,P90,Figure(Protect) AtMost 1"),
            ("guard-memory <= 4MiB", ",0,,Every,Figure(GuardMemory) AtMost 4096"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for (text, expected) in [
            ("", "no <= and no >="),
            ("cpu", "no <= and no >="),
            ("cpu <= a lot", "`a lot` is not a value for cpu; write for instance 2%"),
            ("cpu <= 2", "is not a value for cpu"),
            ("cpu <= -2%", "is not a value for cpu"),
            ("memory <= 2%", "write for instance 12MiB"),
            ("kept at <= 2", "`kept at` is not a figure"),
            ("kept at harmed places too <= 2", "is not a place"),
            ("the cpu <= 2%", "`the cpu` is not a figure; known are cpu, load, sum"),
            ("cpu at many clients <= 2%", "`at many clients` is not a client count"),
            ("slope at 18 clients <= 2us", "over all client counts"),
            ("no slower than x.json", "by how much"),
            ("no slower than x.json by far", "`far` is not a share"),
        ] {
            let message = read(text);
            assert!(message.contains(expected) && !message.contains('\n'), "{text}: {message}");
        }
    }

    #[test]
    fn what_a_study_does_not_have_is_reported_with_what_it_has() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let known = Known {
            figures: words(&["kept", "work"]),
            variants: words(&["none", "guard"]),
            points: Points::Places(words(&["harmed", "ap"])),
            ..Known::default()
        };
        known.check(&parse("guard: kept at harmed cells >= 95%").unwrap()).unwrap();
        for (text, why) in [
            ("kpet >= 95%", "unknown figure `kpet`; did you mean `kept`?"),
            ("gaurd: kept >= 95%", "unknown variant `gaurd`; did you mean `guard`?"),
            ("kept at full >= 95%", "unknown place `full`; known are harmed, ap"),
            ("kept at 18 clients >= 95%", "no 18 clients here; places are harmed, ap"),
            ("cpu <= 2%", "unknown figure `cpu`; known are kept, work"),
        ] {
            let said = known.check(&parse(text).unwrap()).unwrap_err();
            assert_eq!(said, format!("the limit `{text}`: {why}"));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_limit_or_a_fault(text: String) {
            let _ = parse(&text);
        }
    }
}
