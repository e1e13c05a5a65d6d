//! The headline of a run of clients and subjects: of a comparison, a study of cures, rivals, the lab, a pause, a
//! profile, or counts.

use model::{plural::count, run::Run, study::Mode, verdict::Verdict};

use super::{Bar, Headline, against, briefly, compared};
use crate::{
    Analysis,
    cells::Cell,
    compare::Comparison,
    quantity::{self, Unit},
    stages::Stage,
    stats::Estimate,
    verdicts::PauseFigures,
};

pub(crate) fn of(run: &Run, analysis: &Analysis) -> Headline {
    let found = if analysis.valid == 0 {
        None
    } else if run.versus.is_some() {
        let made = analysis.valid as usize + analysis.invalid.len();
        let judgement = analysis.judgements.first();
        judgement.map(|judgement| compared(run, judgement, &judgement.at, made))
    } else if !analysis.asks_for_cpu() {
        paused(analysis).or_else(|| profiled(analysis)).or_else(|| counted(analysis))
    } else if analysis.lab.asked {
        lab(analysis)
    } else {
        cured(run, analysis).or_else(|| rivals(run, analysis)).or_else(|| alone(run, analysis))
    };
    // The answer always has a first sentence, and it says why there is no more.
    found.unwrap_or_else(|| Headline::plain(analysis.answer.first().cloned().unwrap_or_default()))
}

/// `At 114 clients`.
fn at(clients: u32) -> String {
    format!("At {}", count(clients, "client"))
}

fn about(run: &Run, variant: &str) -> Option<String> {
    run.study.variants.iter().find(|one| one.name == variant)?.about.clone()
}

/// What the CPU in a cell is summed of, as a picture's name.
fn summed(cell: &Cell) -> String {
    let load = cell.cpu.load.map(|_| "its load".to_owned());
    let others = cell.others.iter().filter(|other| other.cpu.is_some());
    let mut all: Vec<String> = std::iter::once(cell.subject.clone()).chain(load).collect();
    all.extend(others.map(|other| other.name.clone()));
    let last = if all.len() > 1 { all.pop() } else { None };
    let whose = all.join(", ") + &last.map(|last| format!(" and {last}")).unwrap_or_default();
    format!("CPU of {whose} at {}", count(cell.clients, "client"))
}

fn bar(run: &Run, name: &str, cpu: &Estimate) -> Bar {
    Bar { about: about(run, name), ..Bar::cpu(name, cpu) }
}

/// The last cure against what was found, and the step that gives most.
fn cured(run: &Run, analysis: &Analysis) -> Option<Headline> {
    let stages = &analysis.stages;
    let cures = stages.cures.as_ref().filter(|_| stages.asked)?;
    let (first, last) = (&cures.whole.base, &cures.whole.variant);
    let cell = |name: &str| analysis.cell(name, stages.clients);
    let (before, after) = (cell(first)?, cell(last)?);
    let (old, new) = (before.cpu.sum?, after.cpu.sum?);
    let steps = cures.steps.len();
    let largest = cures.largest().filter(|_| steps > 1 && new.mean < old.mean);
    let most = largest.map(|step| {
        let gain = briefly(-step.all().difference.mean);
        format!(" Of {steps} steps `{}` gives most, {gain}.", step.variant)
    });
    Some(Headline {
        sentence: format!(
            "{} `{last}` uses {} `{first}` ({} against {} each second).{}",
            at(stages.clients),
            against(new.mean, old.mean, "CPU")?,
            briefly(new.mean),
            briefly(old.mean),
            most.unwrap_or_default()
        ),
        of: summed(before),
        bars: vec![bar(run, first, &old), bar(run, last, &new)],
    })
}

/// The cheapest variant against the dearest; where the cheapest is the same program that nothing asks, what asking it
/// costs.
fn rivals(run: &Run, analysis: &Analysis) -> Option<Headline> {
    let (dearest, cheapest) = analysis.stages.extremes()?;
    if dearest.variant == cheapest.variant {
        return None;
    }
    let clients = analysis.stages.clients;
    let is_one_program = dearest.subject == cheapest.subject;
    let of = match is_one_program {
        true => summed(analysis.cell(&dearest.variant, clients)?),
        false => format!("CPU of each at {}", count(clients, "client")),
    };
    let is_asking = is_one_program && is_asked(run, dearest) && !is_asked(run, cheapest);
    let (named, other) = if is_asking { (dearest, cheapest) } else { (cheapest, dearest) };
    let (cost, base) = (named.cpu.sum?, other.cpu.sum?);
    Some(Headline {
        sentence: format!(
            "{} `{}` uses {} `{}` ({} against {} each second){}.",
            at(clients),
            named.variant,
            against(cost.mean, base.mean, "CPU")?,
            other.variant,
            briefly(cost.mean),
            briefly(base.mean),
            undistinguished(analysis, [dearest, cheapest])
        ),
        of,
        bars: vec![bar(run, &other.variant, &base), bar(run, &named.variant, &cost)],
    })
}

