//! Files of load, as kernels write them: the inputs of `fuzz/corpus/load` that have names.

use std::{fs, path::PathBuf};

use linux::{load, qdisc};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/load")
}

fn named(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
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
