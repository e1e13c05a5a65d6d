//! What became of a try, by what was measured: the one place that says what a win is.
//!
//! Pure. It knows the comparison's judgement and what was measured around it; it opens no run. Every check here has a
//! cheat behind it (docs/design/improve.md), and the first that fails names the reason.

use analysis::{
    Estimate, Part,
    quantity::percent,
    verdicts::{Conclusion, Finding as Found, Judgement},
};
use model::{plural::count, study::Study, verdict::Verdict};

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
    pub bytes: [Option<f64>; 2],
    pub warnings: u32,
    /// What the machine executed more in the candidate's windows than in the base's, as QEMU counted it, µs a second.
    pub outside: Option<Estimate>,
    /// Functions whose instructions the candidate changes, where QEMU saw none of them run in its trials.
    pub never_ran: Vec<String>,
}

/// One cell's evidence, and what it is held against.
struct Case<'a> {
    task: &'a Task,
    evidence: &'a Evidence,
    judgement: &'a Judgement,
    /// The cell, as a sentence names it.
    at: String,
    /// Whether what is saved is as much as is asked, and no chance.
    is_won: bool,
}

/// Decides one cell.
pub fn judge(rule: &Rule<'_>, evidence: &Evidence) -> Finding {
    let Rule { task, level } = *rule;
    let judgement = &evidence.judgement;
    let at = format!("at {}", count(judgement.clients, "client"));
    let is_won = judgement.is_cheaper_by(task.asked.at_least.get(), level);
    let case = Case { task, evidence, judgement, at, is_won };
    // What is worse than no win comes first, and what it costs to be a win last.
    let checks = [
        Case::broken,
        Case::false_replies,
        Case::other_words,
        Case::unmeasured,
        Case::absent,
        Case::put_off,
        Case::others_pay,
        Case::outside,
        Case::below_floor,
        Case::never_ran,
        Case::saving,
        Case::more,
        Case::warnings,
    ];
    let found = checks.iter().find_map(|check| check(&case));
    let finding = found.unwrap_or_else(|| {
        let sentence = format!("It costs {} less CPU than the base {}.", case.share(), case.at);
        Finding { outcome: Outcome::Win, reason: None, sentence, change: None }
    });
    finding.with(judgement.relative)
}

/// Decides several cells of which all must be won: the first that is not.
pub fn all(findings: Vec<Finding>) -> Option<Finding> {
    let mut findings = findings;
    let lost = findings.iter().position(|finding| finding.outcome != Outcome::Win);
    (!findings.is_empty()).then(|| findings.swap_remove(lost.unwrap_or_default()))
}

fn suspect(reason: Reason, sentence: String) -> Option<Finding> {
    Some(Finding::of(Outcome::Suspect, reason, sentence))
}

/// A reply of a measured window that is not so, or too old. Where nobody could say, nothing was measured; where nothing was
/// checked, [`Case::absent`] says so.
fn not_true(found: &Conclusion, reason: Reason) -> Option<Finding> {
    let sentence = format!("{}.", found.sentence);
    match found.verdict {
        Verdict::Fail => suspect(reason, sentence),
        Verdict::Invalid => Some(Finding::unmeasured(sentence)),
        Verdict::Pass | Verdict::Measured => None,
    }
}