/// Whether a load makes the variant work.
fn is_asked(run: &Run, stage: &Stage) -> bool {
    let variant = run.study.variants.iter().find(|one| one.name == stage.variant);
    variant.is_some_and(|variant| run.study.load_of(variant).is_some())
}

/// What is said where the two were compared and no difference shows.
fn undistinguished(analysis: &Analysis, pair: [&Stage; 2]) -> &'static str {
    let names = pair.map(|stage| &*stage.variant);
    let is_it = |each: &&Comparison| {
        each.clients == analysis.stages.clients
            && names.contains(&&*each.variant)
            && names.contains(&&*each.base)
    };
    let compared = analysis.comparisons.iter().find(is_it);
    match compared.is_some_and(|each| !each.all().difference.differs_from_zero()) {
        true => "; their intervals do not tell them apart",
        false => "",
    }
}

/// One variant, with the fewest clients and with the most.
fn alone(run: &Run, analysis: &Analysis) -> Option<Headline> {
    let working = analysis.cells.iter().filter(|cell| !cell.idle);
    let mut cells: Vec<_> = working.filter(|cell| cell.cpu.sum.is_some()).collect();
    if cells.is_empty() {
        cells = analysis.cells.iter().filter(|cell| cell.cpu.sum.is_some()).collect();
    }
    let most = *cells.iter().max_by_key(|cell| cell.clients)?;
    let least = cells
        .iter()
        .filter(|cell| cell.variant == most.variant && cell.clients < most.clients)
        .min_by_key(|cell| cell.clients);
    let sum = most.cpu.sum?;
    let bars = least.and_then(|least| {
        let side = |cell: &Cell| Some(Bar::cpu(&count(cell.clients, "client"), &cell.cpu.sum?));
        Some(vec![side(least)?, side(most)?])
    });
    Some(Headline {
        sentence: format!(
            "{} `{}` uses {} of CPU each second, {} % of {}.",
            at(most.clients),
            most.variant,
            briefly(sum.mean),
            quantity::rounded(Unit::CORE.scale(sum.mean)),
            crate::core_of(run, most.mode)
        ),
        of: format!("CPU of {}", most.variant),
        bars: bars.unwrap_or_default(),
    })
}

/// The consumer that causes most.
fn paused(analysis: &Analysis) -> Option<Headline> {
    let share = |pause: &&PauseFigures| pause.share.map_or(f64::MIN, |share| share.mean);
    let pause = analysis.pauses.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let PauseFigures { consumer, subject, clients, .. } = pause;
    let Some(share) = pause.share.filter(|_| pause.verdict == Verdict::Pass) else {
        return Some(Headline::plain(format!("{}.", pause.sentence.trim_end_matches('.'))));
    };
    let sides = pause.running.zip(pause.stopped);
    let bars = sides.map(|(running, stopped)| {
        vec![
            Bar::cpu(&format!("{consumer} runs"), &running),
            Bar::cpu(&format!("{consumer} is stopped"), &stopped),
        ]
    });
    Some(Headline {
        sentence: format!(
            "`{consumer}` causes {} of the CPU of `{subject}` at {}.",
            quantity::percent(share.mean),
            count(*clients, "client")
        ),
        of: format!("CPU of {subject} at {}", count(*clients, "client")),
        bars: bars.unwrap_or_default(),
    })
}

/// The function whose own code takes most of the first profile.
fn profiled(analysis: &Analysis) -> Option<Headline> {
    let profile = analysis.profiles.iter().max_by_key(|profile| profile.clients)?;
    let functions = profile.functions.iter().filter(|one| one.own_share > 0.0);
    let most = functions.max_by(|a, b| a.own_share.total_cmp(&b.own_share))?;
    let share = quantity::percent(most.own_share);
    let clients = profile
        .clients
        .map_or(String::new(), |clients| format!(" at {}", count(clients, "client")));
    let (variant, name) = (&profile.variant, &most.name);
    let Some((all, own)) = profile.cpu_us_per_s().zip(most.own) else {
        return Some(Headline::plain(format!(
            "{share} of the samples of `{variant}` are in the code of `{name}`{clients}."
        )));
    };
    let side = |name: &str, cost: f64| Bar::new(name, cost, format!("{}/s", briefly(cost)));
    Some(Headline {
        sentence: format!(
            "`{variant}` spends {share} of its {} of CPU a second in the code of `{name}`{clients}.",
            briefly(all),
        ),
        of: format!("CPU of {variant}{clients}"),
        bars: vec![side("all", all), side(name, own.mean)],
    })
}

/// What happens most often of what was counted.
fn counted(analysis: &Analysis) -> Option<Headline> {
    let often = |one: &&crate::profiles::CountFigures| one.per_second.mean;
    let most = analysis.counts.iter().max_by(|a, b| often(a).total_cmp(&often(b)))?;
    Some(Headline::plain(format!(
        "{} `{}` happens {} times a second in `{}`.",
        at(most.clients),
        most.name,
        quantity::rounded(most.per_second.mean),
        most.variant
    )))
}

