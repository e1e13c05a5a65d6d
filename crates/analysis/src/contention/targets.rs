//! What was to be shown, decided by interval bounds; and the answer in sentences.
//!
//! A target that no cell of this run could show is invalid, which is neither kept nor missed.

use model::plural::count;
use model::{contention::Role, verdict::Verdict};

use super::{
    Arm, Cell, FourCases, Target,
    arms::NONE,
    frontier::GUARD,
    harm::{lower, upper},
};
use crate::stats::Estimate;

/// Harm cells that the study must find.
const FEWEST_CELLS: usize = 6;

/// Which side of the limit is asked for.
#[derive(Clone, Copy)]
enum Side {
    AtLeast,
    AtMost,
}

/// Every target, harm first.
pub(super) fn all(cells: &[Cell], cases: &[FourCases]) -> Vec<Target> {
    let harmed = harmed(cells);
    let mut targets = vec![gate(cells, harmed.len())];
    targets.extend(protection(&harmed));
    targets.extend(contest(&harmed));
    targets.extend(changing(cells));
    targets.extend(paced(cells));
    targets.extend(agility(cells));
    targets.extend(cost(cells));
    targets.extend(no_harm(cells));
    targets.extend(caches(cases));
    targets
}

/// The candidates in which harm is shown; load that changes is judged by itself.
fn harmed(cells: &[Cell]) -> Vec<&Cell> {
    cells.iter().filter(|cell| cell.role == Role::Harm && cell.is_harmed()).collect()
}

fn gate(cells: &[Cell], harmed: usize) -> Target {
    let candidates: Vec<&Cell> = of_role(cells, Role::Harm);
    let is_known = |cell: &&&Cell| {
        let kept = cell.arm(NONE).and_then(|arm| arm.kept);
        kept.is_some_and(|kept| kept.interval.is_some())
    };
    let known = candidates.iter().filter(is_known).count();
    Target {
        name: "harm cells".to_owned(),
        limit: format!("at least {FEWEST_CELLS}"),
        found: format!("{harmed} of {} candidates", candidates.len()),
        verdict: match (harmed >= FEWEST_CELLS, known) {
            (true, _) => Verdict::Pass,
            (false, 0) => Verdict::Invalid,
            (false, _) => Verdict::Fail,
        },
        cause: None,
    }
}

fn protection(harmed: &[&Cell]) -> Vec<Target> {
    let p01: Vec<(&str, Option<f64>)> = harmed
        .iter()
        .map(|cell| (cell.name.as_str(), guard(cell).and_then(|arm| arm.kept_p01)))
        .collect();
    let worst = p01.iter().filter_map(|(name, p01)| Some((*name, (*p01)?)));
    let worst = worst.min_by(|left, right| left.1.total_cmp(&right.1));
    vec![
        bound("Wi-Fi kept under guard", (Side::AtLeast, 0.95), harmed, |cell| guard(cell)?.kept),
        Target {
            name: "Wi-Fi kept in the first percentile of seconds".to_owned(),
            limit: "≥ 90 % in every harm cell".to_owned(),
            found: worst
                .map_or("–".to_owned(), |(name, p01)| format!("{} in {name}", percent(p01))),
            verdict: match worst {
                None => Verdict::Invalid,
                Some((_, p01)) if p01 >= 0.9 => Verdict::Pass,
                Some(_) => Verdict::Fail,
            },
            cause: None,
        },
        bound("loss restored by guard", (Side::AtLeast, 0.85), harmed, |cell| {
            guard(cell)?.restored
        }),
    ]
}

fn guard(cell: &Cell) -> Option<&Arm> {
    cell.arm(GUARD)
}

