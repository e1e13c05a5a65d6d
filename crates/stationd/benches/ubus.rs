//! What a reply of 114 stations costs to encode for ubus: our writer, beside the builder of the crate `ubus-zero`.
//!
//! `cargo bench -p stationd --bench ubus --profile device`, which is how programs for devices are built. Both write the same
//! values, in the keys and types of prplOS's brief reply, and must come to the same bytes. It judges nothing; machines differ,
//! so read the ratios.

use std::{
    hint::black_box,
    io::{self, Write},
    time::Instant,
};

use linux::heap::{Counting, taken};
use stationd::ubus::blobmsg::Writer;
use ubus::BlobBuilder;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const STATIONS: u64 = 114;
/// Bytes that the daemon reserves for a station in its first reply.
const RESERVED: usize = 440;
/// Each is measured so often, and the fastest is told: what disturbs only ever adds.
const ROUNDS: usize = 15;

/// A value of the reply.
enum Value {
    Text(String),
    /// 64 bits, whatever it is.
    Total(u64),
    /// 32 bits.
    Level(i32),
    Unknown,
}

type Station = [(&'static str, Value); 14];

/// A station that has been there for a while, on a radio whose noise is not known.
fn station(number: u64) -> Station {
    let address = format!("02:00:00:00:{:02X}:{:02X}", number / 256, number % 256);
    let packets = 48_211 + 977 * number;
    let count = |value: u64| Value::Level(value as i32);
    [
        ("MACAddress", Value::Text(address)),
        ("TxBytes", Value::Total(1_384 * packets)),
        ("RxBytes", Value::Total(212 * packets)),
        ("TxErrors", count(number % 7)),
        ("RxErrors", Value::Total(number % 3)),
        ("TxPacketCount", count(packets)),
        ("RxPacketCount", count(packets / 2)),
        ("TxUnicastPacketCount", count(packets - 12)),
        ("Tx_Retransmissions", count(packets / 31)),
        ("LastDataDownlinkRate", count(866_700)),
        ("LastDataUplinkRate", count(780_000)),
        ("DownlinkBandwidth", count(80)),
        ("SignalNoiseRatio", Value::Unknown),
        ("SignalStrength", Value::Level(-40 - (number % 40) as i32)),
    ]
}

fn main() -> io::Result<()> {
    // Anyone who tests all targets wants to know that it runs, not how fast.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let times = if is_bench { 500 } else { 1 };
    let stations: Vec<_> = (0..STATIONS).map(station).collect();
    let mut again = Vec::new();
    ours(&stations, &mut again);
    assert_eq!(again, theirs(&stations), "they write the same");
    let length = again.len();

    let rows = [
        cost("ours, into memory that is used again", times, &mut || {
            again.clear();
            ours(&stations, &mut again);
        }),
        cost("ours, into new memory of about the size", times, &mut || {
            let mut out = Vec::with_capacity(stations.len() * RESERVED);
            ours(&stations, &mut out);
            black_box(out);
        }),
        cost("ours, into new memory that grows", times, &mut || {
            let mut out = Vec::new();
            ours(&stations, &mut out);
            black_box(out);
        }),
        cost("ubus-zero's builder", times, &mut || drop(black_box(theirs(&stations)))),
    ];
    let [.., builder] = &rows;
    let mut out = io::stdout().lock();
    writeln!(out, "a reply of {STATIONS} stations, {length} bytes")?;
    for Cost { what, ns, allocations } in &rows {
        let ratio = ns / builder.ns;
        writeln!(out, "{what:<40} {allocations:4} allocations {ns:9.0} ns {ratio:5.2} ×")?;
    }
    Ok(())
}

struct Cost {
    what: &'static str,
    ns: f64,
    allocations: u64,
}

fn cost(what: &'static str, times: u32, work: &mut dyn FnMut()) -> Cost {
    let allocations = taken(&mut *work);
    let round = |_| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(times)
    };
    Cost { what, ns: (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min), allocations }
}

// By their names a profiler finds the two.
#[inline(never)]
fn ours(stations: &[Station], out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let list = writer.list("retval");
    for station in stations {
        let table = writer.table("");
        for (name, value) in station {
            match value {
                Value::Text(value) => writer.text(name, value),
                Value::Total(value) => writer.total(name, *value),
                Value::Level(value) => writer.level(name, i64::from(*value)),
                Value::Unknown => writer.or_null(name, None, Writer::count),
            }
        }
        writer.close(table);
    }
    writer.close(list);
}

#[inline(never)]
fn theirs(stations: &[Station]) -> Vec<u8> {
    let mut builder = BlobBuilder::new();
    builder.open_array(Some("retval"));
    for station in stations {
        builder.open_table(None);
        for (name, value) in station {
            match value {
                Value::Text(value) => builder.put_str(Some(name), value),
                Value::Total(value) => builder.put_i64(Some(name), *value as i64),
                Value::Level(value) => builder.put_i32(Some(name), *value),
                Value::Unknown => builder.put_null(Some(name)),
            }
        }
        builder.close_table();
    }
    builder.close_array();
    builder.finish()
}
