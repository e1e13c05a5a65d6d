//! What a guard knows and does in one tick, and what it answers.
//!
//! It asks the clock for nothing but how old things are; when ticks are is [`super::session`]'s question.

use std::path::PathBuf;

use linux::{error::chain, system::boottime_ns};

use super::{
    account::Account,
    actuator::Actuator,
    log::{self, Log},
    record::Record,
    selfcare,
    sockets::{Answer, Request},
};
use crate::{
    decide::{self, Outcome, State},
    failure::Failure,
    flags,
    groups::{Applications, Hierarchies},
    journal::Report,
    output::{complain, say},
    policy::Policy,
    sense::{self, Senses},
    status::{Status, openmetrics},
};

/// Who started and who went is looked for so often, ns: a whole walk through `/proc`.
const LOOK_EVERY_NS: u64 = 5_000_000_000;
/// The same while there is nothing to protect: who is there is needed once somebody has to be bounded.
const LOOK_AT_REST_NS: u64 = 30_000_000_000;

#[derive(Debug)]
pub struct Guard {
    name: String,
    path: PathBuf,
    policy: Policy,
    applications: Applications,
    looked_ns: u64,
    /// Whether there was nothing to protect in the last tick.
    rests: bool,
    senses: Senses,
    state: State,
    outcome: Outcome,
    actuator: Actuator,
    record: Option<Record>,
    account: Account,
    log: Log,
    /// Whether only the status is to be printed.
    is_quiet: bool,
}

impl Guard {
    /// Reads the policy, finds the applications, puts back what an earlier guard left in this folder, and opens
    /// the senses.
    /// A failure is one line, and nothing is changed or left behind.
    pub fn begin(
        flags: &flags::Run,
        folder: &std::path::Path,
        name: &str,
    ) -> Result<Self, Failure> {
        let policy = read(&flags.policy)?;
        let hierarchies = Hierarchies::find();
        let applications = find(&flags.policy, &policy, &hierarchies)?;
        let (actuator, left) = Actuator::take(folder, &hierarchies, flags.dry_run)?;
        for line in left.to_string().lines().filter(|_| !left.is_empty()) {
            complain(name, &format!("an earlier guard: {line}"));
        }
        let senses = open_senses(&policy, &actuator)?;
        let record = flags
            .record
            .as_deref()
            .map(|path| Record::open(path).map_err(|error| Failure::unwritable(path, &error)));
        let record = record.transpose()?;
        let now = boottime_ns();
        let mut guard = Self {
            name: name.to_owned(),
            path: flags.policy.clone(),
            account: Account::new(first_status(flags), now),
            policy,
            applications,
            looked_ns: now,
            rests: false,
            senses,
            state: State::default(),
            outcome: Outcome::default(),
            actuator,
            record,
            log: Log::new(flags.dry_run),
            is_quiet: flags.is_quiet(),
        };
        // Canaries run already: they wait as anybody would.
        let mut absent = guard.senses.absent();
        absent.extend(selfcare::take_care());
        for one in guard.applications.unmatched() {
            complain(name, &format!("application {one} is not here now; guard looks out for it"));
        }
        guard.account.absent_is(absent);
        guard.account.policy_is(&guard.policy);
        Ok(guard)
    }

    fn say(&self, line: &str) {
        if !self.is_quiet {
            say(&self.name, line);
        }
    }

