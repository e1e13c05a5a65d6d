//! What became of a try, by what was measured: the one place that says what a win is.
//!
//! Pure. It knows the comparison's judgement and what was measured around it; it opens no run. Every check here has a
//! cheat behind it (docs/design/improve.md), and the first that fails names the reason.

use analysis::{
    Estimate, Part,
    quantity::percent,
    verdicts::{Conclusion, Finding as Found, Judgement},
};
use model::{plural::count, share::Share, study::Study, verdict::Verdict};

use crate::{
    outcome::{Finding, Outcome, Reason},
    task::Task,
};

/// Of what the subject saves, others may take so much, as noise of theirs.
const OTHERS: f64 = 0.1;

/// A control group's memory is charged in steps of so much, for each processor (`MEMCG_CHARGE_BATCH` in `mm/memcontrol.c`).
const CHARGE_KIB: f64 = 256.0;

/// What a win is.
#[derive(Clone, Copy, Debug)]
pub struct Rule<'a> {
    pub task: &'a Task,
    /// The error that is allowed.
    pub level: f64,
}

/// What was measured of a try in one cell.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The comparison of its subject.
    pub judgement: Judgement,
    /// Why trials of the candidate alone came to no end.
    pub broken: Option<String>,
    /// Whether its replies are the base's, word for word; `None` where the task compares their values alone.
    pub words: Option<Conclusion>,
    /// What no honest program costs less than, µs of CPU a second.
    pub floor_us: Option<f64>,
    /// How long the load waited for the end of a checked round, base's and candidate's mean, µs.
    pub latency_us: [Option<f64>; 2],
    /// Resident memory of the base's and the candidate's subject, KiB.
    pub memory_kib: [Option<f64>; 2],
    /// The most that their control groups held, shared memory and files in memory included, KiB.
    pub group_kib: [Option<f64>; 2],
    /// Length of the base's and the candidate's program, bytes.
    pub bytes: [Option<u64>; 2],
    pub warnings: u32,
    /// What the machine executed more in the candidate's windows than in the base's, as QEMU counted it, µs a second.
    pub outside: Option<Estimate>,
    /// Functions whose instructions the candidate changes, where QEMU saw none of them run in its trials.
    pub never_ran: Vec<String>,
}

/// A cell, as a sentence names it.
fn at(judgement: &Judgement) -> String {
    format!("at {}", count(judgement.clients, "client"))
}

/// Decides one cell.
pub fn judge(rule: &Rule<'_>, evidence: &Evidence) -> Finding {
    let judgement = &evidence.judgement;
    let change = judgement.relative;
    // What is worse than no win comes first, and what it costs to be a win last.
    let checks = [
        broken,
        false_replies,
        other_words,
        unmeasured,
        absent,
        put_off,
        others_pay,
        outside,
        below_floor,
        never_ran,
        saving,
        latency,
        memory,
        size,
        warnings,
    ];
    let found = checks.iter().find_map(|check| check(rule, evidence));
    let finding = found.unwrap_or_else(|| {
        let sentence =
            format!("It costs {} less CPU than the base {}.", share(change), at(judgement));
        Finding { outcome: Outcome::Win, reason: None, sentence, change: None }
    });
    finding.with(change)
}

/// Decides several cells of which all must be won: the first that is not.
pub fn all(findings: Vec<Finding>) -> Option<Finding> {
    let mut findings = findings;
    let lost = findings.iter().position(|finding| finding.outcome != Outcome::Win);
    (!findings.is_empty()).then(|| findings.swap_remove(lost.unwrap_or_default()))
}

fn share(change: Option<Estimate>) -> String {
    change.map_or_else(|| "nothing".to_owned(), |change| percent(change.mean.abs()))
}

fn broken(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let why = evidence.broken.as_ref()?;
    Some(Finding::of(Outcome::Failed, Reason::Broken, format!("It does not do its job: {why}.")))
}

/// A reply of a measured window that is not so, or too old. Where nobody could say, nothing was measured; where nothing was
/// checked, [`absent`] says so.
fn false_replies(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    not_true(evidence.judgement.witness.as_ref()?, Reason::WrongValues)
}

fn other_words(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    not_true(evidence.words.as_ref()?, Reason::OtherWords)
}

fn not_true(found: &Conclusion, reason: Reason) -> Option<Finding> {
    let (outcome, reason) = match found.verdict {
        Verdict::Fail => (Outcome::Suspect, reason),
        Verdict::Invalid => (Outcome::Invalid, Reason::Unmeasured),
        Verdict::Pass | Verdict::Measured => return None,
    };
    Some(Finding::of(outcome, reason, format!("{}.", found.sentence)))
}

