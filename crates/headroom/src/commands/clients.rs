//! What the verbs do with studies of clients and their runs.

use std::path::Path;

use analysis::Analysis;
use lab::{clients::ClientTrials, run_folder::Recorded, runner, shard, study_file::StudyFile};
use model::{
    experiment::Clients,
    study::{Gates, Study, Target as Kind},
    trial::{PlannedTrial, Purpose},
    verdict::Verdict as Decided,
};
#[cfg(feature = "mcp")]
use report::verdict_lines;
use report::{
    Given, Pending,
    index::{self, Entry, Place},
};

use super::{
    check, compare,
    kinds::{Following, Site, SoFar, Verbs},
    publish::{self, Wanted},
    trials::{
        changed, estimate, foretold, lab_for, measured, on_device, plain, planned, show_plan,
    },
};
#[cfg(feature = "mcp")]
use crate::answer::Answer;
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags::{self, On},
    interrupted, live,
    options::Options,
};

impl Verbs for Clients {
    fn on_device(file: StudyFile, on: &On) -> Result<StudyFile, Failure> {
        on_device(file, on)
    }

    fn changed(file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
        let file = changed(file, flags)?;
        check::refuse(&file.study, &flags.limits)?;
        Ok(file)
    }

    fn show(options: &Options, file: &StudyFile) -> Verdict {
        show_plan(options, file, &Self::planned(file))
    }

    fn planned(file: &StudyFile) -> Vec<PlannedTrial> {
        shard::own::<Self>(&file.study, planned(file), file.shard)
    }

    fn estimate(options: &Options, study: &Study, trials: &[PlannedTrial]) -> Estimate {
        estimate(options, study, trials)
    }

    fn carry_out(
        options: &Options,
        site: &Site<'_>,
        file: &StudyFile,
        path: &Path,
    ) -> Result<Recorded, Failure> {
        let foretell = foretold(&file.study, file.study.trial.repetitions);
        let trials = ClientTrials { foretell: &foretell, ..plain(site.on, site.symbols) };
        measured(options, trials, file, path)
    }

    fn may_go_on(recorded: &Recorded, on: &On) -> Result<(), Failure> {
        if let (Kind::Device(name), On::Vm) = (&recorded.run.study.access_point.kind, on) {
            let run = recorded.path.display();
            // A folder may come from anywhere: no address in it is called.
            return Err(Failure::Usage(format!(
                "this run was begun on {name}, and no device is called that a folder names; name it again: `headroom run \
                 --resume {run} --on DEVICE`"
            )));
        }
        Ok(())
    }

    fn go_on(options: &Options, on: &On, recorded: &Recorded) -> Result<Recorded, Failure> {
        let symbols = SymbolFolders::of(options, &flags::Symbols::default())?;
        let options = &options.of_run(recorded.run.study.access_point.arch)?;
        let lab = live::shown::<Clients>(lab_for(options, on)?, options);
        let trials = plain(on, &symbols);
        let ended = runner::resume(&lab, &trials, &recorded.path);
        ended
            .inspect_err(|_| live::ended::<Clients>(&recorded.path))
            .map_err(|error| interrupted::explain(error, &recorded.path))
    }

    fn stage(planned: &PlannedTrial) -> Option<&'static str> {
        Some(match planned.id.purpose {
            Purpose::Cpu => "for CPU figures",
            Purpose::Counts => "that count calls",
            Purpose::Stacks => "that record stacks",
            Purpose::Pause => "that pause a consumer",
            Purpose::Parity => "that check whether the job is still done",
            Purpose::Peers => "that look who talks to whom",
        })
    }

    fn so_far(recorded: &Recorded, pending: Option<&Pending>) -> Result<SoFar, Failure> {
        let Recorded { run, trials, study_text, .. } = recorded;
        // Stacks come last, and explaining them takes its time.
        let mut analysis = analysis::unjudged(run, trials);
        check::judge(&mut analysis, recorded, &flags::Limits::default(), None)?;
        if pending.is_some() {
            // What cannot be decided yet is no verdict.
            analysis.gates.retain(|gate| gate.verdict != Decided::Invalid);
            analysis.pauses.retain(|pause| pause.verdict != Decided::Invalid);
        }
        let given = Given { study_toml: study_text, pending };
        let page = report::html(run, &analysis, given).map_err(Failure::Page)?;
        Ok(SoFar { page, headline: analysis.headline.sentence })
    }

    fn publish(
        options: &Options,
        recorded: &Recorded,
        wanted: &Wanted<'_>,
    ) -> Result<Verdict, Failure> {
        publish::publish(options, recorded, wanted)
    }

    fn check(
        options: &Options,
        recorded: &Recorded,
        flags: &flags::Check,
    ) -> Result<Verdict, Failure> {
        check::of_clients(options, recorded, flags)
    }

    fn compare(
        options: &Options,
        file: StudyFile,
        flags: &flags::Compare,
    ) -> Result<Verdict, Failure> {
        compare::of_clients(options, file, flags)
    }

    #[cfg(feature = "mcp")]
    fn answer(recorded: &Recorded, symbols: &SymbolFolders) -> Result<Answer, Failure> {
        let analysis = check::analysed(recorded, symbols, &flags::Limits::default(), None)?;
        let overall = report::overall(&recorded.run, &analysis);
        let lines = verdict_lines::all(&recorded.run, &analysis);
        let answer = Answer::of(&overall, &lines, &analysis.headline.sentence);
        let answer = answer.with_figures(&analysis.table).with_doubts(&analysis.doubts);
        Ok(answer.with_flames(&analysis.profiles))
    }

    fn entry(
        recorded: &Recorded,
        following: &Following<'_>,
        place: Place<'_>,
    ) -> Result<Entry, String> {
        // A limit that cannot be judged any more makes the run unreadable as a verdict, and is reported.
        let analysis = for_index(recorded, following).map_err(|failure| failure.sentence())?;
        Ok(index::entry(&recorded.run, &analysis, following.figure, place))
    }
}

/// What a run says; its stacks are read only where a gate judges them or they are followed, because that takes its time.
fn for_index(recorded: &Recorded, following: &Following<'_>) -> Result<Analysis, Failure> {
    const STACKS: &str = "unknown-frames";
    let limits = flags::Limits::default();
    let gates = recorded.run.study.gates.as_ref();
    let asks_for_stacks = |gates: &Gates| {
        gates.unknown_frames.is_some() || gates.limits.iter().any(|limit| limit.contains(STACKS))
    };
    if gates.is_some_and(asks_for_stacks) || following.figure.name() == Some(STACKS) {
        return check::analysed(recorded, following.symbols, &limits, None);
    }
    let mut analysis = analysis::unjudged(&recorded.run, &recorded.trials);
    check::judge(&mut analysis, recorded, &limits, None)?;
    Ok(analysis)
}