/// A target whose bound every cell must keep. The figure shown is that of the cell nearest to missing it.
fn bound(
    name: &str,
    (side, limit): (Side, f64),
    cells: &[&Cell],
    of: impl Fn(&Cell) -> Option<Estimate>,
) -> Target {
    let edge = |estimate: &Estimate| match side {
        Side::AtLeast => lower(estimate).map(|low| low - limit),
        Side::AtMost => upper(estimate).map(|high| limit - high),
    };
    let found = cells.iter().filter_map(|cell| Some((cell.name.as_str(), of(cell)?)));
    let found: Vec<(&str, Estimate)> = found.collect();
    let margin = |estimate: &Estimate| edge(estimate).unwrap_or(f64::NEG_INFINITY);
    let worst = found.iter().min_by(|left, right| margin(&left.1).total_cmp(&margin(&right.1)));
    let verdict = match worst {
        None => Verdict::Invalid,
        Some((_, estimate)) => match edge(estimate) {
            None => Verdict::Invalid,
            Some(margin) if margin >= 0.0 => Verdict::Pass,
            Some(_) => Verdict::Fail,
        },
    };
    let sign = match side {
        Side::AtLeast => "≥",
        Side::AtMost => "≤",
    };
    let kept =
        found.iter().filter(|(_, estimate)| edge(estimate).is_some_and(|margin| margin >= 0.0));
    Target {
        name: name.to_owned(),
        limit: format!("{sign} {} by its bound in every cell", percent(limit)),
        found: worst.map_or("–".to_owned(), |(name, estimate)| {
            format!(
                "{} of {}; the worst {}: {name}",
                kept.count(),
                count(found.len(), "cell"),
                shown(estimate)
            )
        }),
        verdict,
        cause: None,
    }
}

fn shown(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(interval) => format!(
            "{} [{}, {}]",
            percent(estimate.mean),
            percent(interval.low),
            percent(interval.high)
        ),
        None => percent(estimate.mean),
    }
}

/// One decimal; below 1 % two.
fn percent(share: f64) -> String {
    let decimals = if share.abs() < 0.01 { 2 } else { 1 };
    format!("{:.decimals$} %", 100.0 * share).replace('-', "−")
}

fn contest(harmed: &[&Cell]) -> Vec<Target> {
    let ratios = |against: &str| -> Vec<f64> {
        let contests = harmed.iter().flat_map(|cell| &cell.contests);
        contests
            .filter(|contest| contest.against.starts_with(against))
            .filter_map(|contest| Some(contest.ratio.as_ref()?.mean))
            .collect()
    };
    let shares = ratios("shares-512");
    let quotas = ratios("quota-");
    let regrets: Vec<f64> = harmed
        .iter()
        .filter_map(|cell| Some(cell.oracle.as_ref()?.regret.as_ref()?.mean))
        .collect();
    let work = "a saturated path leaves no CPU that guard could find: what Wi-Fi gets the application gives, under \
                any weight; the line between guard's settings is the line between weights";
    vec![
        spread(
            "work against shares-512 at the same Wi-Fi, worst cell",
            (Side::AtLeast, 1.0),
            least(&shares),
            Some(work),
        ),
        spread(
            "work against shares-512 at the same Wi-Fi, median cell",
            (Side::AtLeast, 1.25),
            median(&shares),
            Some(work),
        ),
        spread(
            "work against a quota at the same Wi-Fi, median cell",
            (Side::AtLeast, 1.5),
            median(&quotas),
            Some(work),
        ),
        spread(
            "regret against the best fixed setting, median cell",
            (Side::AtMost, 0.10),
            median(&regrets),
            None,
        ),
        spread(
            "regret against the best fixed setting, worst cell",
            (Side::AtMost, 0.20),
            most(&regrets),
            None,
        ),
    ]
}

/// A target about one number over all cells.
fn spread(
    name: &str,
    (side, limit): (Side, f64),
    found: Option<f64>,
    cause: Option<&str>,
) -> Target {
    let kept = |found: f64| match side {
        Side::AtLeast => found >= limit,
        Side::AtMost => found <= limit,
    };
    let ratio = matches!(side, Side::AtLeast);
    let text = |value: f64| if ratio { format!("{value:.3} ×") } else { percent(value) };
    let verdict = match found {
        None => Verdict::Invalid,
        Some(found) if kept(found) => Verdict::Pass,
        Some(_) => Verdict::Fail,
    };
    Target {
        name: name.to_owned(),
        limit: format!("{} {}", if ratio { "≥" } else { "≤" }, text(limit)),
        found: found.map_or("–".to_owned(), text),
        verdict,
        cause: cause.filter(|_| verdict == Verdict::Fail).map(str::to_owned),
    }
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) =
        (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) / 2.0)
}

fn of_role(cells: &[Cell], role: Role) -> Vec<&Cell> {
    cells.iter().filter(|cell| cell.role == role).collect()
}