fn lab(analysis: &Analysis) -> Option<Headline> {
    let (counted, shift) = analysis.lab.worst(Mode::Counted);
    let (real, _) = analysis.lab.worst(Mode::RealTime);
    let percent = quantity::percent;
    let sentence = match (counted, shift, real) {
        (Some(0.0), Some(0.0), _) => {
            "Counted trials repeat exactly, also while the host is busy.".to_owned()
        }
        (Some(0.0), None, _) => "Counted trials repeat exactly.".to_owned(),
        (Some(spread), Some(shift), _) => format!(
            "Counted trials repeat to {}; a busy host moves them by {} at most.",
            percent(spread),
            percent(shift)
        ),
        (Some(spread), None, _) => format!("Counted trials repeat to {}.", percent(spread)),
        (None, _, real) => format!("Trials in real time repeat to {}.", percent(real?)),
    };
    let side = |name, spread| Bar::new(name, spread, percent(spread));
    let bars = real
        .zip(counted)
        .map(|(real, counted)| vec![side("real-time", real), side("counted", counted)]);
    let of = "The largest spread of repetitions: standard deviation over mean".to_owned();
    Some(Headline { sentence, of, bars: bars.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use model::{name::Sha256Hex, verdict::Difference};

    use crate::verdicts::{Finding, Judgement};
    use crate::{
        analyse, fixture,
        judge::test_data::{compared, pairs},
    };

    #[test]
    fn a_comparison_says_whose_cpu_it_is_and_what_all_take_together() {
        let (run, trials) = compared(&pairs(6, -0.2, 0.001, 1));
        let said = analyse(&run, &trials).headline;
        assert_eq!(
            said.sentence,
            "`hostapd` uses 20 % less CPU in `after` than in `before` at 60 clients."
        );
        assert_eq!(said.of, "CPU of hostapd at 60 clients");
    }

    #[test]
    fn a_comparison_that_goes_on_says_how_many_pairs_are_done() {
        let (run, trials) = compared(&pairs(6, -0.2, 0.001, 1));
        let said = analyse(&run, &trials[..10]).headline;
        assert_eq!(said.sentence, "Not decided yet: 5 of 6 pairs are done.");
    }

    #[test]
    fn another_build_of_a_program_is_called_its_new_build() {
        let (mut run, trials) = compared(&pairs(6, -0.2, 0.001, 1));
        let difference = Difference::Program {
            name: "/run/headroom/put/hot".to_owned(),
            base: Sha256Hex::of(&[1; 32]),
            variant: Sha256Hex::of(&[2; 32]),
        };
        run.versus.as_mut().unwrap().difference = difference;
        let judgement = &analyse(&run, &trials).judgements[0];
        let cheaper = Judgement { finding: Finding::Cheaper, ..judgement.clone() };
        let said = super::compared(&run, &cheaper, &cheaper.at, 12);
        assert_eq!(said.sentence, "The new build of `hot` uses 20 % less CPU at 60 clients.");
    }

    #[test]
    fn each_kind_of_study_has_its_headline_and_its_two_sides() {
        let only = |variant: &str| {
            let mut run = fixture::run();
            run.study.variants.retain(|one| one.name == variant);
            run.plan.retain(|planned| planned.id.variant == variant);
            run
        };
        // A daemon that nothing asks is what asking it is held against.
        let mut asked = fixture::run();
        asked.study.subject.as_mut().unwrap().start = Some("hostapd /etc/hostapd.conf".to_owned());
        asked.study.variants.retain(|variant| variant.name != "hostapd-cli");
        asked.plan.retain(|planned| planned.id.variant != "hostapd-cli");
        let cases = [
            (
                fixture::stations(),
                "At 114 clients `slower-cadence` uses 1/31 of the CPU of `found` (13 ms against 394 ms each second). \
                 Of 5 steps `bulk` gives most, 101 ms.",
                ["found", "slower-cadence"],
            ),
            (fixture::run(), "60 % less CPU than `hostapd-cli`", ["hostapd-cli", "iw-dump"]),
            (asked, " times the CPU of `idle`", ["idle", "iw-dump"]),
            (fixture::self_check(), "Counted trials repeat to ", ["real-time", "counted"]),
            (only("iw-dump"), "% of a 500-MIPS core", ["18 clients", "114 clients"]),
        ];
        for (run, sentence, names) in cases {
            let said = analyse(&run, &fixture::trials(&run)).headline;
            assert!(said.sentence.contains(sentence), "{}", said.sentence);
            let sides: Vec<&str> = said.bars.iter().map(|bar| &*bar.name).collect();
            assert_eq!(sides, names, "{}", said.sentence);
        }
        let none = analyse(&fixture::run(), &[]).headline;
        assert_eq!(none.sentence, "No result yet: no trial is done.");
        assert!(none.bars.is_empty());
    }

    #[test]
    fn two_sides_have_one_scale_and_say_what_they_sum() {
        let run = fixture::stations();
        let said = analyse(&run, &fixture::trials(&run)).headline;
        assert_eq!(said.of, "CPU of stationd, its load and hostapd at 114 clients");
        let [before, after] = said.bars.as_slice() else { panic!("{:?}", said.bars) };
        assert!(before.length > 30.0 * after.length && after.figure.ends_with(" ms/s"));
    }
}
