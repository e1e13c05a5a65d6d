//! Numbers at their most, which are right, and one above, which are reported with their line; and that nothing of the
//! kind ends a program (issue 16).

use crate::study_file;

const CLIENTS: &str =
    "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"s\"\n";
const TRAFFIC: &str = "question = \"?\"\n[access-point]\nclients = [2]\n\
    [[traffic]]\nname = \"t\"\nflow = \"udp\"\n[[application]]\nname = \"a\"\nstressor = \"--cpu\"\nworkers = 1\n\
    [[variant]]\nname = \"w\"\ncontrol = \"idle\"\n[[cell]]\non = \"host\"\ntraffic = \"t\"\napplication = \"a\"\n";
const CARDS: &str = "question = \"?\"\n[access-point]\nclients = [1]\n[[variant]]\nname = \"busy\"\nstrategy = \"busy\"\n\
    [[variant]]\nname = \"event\"\nstrategy = \"event\"\n[[cell]]\non = \"host\"\ncard = { rate = [1, 2, 3, 4], bytes = 66 }\n";

fn message<T>(parsed: Result<T, study_file::Fault>) -> String {
    parsed.map_or_else(|fault| format!("{}: {}", fault.line, fault.why), |_| "taken".to_owned())
}

fn clients(tables: &str, variants: usize) -> String {
    let variants = (0..variants).map(|at| format!("[[variant]]\nname = \"v{at}\"\n"));
    message(study_file::parse(&format!("{CLIENTS}{tables}\n{}", variants.collect::<String>())))
}

fn trial(keys: &str) -> String {
    clients(&format!("[trial]\n{keys}"), 1)
}

#[test]
fn a_study_of_clients_may_ask_for_so_much_and_no_more() {
    let run = "x".repeat(800);
    let faults = [
        trial("repetitions = 1000"),
        trial("repetitions = 1001"),
        trial("repetitions = 4294967295"),
        trial("window = \"24h\"\nrepetitions = 6"),
        trial("window = \"25h\""),
        trial("window = \"100000h\""),
        trial("warm-up = \"25h\""),
        trial("window = \"20s\"\nsample-every = \"25h\""),
        trial("window = \"1000s\"\nsample-every = \"10ms\""),
        trial("window = \"1001s\"\nsample-every = \"10ms\""),
        trial("window = \"24h\"\nrepetitions = 100"),
        clients("[trial]\nrepetitions = 500", 11),
        clients("[profile]\nrepetitions = 4294967295", 1),
        clients("[compare]\npairs = 4294967295", 1),
        clients("[pause]\nprocess = \"m\"\nrepetitions = 4294967295", 1),
        clients("[pause]\nprocess = \"m\"\nspan = \"100000h\"", 1),
        clients(
            "[count]\nrepetitions = 4294967295\n[[count.function]]\nname = \"f\"\nsymbol = \"f\"",
            1,
        ),
        clients(&format!("[load]\nrun = \"{run}\"\n[trial]\nrepetitions = 500"), 1),
        clients("[load]\nrun = \"w\"\nevery = \"100000h\"", 1),
        clients("", 257),
        trial(&format!("[gates]\nlimits = [{}]", "\"f <= 1/s\",".repeat(257))),
    ];
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn a_study_of_cells_may_ask_for_so_much_and_no_more() {
    let with =
        |study: &str, keys: &str| message(study_file::parse(&format!("{study}[trial]\n{keys}")));
    let numbers = |many: u32| (0..many).map(|rate| format!("{rate},")).collect::<String>();
    let cell = "[[cell]]\ntraffic = \"t\"\nrole = \"no-harm\"\nname = ";
    let cells = |many: u32| (0..many).map(|at| format!("{cell}\"c{at}\"\n")).collect::<String>();
    let rates =
        |many: u32| format!("[[cell]]\ncard = {{ rate = [{}], bytes = 66 }}\n", numbers(many));
    let faults = [
        with(TRAFFIC, "repetitions = 1000"),
        with(TRAFFIC, "repetitions = 1001"),
        with(TRAFFIC, "repetitions = 4294967295"),
        with(TRAFFIC, "sweep = 4294967295"),
        with(TRAFFIC, "window = \"100000h\""),
        with(TRAFFIC, &cells(257)),
        with(TRAFFIC, &format!("repetitions = 900\n{}", cells(3))),
        with(CARDS, "repetitions = 400"),
        with(CARDS, "repetitions = 4294967295"),
        with(CARDS, "repetitions = 1000"),
        with(CARDS, "window = \"100000h\""),
        with(CARDS, &rates(257)),
        with(CARDS, &rates(255)),
    ];
    insta::assert_snapshot!(faults.join("\n"));
}
