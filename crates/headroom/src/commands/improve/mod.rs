//! `headroom improve`: what an agent is asked to make cheaper, one try after the other, with the books.
//!
//! What a win is, the sandbox and the ledger are the crate `improve`'s; comparisons are made as `headroom compare` makes
//! them. Here they meet: an attempt is written down, built, measured, judged, and written down again.

mod cell;
mod changed;
mod evidence;
mod page;
mod show;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    time::Instant,
};

use improve::{
    Built, Candidate, TaskFolder, Texts, begin,
    folder::{Error, LONGEST_DIFF, LONGEST_TEXT},
    judge::{self, Evidence, Rule},
    ledger::{Access, Cost, Kind, Ledger, Opened, What},
    outcome::{Finding, Outcome, Reason},
    sandbox,
    standing::Standing,
    task::Replies,
};
use lab::{cache_model, host};
use linux::file;
use model::{architecture::Architecture, name::Sha256Hex};

use self::{
    cell::{Cell, Place},
    changed::Code,
};
use crate::{
    failure::{Failure, Verdict},
    flags::improve::{Accept, Improve, Named, Spent, Try, Verb},
    options::{self, Options},
    output,
};

pub(crate) fn improve(options: &Options, flags: &Improve) -> Result<Verdict, Failure> {
    let named = flags.verb.named();
    match &flags.verb {
        Verb::Init(named) => init(options, named),
        Verb::Try(flags) => Work::open(options, named, Access::Write)?.attempt_try(flags),
        Verb::Accept(flags) => Work::open(options, named, Access::Write)?.attempt_acceptance(flags),
        Verb::Status(_) => Work::open(options, named, Access::Read).map(|work| {
            page::write(&work.folder, &work.ledger);
            show::status(options, &work)
        }),
        Verb::Ledger(_) => {
            Work::open(options, named, Access::Read).map(|work| show::ledger(options, &work))
        }
        Verb::Close(_) => Work::open(options, named, Access::Write)?.close(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Task { .. } => Self::Usage(error.to_string()),
            Error::Interrupted => Self::Interrupted("interrupted; the ledger says so".to_owned()),
            error => Self::Environment(error.to_string()),
        }
    }
}

fn folder_of(named: &Named) -> PathBuf {
    let task = options::absolute(named.task.clone());
    let folder = task.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    named.dir.clone().unwrap_or_else(|| PathBuf::from(format!("improve/{folder}")))
}

fn init(options: &Options, named: &Named) -> Result<Verdict, Failure> {
    host::require(sandbox::PROGRAM[0], sandbox::PROGRAM[1])?;
    host::require("patch", "patch")?;
    let read = |path: &Path| {
        let unreadable = |error| Failure::Usage(format!("cannot read {}: {error}", path.display()));
        file::text(path, LONGEST_TEXT).map_err(unreadable)
    };
    let task_file = options::absolute(named.task.clone());
    let folder = task_file.parent().unwrap_or(Path::new("/"));
    let text = read(&task_file)?;
    let task = improve::Task::read(&text)
        .map_err(|why| Failure::Usage(format!("{}: {why}", task_file.display())))?;
    let study = PathBuf::from(format!("{}/{}", folder.display(), task.asked.study));
    let study_text = read(&study)?;
    let texts = Texts { task: &text, study: &study_text, folder };
    // Where QEMU does not count, no try could be a win.
    task.source.architectures().try_for_each(cache_model::try_plugin)?;
    cell::study(options, &study, &task)?;
    let cancel = options::watched()?;
    let path = folder_of(named);
    output::note(format_args!("headroom: fetching and building the base in {}", path.display()));
    let (folder, mut ledger) = begin(&path, texts, host::unix_now(), &|| cancel.is_stopped())?;
    let run = folder.secret_run(0, 0)?;
    if let Some(us) = cell::floor(options, &folder, &Cell::known(&folder.task), &run)? {
        ledger.append(host::unix_now(), What::Least { us })?;
    }
    show::begun(options, &folder, &ledger);
    Ok(Verdict::Pass)
}

type Programs = BTreeMap<Architecture, Built>;

struct Work<'a> {
    options: &'a Options,
    folder: TaskFolder,
    /// What its first line fixed.
    opened: Opened,
    ledger: Ledger,
}

/// What is measured, from its first line in the ledger to its last one.
struct Attempt {
    id: u32,
    kind: Kind,
    began: Instant,
    device_s: f64,
    spent: Spent,
}

impl<'a> Work<'a> {
    fn open(options: &'a Options, named: &Named, access: Access) -> Result<Self, Failure> {
        let path = folder_of(named);
        if !path.is_dir() {
            let (path, task) = (path.display(), named.task.display());
            return Err(Failure::Usage(format!(
                "{path} is not there: begin the task with `headroom improve init {task}`"
            )));
        }
        let (folder, ledger) = TaskFolder::open(&path, access, host::unix_now())?;
        let opened = ledger.opened().cloned().ok_or(Error::NotBegun(path))?;
        Ok(Self { options, folder, opened, ledger })
    }

