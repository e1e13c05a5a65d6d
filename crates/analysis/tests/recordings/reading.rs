//! What is in a recording is reported, in order of time.

use std::io::Cursor;

use analysis::stacks::{
    happening::{Architecture, Happening, Registers, Sample},
    perf_data::Recording,
};

use crate::test_data::*;

#[test]
fn the_head_says_what_was_sampled() {
    let file = file(&[sample(5)]);
    let recording = Recording::open(Cursor::new(&file)).unwrap();
    let head = recording.head();
    assert_eq!((head.event.as_str(), head.frequency), ("cpu-clock", Some(499)));
    assert_eq!((head.stack_bytes, head.architecture), (STACK_BYTES, Architecture::X86_64));
}

#[test]
fn a_sample_is_reported_with_all_its_parts() {
    let record = SampleRecord {
        misc: KERNEL,
        chain: vec![CONTEXT_KERNEL, 0xffff_8001, 0xffff_8002, CONTEXT_USER, 0x1000, 0x2000],
        abi: 2,
        stack: (0..32).collect(),
        filled: 32,
        ..SampleRecord::at(9)
    };
    let period = of_sample(&record, |sample| {
        assert_eq!((sample.pid, sample.tid, sample.time_ns, sample.ip), (7, 8, 9, 0x1000));
        assert!(sample.in_kernel && !sample.stack_cut, "32 bytes are less than were asked for");
        assert_eq!(sample.kernel, [0xffff_8001, 0xffff_8002]);
        assert_eq!(sample.chain, [0x1000, 0x2000]);
        let Registers { values, mask, .. } = sample.registers.unwrap();
        let values = [0, 7, 8, 23].map(|place| values[place]);
        assert_eq!((mask, values), (REGISTERS, [10, 17, 18, 25]));
        assert_eq!(sample.stack, (0..32).collect::<Vec<u8>>());
        sample.period
    });
    let (_, summary, _) = read(&file(&[record.bytes()]));
    assert_eq!((period, summary.period), (2_004_008, 2_004_008));
}

