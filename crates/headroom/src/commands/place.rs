//! `headroom profile` and `headroom count`: stacks and calls of a study's variants, or of a process that the command line
//! names; `pause` and `blame` are asked in the same way.
//!
//! A process becomes a study of one variant, so that what is recorded can be carried out again and reads like every other
//! run. Builds studies; runs them where `--on` points.

use std::path::Path;

use lab::study_file::{self, StudyFile};
use model::{
    instrument::Scope,
    limit::{self, At, Limit},
    name::VariantName,
    span::Span,
    study::{AccessPoint, Count, Function, Load, Study, Subject, TrialShape, Variant},
    trial::Purpose,
};

use super::{
    publish::{self, Publication},
    study::{self, changed, measured, on_device, plain, planned, refuse_clients, say_estimate},
};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::Options,
    run_path::RunPath,
    shipped,
};

pub(crate) fn profile(options: &Options, flags: &flags::Profile) -> Result<Verdict, Failure> {
    let mut file = study_of(options, &flags.place, Purpose::Stacks)?;
    let StudyFile { study, overrides, .. } = &mut file;
    let flags::Profile { place, frequency, stack_bytes, scope } = flags;
    let profile = &mut study.profile;
    for (key, value, field) in [
        ("repetitions", place.repetitions, &mut profile.repetitions),
        ("frequency", *frequency, &mut profile.frequency),
        ("stack-bytes", *stack_bytes, &mut profile.stack_bytes),
    ] {
        if let Some(value) = value {
            *field = value;
            overrides.push(format!("profile.{key} = {value}"));
        }
    }
    if let Some(scope) = scope {
        study.profile.scope = scope_of(scope);
        overrides.push(format!("profile.scope = {}", study.profile.scope));
    }
    if !flags.place.clients.is_empty() {
        study.profile.clients.clone_from(&flags.place.clients);
    }
    study.question = format!("Where does the CPU of {} go?", study.process());
    carry_out(options, &flags.place, file)
}

pub(crate) fn count(options: &Options, flags: &flags::Count) -> Result<Verdict, Failure> {
    let mut file = study_of(options, &flags.place, Purpose::Counts)?;
    let StudyFile { study, overrides, .. } = &mut file;
    let functions = functions(flags);
    if !functions.is_empty() {
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        overrides.push(format!("count = {}", names.join(", ")));
        let (clients, variants) = Default::default();
        study.count = Some(Count { repetitions: 1, clients, variants, functions });
    }
    study.question = format!("How often does {} call what is counted?", study.process());
    if let Some(count) = &mut study.count {
        count.repetitions = flags.place.repetitions.unwrap_or(count.repetitions);
        if !flags.place.clients.is_empty() {
            count.clients.clone_from(&flags.place.clients);
        }
    }
    carry_out(options, &flags.place, file)
}

fn functions(flags: &flags::Count) -> Vec<Function> {
    let function = |name: &String| Function {
        name: name.clone(),
        census: flags.census,
        argument: flags.argument,
        ..Function::default()
    };
    let user = flags.function.iter().map(|symbol| Function {
        symbol: Some(symbol.clone()),
        of: flags.of.clone(),
        ..function(symbol)
    });
    let kernel = flags.kernel_function.iter();
    user.chain(kernel.map(|name| Function { kernel: Some(name.clone()), ..function(name) }))
        .collect()
}

