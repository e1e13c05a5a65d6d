//! A run: machine and judgement in a loop, and what can be said about it afterwards.

use guard::{
    bounds::Bounds,
    decide::{self, Decision, Lever, Outcome, State},
    policy::{self, Policy},
};

use crate::machine::Machine;

/// What one tick came to.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// When it ended, s since the run began.
    pub at: f64,
    pub span: f64,
    pub decision: Decision,
    /// The share of Wi-Fi's work that was really done; 1 without demand.
    pub kept: f64,
    /// CPU time of each application, in CPUs.
    pub ran: Vec<f64>,
}

pub(crate) struct Story {
    pub machine: Machine,
    pub policy: Policy,
    pub state: State,
    pub outcome: Outcome,
    pub refuses: Vec<Lever>,
    pub moments: Vec<Moment>,
    clock: f64,
    tick: f64,
}

/// A policy that names these applications, with more lines in front.
pub(crate) fn policy(lines: &str, names: &[&str]) -> Policy {
    let applications: Vec<String> = names
        .iter()
        .map(|name| format!("[[application]]\nname = \"{name}\"\ngroup = \"/apps/{name}\"\n"))
        .collect();
    policy::parse(&format!("{lines}\n{}", applications.concat()), "plant")
        .expect("the plant's policies are good ones")
}

impl Story {
    pub(crate) fn new(machine: Machine, lines: &str) -> Self {
        let names: Vec<&str> = machine.apps.iter().map(|app| app.name.as_str()).collect();
        let policy = policy(lines, &names);
        Self {
            policy,
            machine,
            state: State::default(),
            outcome: Outcome::default(),
            refuses: Vec::new(),
            moments: Vec::new(),
            clock: 0.0,
            tick: 0.2,
        }
    }

    /// Goes on for so long, in ticks of the length that the judgement asks for.
    pub(crate) fn run(&mut self, seconds: f64) -> &mut Self {
        let end = self.clock + seconds;
        while self.clock + 1e-9 < end {
            self.tick();
        }
        self
    }

    fn tick(&mut self) {
        let span = self.tick;
        let reading = self.machine.run(span);
        let outcome = std::mem::take(&mut self.outcome);
        let (state, decision) = decide::decide(&self.policy, &self.state, &reading, &outcome);
        self.state = state;
        self.clock += span;
        let seen = &self.machine.seen;
        let kept = if seen.wanted > 0.0 { (seen.done / seen.wanted).min(1.0) } else { 1.0 };
        let ran = seen.app_ran.iter().map(|ran| ran / span).collect();
        self.tick = decide::next_tick_ns(&reading, &decision) as f64 / 1e9;
        self.apply(&decision);
        self.moments.push(Moment { at: self.clock, span, decision, kept, ran });
    }

    fn apply(&mut self, decision: &Decision) {
        for (at, wanted) in decision.bounds.iter().enumerate() {
            let Some(app) = self.machine.apps.get_mut(at) else { continue };
            let mut bounds = wanted.clone();
            let none = Bounds::default();
            for lever in &self.refuses {
                let refused = match lever {
                    Lever::Weight => {
                        std::mem::replace(&mut bounds.weight, none.weight) != none.weight
                    }
                    Lever::Packing => bounds.cpus.take().is_some(),
                    Lever::Idle => std::mem::take(&mut bounds.idle),
                    Lever::Quota => bounds.quota.take().is_some(),
                    _ => false,
                };
                if refused {
                    self.outcome.refused.push((app.name.clone(), *lever, "EINVAL".to_owned()));
                }
            }
            app.bounds = bounds;
        }
        self.machine.placement = decision.placement.clone();
    }

    /// The moments from then to then, s.
    pub(crate) fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &Moment> {
        self.moments.iter().filter(move |one| one.at > from + 1e-9 && one.at <= to + 1e-9)
    }

    /// Wi-Fi kept from then to then, over the whole.
    pub(crate) fn kept(&self, from: f64, to: f64) -> f64 {
        let spans: f64 = self.between(from, to).map(|one| one.span).sum();
        self.between(from, to).map(|one| one.kept * one.span).sum::<f64>() / spans
    }

    /// CPUs that an application had from then to then.
    pub(crate) fn ran(&self, application: usize, from: f64, to: f64) -> f64 {
        let spans: f64 = self.between(from, to).map(|one| one.span).sum();
        self.between(from, to).map(|one| one.ran[application] * one.span).sum::<f64>() / spans
    }

    /// Decisions that changed something from then to then.
    pub(crate) fn changes(&self, from: f64, to: f64) -> usize {
        self.between(from, to).filter(|one| one.decision.changed).count()
    }

    /// Values written from then to then: applications whose bounds differ from the moment before.
    pub(crate) fn writes(&self, from: f64, to: f64) -> usize {
        let pairs = self.moments.windows(2);
        pairs
            .filter(|pair| pair[1].at > from && pair[1].at <= to)
            .map(|pair| {
                let both = pair[0].decision.bounds.iter().zip(&pair[1].decision.bounds);
                both.filter(|(old, new)| old != new).count()
            })
            .sum()
    }

    /// Whether any application was ever bounded.
    pub(crate) fn ever_bounded(&self) -> bool {
        self.moments.iter().any(|one| !one.decision.bounds.iter().all(Bounds::are_none))
    }

    /// When Wi-Fi first had `target` for the rest of a second after `from`, s after it.
    pub(crate) fn protected_after(&self, from: f64, target: f64) -> Option<f64> {
        let good = |at: f64| self.between(at, at + 1.0).all(|one| one.kept >= target);
        self.between(from, f64::MAX)
            .map(|one| one.at - one.span)
            .find(|&at| good(at))
            .map(|at| at - from)
    }

    /// What the judgement saw kept in the first tick that ended after so long.
    pub(crate) fn protected_by(&self, seconds: f64) -> f64 {
        let later = self.between(seconds, f64::MAX);
        later.filter_map(|one| one.decision.kept).next().unwrap_or(0.0)
    }

    pub(crate) fn last(&self) -> &Decision {
        &self.moments.last().expect("the story has run").decision
    }

    /// The decisions that changed something, for a failure's message.
    pub(crate) fn text(&self) -> String {
        let changed = self.moments.iter().filter(|one| one.decision.changed);
        changed.map(|one| format!("{:7.1} {}\n", one.at, one.decision.reason)).collect()
    }
}
