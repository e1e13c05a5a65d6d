//! Plants costs of known kind and size in a shipped variant: makes the study that holds one variant for each.
//!
//! A variant is called `bulk.KIND.SIZE`.

use anyhow::{Context, Result};
use toml::{Table, Value};

/// The shipped variant and its study.
pub(super) const SUBJECT: &str = "bulk";
pub(super) const CLIENTS: u32 = 114;
pub(super) const STUDY: &str = "studies/station-stats.toml";

/// Sizes of loops, shares of the subject's CPU.
const FINE: [f64; 5] = [0.0001, 0.0002, 0.0005, 0.001, 0.005];
/// Size of the other steady kinds.
const OTHER: f64 = 0.001;
/// Sizes of bursts, µs, and in how many rounds one comes.
const BURSTS: [u32; 4] = [50, 200, 500, 2000];
const BURST_ROUNDS: [u32; 4] = [5, 10, 15, 20];

/// Kinds that are measured to know what a unit of each costs, and how many units.
pub(super) const CALIBRATION: [(&str, u64); 3] =
    [("loop", 100_000), ("alloc", 1000), ("syscall", 1000)];

/// The unplanted variant, and the same once more.
pub(super) const PLAIN: &str = "plain";
pub(super) const AGAIN: &str = "again";
/// Bursts are also compared with this one, by which their steady rounds are cheaper by this share.
pub(super) const SAVED: (&str, f64) = ("loop.0.5", 0.005);

/// What a unit of each kind costs, µs in a round of the subject's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct UnitCosts {
    pub(super) turn: f64,
    pub(super) alloc: f64,
    pub(super) syscall: f64,
}

/// The shipped variant with something planted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arm {
    /// `KIND` or `KIND.SIZE`.
    pub(super) name: String,
    /// The value of `STATIOND_PLANT`.
    plant: String,
}

impl Arm {
    pub(super) fn new(name: &str, plant: String) -> Self {
        Self { name: name.to_owned(), plant }
    }
}

/// The name of an arm's variant.
pub(super) fn variant(arm: &str) -> String {
    format!("{SUBJECT}.{arm}")
}

/// The program without a plant.
pub(super) fn plain(name: &str) -> Arm {
    Arm::new(name, plant("loop", 0, 1))
}

/// Every arm, for a round that takes this long.
pub(super) fn arms(round_us: f64, costs: UnitCosts) -> Vec<Arm> {
    let of = |kind: &str, share: f64, unit: f64| {
        let units = (share * round_us / unit).round() as u64;
        // The share in per cent.
        let name = format!("{kind}.{}", (share * 1e6).round() / 1e4);
        Arm::new(&name, plant(kind, units, 1))
    };
    let square = costs.turn * f64::from(CLIENTS).powi(2) / 1000.0;
    let mut arms = vec![plain(PLAIN), plain(AGAIN)];
    arms.extend(FINE.map(|share| of("loop", share, costs.turn)));
    for (kind, unit) in [("alloc", costs.alloc), ("syscall", costs.syscall), ("square", square)] {
        arms.push(of(kind, OTHER, unit));
    }
    for (us, rounds) in bursts() {
        let turns = (f64::from(us) / costs.turn).round() as u64;
        arms.push(Arm::new(&burst(us, rounds), plant("loop", turns, rounds.into())));
    }
    // One command in each round: there is no smaller one.
    arms.push(Arm::new("hostapd", plant("hostapd", 1, 1)));
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

/// A text of one length for every size, because a longer environment moves the stack.
pub(super) fn plant(kind: &str, size: u64, rounds: u64) -> String {
    format!("{kind}:{size:010}/{rounds:02}")
}

/// The shipped study with these variants instead of its own. Fails where it is not the study that this was written for.
pub(super) fn study(shipped: &str, arms: &[Arm], repetitions: u32) -> Result<String> {
    let mut study: Table = shipped.parse().context("the shipped study is no TOML")?;
    let all = study.get("variant").and_then(Value::as_array).into_iter().flatten();
    let mut shipped = all.filter_map(Value::as_table).cloned();
    let is_subject = |one: &Table| one.get("name").and_then(Value::as_str) == Some(SUBJECT);
    let mut base = shipped.find(is_subject).context("the shipped study has no such variant")?;
    for key in ["against", "changes", "clients", "published", "parity", "about"] {
        base.remove(key);
    }
    let subject = base.get("subject").or_else(|| study.get("subject"));
    let subject = subject.and_then(Value::as_table).cloned().context("it has no subject")?;
    let start = subject.get("start").and_then(Value::as_str).context("it starts nothing")?;
    let planted = arms.iter().map(|arm| {
        let mut variant = base.clone();
        let mut subject = subject.clone();
        subject.insert("start".into(), format!("env STATIOND_PLANT={} {start}", arm.plant).into());
        variant.insert("subject".into(), subject.into());
        variant.insert("name".into(), self::variant(&arm.name).into());
        Value::Table(variant)
    });
    let variants: Vec<Value> = planted.collect();
    for key in ["count", "pause", "parity", "gates"] {
        study.remove(key);
    }
    study.insert("question".into(), "What does the judge find of planted costs?".into());
    let clients = vec![Value::from(i64::from(CLIENTS))];
    table(&mut study, "access-point")?.insert("clients".into(), clients.into());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_is_a_variant_of_the_shipped_study_with_its_plant() {
        let costs = UnitCosts { turn: 0.01, alloc: 0.2, syscall: 1.0 };
        let arms = arms(4000.0, costs);
        let shipped = include_str!("../../../studies/station-stats.toml");
        let study: Table = study(shipped, &arms, 12).unwrap().parse().unwrap();
        assert!(study.get("gates").is_none());
        assert_eq!(study["trial"]["window"].as_str(), Some("20s"));
        assert_eq!(study["access-point"]["clients"][0].as_integer(), Some(114));
        let variants = study["variant"].as_array().unwrap();
        assert_eq!(variants.len(), arms.len());
        let start = |name: &str| {
            let variant = variants.iter().find(|one| one["name"].as_str() == Some(name)).unwrap();
            variant["subject"]["start"].as_str().unwrap()
        };
        // 0.05 % of 4000 µs are 2 µs: 200 turns.
        assert_eq!(start("bulk.loop.0.05"), "env STATIOND_PLANT=loop:0000000200/01 stationd");
        assert!(start("bulk.burst.50us.10").contains("loop:0000005000/10 "));
    }
}