    fn standing(&self) -> Standing {
        Standing::of(self.ledger.entries())
    }

    /// Writes down that something is going to be measured.
    fn begin(&mut self, kind: Kind, diff: &[u8], spent: Spent) -> Result<Attempt, Failure> {
        let standing = self.standing();
        if let Some(why) = standing.refusal(kind, &self.folder.task.budget) {
            return Err(Failure::Usage(why));
        }
        let (id, diff) = (standing.next(), self.folder.store("diffs", diff)?);
        self.ledger.append(host::unix_now(), What::Began { id, kind, diff })?;
        Ok(Attempt { id, kind, began: Instant::now(), device_s: 0.0, spent })
    }

    /// Writes down what became of it, and says it.
    fn end(&mut self, attempt: &Attempt, finding: Finding) -> Result<Verdict, Failure> {
        let Attempt { id, kind, began, device_s, spent: Spent { turns, tokens } } = *attempt;
        let cost = Cost { wall_s: began.elapsed().as_secs_f64(), device_s, turns, tokens };
        let verdict = verdict(finding.outcome);
        // Whoever tries learns of an acceptance whether it passed, and nothing that a next try could be fitted to.
        let shown =
            if kind == Kind::Try { finding.clone() } else { show::only_the_outcome(&finding) };
        self.ledger.append(host::unix_now(), What::Ended { id, finding: shown.clone(), cost })?;
        page::write(&self.folder, &self.ledger);
        show::ended(self.options, (id, kind), &shown, &cost);
        Ok(verdict)
    }

    /// Writes down what became of it, also where it came to no end for a reason of this machine's.
    fn conclude(
        &mut self,
        attempt: &Attempt,
        finding: Result<Finding, Failure>,
    ) -> Result<Verdict, Failure> {
        match finding {
            Ok(finding) => self.end(attempt, finding),
            Err(failure) => {
                // Its run is not gone on with: a try is made again.
                let (outcome, failure) = match failure {
                    Failure::Interrupted(_) => (Outcome::Interrupted, Error::Interrupted.into()),
                    failure => (Outcome::Invalid, failure),
                };
                self.end(attempt, Finding::of(outcome, Reason::Unmeasured, failure.sentence()))?;
                Err(failure)
            }
        }
    }

    fn attempt_try(&mut self, flags: &Try) -> Result<Verdict, Failure> {
        let diff = diff(&flags.diff)?;
        let mut attempt = self.begin(Kind::Try, &diff, flags.spent)?;
        let finding = self.tried(&mut attempt, &diff);
        self.conclude(&attempt, finding)
    }

    fn tried(&self, attempt: &mut Attempt, diff: &[u8]) -> Result<Finding, Failure> {
        let place = self.folder.of_try(attempt.id)?;
        match self.built(Candidate { id: attempt.id, diff, arch: Architecture::X86_64 })? {
            Err(finding) => Ok(finding),
            Ok(built) => {
                let cell = Cell::known(&self.folder.task);
                let (run, floor_us) = (place.path_of("run"), self.standing().floor_us);
                let place = Place { cell, run: &run, floor_us };
                self.measured(attempt, &built, place)
            }
        }
    }

    /// What a diff builds, unless it is what the base is.
    fn built(&self, candidate: Candidate<'_>) -> Result<Result<Built, Finding>, Failure> {
        let cancel = options::watched()?;
        let built = self.folder.build(candidate, &|| cancel.is_stopped())?;
        Ok(built.and_then(|built| match *self.base(candidate.arch) == built.program {
            true => {
                let sentence = "Its program is the base's, to the byte.";
                Err(Finding::of(Outcome::NoChange, Reason::SameProgram, sentence))
            }
            false => Ok(built),
        }))
    }

    fn base(&self, arch: Architecture) -> &Sha256Hex {
        let other = self.opened.arm64.as_ref().filter(|_| arch == Architecture::Arm64);
        other.unwrap_or(&self.opened.program)
    }

    fn built_for_all(&self, id: u32, diff: &[u8]) -> Result<Result<Programs, Finding>, Failure> {
        let mut programs = Programs::new();
        for arch in self.folder.task.source.architectures() {
            match self.built(Candidate { id, diff, arch })? {
                Ok(built) => programs.insert(arch, built),
                Err(finding) => return Ok(Err(finding)),
            };
        }
        Ok(Ok(programs))
    }

