//! `headroom bisect`: from many builds of a program to the one that made its subject dearer.
//!
//! Comparisons are made as `headroom compare` makes them, and each keeps its run: the same command again measures only what
//! is not there. Which build is next and where one is, is analysis's.

use std::path::{Path, PathBuf};

use analysis::{
    Estimate,
    bisect::{Side, side},
    quantity::{Unit, count},
    verdicts::{Finding, Judgement},
};
use lab::{
    comparison,
    run_folder::{self, Recorded},
    runner,
    study_file::StudyFile,
};
use model::{name::Sha256Hex, verdict::Difference};
use serde::Serialize;
use serde_json::json;

use super::{
    compare::{self, Builds},
    study,
};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags::{self, On},
    options::Options,
    output,
    run_path::RunPath,
};

/// A comparison that does not tell is made again with this many times its pairs.
const AGAIN: u32 = 2;

pub(crate) fn bisect(options: &Options, flags: &flags::Bisect) -> Result<Verdict, Failure> {
    let file = study::of_clients(options, &flags.study)?;
    let names = flags.builds.iter().map(|build| comparison::identity(build));
    let names = names.collect::<Result<Vec<_>, lab::Error>>()?;
    let path = RunPath::choose(flags.out.as_ref(), &format!("{}-bisect", file.name))?;
    let mut bench = Bench { options, flags, file, names, folder: &path, made: 0 };
    let last = flags.builds.len() - 1;
    let Some(step) = bench.ends()? else { return Ok(Verdict::Fail) };
    let mut known = vec![None; last + 1];
    known[last] = Some(step);
    let (mut before, mut after) = (0, last);
    while after - before > 1 {
        let build = before.midpoint(after);
        let (change, side) = bench.place(build, step.absolute)?;
        known[build] = Some(change);
        bench.say(build, side, &change);
        match side {
            Side::Before => before = build,
            Side::After => after = build,
            Side::Unclear => {
                let [before, after] = [before, after].map(|build| bench.name(build));
                let why = format!(
                    "cannot tell where the step is between {before} and {after}; give more --pairs"
                );
                return Err(Failure::Unmeasured(why));
            }
        }
    }
    bench.found([before, after], &known);
    Ok(Verdict::Pass)
}

/// What a build costs more than the first.
#[derive(Clone, Copy, Debug, Serialize)]
struct Change {
    /// µs of CPU a second.
    absolute: f64,
    /// As a share of the first build's.
    relative: Option<Estimate>,
}

impl Change {
    fn of(judgement: &Judgement) -> Option<Self> {
        Some(Self { absolute: judgement.absolute?.mean, relative: judgement.relative })
    }
}

/// What a build costs, in words; `None` for one that is the first build or is the same.
fn words(change: Option<&Change>) -> String {
    let relative = change.and_then(|change| change.relative.as_ref());
    relative.map_or_else(
        || "the first build's program".to_owned(),
        |relative| format!("{} on the first build", Unit::PER_CENT.with_interval(relative)),
    )
}

struct Bench<'a> {
    options: &'a Options,
    flags: &'a flags::Bisect,
    file: StudyFile,
    /// The builds by content.
    names: Vec<Sha256Hex>,
    folder: &'a Path,
    /// Comparisons that were made here.
    made: u32,
}