/// What the test of a task printed in one trial, or why it came to no end.
pub type Answer = Result<String, String>;

/// Holds what a candidate answers to the test of a task against what the base answers, in all trials. The base answers
/// the same in all of its own, else the test says nothing of a candidate.
pub fn answers(base: &[Answer], candidate: &[Answer]) -> Option<Finding> {
    let invalid = |sentence| Some(Finding::of(Outcome::Invalid, Reason::Unmeasured, sentence));
    let suspect = |sentence| Some(Finding::of(Outcome::Suspect, Reason::OtherAnswers, sentence));
    let known = match base.first() {
        Some(Ok(known)) if !candidate.is_empty() => known,
        Some(Ok(_)) | None => return invalid("The task's test did not run.".to_owned()),
        Some(Err(why)) => return invalid(format!("The task's test fails with the base: {why}.")),
    };
    let differs = |answer: &Answer| match answer {
        Ok(text) => (text != known).then(|| difference(known, text)),
        Err(why) => Some(format!("fails: {why}")),
    };
    if let Some(how) = base.iter().find_map(differs) {
        return invalid(format!("The base itself answers the task's test in two ways: it {how}."));
    }
    let how = candidate.iter().find_map(differs)?;
    suspect(format!("It does not answer the task's test as the base does: it {how}."))
}

/// The first line that is another.
fn difference(known: &str, text: &str) -> String {
    let (mut known, mut own) = (known.lines(), text.lines());
    loop {
        match (known.next(), own.next()) {
            (known, own) if known == own && known.is_some() => {}
            (known, own) => {
                let [known, own] = [known, own].map(|line| {
                    let line: String = line?.chars().take(100).collect();
                    Some(format!("“{}”", line.escape_debug()))
                });
                let word = |line: Option<String>| line.unwrap_or_else(|| "nothing".to_owned());
                return format!("says {}, and the base {}", word(own), word(known));
            }
        }
    }
}

fn put_off(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let deferred = evidence.judgement.deferred.filter(|deferred| deferred.takes_back)?;
    let sentence = format!(
        "It works {:.0} µs more than the base after each window, when nobody asks any more {}.",
        deferred.difference.mean,
        at(&evidence.judgement)
    );
    Some(Finding::of(Outcome::Suspect, Reason::PutOff, sentence))
}

/// What the subject saves the whole machine must save, as it is counted where no program of the guest reaches: it is shown
/// not to where even the interval's better end is too little.
fn outside(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let (outside, own) = (evidence.outside?, -evidence.judgement.absolute?.mean);
    let most_saved = -outside.interval?.low;
    let sentence = format!(
        "By the guest's account the subject saves {own:.1} µs a second {}, and by QEMU's count the machine saves {:.1}.",
        at(&evidence.judgement),
        -outside.mean
    );
    let disagrees = own > 0.0 && most_saved < (1.0 - OTHERS) * own;
    disagrees.then(|| Finding::of(Outcome::Suspect, Reason::OutsideDisagrees, sentence))
}

fn unmeasured(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let judgement = &evidence.judgement;
    let is_measured = judgement.relative.is_some()
        && !matches!(judgement.finding, Found::NotComparable | Found::Unstable);
    let invalid = || Finding::of(Outcome::Invalid, Reason::Unmeasured, judgement.sentence.clone());
    (!is_measured).then(invalid)
}

/// Evidence that is not there is no evidence of a win: every check below may take it that it has what it asks.
fn absent(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let judgement = &evidence.judgement;
    let counted = |both: &[Option<f64>; 2]| both.iter().all(Option::is_some);
    let outside = evidence.outside.is_some_and(|outside| outside.interval.is_some());
    let present = [
        ("whether its replies are true", judgement.witness.is_some()),
        ("what it does after its windows", judgement.deferred.is_some()),
        ("what it costs", judgement.absolute.and(judgement.after).is_some()),
        (
            "what hostapd, the load and children pay",
            judgement.part == Part::Sum || judgement.together.is_some(),
        ),
        ("what the whole machine executes, as QEMU counts it", outside),
        ("what the floor costs", rule.task.asked.floor.is_none() || evidence.floor_us.is_some()),
        ("how long the load waits", counted(&evidence.latency_us)),
        ("the memory that its subject holds", counted(&evidence.memory_kib)),
        ("the length of its program", evidence.bytes.iter().all(Option::is_some)),
    ];
    let (what, _) = present.iter().find(|(_, is_there)| !is_there)?;
    let sentence = format!("Not measured {}: {what}.", at(judgement));
    Some(Finding::of(Outcome::Invalid, Reason::Unmeasured, sentence))
}

