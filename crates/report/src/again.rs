//! How to run it again: the commands, and what must be the same for the figures to be.
//!
//! The commands are made from what the run recorded, so that they hold the command line's changes. They are
//! for the run's folder, which has the study file as it was given.

use model::{
    run::{LabIdentity, Run},
    verdict::{Difference, Expect, Pairs, Versus},
};

use crate::identity::{Fact, code, plain};

/// The commands, a line each, to be typed in the run's folder.
pub(crate) fn commands(run: &Run) -> Vec<String> {
    let mut commands = Vec::new();
    if !run.study_sha256.is_empty() {
        commands.push(format!("echo '{}  study.toml' | sha256sum --check", run.study_sha256));
    }
    commands.push(command(run));
    commands.push("headroom report .".to_owned());
    commands
}

pub(crate) fn command(run: &Run) -> String {
    let command = match &run.versus {
        Some(versus) => compare(run, versus),
        None => whole(&run.overrides),
    };
    command + &firmware(&run.lab)
}

/// The flags for firmware of somebody's own. Who runs it again has the files elsewhere, and knows them by their hashes.
fn firmware(lab: &LabIdentity) -> String {
    let sums = lab.firmware.iter().flat_map(|firmware| firmware.sums.named());
    sums.map(|(flag, sum)| format!(" --{flag} {}-{sum}", file_of(flag))).collect()
}

fn file_of(flag: &str) -> &'static str {
    if flag == "modules" { "DIR-WITH-SHA256" } else { "FILE-WITH-SHA256" }
}

