//! `headroom compare`: two sides of one question, pair by pair, to a verdict.
//!
//! The sides become the two variants of a study; the question is fixed in the run before its first trial.

use std::path::Path;

use lab::{
    comparison::{Comparing, Program, place_of},
    plan,
    run_folder::Recorded,
    setup::Execution,
    study_file::{self, StudyFile},
};
use model::{
    cell::Cell,
    firmware::Files,
    name::CellName,
    plural::count,
    span::Span,
    study::{AccessPoint, Count, Function, Load, Study, Variant, VariantLoad},
    trial::NONE,
    verdict::{Difference, Expect, FEWEST_PAIRS, Pairs, Versus},
};

use super::{
    alarms,
    publish::{self, Publication},
    study::{
        foretold, loaded, measured, numbered, on_device, plain, refuse, refuse_clients,
        say_estimate, show_plan,
    },
};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags::{self, On, OtherFirmware, states},
    options::{Options, absolute},
    run_path::RunPath,
};

/// Pairs of an A/A run: enough subsets to see how often the lab calls the same thing changed.
const A_A_PAIRS: u32 = 20;

/// A window of traffic is compared second by second where it has a few of them.
const SHORTEST: Span = Span::from_secs(6);

pub(crate) fn compare(options: &Options, flags: &flags::Compare) -> Result<Verdict, Failure> {
    let file = loaded(options, &flags.study, &flags.on)?;
    let other = other_options(options, flags, &file.study.access_point)?;
    let symbols = SymbolFolders::of(options, &flags.symbols)?;
    let builds = Builds { base: None, other: other.as_ref(), symbols: &symbols };
    let Some(recorded) = carried_out(options, file, flags, builds)? else {
        return Ok(Verdict::Pass);
    };
    // Before the verdict, which is what is read last.
    if recorded.run.study.is_of_clients() {
        alarms::print(options, &recorded)?;
    }
    let outputs = flags.outputs.clone();
    let publication = Publication { outputs, open: flags.open, ..Publication::default() };
    publish::publish(options, &recorded, &symbols, publication)
}

fn refuse_meaningless(study: &Study, flags: &flags::Compare) -> Result<(), Failure> {
    if study.is_of_clients() {
        return Ok(());
    }
    let said = [
        ("--with", flags.with.is_some()),
        ("--other-device", flags.other_device.is_some()),
        ("--other-rootfs", flags.other.is_named()),
        ("--a-a", flags.a_a && study.has_traffic()),
        ("--clients", flags.clients.is_some()),
        ("--up-to", flags.up_to.is_some()),
        ("--changes", !flags.changes.is_empty()),
        ("--perturb", !flags.perturb.is_empty()),
        ("--on", flags.on != On::Vm),
        ("--symbols", !flags.symbols.folders.is_empty()),
    ];
    refuse(&said, |word| {
        format!(
            "{word} means nothing to a study of traffic or of a card; it has --cell, --pairs, --margin, --expect, --window, \
             --junit and --markdown"
        )
    })
}

/// Where the sides come from beside what the flags say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builds<'a> {
    /// The base's build of the program of which `--with` gives another one.
    pub(crate) base: Option<&'a Path>,
    /// The variant's image.
    pub(crate) other: Option<&'a Options>,
    pub(crate) symbols: &'a SymbolFolders,
}

/// Carries a comparison out; `None` where its plan alone was shown.
pub(crate) fn carried_out(
    options: &Options,
    mut file: StudyFile,
    flags: &flags::Compare,
    builds: Builds<'_>,
) -> Result<Option<Recorded>, Failure> {
    refuse_meaningless(&file.study, flags)?;
    refuse_clients(&flags.on, flags.clients.is_some())?;
    file = on_device(file, &flags.on)?;
    let sides = sides(&file.study, flags)?;
    let versus = versus(&file.study, flags, &sides)?;
    file.study.compare.perturb.retain(|_| !flags.a_a);
    states::perturb(&mut file.study, &flags.perturb);
    if flags.on != On::Vm {
        states::refuse_on_device(&file.study)?;
    }
    reduce(&mut file, flags, &versus, sides);
    study_file::check(&file.study).map_err(Failure::Usage)?;
    let trials = plan::shown(&file.study, Some(&versus));
    if flags.dry_run {
        show_plan(options, &file, &trials);
        return Ok(None);
    }
    let path = RunPath::choose(flags.out.as_ref(), &file.name)?;
    let other = builds.other.map(|other| other.silent().lab()).transpose()?;
    say_estimate(options, &flags.on, &file, &trials);
    let program = flags.with.clone().map(|(name, path)| {
        let base = builds.base.map(Path::to_owned);
        let path = options.beneath().map_or(Ok(path.clone()), |beneath| beneath.copied(&path))?;
        Ok::<_, Failure>(Program { name, path, base })
    });
    let program = program.transpose()?;
    let comparing = Comparing { versus, program, other: other.as_ref() };
    let foretell = foretold(&file.study, comparing.versus.pairs.most());
    let plain = plain(&flags.on, builds.symbols);
    let how = Execution { comparing: Some(&comparing), foretell: &foretell, ..plain };
    measured(options, how, &file, &path).map(Some)
}