/// What hostapd, the load and children pay is in the judgement's sum.
fn others_pay(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let judgement = &evidence.judgement;
    let (together, own) = (judgement.together?, judgement.absolute?);
    let taken = together.absolute.mean - own.mean;
    let pays = together.pays || (own.mean < 0.0 && taken > OTHERS * own.mean.abs());
    let sentence = format!(
        "The subject saves {:.1} µs a second {}, and hostapd, the load or children take {taken:.1} µs of it back.",
        -own.mean,
        at(judgement)
    );
    pays.then(|| Finding::of(Outcome::Suspect, Reason::OthersPay, sentence))
}

fn below_floor(_: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let (floor, after) = (evidence.floor_us?, evidence.judgement.after?.mean);
    let sentence = format!(
        "It costs {after:.1} µs a second {}, and the floor, which does less than its job, {floor:.1} µs.",
        at(&evidence.judgement)
    );
    (after < floor).then(|| Finding::of(Outcome::Suspect, Reason::TooCheap, sentence))
}

/// Whether what is saved is as much as is asked, and no chance.
fn is_won(rule: &Rule<'_>, judgement: &Judgement) -> bool {
    judgement.is_cheaper_by(rule.task.asked.at_least.get(), rule.level)
}

/// Whether nothing of what was changed ran. A win may come from data, and what costs more does.
fn never_ran(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let judgement = &evidence.judgement;
    let decided = is_won(rule, judgement) || judgement.finding == Found::Dearer;
    let (first, more) = evidence.never_ran.split_first().filter(|_| !decided)?;
    let (at, others) = (at(judgement), count(more.len(), "other function"));
    let others = if more.is_empty() { String::new() } else { format!(" and {others}") };
    let sentence = format!(
        "What it changes did not run {at}: `{first}`{others}. It is not on the path that is measured."
    );
    Some(Finding::of(Outcome::NoChange, Reason::NeverRan, sentence))
}

/// Whether the saving is there, is large enough, and is no chance.
fn saving(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let judgement = &evidence.judgement;
    let relative = judgement.relative?;
    if is_won(rule, judgement) {
        return None;
    }
    let at = at(judgement);
    let (difference, asked) = (share(Some(relative)), rule.task.asked.at_least);
    let (outcome, reason, sentence) = match judgement.finding {
        Found::Dearer => {
            let sentence = format!("It costs {difference} more CPU than the base {at}.");
            (Outcome::Reverted, Reason::Dearer, sentence)
        }
        Found::Cheaper => {
            let sentence =
                format!("It costs {difference} less CPU {at}; {asked} less was asked for.");
            (Outcome::Reverted, Reason::TooLittle, sentence)
        }
        _ => {
            let pairs = judgement.pairs;
            let sentence = format!("Its cost is the base's {at}, as far as {pairs} pairs can see.");
            (Outcome::NoChange, Reason::NoDifference, sentence)
        }
    };
    Some(Finding::of(outcome, reason, sentence))
}

fn latency(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let [base, candidate] = evidence.latency_us;
    let (base, candidate, allowed) = (base? / 1e3, candidate? / 1e3, rule.task.gates.latency);
    let sentence = format!(
        "The load waits {candidate:.1} ms for its replies, the base's {base:.1} ms; {allowed} more is allowed."
    );
    let is_slower = candidate > base * (1.0 + allowed.get());
    is_slower.then(|| Finding::of(Outcome::Reverted, Reason::Latency, sentence))
}

/// Resident memory at the end of a window, and the most that the control group held: pages that are in no process, and
/// those that were there for a moment only.
fn memory(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let allowed = rule.task.gates.memory;
    let subject = larger(allowed, "subject", evidence.memory_kib, 0.0);
    subject.or_else(|| larger(allowed, "control group", evidence.group_kib, CHARGE_KIB))
}

/// Holds memory of the candidate against the base's, which is known in steps.
fn larger(allowed: Share, of: &str, kib: [Option<f64>; 2], step: f64) -> Option<Finding> {
    let [Some(base), Some(candidate)] = kib else {
        let sentence = format!("How much memory the {of} holds is not known on both sides.");
        return Some(Finding::of(Outcome::Invalid, Reason::Unmeasured, sentence));
    };
    let sentence = format!(
        "Its {of} holds {candidate:.0} KiB, the base's {base:.0} KiB; {allowed} more is allowed."
    );
    let most = base * (1.0 + allowed.get()) + step;
    (candidate > most).then(|| Finding::of(Outcome::Reverted, Reason::Memory, sentence))
}