    /// Says what it protects, and from whom.
    pub fn say_what_is_watched(&self) {
        let listed = |names: Vec<&str>| match names.as_slice() {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let protects =
            self.policy.protect.interfaces.iter().map(String::as_str).collect::<Vec<_>>();
        let protects = if protects.is_empty() {
            "every wireless interface".to_owned()
        } else {
            listed(protects)
        };
        let bounded =
            listed(self.applications.list().iter().map(|one| one.name.as_str()).collect());
        let writes = if self.log.dry_run { "; a dry run, which writes nothing" } else { "" };
        let policy = self.path.display();
        self.say(&format!("{policy}: protects {protects}; may bound {bounded}{writes}"));
    }

    /// The senses, to wait with.
    pub fn senses(&mut self) -> &mut Senses {
        &mut self.senses
    }

    /// One tick: sense, decide, act, tell. How long the next one is to be, ns.
    pub fn tick(&mut self, now_ns: u64) -> u64 {
        let look_ns = if self.rests { LOOK_AT_REST_NS } else { LOOK_EVERY_NS };
        if now_ns - self.looked_ns >= look_ns {
            self.applications.refresh();
            self.looked_ns = now_ns;
        }
        let watched = watched(&self.applications);
        let reading = self.senses.read(&watched);
        let (state, decision) = decide::decide(&self.policy, &self.state, &reading, &self.outcome);
        self.keep(reading.at_ns, &decision);
        self.state = state;
        self.outcome = self.actuator.apply(&self.applications, &decision, &reading);
        let names: Vec<&str> =
            self.applications.list().iter().map(|one| one.name.as_str()).collect();
        for line in self.log.lines(&decision, &self.outcome, &names) {
            self.say(&log::stamped(linux::system::wall_ns(), &line));
        }
        self.account.tick(&reading, &decision, &self.outcome);
        let next_ns = decide::next_tick_ns(&reading, &decision);
        self.rests = next_ns > decide::TICK_NS;
        next_ns
    }

    /// A record that cannot be written is given up, and guard does its work without it.
    fn keep(&mut self, at_ns: u64, decision: &decide::Decision) {
        let Some(record) = &mut self.record else { return };
        if let Err(error) = record.tick(at_ns, decision, self.outcome.writes) {
            complain(&self.name, &format!("cannot write the record, and goes on without: {error}"));
            self.record = None;
        }
    }

    /// Tells the watchdog that this lives; at least once a second, also where ticks are longer.
    pub fn beat(&mut self) {
        if let Some(line) = self.actuator.beat() {
            complain(&self.name, line);
            // Another watchdog, perhaps: its time is guard's too.
            if let Some(watchdog) = self.actuator.watchdog() {
                self.senses.count_as_own(watchdog);
            }
        }
    }

    /// What is told at a door.
    pub fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Status => {
                let text = serde_json::to_string(&self.status()).unwrap_or_default();
                Answer::Done(text + "\n")
            }
            Request::Metrics(format) => Answer::Done(openmetrics::text(&self.status(), format)),
            Request::Set(aggressiveness) => {
                self.policy.aggressiveness = aggressiveness;
                self.account.policy_is(&self.policy);
                Answer::Done(format!("aggressiveness is {aggressiveness} now\n"))
            }
            Request::Reload => self.reload(),
        }
    }

    /// Reads the policy again; a bad one is told, and the one before holds.
    pub fn reload(&mut self) -> Answer {
        match self.read_again() {
            Ok(()) => Answer::Done(format!("{} holds now\n", self.path.display())),
            Err(failure) => {
                self.account.policy_refused(failure.line.clone());
                Answer::Refused(format!("{}; the policy before holds on\n", failure.line))
            }
        }
    }

    fn read_again(&mut self) -> Result<(), Failure> {
        let policy = read(&self.path)?;
        let applications = find(&self.path, &policy, self.applications.hierarchies())?;
        self.senses = open_senses(&policy, &self.actuator)?;
        self.policy = policy;
        self.applications = applications;
        self.account.policy_is(&self.policy);
        Ok(())
    }

    pub fn status(&self) -> Status {
        self.account.status(boottime_ns(), selfcare::rss_kib())
    }

    /// Puts everything back.
    pub fn end(mut self) -> Report {
        self.actuator.restore()
    }
}

/// Reads a policy from its file.
pub(crate) fn read(path: &std::path::Path) -> Result<Policy, Failure> {
    Policy::read(path).map_err(|error| Failure::usage(error.to_string()))
}

fn find(
    path: &std::path::Path,
    policy: &Policy,
    hierarchies: &Hierarchies,
) -> Result<Applications, Failure> {
    Applications::find(policy, hierarchies)
        .map_err(|refusal| Failure::usage(format!("{}: {}", path.display(), chain(&refusal))))
}

fn open_senses(policy: &Policy, actuator: &Actuator) -> Result<Senses, Failure> {
    let opened = Senses::open(policy, sense::Sources::live());
    let mut senses = opened.map_err(|error| Failure::environment(&error))?;
    if let Some(watchdog) = actuator.watchdog() {
        senses.count_as_own(watchdog);
    }
    Ok(senses)
}

fn first_status(flags: &flags::Run) -> Status {
    Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        policy: flags.policy.display().to_string(),
        dry_run: flags.dry_run,
        ..Status::default()
    }
}

/// The applications as the senses know them.
pub(crate) fn watched(applications: &Applications) -> Vec<sense::Watched> {
    let watched = applications.list().iter().map(|one| {
        let mut folders: Vec<PathBuf> =
            one.places.iter().flat_map(|place| place.groups.iter().cloned()).collect();
        folders.sort();
        folders.dedup();
        sense::Watched { name: one.name.clone(), folders, pids: one.pids.clone() }
    });
    watched.collect()
}