/// What is made of the only sample of a recording.
fn of_sample<T>(record: &SampleRecord, of: impl Fn(Sample<'_>) -> T) -> T {
    let mut found = each(&file(&[record.bytes()]), |happening| match happening {
        Happening::Sample(sample) => Some(of(sample)),
        _ => None,
    });
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn a_copy_counts_as_cut_only_where_it_is_full_and_as_long_as_was_asked_for() {
    let of = |length: usize, filled| {
        let record = SampleRecord { abi: 2, stack: vec![1; length], filled, ..SampleRecord::at(1) };
        of_sample(&record, |sample| (sample.stack.len(), sample.stack_cut))
    };
    assert_eq!(of(64, 64), (64, true));
    assert_eq!(of(64, 40), (40, false), "the kernel filled in less than it had room for");
    assert_eq!(of(40, 40), (40, false), "trimmed to what is in it");
    assert_eq!(of(64, 1 << 40), (64, true), "never more than is there");
}

#[test]
fn registers_of_a_32_bit_program_are_those_of_its_architecture() {
    let with = |abi| {
        of_sample(&SampleRecord { abi, ..SampleRecord::at(1) }, |sample| {
            sample.registers.map(|registers| registers.architecture)
        })
    };
    assert_eq!(with(0), None);
    assert_eq!((with(1), with(2)), (Some(Architecture::Other), Some(Architecture::X86_64)));
}

#[test]
fn a_sample_in_the_kernel_without_a_chain_is_one_frame_of_it() {
    let record = SampleRecord { misc: KERNEL, chain: Vec::new(), ..SampleRecord::at(1) };
    let chains = of_sample(&record, |sample| (sample.kernel.to_vec(), sample.chain.to_vec()));
    assert_eq!(chains, (vec![0x1000], vec![]));
}

#[test]
fn records_of_two_rings_are_reported_in_order_of_time() {
    let records = [
        // One ring after the other, as a recorder empties them.
        vec![sample(10), sample(30), sample(20), sample(25), round()],
        vec![sample(40), sample(35), round(), sample(50), sample(45)],
    ];
    let (seen, reported, _) = read(&file(&records.concat()));
    let expected = [10, 20, 25, 30, 35, 40, 45, 50].map(|time| format!("7 at {time}"));
    assert_eq!(seen, expected);
    assert_eq!((reported.samples, reported.span_ns, reported.faults), (8, Some((10, 50)), vec![]));
}

#[test]
fn a_late_record_is_reported_late_and_that_is_said() {
    let rounds = [sample(50), round(), sample(60), round(), sample(70), round(), sample(10)];
    let (seen, reported, _) = read(&file(&rounds));
    assert_eq!(seen, [50, 60, 10, 70].map(|time| format!("7 at {time}")));
    assert_eq!(reported.faults, ["1 of its records come too late to be in order"]);
}

#[test]
fn what_happens_to_processes_is_reported() {
    let records = [
        name(7, "stationd", 0),
        map(7, 5, "/usr/bin/stationd"),
        map(7, 1, "/usr/share/data"),
        kernel_map(),
        record(7, 0, &[words(&[pair(8, 7), pair(8, 7), 3]), trailer(3)].concat()),
        record(4, 0, &[words(&[pair(8, 7), pair(8, 7), 4]), trailer(4)].concat()),
        record(2, 0, &[words(&[0, 12]), trailer(5)].concat()),
        record(13, 0, &[words(&[3]), trailer(5)].concat()),
        record(5, 0, &[words(&[6, 0, 0]), trailer(6)].concat()),
        sample(7),
        record(99, 0, &[1, 2, 3]),
        record(21, 0, &trailer(7)),
    ];
    let (seen, reported, _) = read(&file(&records));
    let expected = [
        "7 is stationd, exec true",
        "map 7 0x400 /usr/bin/stationd",
        "7 makes 8/8",
        "12 lost",
        "3 lost",
        "throttled",
        "7 at 7",
    ];
    assert_eq!(seen, expected);
    assert_eq!((reported.lost, reported.throttled, reported.faults), (15, 1, vec![]));
}

/// As perf makes it up, without a time.
fn kernel_map() -> Vec<u8> {
    let map = words(&[pair(u32::MAX, 0), 8, 16, 8]);
    record(1, KERNEL, &[map, padded("[kernel.kallsyms]_text"), trailer(0)].concat())
}

#[test]
fn a_build_id_in_a_mapping_is_reported_and_never_longer_than_twenty_bytes() {
    for (said, length) in [(20, 20), (8, 8), (255, 20), (0, 0)] {
        let mut body = words(&[pair(7, 7), 0x1000, 0x2000, 0]);
        body.extend([said, 0, 0, 0]);
        body.extend([0xab; 20]);
        body.extend(words(&[pair(5, 0)]));
        body.extend([padded("/bin/d"), trailer(1)].concat());
        let file = file(&[record(10, USER | 1 << 14, &body), sample(2)]);
        let found = each(&file, |happening| match happening {
            Happening::Map(map) => Some(map.build_id.map(<[u8]>::to_vec)),
            _ => None,
        });
        assert_eq!(found, [(length > 0).then(|| vec![0xab; length])], "{said}");
    }
}

#[test]
fn the_cpu_of_a_clock_is_the_sum_of_its_periods_over_its_time() {
    let (_, reported, _) = read(&file(&[sample(1_000_000_000), sample(1_020_040_080)]));
    // Two samples of 2.004 ms in 20.04 ms.
    assert_eq!(reported.cpu_us_per_s("cpu-clock").map(f64::round), Some(200_000.0));
    assert_eq!(reported.cpu_us_per_s("cycles"), None, "cycles are no time");
    let (_, reported, _) = read(&file(&[sample(5)]));
    assert_eq!(reported.cpu_us_per_s("cpu-clock"), None, "one sample spans no time");
}