fn changing(cells: &[Cell]) -> Vec<Target> {
    let changing = of_role(cells, Role::Changing);
    if changing.is_empty() {
        return Vec::new();
    }
    let ratios = changing
        .iter()
        .filter_map(|cell| Some(guard(cell)?.work?.mean / cell.arm("shares-512")?.work?.mean));
    let cause = "weights give way where nobody else wants the CPU, so a fixed one taxes the application only while \
                 Wi-Fi is busy, as guard does";
    vec![
        bound("Wi-Fi kept, load that comes and goes", (Side::AtLeast, 0.95), &changing, |cell| {
            guard(cell)?.kept
        }),
        spread(
            "work against shares-512, load that comes and goes, worst cell",
            (Side::AtLeast, 1.5),
            least(&ratios.collect::<Vec<_>>()),
            Some(cause),
        ),
    ]
}

fn paced(cells: &[Cell]) -> Vec<Target> {
    let paced = of_role(cells, Role::Paced);
    if paced.is_empty() {
        return Vec::new();
    }
    vec![
        bound("Wi-Fi kept, paced traffic", (Side::AtLeast, 0.99), &paced, |cell| guard(cell)?.kept),
        bound(
            "p99 round trip against alone, paced traffic",
            (Side::AtMost, 1.25),
            &paced,
            |cell| guard(cell)?.p99_ratio,
        ),
        bound("use of all CPUs, paced traffic", (Side::AtLeast, 0.90), &paced, |cell| {
            guard(cell)?.cpu
        }),
    ]
}

fn agility(cells: &[Cell]) -> Vec<Target> {
    let own = || harmed(cells).into_iter().filter_map(|cell| guard(cell)?.guard.as_ref());
    let mut all: Vec<f64> = own()
        .flat_map(|guard| &guard.protect_ms)
        .map(|ms| ms.map_or(f64::INFINITY, |ms| ms as f64))
        .collect();
    let p90 = super::seconds::nearest_rank(&mut all, 0.9);
    let writes = most(&own().map(|guard| guard.writes_a_minute.mean).collect::<Vec<_>>());
    let decided = |found: Option<f64>, limit: f64| match found {
        None => Verdict::Invalid,
        Some(found) if found <= limit => Verdict::Pass,
        Some(_) => Verdict::Fail,
    };
    vec![
        Target {
            name: "time to protect, 90 % of trials".to_owned(),
            limit: "≤ 1 s".to_owned(),
            found: match p90 {
                None => "–".to_owned(),
                Some(ms) if ms.is_finite() => format!("{ms:.0} ms"),
                Some(_) => "never in more than 10 % of trials".to_owned(),
            },
            verdict: decided(p90, 1000.0),
            cause: None,
        },
        Target {
            name: "writes in a minute of steady load, worst harm cell".to_owned(),
            limit: "≤ 6".to_owned(),
            found: writes.map_or("–".to_owned(), |writes| format!("{writes:.1}")),
            verdict: decided(writes, 6.0),
            cause: None,
        },
    ]
}

fn cost(cells: &[Cell]) -> Vec<Target> {
    let own = || cells.iter().filter_map(|cell| guard(cell)?.guard.as_ref());
    let with: Vec<&Cell> =
        cells.iter().filter(|cell| guard(cell).is_some_and(|arm| arm.guard.is_some())).collect();
    let resident = own().map(|guard| guard.resident_kib).max();
    let back = own().fold((0, 0), |(back, all), guard| (back + guard.restored, all + guard.bouts));
    vec![
        bound("guard's own CPU, of one core", (Side::AtMost, 0.005), &with, |cell| {
            Some(guard(cell)?.guard.as_ref()?.core)
        }),
        Target {
            name: "guard's resident memory".to_owned(),
            limit: "≤ 4 MiB".to_owned(),
            found: resident
                .map_or("–".to_owned(), |kib| format!("{:.1} MiB", kib as f64 / 1024.0)),
            verdict: match resident {
                None => Verdict::Invalid,
                Some(kib) if kib <= 4096 => Verdict::Pass,
                Some(_) => Verdict::Fail,
            },
            cause: None,
        },
        Target {
            name: "everything as before after guard".to_owned(),
            limit: "every trial".to_owned(),
            found: format!("{} of {} trials", back.0, back.1),
            verdict: match back {
                (_, 0) => Verdict::Invalid,
                (back, all) if back == all => Verdict::Pass,
                _ => Verdict::Fail,
            },
            cause: None,
        },
    ]
}