/// The study that a place means, for trials of one purpose.
pub(crate) fn study_of(
    options: &Options,
    place: &flags::Place,
    purpose: Purpose,
) -> Result<StudyFile, Failure> {
    refuse_clients(&place.on, !place.clients.is_empty())?;
    let mut file = if shipped::is_study(&place.what) {
        let path = Path::new(&place.what);
        let file = study::loaded(options, path, &place.on)?;
        if !file.study.is_of_clients() {
            return Err(Failure::Usage(format!(
                "{} is not a study of a subject, which this verb is for",
                path.display()
            )));
        }
        let mut file = changed(on_device(file, &place.on)?, &changes(place))?;
        without_limits_on_others(&mut file.study);
        file
    } else {
        if !place.variant.is_empty() {
            return Err(Failure::Usage(format!(
                "`{}` is a process, and has no variants; name a study file",
                place.what
            )));
        }
        let mut study = of_process(place);
        study.access_point.arch = options.arch.unwrap_or_default();
        study.access_point.firmware = options.firmware().cloned();
        on_device(StudyFile::of(&place.what, study).map_err(Failure::Usage)?, &place.on)?
    };
    file.keep_only(vec![purpose]);
    file.overrides.push(format!("only = {}", purpose.name()));
    Ok(file)
}

/// Limits on variants that `--variant` leaves out are not asked here.
fn without_limits_on_others(study: &mut Study) {
    let names: Vec<_> = study.variants.iter().map(|variant| variant.name.to_string()).collect();
    let is_there = |text: &String| match limit::parse(text) {
        Ok(Limit { at: At { variant: Some(name), .. }, .. }) => names.contains(&name),
        _ => true,
    };
    study.gates.iter_mut().for_each(|gates| gates.limits.retain(is_there));
}

fn changes(place: &flags::Place) -> flags::Run {
    flags::Run {
        clients: place.clients.clone(),
        variant: place.variant.clone(),
        window: place.window,
        ..flags::Run::default()
    }
}

fn of_process(place: &flags::Place) -> Study {
    let process = place.what.clone();
    let window = place.window.unwrap_or(Span::from_secs(10));
    let load =
        place.load.clone().map(|run| Load { run, every: Span::from_secs(1), long_running: false });
    Study {
        question: format!("Where does the CPU of {process} go?"),
        access_point: AccessPoint {
            clients: if place.clients.is_empty() { vec![18] } else { place.clients.clone() },
            ..AccessPoint::default()
        },
        subject: Some(Subject {
            process: process.clone(),
            start: None,
            ready: None,
            others: Vec::new(),
        }),
        load,
        trial: TrialShape { warm_up: Span::from_secs(1), window, ..TrialShape::default() },
        profile: model::study::Profile { repetitions: 1, ..Default::default() },
        variants: vec![Variant::named(VariantName::literal("as-it-runs"))],
        ..Study::default()
    }
}

pub(crate) fn scope_of(word: &str) -> Scope {
    match word {
        "subject" => Scope::Subject,
        "machine" => Scope::Machine,
        path => Scope::Group(path.to_owned()),
    }
}

/// Carries the study out where the place is, and writes its report.
pub(crate) fn carry_out(
    options: &Options,
    place: &flags::Place,
    file: StudyFile,
) -> Result<Verdict, Failure> {
    study_file::check(&file.study).map_err(Failure::Usage)?;
    refuse_nothing(&file)?;
    let path = RunPath::choose(place.out.as_ref(), &file.name)?;
    let symbols = SymbolFolders::of(options, &place.symbols)?;
    say_estimate(options, &place.on, &file, &planned(&file));
    let recorded = measured(options, plain(&place.on, &symbols), &file, &path)?;
    let publication = Publication { open: place.open, ..Publication::default() };
    publish::publish(options, &recorded, &symbols, publication)
}

/// A plan without a trial would end as an empty page.
fn refuse_nothing(file: &StudyFile) -> Result<(), Failure> {
    if !planned(file).is_empty() {
        return Ok(());
    }
    let why = match file.only.as_slice() {
        [Purpose::Counts] => {
            "nothing to count: name a function with --function or --kernel-function, or a study with [count]"
        }
        [Purpose::Pause] => "nothing to pause: no remaining variant has a load or a consumer",
        _ => "the study records no stacks (`[profile] repetitions = 0`); say --repetitions 1",
    };
    Err(Failure::Usage(why.to_owned()))
}
