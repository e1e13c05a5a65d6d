//! What stationd costs: dumps and memory, by its own metrics and from outside.

use std::fs;

use object::elf;

use crate::harness::{Parts, Place, in_guest, stationd};

const STATIONS: u32 = 114;
const RADIOS: f64 = 3.0;

/// stationd and its monitor; `page NAME` is a page at that moment.
const WORDS: &str = r#"
page() { part $1; metrics; }
identified() { [ $(counted stationd_hostapd_requests_total) = 114 ]; }
monitor() { part $1-monitor; shift; station-monitor --expect 114 --json "$@"; }
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$daemon/status; }
"#;

fn more(parts: &Parts, [from, to]: [&str; 2], metric: &str) -> f64 {
    parts.page(to).more(&parts.page(from), metric)
}

#[test]
fn ten_consumers_cost_what_one_costs() {
    let place = Place::with_guests();
    let script = WORDS.to_owned()
        + r#"
daemon
within 30 identified
page start
monitor one --every 1s --count 8
page one
part resident; resident
monitor ten --every 1s --count 5 --consumers 10
page ten
"#;
    let parts = in_guest(&place, STATIONS, &script);
    for monitor in ["one", "ten"] {
        let summary = &parts.lines(&format!("{monitor}-monitor"))[0];
        assert_eq!(summary["faults"], 0, "{summary}");
    }
    // A page reads too where no one has within the last half second; else a round may share its reading.
    let polls = more(&parts, ["start", "one"], "stationd_dumps_total");
    assert!((7.0 * RADIOS..=9.0 * RADIOS).contains(&polls), "{polls} dumps");
    let ten = |metric| more(&parts, ["one", "ten"], metric);
    let (dumps, reads) = (ten("stationd_dumps_total"), ten("stationd_reads_total"));
    assert!((4.0 * RADIOS..=6.0 * RADIOS).contains(&dumps), "{dumps} dumps for ten consumers");
    assert!(reads >= 150.0 && ten("stationd_reads_shared_total") == reads - dumps, "{reads}");
    let asked = more(&parts, ["start", "ten"], "stationd_hostapd_requests_total");
    assert_eq!(asked, 0.0, "hostapd is asked once for each association");
    let resident = parts.number("resident");
    eprintln!("{STATIONS} stations: {resident} KiB resident");
    assert!(resident <= 2048 + 2 * u64::from(STATIONS), "{resident} KiB resident");
    assert_eq!(place.left(), []);
}

#[test]
fn the_program_is_one_small_file() {
    let bytes = fs::read(stationd()).unwrap();
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*bytes).unwrap();
    let (parts, endian) = (file.elf_program_headers(), file.endian());
    let kinds: Vec<_> = parts.iter().map(|part| part.p_type.get(endian)).collect();
    assert!(!kinds.contains(&elf::PT_INTERP), "it wants a loader");
    // Names and lines stay on the host: a device has what is loaded.
    let ends = parts.iter().map(|part| part.p_offset.get(endian) + part.p_filesz.get(endian));
    let loaded = ends.max().unwrap();
    assert!(loaded <= 2 << 20, "{loaded} bytes");
    eprintln!("{loaded} bytes on a device, {} with names and lines", bytes.len());
}