fn no_harm(cells: &[Cell]) -> Vec<Target> {
    let controls = of_role(cells, Role::NoHarm);
    let pick = |traffic: bool, application: bool| -> Vec<&Cell> {
        let fits = |cell: &&&Cell| {
            cell.traffic.is_some() == traffic && cell.application.is_some() == application
        };
        controls.iter().filter(fits).copied().collect()
    };
    let mut targets = Vec::new();
    let (wifi, application, both) = (pick(true, false), pick(false, true), pick(true, true));
    if !wifi.is_empty() {
        let kept = |cell: &Cell| guard(cell)?.kept_uncapped;
        targets.push(bound("Wi-Fi alone under guard", (Side::AtLeast, 0.995), &wifi, kept));
    }
    if !application.is_empty() {
        let work = |cell: &Cell| guard(cell)?.work;
        targets.push(bound(
            "application alone under guard",
            (Side::AtLeast, 0.99),
            &application,
            work,
        ));
    }
    if !both.is_empty() {
        targets.push(quiet(&both));
    }
    targets
}

/// Traffic that the link limits: no decision changes anything.
fn quiet(cells: &[&Cell]) -> Target {
    let tried: Vec<_> = cells.iter().filter_map(|cell| guard(cell)?.guard.as_ref()).collect();
    let loud: Vec<_> = tried.iter().filter(|guard| !guard.decisions.is_empty()).collect();
    Target {
        name: "no throttling where the link is the limit".to_owned(),
        limit: "no decision that changes anything".to_owned(),
        found: loud.first().and_then(|guard| guard.decisions.first()).map_or_else(
            || format!("none in {}", count(tried.len(), "cell")),
            |(at, reason)| {
                format!("after {} s: {reason}", *at as f64 / 1e3).replace("after -", "after −")
            },
        ),
        verdict: match (tried.is_empty(), loud.is_empty()) {
            (true, _) => Verdict::Invalid,
            (false, true) => Verdict::Pass,
            (false, false) => Verdict::Fail,
        },
        cause: None,
    }
}

fn caches(cases: &[FourCases]) -> Vec<Target> {
    let movements: Vec<_> = cases.iter().flat_map(|cases| &cases.movements).collect();
    if movements.is_empty() {
        return Vec::new();
    }
    let against: Vec<&str> = movements
        .iter()
        .filter(|movement| !movement.agrees)
        .map(|movement| movement.what.as_str())
        .collect();
    let found = format!("{} of {} as published", movements.len() - against.len(), movements.len());
    vec![Target {
        name: "modelled cache tables move as the field report's".to_owned(),
        limit: "each pair of cases, or the page says where not".to_owned(),
        found: if against.is_empty() { found } else { format!("{found}; not: {}", against.join("; ")) },
        verdict: if against.is_empty() { Verdict::Pass } else { Verdict::Fail },
        cause: (!against.is_empty()).then(|| {
            "another kernel, driver, application and geometry than the report's router; the model has no \
             prefetcher, which a streamer lives on"
                .to_owned()
        }),
    }]
}

/// The answer: harm, cure, price.
pub(super) fn answer(cells: &[Cell], targets: &[Target]) -> Vec<String> {
    let harmed = harmed(cells);
    let candidates = cells.iter().filter(|cell| cell.role == Role::Harm).count();
    let mut answer = vec![format!(
        "{} of {candidates} candidates show harm: without control an application takes at least a quarter of Wi-Fi, \
         or half as much again of its round trips' 99th percentile, from endpoints that cannot starve.",
        harmed.len()
    )];
    let mean = |control: &str, of: &dyn Fn(&Arm) -> Option<Estimate>| {
        let values = harmed.iter().filter_map(|cell| Some(of(cell.arm(control)?)?.mean));
        median(&values.collect::<Vec<_>>())
    };
    let kept = |control: &str| mean(control, &|arm| arm.kept);
    let work = |control: &str| mean(control, &|arm| arm.work);
    if let (Some(none), Some(shares), Some(guard)) = (kept(NONE), kept("shares-512"), kept(GUARD)) {
        answer.push(format!(
            "In the median harm cell Wi-Fi keeps {} without control, {} with the field report's shares of 512, and \
             {} under guard.",
            percent(none),
            percent(shares),
            percent(guard)
        ));
    }
    if let (Some(none), Some(guard)) = (work(NONE), work(GUARD)) {
        answer.push(format!(
            "The application pays for it: it keeps {} of what it does alone without control, {} under guard.",
            percent(none),
            percent(guard)
        ));
    }
    let missed = targets.iter().filter(|target| target.verdict == Verdict::Fail).count();
    let unknown = targets.iter().filter(|target| target.verdict == Verdict::Invalid).count();
    answer.push(format!(
        "Of {} targets {} are shown, {missed} are missed, {unknown} could not be measured here.",
        targets.len(),
        targets.len() - missed - unknown
    ));
    answer
}