impl Bench<'_> {
    /// What the last build costs more than the first; `None`, which is said, where that is not so.
    fn ends(&mut self) -> Result<Option<Change>, Failure> {
        let last = self.flags.builds.len() - 1;
        if self.names[0] == self.names[last] {
            let why = "the first and the last build are the same, symbols aside: there is no step";
            return Err(Failure::Usage(why.to_owned()));
        }
        let judgement = self.compared(last, self.flags.pairs)?;
        let Judgement { finding, sentence, .. } = &judgement;
        match (finding, Change::of(&judgement)) {
            (Finding::Dearer, Some(change)) => {
                self.say(last, Side::After, &change);
                Ok(Some(change))
            }
            (Finding::Cheaper | Finding::Equivalent | Finding::Undecided, _) => {
                let (first, last) = (self.name(0), self.name(last));
                output::line(format_args!("{last} is not dearer than {first}: {sentence}"));
                Ok(None)
            }
            _ => Err(Failure::Unmeasured(judgement.sentence)),
        }
    }

    /// Where a build is, and what it costs more than the first one.
    fn place(&mut self, build: usize, step: f64) -> Result<(Change, Side), Failure> {
        if self.names[build] == self.names[0] {
            return Ok((Change { absolute: 0.0, relative: None }, Side::Before));
        }
        let mut pairs = self.flags.pairs;
        loop {
            let judgement = self.compared(build, pairs)?;
            let (Some(absolute), Some(change)) = (&judgement.absolute, Change::of(&judgement))
            else {
                return Err(Failure::Unmeasured(judgement.sentence));
            };
            let found = side(step, absolute, self.names.len());
            if found != Side::Unclear || pairs > self.flags.pairs {
                return Ok((change, found));
            }
            pairs *= AGAIN;
        }
    }

    /// A build beside the first one: from the run that is there, else measured.
    fn compared(&mut self, build: usize, pairs: u32) -> Result<Judgement, Failure> {
        let name = format!("{}-{pairs}-pairs", build + 1);
        let run = PathBuf::from(format!("{}/{name}", self.folder.display()));
        let recorded = match run_folder::read(&run) {
            Ok(recorded) if !self.is_of(&recorded, build) => {
                let run = run.display();
                return Err(Failure::Usage(format!(
                    "{run} is of other builds; remove it, or name another folder with --out"
                )));
            }
            Ok(recorded) if runner::left(&recorded).is_empty() => recorded,
            // It was interrupted.
            Ok(recorded) => {
                self.made += 1;
                let options = self.options.resuming(&recorded.path, &recorded.run.lab)?;
                study::resumed(&options, &On::Vm, &recorded)?
            }
            Err(_) => self.measured(build, pairs, &run)?,
        };
        let analysis = analysis::unjudged(&recorded.run, &recorded.trials);
        let nothing = || Failure::Unmeasured(format!("{} holds no comparison", run.display()));
        analysis.judgements.into_iter().next().ok_or_else(nothing)
    }

    /// Whether a run that is there is this comparison.
    fn is_of(&self, recorded: &Recorded, build: usize) -> bool {
        let versus = recorded.run.versus.as_ref();
        versus.is_some_and(|versus| match &versus.difference {
            Difference::Program { base, variant, .. } => {
                (base, variant) == (&self.names[0], &self.names[build])
            }
            _ => false,
        })
    }

    fn measured(&mut self, build: usize, pairs: u32, run: &Path) -> Result<Recorded, Failure> {
        let (flags, builds) = (self.flags, &self.flags.builds);
        let words = flags::Compare {
            base: flags.variant.clone(),
            with: Some((flags.program.clone(), builds[build].clone())),
            clients: flags.clients,
            pairs: Some(pairs),
            window: flags.window,
            out: Some(run.to_owned()),
            ..flags::Compare::default()
        };
        self.made += 1;
        let symbols = SymbolFolders::of(self.options, &words.symbols)?;
        let builds = Builds { base: Some(&builds[0]), other: None, symbols: &symbols };
        let recorded = compare::carried_out(self.options, self.file.clone(), &words, builds)?;
        recorded.ok_or_else(|| Failure::Unmeasured("nothing was measured".to_owned()))
    }

    /// As `build 17 (builds/17)`; counted from 1.
    fn name(&self, build: usize) -> String {
        format!("build {} ({})", build + 1, self.flags.builds[build].display())
    }

    fn say(&self, build: usize, side: Side, change: &Change) {
        let where_it_is = match side {
            Side::Before => "before the step",
            Side::After => "behind the step",
            Side::Unclear => "not clear",
        };
        output::note(format_args!("{}: {}, {where_it_is}", self.name(build), words(Some(change))));
    }

    fn found(&self, [before, after]: [usize; 2], known: &[Option<Change>]) {
        if self.options.json {
            output::json(&json!({
                // The first build behind the step, from 1; the last one before it; and what each costs more than the first.
                "build": after + 1, "file": self.flags.builds[after].to_string_lossy(), "before": before + 1,
                "change": known[after], "change_before": known[before], "comparisons": self.made,
            }));
            return;
        }
        output::line(format_args!(
            "{} made `{}` dearer: {}; {}: {}",
            self.name(after),
            self.flags.variant,
            words(known[after].as_ref()),
            self.name(before),
            words(known[before].as_ref())
        ));
        output::line(format_args!("{} made", count(self.made, "comparison")));
    }
}
