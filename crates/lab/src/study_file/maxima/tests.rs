//! Numbers at their most, which are right, and one above, which are reported with their line; and that nothing of the
//! kind ends a program (issue 16).

use crate::{completion, contention, study_file};

const CLIENTS: &str =
    "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"s\"\n";
const CONTENTION: &str = "question = \"?\"\n[[place]]\nname = \"h\"\non = \"host\"\nroad = \"veth\"\n\
    [[traffic]]\nname = \"t\"\nflow = \"udp\"\n[[application]]\nname = \"a\"\nstressor = \"--cpu\"\nworkers = 1\n\
    [[control]]\nname = \"w\"\ncontrol = \"idle\"\n[[cell]]\nplace = \"h\"\ntraffic = \"t\"\napplication = \"a\"\n";
const COMPLETION: &str = "question = \"?\"\n[[place]]\nname = \"h\"\non = \"host\"\n\
    [[load]]\nname = \"l\"\nbytes = 66\nrates = [1, 2, 3, 4]\n";

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
fn a_study_of_another_kind_may_ask_for_so_much_and_no_more() {
    let contended = |keys: &str| {
        message(contention::study::parse(&format!("{CONTENTION}[contention]\n{keys}")))
    };
    let completed = |keys: &str| {
        message(completion::study::parse(&format!("{COMPLETION}[completion]\n{keys}")))
    };
    let places = |of: &str| {
        (0..257)
            .map(|at| format!("[[place]]\nname = \"p{at}\"\non = \"host\"\n{of}"))
            .collect::<String>()
    };
    let faults = [
        contended("blocks = 1000"),
        contended("blocks = 1001"),
        contended("blocks = 4294967295"),
        contended("sweep-blocks = 4294967295"),
        contended("window = \"100000h\""),
        contended(&places("road = \"veth\"\n")),
        contended(&format!(
            "blocks = 900\n{}",
            "[[cell]]\nplace = \"h\"\ntraffic = \"t\"\nrole = \"no-harm\"\n".repeat(3)
        )),
        completed("blocks = 700"),
        completed("blocks = 4294967295"),
        completed("blocks = 1000\nwindow = \"60s\"\nstrategies = [\"busy\"]"),
        completed("blocks = 1000"),
        completed("window = \"100000h\""),
        completed(&places("")),
    ];
    insta::assert_snapshot!(faults.join("\n"));
}
