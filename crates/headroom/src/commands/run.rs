//! `headroom run`: a study file to a run folder, with its report.

use std::path::Path;

use lab::{
    device_file::On,
    run_folder::{self, Recorded},
    runner,
    setup::Execution,
    shard,
};
use model::{plural::count, shard::Shard};
use serde_json::json;

use super::{
    publish::{self, Publication},
    study::{self, foretold, plain},
};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    run_path::RunPath,
};

pub(crate) fn run(options: &Options, flags: &flags::Run) -> Result<Verdict, Failure> {
    match (&flags.resume, &flags.study) {
        (Some(run), _) => resume(options, flags, run),
        (None, Some(study)) => begin(options, flags, study),
        (None, None) => Err(Failure::Usage("name a study file, or --resume RUN".to_owned())),
    }
}

fn begin(options: &Options, flags: &flags::Run, path: &Path) -> Result<Verdict, Failure> {
    let file = study::on_device(study::loaded(options, path, &flags.on)?, &flags.on)?;
    let mut file = study::changed(file, flags)?;
    let whole = study::planned(&file);
    // A device's clients are known once it is there.
    (flags.on == On::Vm).then(|| runner::refuse_nothing(&file, &whole)).transpose()?;
    if let Some(why) = flags.shard.and_then(|_| shard::refusal(&whole)) {
        return Err(Failure::Usage(format!("--shard: {why}")));
    }
    file.shard = flags.shard;
    let planned = shard::own(&file.study, whole, file.shard);
    if flags.dry_run {
        return Ok(study::show_plan(options, &file, &planned));
    }
    let name = file.shard.map_or_else(
        || file.name.clone(),
        |shard| format!("{}-shard-{}-of-{}", file.name, shard.number(), shard.of()),
    );
    let folder = RunPath::choose(flags.out.as_ref(), &name)?;
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    study::estimate(options, &file.study, &planned).say(options, planned.len());
    let foretell = foretold(&file.study, file.study.trial.repetitions);
    let how = Execution { foretell: &foretell, ..plain(&flags.on, &symbols) };
    let recorded = study::measured(options, how, &file, &folder)?;
    conclude(options, flags, &recorded, (&symbols, path.parent()))
}

fn resume(options: &Options, flags: &flags::Run, run: &Path) -> Result<Verdict, Failure> {
    let recorded = run_folder::read(run)?;
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    let options = &options.resuming(run, &recorded.run.lab)?;
    let left = runner::left(&recorded);
    study::estimate(options, &recorded.run.study, &left).say(options, left.len());
    let recorded = study::resumed(options, &flags.on, &recorded)?;
    conclude(options, flags, &recorded, (&symbols, None))
}

/// A shard is not a run yet, and is not judged.
fn conclude_shard(options: &Options, recorded: &Recorded, shard: Shard) -> Verdict {
    let invalid = recorded.trials.iter().filter(|trial| trial.reading().is_none()).count();
    let (trials, folder) = (recorded.trials.len(), recorded.path.display());
    if options.json {
        let path = &recorded.path;
        output::json(
            &json!({"shard": shard, "trials": trials, "invalid": invalid, "folder": path}),
        );
    } else {
        let trials = count(trials as u32, "trial");
        output::line(format_args!("shard {shard}: {trials}, {invalid} invalid, in {folder}"));
        output::line("with the other shards it becomes a run: headroom merge DIR…");
    }
    if invalid == 0 { Verdict::Pass } else { Verdict::Invalid }
}

fn conclude(
    options: &Options,
    flags: &flags::Run,
    recorded: &Recorded,
    (symbols, near): (&SymbolFolders, Option<&Path>),
) -> Result<Verdict, Failure> {
    if let Some(part) = &recorded.run.part {
        return Ok(conclude_shard(options, recorded, part.shard));
    }
    let publication = Publication {
        page: None,
        limits: flags.limits.clone(),
        near: near.map(Path::to_owned),
        outputs: flags.outputs.clone(),
        open: flags.open,
    };
    publish::publish(options, recorded, symbols, publication)
}