fn sides(study: &Study, flags: &flags::Compare) -> Result<[Variant; 2], Failure> {
    let find = |name: &str| {
        if name == NONE && study.has_traffic() {
            return Ok(Variant::named(model::name::VariantName::literal(NONE)));
        }
        let known = study.variants.iter().map(|variant| variant.name.as_str());
        study.variant(name).cloned().ok_or_else(|| Failure::unknown("variant", name, known))
    };
    let base = find(&flags.base)?;
    if let Some(name) = &flags.variant {
        if base.name == *name {
            return Err(Failure::Usage(format!(
                "`{name}` is compared with itself; use --a-a to measure how often this lab sees a change where there is none"
            )));
        }
        return Ok([base, find(name)?]);
    }
    let called = |suffix: &str| Variant { name: base.name.with(suffix), ..base.clone() };
    match &flags.with {
        Some((name, _)) => with_builds(study, &base, called("-with"), name),
        None => {
            let variant = called(if flags.a_a { "-again" } else { "-other" });
            Ok([base, variant])
        }
    }
}

/// Both sides, each of which starts its own build of a program.
fn with_builds(
    study: &Study,
    base: &Variant,
    variant: Variant,
    name: &str,
) -> Result<[Variant; 2], Failure> {
    let mut named = false;
    let mut side = |mut variant: Variant, side: usize| {
        let mut subject = study.subject_of(&variant).clone();
        let place = place_of(side, name);
        named |= replace(&mut subject.start, name, &place);
        if let Some(load) = study.load_of(&variant) {
            let mut run = Some(load.run.clone());
            named |= replace(&mut run, name, &place);
            let run = run.unwrap_or_default();
            variant.load = Some(VariantLoad::With(Load { run, ..load.clone() }));
        }
        variant.subject = Some(subject);
        variant
    };
    let sides = [side(base.clone(), 0), side(variant, 1)];
    if named {
        return Ok(sides);
    }
    Err(Failure::Usage(format!(
        "`{}` starts no program `{name}`: only what the study starts can be replaced; for what the image \
         starts, give --other-device or --other-rootfs",
        base.name
    )))
}

/// Replaces the first word of a command that is the program by a path: words before it, such as `nice`, start it.
fn replace(command: &mut Option<String>, name: &str, place: &str) -> bool {
    let Some(text) = command else { return false };
    let mut words: Vec<&str> = text.split(' ').collect();
    let Some(found) = words.iter().position(|word| *word == name) else { return false };
    words[found] = place;
    *text = words.join(" ");
    true
}

fn versus(
    study: &Study,
    flags: &flags::Compare,
    [base, variant]: &[Variant; 2],
) -> Result<Versus, Failure> {
    let cell = cell(study, flags, [base, variant])?;
    let is_fixed = !study.is_of_clients();
    let pairs = match (flags.pairs, flags.up_to) {
        (Some(pairs), _) => Pairs::Fixed(pairs),
        (None, Some(most)) => Pairs::UpTo(most),
        // How often it is wrong is a question of all of them.
        (None, None) if flags.a_a => Pairs::Fixed(A_A_PAIRS),
        (None, None) if is_fixed => Pairs::Fixed(study.trial.repetitions.max(FEWEST_PAIRS)),
        (None, None) => study.compare.decided_by(),
    };
    let named = if flags.changes.is_empty() { &variant.changes } else { &flags.changes };
    let difference = if flags.a_a { Difference::Nothing } else { Difference::Variants };
    if study.mode_of(base) != study.mode_of(variant) {
        return Err(Failure::Usage(format!(
            "`{}` and `{}` run in two modes, whose times are not one kind",
            base.name, variant.name
        )));
    }
    Ok(Versus {
        base: base.name.to_string(),
        variant: variant.name.to_string(),
        clients: cell.clients,
        cell: cell.name,
        difference,
        expect: if flags.a_a {
            Expect::Same
        } else {
            flags.expect.map_or(study.expect(), Expect::from)
        },
        margin: flags.margin.unwrap_or(study.margin()),
        pairs,
        changes: if flags.a_a { Vec::new() } else { named.clone() },
    })
}

