//! What stationd costs: transactions, dumps and memory, by its own metrics and from outside.
//!
//! From outside, the kernel counts how often the program enters the one function through which every
//! transaction goes (a uprobe, <https://docs.kernel.org/trace/uprobetracer.html>).

use std::fs;

use object::elf;

use crate::harness::{Page, Parts, Place, file_offset, in_guest, stationd};

const STATIONS: u32 = 114;
const RADIOS: f64 = 3.0;

/// A probe, stationd and its monitor; `page NAME` is a page and the kernel's count at that moment.
const WORDS: &str = r#"
tracing=/sys/kernel/tracing
probe() {
    echo "p:transaction /usr/sbin/stationd:$1" >$tracing/uprobe_events
    echo 1 >$tracing/events/uprobes/transaction/enable
}
hits() { awk '$2 == "transaction" { print $3 }' $tracing/uprobe_profile; }
page() { part $1; metrics; part $1-hits; hits; }
identified() { [ $(counted stationd_hostapd_requests_total) = 114 ]; }
restart() {
    kill $daemon; wait $daemon
    daemon "$@"
    within 30 identified
}
monitor() { part $1-monitor; shift; station-monitor --expect 114 --json "$@"; }
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$daemon/status; }
"#;

/// What happened between two pages.
struct Between<'a> {
    parts: &'a Parts,
    from: &'a str,
    to: &'a str,
}

impl Between<'_> {
    fn pages(&self) -> (Page, Page) {
        (self.parts.page(self.from), self.parts.page(self.to))
    }

    fn more(&self, metric: &str) -> f64 {
        let (from, to) = self.pages();
        to.more(&from, metric)
    }

    /// Transactions by stationd's own count, which the kernel's must equal.
    fn transactions(&self) -> f64 {
        let own = self.more("stationd_transactions_total");
        let hits = |name| self.parts.number(&format!("{name}-hits"));
        let kernel = hits(self.to) - hits(self.from);
        assert_eq!(own, kernel as f64, "stationd and the kernel, {} to {}", self.from, self.to);
        own
    }
}

fn assert_no_fault(parts: &Parts, monitor: &str) {
    let summary = &parts.lines(&format!("{monitor}-monitor"))[0];
    assert_eq!(summary["faults"], 0, "{summary}");
}

#[test]
fn a_poll_writes_nothing_and_ten_consumers_cost_what_one_costs() {
    let offset = file_offset("11transaction5apply");
    let place = Place::with_guests();
    let script = format!("{WORDS}probe {offset:#x}\n")
        + r#"
daemon
within 30 identified
page start
monitor one --every 1s --count 8
page one
part resident; resident
monitor ten --every 1s --count 5 --consumers 10
page ten
restart --set write-back=each-poll
page each-start
monitor each --every 1s --count 5
page each
restart --set pull=per-station
page single-start
monitor single --every 1s --count 3
page single
"#;
    let parts = in_guest(&place, STATIONS, &script);
    for monitor in ["one", "ten", "each", "single"] {
        assert_no_fault(&parts, monitor);
    }
    let between = |from, to| Between { parts: &parts, from, to };
    let one = between("start", "one");
    assert_eq!(one.transactions(), 0.0, "static parameters were written in steady state");
    // A page reads too where no one has within the last half second; else a round may share its reading.
    let polls = one.more("stationd_dumps_total");
    assert!((7.0 * RADIOS..=9.0 * RADIOS).contains(&polls), "{polls} dumps");
    let ten = between("one", "ten");
    let (dumps, reads) = (ten.more("stationd_dumps_total"), ten.more("stationd_reads_total"));
    assert!((4.0 * RADIOS..=6.0 * RADIOS).contains(&dumps), "{dumps} dumps for ten consumers");
    assert!(reads >= 150.0 && ten.more("stationd_reads_shared_total") == reads - dumps, "{reads}");
    assert_eq!(ten.transactions(), 0.0);
    let each = between("each-start", "each");
    let polls = each.more("stationd_dumps_total");
    assert!(polls >= 4.0 * RADIOS, "{polls} polls");
    assert_eq!(each.transactions(), polls / RADIOS * f64::from(STATIONS), "one a station a poll");
    let single = between("single-start", "single");
    assert!(single.more("stationd_station_questions_total") >= 2.0 * f64::from(STATIONS));
    assert_eq!(single.transactions(), 0.0);
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
