//! Words and study files that cannot be carried out: one clear line, code 2, and nothing done.

use crate::{
    command_line::measured,
    compare, completion, contention, devices,
    harness::{Place, Study},
    pause, perturbed,
};

/// A study with and without a load.
fn small() -> String {
    Study::small().idle().load("dump", "iw dev {interface} station dump").text()
}

const SMALL: &str = r#"
clients = => cleints = | run study.toml | study.toml:5: unknown key `cleints`; did you mean `clients`?
"hostapd" => "d"\nstart = "d 'x" | run study.toml | study.toml:9: the subject's command line is empty or
"hostapd" => "d"\nready = "/run/d" | run study.toml | study.toml:9: `ready` without `start`
"hostapd" => "d"\nstart = "d"\nready = "run/d" | run study.toml | study.toml:10: `ready` is a path that begins with /, not `run/d`
"hostapd" => "d"\nstrat = "d" | run study.toml | study.toml:9: unknown key `strat`; did you mean `start`?
[subject] => [[cell]]\ntraffic = "full"\n\n[subject] | run study.toml | no [[traffic]] is named `full`
- | run study.toml --cell 1 --dry-run | the study has no [[cell]]
- | run nowhere.toml | cannot read the study nowhere.toml
- | run app-contention --shard 1/2 --dry-run | is measured in real time
- | run client-scale --shard 9/8 | 3/8
- | run study.toml --only pause | no trial of the study `study` is left with only = pause; leave one of these out
- | run station-stats --only stacks --clients 18 | is left with clients = [18] and only = stacks; leave one of these out
- | merge | <DIR>
- | run --resume nowhere | nowhere is not a run folder: No such file
- | run --resume empty | empty is not a run folder: run.json: No such file
- | up --clients 7000 -- true | 3 radios can hold 6021
- | count hostapd | name a function with --function or --kernel-function
- | profile hostapd --symbols absent | --symbols absent: & No such file & name a folder
- | profile hostapd --symbols empty | --symbols empty: & no ELF program or library is in it & name a folder
- | profile hostapd --symbols study.toml | --symbols study.toml: & it is no ELF program or library & name a folder
"#;

const DEVICE: &str = r#"
- | run app-contention --on ssh:nobody | never on a device; leave --on out
- | run tx-completion --on ssh:nobody | never on a device; leave --on out
- | run study.toml --on ssh:nobody --clients 3 | has the clients that are there
- | run self-check --on ssh:nobody | which a device does not feel
- | run study.toml --on ssh:nobody --perturb=cpu | a device has one CPU
"#;

/// Of stationd, often and in bulk.
const SIDES: &str = r#"
- | compare study.toml bulk bulk | compared with itself
- | compare study.toml bulk no-such | the study has no variant `no-such`; it has often, bulk
- | compare study.toml bulk --with hostapd=/bin/true | starts no program `hostapd`
- | compare study.toml bulk --other-device nowhere | nowhere is not a folder of device programs
"#;

const STRATEGIES: &str = r#"
- | compare study.toml busy hybrid | the study has no variant `hybrid`; it has busy, event
- | compare study.toml busy event --cell full-99 | the study has no cell `full-99`
- | compare study.toml busy event --clients 18 | --clients means nothing to a study of traffic or of a card
- | compare study.toml busy --with txd=txd | --with means nothing to a study of traffic or of a card
- | compare study.toml busy event --up-to 30 | --up-to means nothing to a study of traffic or of a card
"#;

const CONTENTION: &str = r#"
flow = => folw = | run study.toml | unknown key `folw`; did you mean `flow`?
weight = 2 => weight = 1 | run study.toml | variant `shares-2`: a weight of 1
- | run study.toml --cell 3 | the study has no cell 3; it has 1 to 2
- | run study.toml --variant shares-3 | the study has no variant `shares-3`
- | run study.toml --window 500ms | a window of 500ms is not a whole number of seconds
- | run study.toml --clients 18 | --clients means nothing to a study of traffic or of a card
"#;

const STATES: &str = r#"
- | compare study.toml plain own --on local --perturb | the state `cpu` is the virtual access point's alone; say --perturb=phase,seed,layout
- | run study.toml --perturb | no variant that is measured names another
[trial] => [compare]\nperturb = ["seed", "seed"]\n[trial] | compare study.toml plain own | the state `seed` stands there twice
[trial] => [compare]\nperturb = ["sed"]\n[trial] | compare study.toml plain own | unknown value `sed`; did you mean `seed`?
"#;

const PAUSES: &str = r#"
- | pause station-monitor study.toml --span 3s --settle 2s | the shortest that gives an answer is 5s
--every 1s" => --every 1s", every = "2s" | pause station-monitor study.toml --span 5s --settle 1s | no whole number of load rounds of 2s; 6s does
"#;

#[test]
fn a_study_or_words_that_cannot_be_are_refused_before_anything_is_done() {
    let place = Place::without_guests();
    let empty = place.folder("empty");
    for (study, table) in [
        (&*small(), SMALL),
        (&devices::study("nobody", 2, "200ms"), DEVICE),
        (&compare::study().text(), SIDES),
        (completion::STUDY, STRATEGIES),
        (contention::STUDY, CONTENTION),
        (&perturbed::burners("true", 1, 1).text(), STATES),
        (&pause::study().text(), PAUSES),
    ] {
        place.refuses(study, table);
    }
    assert_eq!(std::fs::read_dir(empty).unwrap().count(), 0);
}

const MISSPELT: &str = r#"
- | rnu | unrecognized subcommand 'rnu'
- | rn client-scale | a similar subcommand exists: 'run'
- | run | <STUDY>
- | run a.toml --resume b | cannot be used with
- | up --patience long | long
- | compare study.toml bulk often --pairs 5 | 5 is not in 6..=10000
- | compare study.toml bulk often --margin=-1% | `-1%` is not a share
- | compare study.toml plain own --perturb=sed | invalid value 'sed'
- | compare study.toml plain --a-a --perturb | cannot be used with
- | run studies/client-scale.toml | did you mean `client-scale`, which headroom brings?
- | run station-stats --variant bluk --dry-run | the study has no variant `bluk`; did you mean `bulk`?
- | compare station-stats brief bluk | the study has no variant `bluk`; did you mean `bulk`?
- | profile station-stats --variant bluk | the study has no variant `bluk`; did you mean `bulk`?
- | count client-scale --variant gone | the study has no variant `gone`
- | blame client-scale --variant gone | the study has no variant `gone`
- | run station-stats --gate 'bluk: cpu <= 1%' --dry-run | unknown variant `bluk`; did you mean `bulk`?
- | check run --gate 'bulk: cpu <= 2%' | unknown variant `bulk`; known are idle, iw-dump, hostapd-cli
- | check run --gate 'cpu at 7 clients <= 2%' | 7 clients are not among the study's
- | check run --baseline gone.json | cannot read the baseline gone.json: No such file
- | check run --baseline later.json | has format 9, this headroom reads 3; save it again
- | check run --baseline run/run.json | run.json
"#;

#[test]
fn a_misspelt_word_name_or_limit_is_answered_with_what_was_meant() {
    let place = Place::without_guests();
    measured(&place);
    place.write("later.json", "{\"format\": 9, \"news\": 1}");
    place.refuses("", MISSPELT);
}

#[test]
fn variants_that_are_left_out_are_compared_with_by_nobody() {
    let place = Place::without_guests();
    let study = small().replace("name = \"dump\"", "name = \"dump\"\nagainst = [\"idle\"]");
    place.write("study.toml", &study);
    place.call("run study.toml --variant dump --dry-run").code(0);
}
