//! What is measured: shipped variants, each with costs of known kind and size planted in it.
//!
//! Makes variants and the study that holds them out of the shipped study, and finds them again by their names:
//! `SUBJECT.KIND.SIZE`. It measures nothing.

use anyhow::{Context, Result};
use toml::{Table, Value};

/// Sizes of steady plants, shares of the subject's CPU.
const FINE: [f64; 5] = [0.0001, 0.0002, 0.0005, 0.001, 0.005];
/// Size of the other steady kinds.
const OTHER: f64 = 0.001;
/// Sizes of bursts, µs, and in how many rounds one comes.
const BURSTS: [u32; 4] = [50, 200, 500, 2000];
const BURST_ROUNDS: [u32; 4] = [5, 10, 15, 20];
/// A shipped variant at one number of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) clients: u32,
    /// The study that has it.
    pub(super) study: &'static str,
    pub(super) program: Program,
}

/// Whose source has the plants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Stationd,
    /// Debian's, as `scripts/planted-hostapd` builds it.
    Hostapd,
}

/// All that can be asked for.
pub(super) const SUBJECTS: [Subject; 3] = [
    Subject { name: "bulk", clients: 114, study: "station-stats", program: Program::Stationd },
    Subject { name: "hostapd-cli", clients: 60, study: "client-scale", program: Program::Hostapd },
    Subject { name: "idle", clients: 114, study: "client-scale", program: Program::Hostapd },
];

/// One variant: a shipped one with something planted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arm {
    pub(super) subject: Subject,
    /// `KIND` or `KIND.SIZE`.
    pub(super) name: String,
    /// What the program is told.
    pub(super) plant: String,
}

/// What one of everything costs, µs a round of the subject's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Units {
    pub(super) turn: f64,
    pub(super) alloc: f64,
    pub(super) syscall: f64,
}

/// The unplanted variant, and the same once more.
pub(super) const PLAIN: &str = "plain";
pub(super) const AGAIN: &str = "again";
/// Where bursts are compared with this, they come with a cheaper steady round, by this share.
pub(super) const SAVED: (&str, f64) = ("loop.0.5", 0.005);
impl Arm {
    fn new(subject: Subject, name: &str, plant: String) -> Self {
        Self { subject, name: name.to_owned(), plant }
    }

    /// The variant's name.
    pub(super) fn variant(&self) -> String {
        variant(self.subject, &self.name)
    }
}

/// The name of a subject's variant.
pub(super) fn variant(subject: Subject, arm: &str) -> String {
    format!("{}.{arm}", subject.name)
}

/// What is measured to know what one of everything costs, and how many there are of it.
pub(super) fn calibration(subject: Subject) -> Vec<(Arm, u64)> {
    let arm = |kind: &str, size: u64| (Arm::new(subject, kind, plant(kind, size, 1)), size);
    match subject.program {
        Program::Stationd => {
            vec![arm("loop", 100_000), arm("alloc", 1000), arm("syscall", 1000)]
        }
        Program::Hostapd => vec![arm("loop", 10_000)],
    }
}

/// A subject without a plant.
pub(super) fn plain(subject: Subject, name: &str) -> Arm {
    Arm::new(subject, name, plant("loop", 0, 1))
}

/// Every arm of a subject whose round takes so much, µs.
pub(super) fn arms(subject: Subject, round_us: f64, units: Units) -> Vec<Arm> {
    let times = |share: f64, unit: f64| (share * round_us / unit).round() as u64;
    let of = |kind: &str, share: f64, plant: String| {
        Arm::new(subject, &format!("{kind}.{}", percent(share)), plant)
    };
    let square = units.turn * f64::from(subject.clients).powi(2) / 1000.0;
    let mut arms = vec![plain(subject, PLAIN), plain(subject, AGAIN)];
    arms.extend(FINE.map(|share| of("loop", share, plant("loop", times(share, units.turn), 1))));
    if subject.program == Program::Hostapd {
        return arms;
    }
    for (kind, unit) in [("alloc", units.alloc), ("syscall", units.syscall), ("square", square)] {
        arms.push(of(kind, OTHER, plant(kind, times(OTHER, unit), 1)));
    }
    for (us, rounds) in bursts() {
        let turns = (f64::from(us) / units.turn).round() as u64;
        arms.push(Arm::new(subject, &burst(us, rounds), plant("loop", turns, rounds.into())));
    }
    // One command in each round: there is no smaller one.
    arms.push(Arm::new(subject, "hostapd", plant("hostapd", 1, 1)));
    arms
}

/// Every burst: its size, µs, and in how many rounds it comes.
pub(super) fn bursts() -> impl Iterator<Item = (u32, u32)> {
    BURSTS.into_iter().flat_map(|us| BURST_ROUNDS.map(|rounds| (us, rounds)))
}

/// The name of a burst's arm.
pub(super) fn burst(us: u32, rounds: u32) -> String {
    format!("burst.{us}us.{rounds}")
}

/// A text of one length for every size, because a longer environment moves the stack. hostapd knows loops alone.
fn plant(kind: &str, size: u64, rounds: u64) -> String {
    format!("{kind}:{size:010}/{rounds:02}")
}

/// A share as its name has it, in per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{}", (share * 1e6).round() / 1e4)
}

