//! Every input that fuzzing the parsers of load kept, read once more, and each for what it is.
//!
//! The inputs stand in `fuzz/corpus/load`; those with names were written by hand or taken from a kernel.

use std::{fs, path::PathBuf};

use linux::{load, qdisc};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/load")
}

fn named(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_kept_input_is_read_to_its_end() {
    let inputs = fs::read_dir(folder()).unwrap();
    let inputs = inputs.map(|entry| fs::read(entry.unwrap().path()).unwrap());
    for input in inputs {
        load::cpus(&input, |_| {});
        load::softnet(&input, |row| assert!(row.backlog.is_none() || row.cpu.is_some()));
        load::devices(&input, |device| assert!(device.name.len() < input.len()));
        let _ = (load::pressure_us(&input), load::placed(&input), qdisc::root(&input));
        let _ = std::str::from_utf8(&input).map(load::cpu_list);
    }
}

#[test]
fn files_of_a_kernel_are_read_as_what_they_are() {
    let mut rows = Vec::new();
    load::softnet(&named("softnet-new"), |row| rows.push(row.cpu));
    load::softnet(&named("softnet-old"), |row| rows.push(row.cpu));
    assert_eq!(rows, [Some(0), Some(1), None, None]);
    let mut cpus = 0;
    load::cpus(&named("stat"), |_| cpus += 1);
    assert_eq!(cpus, 2);
    assert!(load::pressure_us(&named("pressure")).is_some());
    assert!(load::placed(&named("place")).is_some());
    let queue = |name| qdisc::root(&named(name)).map(|queue| (queue.backlog_bytes, queue.drops));
    assert_eq!((queue("qdisc"), queue("qdisc-old")), (Some((4500, 17)), Some((4500, 17))));
}