/// The cell that is named; else of a subject's the one with the most clients, and of others the first that has both sides:
/// of cards the first that is alone in its entry.
fn cell(study: &Study, flags: &flags::Compare, sides: [&Variant; 2]) -> Result<Cell, Failure> {
    let cells = study.cells();
    if let Some(word) = &flags.cell {
        let by_name = cells.iter().find(|cell| cell.name == *word);
        let found = by_name.or_else(|| numbered(&cells, word)).cloned();
        let known = cells.iter().map(|cell| cell.name.as_str());
        return found.ok_or_else(|| Failure::unknown("cell", word, known));
    }
    if study.is_of_clients() {
        let clients =
            flags.clients.or(study.access_point.clients.iter().max().copied()).unwrap_or_default();
        if let Some(cell) = cells.iter().find(|cell| cell.clients == clients) {
            return Ok(cell.clone());
        }
        // A count that the study does not have is asked about none the less.
        let name = CellName::of(&clients.to_string());
        let other = cells.into_iter().next().map(|cell| Cell { clients, name, ..cell });
        return other.ok_or_else(|| Failure::Usage("the study has no cell".to_owned()));
    }
    let has = |cell: &Cell, side: &Variant| {
        side.name == *NONE
            || study.variants_of(cell).any(|variant| variant.name == side.name)
            || flags.a_a
    };
    let is_it = |cell: &&Cell| {
        (cell.is_contended() || cell.card.is_some()) && sides.iter().all(|side| has(cell, side))
    };
    let is_alone = |cell: &&Cell| {
        cells.iter().filter(|one| one.entry == cell.entry && one.target == cell.target).count() == 1
    };
    let both: Vec<&Cell> = cells.iter().filter(is_it).collect();
    let alone = both.iter().copied().find(|cell| cell.card.is_some() && is_alone(cell));
    let found = alone.or_else(|| both.first().copied()).cloned();
    found.ok_or_else(|| {
        let [base, variant] = sides.map(|side| &side.name);
        Failure::Usage(format!(
            "the study has no cell with traffic and an application, or a card, that has `{base}` and `{variant}`; see its \
             cells with --dry-run"
        ))
    })
}

/// The study with nothing in it but the question.
fn reduce(file: &mut StudyFile, flags: &flags::Compare, versus: &Versus, sides: [Variant; 2]) {
    let study = &mut file.study;
    let functions = study.count.take().map(|count| count.functions).unwrap_or_default();
    study.question = asked(study, versus);
    study.count = counted(functions, &versus.changes);
    match study.entries.is_empty() {
        true => study.access_point.clients = vec![versus.clients],
        false => study.chosen = vec![versus.cell.clone()],
    }
    study.entries.iter_mut().for_each(|entry| {
        entry.cases = false;
        entry.variants.clear();
    });
    study.published.clear();
    study.profile.repetitions = 0;
    (study.pause, study.parity, study.gates) = (None, None, None);
    study.trial.repetitions = versus.pairs.most();
    study.trial.sweep = None;
    let shortest = if study.has_traffic() { SHORTEST } else { Span::default() };
    study.trial.window = flags.window.unwrap_or(study.trial.window.max(shortest));
    study.compare.margin = Some(versus.margin);
    study.compare.expect = Some(versus.expect);
    study.variants = sides.into_iter().filter(|side| side.name != *NONE).collect();
    // Whom they are usually compared with is not asked here.
    for variant in &mut study.variants {
        variant.against.clear();
        variant.changes.clear();
    }
    file.is_cut = true;
    file.overrides.push(format!(
        "compare {} {}, {}{}, {}",
        versus.base,
        versus.variant,
        if matches!(versus.pairs, Pairs::UpTo(_)) { "up to " } else { "" },
        count(versus.pairs.most(), "pair"),
        match study.is_of_clients() {
            true => count(versus.clients, "client"),
            false => versus.cell.to_string(),
        }
    ));
    file.overrides.extend(states::changed(&flags.perturb));
}

fn asked(study: &Study, versus: &Versus) -> String {
    let Versus { base, variant, cell, .. } = versus;
    if study.has_traffic() {
        return format!("Does {variant} keep more Wi-Fi than {base} in {cell}?");
    }
    // A device's are counted once it is reached.
    let at = match versus.clients {
        _ if !study.is_of_clients() => format!(" at {cell}"),
        0 => String::new(),
        clients => format!(" at {}", count(clients, "client")),
    };
    let costs = match (&versus.difference, versus.expect) {
        (Difference::Nothing, _) => {
            return format!(
                "How often does this lab see a change where {base} is measured twice{at}?"
            );
        }
        (_, Expect::NoSlower) => "no more CPU than",
        (_, Expect::Faster) => "less CPU than",
        (_, Expect::Same) => "the same CPU as",
    };
    format!("Does {variant} cost {costs} {base}{at}?")
}