/// What has to be the same.
pub(crate) fn same(run: &Run) -> Vec<Fact> {
    let mut facts = vec![
        code("Study file, SHA-256", run.study_sha256.clone()),
        code("Image, SHA-256", run.lab.image.clone()),
        code("Agent, SHA-256", run.lab.agent.clone()),
        plain("headroom", format!("{} (run format {})", run.headroom, run.format)),
        plain("QEMU", run.lab.qemu.clone()),
    ];
    // What no flag of `run` says, and was changed none the less, must be seen.
    let unsaid: Vec<_> =
        run.overrides.iter().filter(|each| flag(each).is_none()).cloned().collect();
    facts.push(code("Changed on the command line", unsaid.join("; ")));
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

/// The whole study, with the flags that bring about what the command line changed.
fn whole(overrides: &[String]) -> String {
    let flags = overrides.iter().filter_map(|each| flag(each)).map(|flag| format!(" {flag}"));
    format!("headroom run study.toml{}", flags.collect::<String>())
}

/// `clients = [18, 60]` as `--clients 18,60`; `None` where `run` has no such flag.
fn flag(change: &str) -> Option<String> {
    let (name, value) = change.split_once(" = ")?;
    let list = |flag: &str| {
        let words = value.split(',').map(|word| format!("--{flag} {}", quoted(word.trim())));
        words.collect::<Vec<_>>().join(" ")
    };
    Some(match name {
        "clients" | "cell" => format!("--{name} {}", value.replace(['[', ']', ' '], "")),
        "perturb" => format!("--perturb={}", value.replace(' ', "")),
        "repetitions" | "window" => format!("--{name} {value}"),
        "variants" => list("variant"),
        "only" => list("only"),
        "packages" => list("package"),
        _ => return None,
    })
}

/// The comparison that the run was. A build or an image that was named by a path is named by its hash here:
/// anyone who runs it again has it elsewhere.
fn compare(run: &Run, versus: &Versus) -> String {
    let has_images = run.study.variants.iter().any(|variant| variant.image.is_some());
    let variant = match &versus.difference {
        Difference::Image { .. } if has_images => quoted(&versus.variant),
        Difference::Nothing => "--a-a".to_owned(),
        Difference::Variants => quoted(&versus.variant),
        Difference::Program { name, variant, .. } => {
            format!("--with {}=FILE-WITH-SHA256-{variant}", quoted(name))
        }
        Difference::Image { .. } if run.lab.firmware.is_some() => "--other-rootfs FILE".to_owned(),
        Difference::Image { .. } => "--other-device DIR".to_owned(),
    };
    let pairs = match versus.pairs {
        Pairs::Fixed(pairs) => format!("--pairs {pairs}"),
        Pairs::UpTo(pairs) => format!("--up-to {pairs}"),
    };
    let mut words = vec!["headroom compare study.toml".to_owned(), quoted(&versus.base), variant];
    words.push(match run.study.is_of_clients() {
        true => format!("--clients {}", versus.clients),
        false => format!("--cell {}", quoted(&versus.cell)),
    });
    words.push(format!("--margin {}", versus.margin));
    words.push(pairs);
    let usual = if run.study.is_of_clients() { Expect::NoSlower } else { Expect::Faster };
    if versus.expect != usual {
        words.push(format!("--expect {}", versus.expect.name()));
    }
    words.extend(versus.changes.iter().map(|symbol| format!("--changes {}", quoted(symbol))));
    let kept = |each: &&String| {
        ["window = ", "packages = ", "perturb = "].iter().any(|key| each.starts_with(key))
    };
    words.extend(run.overrides.iter().filter(kept).filter_map(|each| flag(each)));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:+@%,=".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use analysis::fixture;
    use model::name::CellName;

    use super::*;

    /// A run with what the command line changed, and the comparison that it was.
    fn changed(mut run: Run, overrides: &[&str], versus: Option<Versus>) -> Run {
        run.overrides = overrides.iter().map(|&each| each.to_owned()).collect();
        run.versus = versus;
        run
    }

    fn versus(base: &str, cell: &'static str, clients: u32) -> Versus {
        Versus {
            base: base.to_owned(),
            variant: "event".to_owned(),
            cell: CellName::literal(cell),
            clients,
            difference: Difference::Variants,
            expect: Expect::Same,
            margin: "0.1%".parse().unwrap(),
            pairs: Pairs::UpTo(24),
            changes: vec!["a::b".to_owned()],
        }
    }

    #[test]
    fn a_command_has_what_the_command_line_changed_and_a_comparison_is_one_again() {
        let of_clients = || Some(versus("idle", "114", 114));
        let nothing = of_clients().map(|one| Versus { difference: Difference::Nothing, ..one });
        let of_cards =
            Versus { changes: Vec::new(), pairs: Pairs::Fixed(6), ..versus("busy", "full-440", 1) };
        let all: [(Run, &[&str], Option<Versus>, &str); 5] = [
            (
                fixture::run(),
                &["window = 5s", "packages = lldpd", "perturb = seed, phase"],
                of_clients(),
                "compare study.toml idle event --clients 114 --margin 0.1% --up-to 24 --expect same --changes a::b \
                 --window 5s --package lldpd --perturb=seed,phase",
            ),
            (
                fixture::run(),
                &[],
                nothing,
                "compare study.toml idle --a-a --clients 114 --margin 0.1% --up-to 24 --expect same --changes a::b",
            ),
            (
                fixture::run(),
                &[
                    "clients = [18, 60]",
                    "repetitions = 2",
                    "variants = idle, it's one",
                    "only = cpu",
                    "packages = lldpd, snmpd",
                    "peers = 3",
                ],
                None,
                r"run study.toml --clients 18,60 --repetitions 2 --variant idle --variant 'it'\''s one' --only cpu --package lldpd --package snmpd",
            ),
            (
                fixture::completion::run(),
                &["cell = 1, task-990", "window = 5s", "variants = busy, event"],
                None,
                "run study.toml --cell 1,task-990 --window 5s --variant busy --variant event",
            ),
            (
                fixture::completion::run(),
                &[],
                Some(of_cards),
                "compare study.toml busy event --cell full-440 --margin 0.1% --pairs 6 --expect same",
            ),
        ];
        for (run, overrides, versus, expected) in all {
            let run = changed(run, overrides, versus);
            assert_eq!(command(&run), format!("headroom {expected}"));
        }
    }

    #[test]
    fn the_study_is_known_by_its_hash_and_what_no_flag_says_is_told() {
        let run = changed(fixture::run(), &["peers = 3", "window = 5s"], None);
        let check = format!("echo '{}  study.toml' | sha256sum --check", "5e".repeat(32));
        assert_eq!(commands(&run)[0], check);
        let unsaid = same(&run).into_iter().find(|fact| fact.name.starts_with("Changed"));
        assert_eq!(unsaid.map(|fact| fact.value), Some("peers = 3".to_owned()));
    }
}