/// The shipped study with these variants in the place of its own.
///
/// # Errors
///
/// Where it is not the study that this was written for.
pub(super) fn study(shipped: &str, arms: &[Arm], repetitions: u32) -> Result<String> {
    let mut study: Table = shipped.parse().context("the shipped study is no TOML")?;
    let variants = arms.iter().map(|arm| arm_of(&study, arm).map(Value::Table));
    let variants = variants.collect::<Result<Vec<Value>>>()?;
    for asked in ["count", "pause", "parity", "gates"] {
        study.remove(asked);
    }
    study.insert("question".into(), "What does the judge find of planted costs?".into());
    let mut counts: Vec<u32> = arms.iter().map(|arm| arm.subject.clients).collect();
    counts.sort_unstable();
    counts.dedup();
    let counts: Vec<Value> = counts.into_iter().map(|count| i64::from(count).into()).collect();
    table(&mut study, "access-point")?.insert("clients".into(), counts.into());
    table(&mut study, "trial")?.insert("repetitions".into(), i64::from(repetitions).into());
    let none: Table = [("repetitions".to_owned(), 0.into())].into_iter().collect();
    study.insert("profile".into(), none.into());
    study.insert("variant".into(), variants.into());
    Ok(study.to_string())
}

fn table<'a>(study: &'a mut Table, key: &str) -> Result<&'a mut Table> {
    let found = study.get_mut(key).and_then(Value::as_table_mut);
    found.with_context(|| format!("the shipped study has no [{key}]"))
}

/// The shipped variant, with its plant.
fn arm_of(study: &Table, arm: &Arm) -> Result<Table> {
    let name = Value::from(arm.subject.name);
    let all = study.get("variant").and_then(Value::as_array).into_iter().flatten();
    let mut shipped = all.filter_map(Value::as_table).filter(|one| one.get("name") == Some(&name));
    let found = shipped.next().cloned();
    let mut variant = found.with_context(|| format!("the shipped study has no variant {name}"))?;
    for asked in ["against", "changes", "published", "parity", "about"] {
        variant.remove(asked);
    }
    match arm.subject.program {
        Program::Stationd => {
            let subject = variant.get("subject").or_else(|| study.get("subject"));
            let mut subject =
                subject.and_then(Value::as_table).cloned().context("it has no subject")?;
            let start =
                subject.get("start").and_then(Value::as_str).context("it starts nothing")?;
            let start = format!("env STATIOND_PLANT={} {start}", arm.plant);
            subject.insert("start".into(), start.into());
            variant.insert("subject".into(), subject.into());
        }
        Program::Hostapd => {
            let command = format!("hostapd_cli -i wlan0 raw PLANT {}; exec sleep 600", arm.plant);
            variant.insert("background".into(), format!("sh -c '{command}'").into());
        }
    }
    variant.insert("name".into(), arm.variant().into());
    let clients = Value::from(i64::from(arm.subject.clients));
    variant.insert("clients".into(), vec![clients].into());
    Ok(variant)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATIONS: &str = include_str!("../../../studies/station-stats.toml");
    const SCALE: &str = include_str!("../../../studies/client-scale.toml");
    const UNITS: Units = Units { turn: 0.01, alloc: 0.2, syscall: 1.0 };

    fn variants(shipped: &str, arms: &[Arm]) -> Vec<Value> {
        let study: Table = study(shipped, arms, 12).unwrap().parse().unwrap();
        assert!(study.get("gates").is_none());
        assert_eq!(study["trial"]["window"].as_str(), Some("20s"));
        let variants = study["variant"].as_array().unwrap();
        assert_eq!(variants.len(), arms.len());
        variants.clone()
    }

    fn of<'a>(variants: &'a [Value], name: &str) -> &'a Value {
        variants.iter().find(|one| one["name"].as_str() == Some(name)).unwrap()
    }

    #[test]
    fn every_arm_is_a_variant_of_the_shipped_study_with_its_plant() {
        let arms = arms(SUBJECTS[0], 4000.0, UNITS);
        let variants = variants(STATIONS, &arms);
        // 0.05 % of 4000 µs are 2 µs: 200 turns.
        assert_eq!(
            of(&variants, "bulk.loop.0.05")["subject"]["start"].as_str(),
            Some("env STATIOND_PLANT=loop:0000000200/01 stationd")
        );
        assert_eq!(of(&variants, "bulk.plain")["clients"][0].as_integer(), Some(114));
        let burst = of(&variants, "bulk.burst.50us.10")["subject"]["start"].as_str().unwrap();
        assert!(burst.contains("loop:0000005000/10 "), "{burst}");
    }

    #[test]
    fn hostapd_gets_its_plant_in_the_background() {
        let arms = arms(SUBJECTS[1], 20_000.0, Units { turn: 2.0, ..Units::default() });
        let variants = variants(SCALE, &arms);
        let command = of(&variants, "hostapd-cli.loop.0.5")["background"].as_str().unwrap();
        assert_eq!(
            command,
            "sh -c 'hostapd_cli -i wlan0 raw PLANT loop:0000000050/01; exec sleep 600'"
        );
        assert!(of(&variants, "hostapd-cli.plain")["load"]["run"].is_str());
    }
}