/// What is counted once on both sides: the functions that the variant changes.
fn counted(known: Vec<Function>, changes: &[String]) -> Option<Count> {
    let function = |change: &String| {
        let own = known.iter().find(|function| function.name == *change).cloned();
        let symbol = Some(change.clone());
        let function =
            own.unwrap_or(Function { name: change.clone(), symbol, ..Function::default() });
        Function { per: None, ..function }
    };
    let functions: Vec<Function> = changes.iter().map(function).collect();
    (!functions.is_empty()).then_some(Count {
        repetitions: 1,
        clients: Vec::new(),
        variants: Vec::new(),
        functions,
    })
}

/// The options of the variant's image, where images are compared.
fn other_options(
    options: &Options,
    flags: &flags::Compare,
    access_point: &AccessPoint,
) -> Result<Option<Options>, Failure> {
    if flags.other_device.is_none() && !flags.other.is_named() {
        return Ok(None);
    }
    if flags.on != On::Vm {
        let why = "a device has one image; compare two with --other-device or --other-rootfs on the virtual access point";
        return Err(Failure::Usage(why.to_owned()));
    }
    let mut other = options.at(&AccessPoint {
        firmware: other_firmware(access_point.firmware.as_ref(), &flags.other),
        ..access_point.clone()
    });
    if let Some(folder) = &flags.other_device {
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Failure::Usage(format!("{folder} is not a folder of device programs")));
        }
        other.device = Some(folder.clone());
    }
    Ok(Some(other))
}

/// The firmware of the variant's side: the base's, but for what is named. Modules go with their kernel.
fn other_firmware(base: Option<&Files>, named: &OtherFirmware) -> Option<Files> {
    let mut files = base.cloned().unwrap_or_default();
    if let Some(rootfs) = &named.other_rootfs {
        files.rootfs = Some(absolute(rootfs.clone()));
    }
    if let Some(kernel) = &named.other_kernel {
        files.kernel = Some(absolute(kernel.clone()));
        files.modules = named.other_modules.clone().map(absolute);
    }
    (!files.is_empty()).then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_itself_is_replaced() {
        let replaced = |text: &str| {
            let mut command = Some(text.to_owned());
            replace(&mut command, "stationd", "/put/a/stationd").then(|| command.unwrap())
        };
        assert_eq!(replaced("stationd --set x=y").unwrap(), "/put/a/stationd --set x=y");
        assert_eq!(replaced("stationd").unwrap(), "/put/a/stationd");
        assert_eq!(replaced("stationd-old"), None);
        assert_eq!(replaced("nice stationd -x").unwrap(), "nice /put/a/stationd -x");
        assert_eq!(replaced("sh -c 'stationd'"), None);
    }

    #[test]
    fn a_comparison_has_its_own_question() {
        let versus = |expect| Versus {
            base: "brief".to_owned(),
            variant: "bulk".to_owned(),
            clients: 1,
            cell: CellName::literal("1"),
            difference: Difference::Variants,
            expect,
            margin: "0.5%".parse().unwrap(),
            pairs: Pairs::Fixed(6),
            changes: Vec::new(),
        };
        let message = asked(&Study::default(), &versus(Expect::Faster));
        assert_eq!(message, "Does bulk cost less CPU than brief at 1 client?");
        let twice = Versus { difference: Difference::Nothing, ..versus(Expect::Same) };
        assert!(asked(&Study::default(), &twice).contains("where brief is measured twice"));
    }

    #[test]
    fn what_a_variant_changes_is_counted_by_the_studys_own_names_too() {
        let known: Function = serde_json::from_str(
            "{\"name\": \"transactions\", \"symbol\": \"datamodel::transaction::apply\", \"per\": \"replies\"}",
        )
        .unwrap();
        let changes = ["transactions".to_owned(), "pull::bulk".to_owned()];
        let count = counted(vec![known], &changes).unwrap();
        assert_eq!(count.functions[0].symbol.as_deref(), Some("datamodel::transaction::apply"));
        assert_eq!(
            (&count.functions[0].per, count.functions[1].symbol.as_deref()),
            (&None, Some("pull::bulk"))
        );
        assert!(counted(Vec::new(), &[]).is_none());
    }
}