impl Case<'_> {
    /// The change, without its sign.
    fn share(&self) -> String {
        let change = self.judgement.relative;
        change.map_or_else(|| "nothing".to_owned(), |change| percent(change.mean.abs()))
    }

    fn broken(&self) -> Option<Finding> {
        let sentence = format!("It does not do its job: {}.", self.evidence.broken.as_ref()?);
        Some(Finding::of(Outcome::Failed, Reason::Broken, sentence))
    }

    fn false_replies(&self) -> Option<Finding> {
        not_true(self.judgement.witness.as_ref()?, Reason::WrongValues)
    }

    fn other_words(&self) -> Option<Finding> {
        not_true(self.evidence.words.as_ref()?, Reason::OtherWords)
    }

    fn unmeasured(&self) -> Option<Finding> {
        let is_measured = self.judgement.relative.is_some()
            && !matches!(self.judgement.finding, Found::NotComparable | Found::Unstable);
        (!is_measured).then(|| Finding::unmeasured(&self.judgement.sentence))
    }

    /// Evidence that is not there is no evidence of a win: every check below may take it that it has what it asks.
    fn absent(&self) -> Option<Finding> {
        let Self { evidence, judgement, .. } = self;
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
            (
                "what the floor costs",
                self.task.asked.floor.is_none() || evidence.floor_us.is_some(),
            ),
            ("how long the load waits", counted(&evidence.latency_us)),
            ("the memory that its subject holds", counted(&evidence.memory_kib)),
            ("the length of its program", counted(&evidence.bytes)),
        ];
        let (what, _) = present.iter().find(|(_, is_there)| !is_there)?;
        Some(Finding::unmeasured(format!("Not measured {}: {what}.", self.at)))
    }

    fn put_off(&self) -> Option<Finding> {
        let deferred = self.judgement.deferred.filter(|deferred| deferred.takes_back)?;
        let sentence = format!(
            "It works {:.0} µs more than the base after each window, when nobody asks any more {}.",
            deferred.difference.mean, self.at
        );
        suspect(Reason::PutOff, sentence)
    }

    /// What hostapd, the load and children pay is in the judgement's sum.
    fn others_pay(&self) -> Option<Finding> {
        let (together, own) = (self.judgement.together?, self.judgement.absolute?.mean);
        let taken = together.absolute.mean - own;
        let sentence = format!(
            "The subject saves {:.1} µs a second {}, and hostapd, the load or children take {taken:.1} µs of it back.",
            -own, self.at
        );
        let pays = together.pays || (own < 0.0 && taken > OTHERS * own.abs());
        suspect(Reason::OthersPay, sentence).filter(|_| pays)
    }

    /// What the subject saves the whole machine must save, as it is counted where no program of the guest reaches: it is shown
    /// not to where even the interval's better end is too little.
    fn outside(&self) -> Option<Finding> {
        let (outside, own) = (self.evidence.outside?, -self.judgement.absolute?.mean);
        let most_saved = -outside.interval?.low;
        let sentence = format!(
            "By the guest's account the subject saves {own:.1} µs a second {}, and by QEMU's count the machine saves {:.1}.",
            self.at, -outside.mean
        );
        let disagrees = own > 0.0 && most_saved < (1.0 - OTHERS) * own;
        suspect(Reason::OutsideDisagrees, sentence).filter(|_| disagrees)
    }

    fn below_floor(&self) -> Option<Finding> {
        let (floor, after) = (self.evidence.floor_us?, self.judgement.after?.mean);
        let sentence = format!(
            "It costs {after:.1} µs a second {}, and the floor, which does less than its job, {floor:.1} µs.",
            self.at
        );
        suspect(Reason::TooCheap, sentence).filter(|_| after < floor)
    }

    /// Whether nothing of what was changed ran. A win may come from data, and what costs more does.
    fn never_ran(&self) -> Option<Finding> {
        let decided = self.is_won || self.judgement.finding == Found::Dearer;
        let (first, more) = self.evidence.never_ran.split_first().filter(|_| !decided)?;
        let others = count(more.len(), "other function");
        let others = if more.is_empty() { String::new() } else { format!(" and {others}") };
        let sentence = format!(
            "What it changes did not run {}: `{first}`{others}. It is not on the path that is measured.",
            self.at
        );
        Some(Finding::of(Outcome::NoChange, Reason::NeverRan, sentence))
    }

    /// Whether the saving is there, is large enough, and is no chance.
    fn saving(&self) -> Option<Finding> {
        let (at, difference, asked) = (&self.at, self.share(), self.task.asked.at_least);
        let (outcome, reason, sentence) = match self.judgement.finding {
            _ if self.is_won => return None,
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
                let pairs = self.judgement.pairs;
                let sentence =
                    format!("Its cost is the base's {at}, as far as {pairs} pairs can see.");
                (Outcome::NoChange, Reason::NoDifference, sentence)
            }
        };
        Some(Finding::of(outcome, reason, sentence))
    }

    /// What the candidate takes more of than the task allows. Memory is what is resident at the end of a window, and the most
    /// that the control group held: pages that are in no process, and those that were there for a moment only.
    fn more(&self) -> Option<Finding> {
        let Evidence { latency_us, memory_kib, group_kib, bytes, .. } = self.evidence;
        let gates = self.task.gates;
        let ms = latency_us.map(|us| us.map(|us| us / 1e3));
        let all = [
            (Reason::Latency, "The load waits", " ms", " for its replies", ms, gates.latency, 0.0),
            (Reason::Memory, "Its subject holds", " KiB", "", *memory_kib, gates.memory, 0.0),
            (
                Reason::Memory,
                "Its control group holds",
                " KiB",
                "",
                *group_kib,
                gates.memory,
                CHARGE_KIB,
            ),
            (Reason::Size, "The program has", " bytes", "", *bytes, gates.size, 0.0),
        ];
        all.into_iter().find_map(|(reason, what, unit, why, sides, allowed, step)| {
            let [Some(base), Some(candidate)] = sides else {
                let sentence = format!("{what} an amount that is not known on both sides.");
                return Some(Finding::unmeasured(sentence));
            };
            let digits = usize::from(reason == Reason::Latency);
            let sentence = format!(
                "{what} {candidate:.digits$}{unit}{why}, the base's {base:.digits$}{unit}; {allowed} more is allowed."
            );
            let is_more = candidate > base * (1.0 + allowed.get()) + step;
            is_more.then(|| Finding::of(Outcome::Reverted, reason, sentence))
        })
    }

    fn warnings(&self) -> Option<Finding> {
        let (found, allowed) = (self.evidence.warnings, self.task.gates.warnings);
        let sentence = format!(
            "The compiler gives {found} new warnings in edited files; {allowed} are allowed."
        );
        (found > allowed).then(|| Finding::of(Outcome::Reverted, Reason::Warnings, sentence))
    }
}

/// What the test of a task printed in one trial, or why it came to no end.
pub type Answer = Result<String, String>;

/// Holds what a candidate answers to the test of a task against what the base answers, in all trials. The base answers
/// the same in all of its own, else the test says nothing of a candidate.
pub fn answers(base: &[Answer], candidate: &[Answer]) -> Option<Finding> {
    let invalid = |sentence| Some(Finding::unmeasured(sentence));
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
    let sentence = format!("It does not answer the task's test as the base does: it {how}.");
    suspect(Reason::OtherAnswers, sentence)
}

/// The first line that is another.
fn difference(known: &str, text: &str) -> String {
    let same = known.lines().zip(text.lines()).take_while(|(known, own)| known == own).count();
    let word = |text: &str| {
        text.lines().nth(same).map_or("nothing".to_owned(), |line| {
            let line: String = line.chars().take(100).collect();
            format!("“{}”", line.escape_debug())
        })
    };
    format!("says {}, and the base {}", word(text), word(known))
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
            bytes: [Some(1.0); 2],
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
