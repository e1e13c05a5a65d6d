//! What the verbs do with studies of clients and their runs.

use std::path::Path;

use analysis::Analysis;
use lab::{clients::Target, run_folder::Recorded, runner, study_file::StudyFile};
use model::{
    experiment::Clients,
    study::{Gates, Study},
    trial::{PlannedTrial, Purpose},
    verdict::Verdict as Decided,
};
use report::{
    Given, Pending,
    index::{self, Entry, Place},
};

use super::{
    check, compare,
    kinds::{Following, SoFar, Verbs},
    publish::{self, Wanted},
    trials::{changed, estimate, measured, plain, planned, show_plan},
};
use crate::{
    code_files::SymbolFolders,
    estimate::Estimate,
    failure::{Failure, Verdict},
    flags, interrupted, live,
    options::Options,
};

impl Verbs for Clients {
    fn changed(file: StudyFile, flags: &flags::Run) -> Result<StudyFile, Failure> {
        let file = changed(file, flags)?;
        check::refuse(&file.study, &flags.limits)?;
        Ok(file)
    }

    fn show(options: &Options, file: &StudyFile) -> Verdict {
        show_plan(options, file, &planned(file))
    }

    fn planned(file: &StudyFile) -> Vec<PlannedTrial> {
        planned(file)
    }

    fn estimate(options: &Options, study: &Study, trials: &[PlannedTrial]) -> Estimate {
        estimate(options, study, trials)
    }

    fn carry_out(
        options: &Options,
        file: &StudyFile,
        path: &Path,
        symbols: &SymbolFolders,
    ) -> Result<Recorded, Failure> {
        measured(options, plain(&Target::Vm, symbols), file, path)
    }

    fn go_on(options: &Options, recorded: &Recorded) -> Result<Recorded, Failure> {
        let symbols = SymbolFolders::of(options, &flags::Symbols::default());
        let options = &options.of_run(recorded.run.study.access_point.arch)?;
        let lab = live::shown::<Clients>(options.lab()?, options);
        let trials = plain(&Target::Vm, &symbols);
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
        let mut analysis = analysis::analyse(run, trials);
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
    let mut analysis = analysis::analyse(&recorded.run, &recorded.trials);
    check::judge(&mut analysis, recorded, &limits, None)?;
    Ok(analysis)
}