    /// Measures a program beside the base in one cell, and judges it.
    fn measured(
        &self,
        attempt: &mut Attempt,
        built: &Built,
        place: Place<'_>,
    ) -> Result<Finding, Failure> {
        let base = self.base(place.cell.arch.unwrap_or_default());
        let sums = [base, &built.program];
        let [base, program] = sums.map(|sum| self.folder.program(sum));
        let (base, program) = (base?, program?);
        // What a secret cell is shows in its progress.
        let options = if attempt.kind == Kind::Try { self.options } else { &self.options.silent() };
        let code = Code::changed([&base, &program], place.run.with_extension("code"));
        let looking = code.as_ref().map(|code| options.looking_for(code.file.clone()));
        let options = looking.as_ref().unwrap_or(options);
        let recorded = cell::compare(options, &self.folder, place, [&base, &program])?;
        // They are what was measured only if they still are what they were.
        sums.iter().try_for_each(|sum| self.folder.program(sum).map(drop))?;
        let (evidence, device_s) = evidence::of(&recorded, &base, built, place.floor_us);
        attempt.device_s += device_s;
        let nothing = || Finding::unmeasured("The run holds no comparison.");
        let task = &self.folder.task;
        let is_try = attempt.kind == Kind::Try;
        let rule = Rule { task, level: if is_try { analysis::judge::ERROR } else { task.level() } };
        let judged = |mut evidence: Evidence| {
            let is_exact = self.folder.task.asked.replies == Replies::Exact;
            evidence.words = is_exact.then(|| evidence::words(&recorded, &evidence.judgement));
            let variant = &evidence.judgement.variant;
            evidence.never_ran =
                code.map(|code| code.never_ran(&recorded, variant)).unwrap_or_default();
            judge::judge(&rule, &evidence)
        };
        let finding = evidence.map_or_else(nothing, judged);
        if finding.outcome != Outcome::Win {
            return Ok(finding);
        }
        // Last, because most tries are no win.
        let recorded = cell::tested(options, &self.folder, place, [&base, &program])?;
        let ([base, candidate], device_s) = evidence::answers(&recorded);
        attempt.device_s += device_s;
        let change = finding.change;
        Ok(judge::answers(&base, &candidate).map_or(finding, |other| other.with(change)))
    }

    fn attempt_acceptance(&mut self, flags: &Accept) -> Result<Verdict, Failure> {
        let standing = self.standing();
        let tried =
            flags.id.or(standing.best).and_then(|id| standing.attempt(id)).filter(|tried| {
                tried.kind == Kind::Try
                    && tried.finding.as_ref().is_some_and(|finding| finding.outcome == Outcome::Win)
            });
        let Some(tried) = tried else {
            let why =
                "only a try that was kept can be accepted; `headroom improve status` lists them";
            return Err(Failure::Usage(why.to_owned()));
        };
        let diff = self.folder.diff(&tried.diff)?;
        let mut attempt = self.begin(Kind::Acceptance, &diff, Spent::default())?;
        let finding = match self.built_for_all(attempt.id, &diff) {
            Ok(Ok(programs)) => self.in_secret_cells(&mut attempt, &programs),
            Ok(Err(finding)) => Ok(finding),
            Err(failure) => Err(failure),
        };
        self.conclude(&attempt, finding)
    }

    /// Measures in all cells of an acceptance, unless one is lost before.
    fn in_secret_cells(
        &self,
        attempt: &mut Attempt,
        programs: &Programs,
    ) -> Result<Finding, Failure> {
        let mut findings = Vec::new();
        let cells = Cell::secret(&self.folder, attempt.id)?;
        let count = cells.len() as u32;
        for (place, cell) in (0..).zip(cells) {
            let Some(built) = programs.get(&cell.arch.unwrap_or_default()) else {
                findings.push(Finding::unmeasured("A cell's processor has no program."));
                break;
            };
            let [floor, run] =
                [2 * place, 2 * place + 1].map(|number| self.folder.secret_run(attempt.id, number));
            let (floor, run) = (floor?, run?);
            show::cell(self.options, place + 1, count);
            let floor_us = cell::floor(&self.options.silent(), &self.folder, &cell, &floor)?;
            let place = Place { cell, run: &run, floor_us };
            let finding = self.measured(attempt, built, place)?;
            let is_won = finding.outcome == Outcome::Win;
            findings.push(finding);
            if !is_won {
                break;
            }
        }
        Ok(judge::all(findings).unwrap_or_else(|| Finding::unmeasured("There was no cell.")))
    }

    fn close(&mut self) -> Result<Verdict, Failure> {
        if !self.standing().is_closed {
            let seed = self.folder.seed()?;
            self.ledger.append(host::unix_now(), What::Closed { seed })?;
        }
        Ok(show::ledger(self.options, self))
    }
}

/// How the command ends: a win passes, what could not be measured is invalid, everything else fails.
fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Win => Verdict::Pass,
        Outcome::Invalid | Outcome::Interrupted => Verdict::Invalid,
        _ => Verdict::Fail,
    }
}

/// The diff that a person named.
fn diff(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().take(LONGEST_DIFF + 1).read_to_end(&mut bytes),
        _ => File::open(path).and_then(|file| file.take(LONGEST_DIFF + 1).read_to_end(&mut bytes)),
    };
    match read {
        Err(error) => Err(Failure::Usage(format!("cannot read {}: {error}", path.display()))),
        Ok(length) if length as u64 > LONGEST_DIFF => Err(Failure::Usage(format!(
            "{} is longer than {} MiB, which no diff of a try is",
            path.display(),
            LONGEST_DIFF >> 20
        ))),
        Ok(_) => Ok(bytes),
    }
}