fn size(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let [Some(base), Some(candidate)] = evidence.bytes else { return None };
    let allowed = rule.task.gates.size;
    let sentence =
        format!("The program has {candidate} bytes, the base's {base}; {allowed} more is allowed.");
    let is_larger = candidate as f64 > base as f64 * (1.0 + allowed.get());
    is_larger.then(|| Finding::of(Outcome::Reverted, Reason::Size, sentence))
}

fn warnings(rule: &Rule<'_>, evidence: &Evidence) -> Option<Finding> {
    let (found, allowed) = (evidence.warnings, rule.task.gates.warnings);
    let sentence =
        format!("The compiler gives {found} new warnings in edited files; {allowed} are allowed.");
    (found > allowed).then(|| Finding::of(Outcome::Reverted, Reason::Warnings, sentence))
}

/// Whether a study can be what a task is measured by: its variant is there, and the program is what it starts.
pub fn check(task: &Task, study: &Study) -> Result<(), String> {
    let known = |name: &str| study.variants.iter().any(|variant| variant.name == *name);
    let names = [Some(&task.asked.variant), task.asked.floor.as_ref()];
    if let Some(unknown) = names.into_iter().flatten().find(|name| !known(name)) {
        return Err(format!("the task's study has no variant `{unknown}`"));
    }
    if study.witness.is_none() {
        let why = "the task's study checks no replies in its windows: give it [witness]";
        return Err(why.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use analysis::verdicts::{Conclusion, Deferred, Together};

    use super::*;
    use crate::task::tests::TASK;

    /// A candidate that costs half, all else being equal, and of which everything was measured.
    fn won() -> Evidence {
        let run = analysis::fixture::stations();
        let trials = analysis::fixture::trials(&run);
        let mut judgement = analysis::unjudged(&run, &trials).judgements.swap_remove(0);
        let about = |mean: f64| Estimate::of(&[mean - 0.001, mean, mean + 0.001]).unwrap();
        let sentence = String::new();
        judgement.witness = Some(Conclusion { verdict: Verdict::Pass, sentence });
        judgement.deferred = Some(Deferred {
            base_us: 0.0,
            variant_us: 0.0,
            difference: about(0.0),
            share_of_saving: Some(0.0),
            takes_back: false,
        });
        judgement.together = Some(Together {
            absolute: about(-50.0),
            relative: None,
            finding: Found::Cheaper,
            pays: false,
        });
        judgement.finding = Found::Cheaper;
        (judgement.before, judgement.after) = (Some(about(100.0)), Some(about(50.0)));
        (judgement.absolute, judgement.relative) = (Some(about(-50.0)), Some(about(-0.5)));
        Evidence {
            judgement,
            broken: None,
            words: None,
            floor_us: Some(10.0),
            latency_us: [Some(1.0); 2],
            memory_kib: [Some(1.0); 2],
            group_kib: [Some(1.0); 2],
            bytes: [Some(1); 2],
            warnings: 0,
            outside: Some(about(-50.0)),
            never_ran: Vec::new(),
        }
    }

    /// What becomes of a candidate of a task with a floor that would win but for this.
    fn but(change: fn(&mut Evidence)) -> Finding {
        let mut task = Task::read(TASK).unwrap();
        task.asked.floor = Some(task.asked.variant.clone());
        let mut evidence = won();
        change(&mut evidence);
        judge(&Rule { task: &task, level: 0.05 }, &evidence)
    }

    #[test]
    fn evidence_that_is_absent_makes_a_try_invalid_and_never_a_win() {
        let won_it = but(|_| {});
        assert_eq!(won_it.outcome, Outcome::Win, "{}", won_it.sentence);
        let without: [fn(&mut Evidence); 15] = [
            |one| one.judgement.witness = None,
            |one| one.judgement.deferred = None,
            |one| one.judgement.together = None,
            |one| one.judgement.absolute = None,
            |one| one.judgement.after = None,
            |one| one.outside = None,
            |one| one.outside = Estimate::of(&[-50.0]),
            |one| one.floor_us = None,
            |one| one.latency_us[0] = None,
            |one| one.latency_us[1] = None,
            |one| one.memory_kib[1] = None,
            |one| one.group_kib[0] = None,
            |one| one.group_kib[1] = None,
            |one| one.bytes[0] = None,
            |one| one.judgement.relative = None,
        ];
        for (place, without) in without.into_iter().enumerate() {
            let found = but(without);
            let expected = (Outcome::Invalid, Some(Reason::Unmeasured));
            assert_eq!((found.outcome, found.reason), expected, "{place}: {}", found.sentence);
        }
        // A task without a floor needs none.
        let task = Task::read(TASK).unwrap();
        let without = Evidence { floor_us: None, ..won() };
        assert_eq!(judge(&Rule { task: &task, level: 0.05 }, &without).outcome, Outcome::Win);
    }

    #[test]
    fn a_win_that_somebody_pays_for_is_none_and_what_is_allowed_is_one() {
        let allowed: [fn(&mut Evidence); 3] = [
            |one| one.group_kib = [Some(4000.0), Some(4450.0)],
            |one| one.latency_us = [Some(11_000.0), Some(12_000.0)],
            |one| one.never_ran = vec!["serve".to_owned()],
        ];
        allowed.into_iter().for_each(|allowed| assert_eq!(but(allowed).outcome, Outcome::Win));
        type Case = (fn(&mut Evidence), Outcome, Reason, &'static str);
        let cases: [Case; 5] = [
            (
                |one| one.outside = Estimate::of(&[0.9, 1.0, 1.1]),
                Outcome::Suspect,
                Reason::OutsideDisagrees,
                "By the guest's account the subject saves 50.0 µs a second at 114 clients, and by QEMU's count the machine saves -1.0.",
            ),
            (
                |one| one.group_kib = [Some(4000.0), Some(311_200.0)],
                Outcome::Reverted,
                Reason::Memory,
                "Its control group holds 311200 KiB, the base's 4000 KiB; 5% more is allowed.",
            ),
            (
                |one| one.latency_us = [Some(11_000.0), Some(61_000.0)],
                Outcome::Reverted,
                Reason::Latency,
                "The load waits 61.0 ms for its replies, the base's 11.0 ms; 10% more is allowed.",
            ),
            (
                |one| did_not_run(one, &["serve"]),
                Outcome::NoChange,
                Reason::NeverRan,
                "What it changes did not run at 114 clients: `serve`. It is not on the path that is measured.",
            ),
            (
                |one| did_not_run(one, &["serve", "a", "b"]),
                Outcome::NoChange,
                Reason::NeverRan,
                "What it changes did not run at 114 clients: `serve` and 2 other functions. It is not on the path that is measured.",
            ),
        ];
        for (change, outcome, reason, sentence) in cases {
            let found = but(change);
            assert_eq!((found.outcome, found.reason), (outcome, Some(reason)), "{sentence}");
            assert_eq!(found.sentence, sentence);
        }
    }

    /// No difference, and none of these functions ran.
    fn did_not_run(evidence: &mut Evidence, names: &[&str]) {
        evidence.never_ran = names.iter().map(|name| (*name).to_owned()).collect();
        evidence.judgement.finding = Found::Undecided;
        evidence.judgement.split = None;
        evidence.judgement.relative = Estimate::of(&[-0.001, 0.0, 0.001]);
    }

    #[test]
    fn a_test_is_answered_as_the_base_answers_it_or_it_says_nothing() {
        let said = |text: &str| -> Answer { Ok(text.to_owned()) };
        let died = || -> Answer { Err("it ended with exit status 1".to_owned()) };
        let base = [said("pong\n2\n"), said("pong\n2\n")];
        assert_eq!(answers(&base, &base), None);
        let becomes = |base: &[Answer], candidate: &[Answer]| {
            let found = answers(base, candidate).unwrap();
            (found.outcome, found.sentence)
        };
        let other = "It does not answer the task's test as the base does: it ";
        for (last, words) in [
            (said("pong\n3\n"), "says “3”, and the base “2”."),
            (said("pong\n"), "says nothing, and the base “2”."),
            (died(), "fails: it ended with exit status 1."),
        ] {
            let found = becomes(&base, &[base[0].clone(), last]);
            assert_eq!(found, (Outcome::Suspect, format!("{other}{words}")));
        }
        let unsteady = [said("a\n"), said("b\n")];
        let none: &[Answer] = &[];
        for (base, candidate) in [
            (unsteady.as_slice(), &unsteady[..1]),
            (&[died()], &base),
            (none, &base),
            (&base, none),
        ] {
            assert_eq!(becomes(base, candidate).0, Outcome::Invalid);
        }
    }
}
