//! What reading a station costs beside copying its bytes: `cargo bench -p linux`.
//!
//! Prints nanoseconds for each record and the ratio of the two, the best of many rounds. The bytes are a
//! recorded list of 38 stations; there is no system call in what is timed.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use linux::{
    netlink::{Messages, Recording},
    nl80211::stations,
};

const DUMP: &[u8] = include_bytes!("../tests/recordings/dump-38.netlink");
const NEW_STATION: u8 = 19;
const ROUNDS: u32 = 2000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let datagrams = datagrams()?;
    let records: u32 =
        datagrams.iter().map(|datagram| Messages::new(datagram).count() as u32).sum();
    let bytes: usize = datagrams.iter().map(Vec::len).sum();
    let mut buffer = vec![0; 64 * 1024];
    let copied = best(|| {
        for datagram in &datagrams {
            if let Some(place) = buffer.get_mut(..datagram.len()) {
                place.copy_from_slice(black_box(datagram));
            }
            black_box(&mut buffer);
        }
    });
    let walked = best(|| {
        for datagram in &datagrams {
            black_box(Messages::new(black_box(datagram)).count());
        }
    });
    let read = best(|| {
        for message in datagrams.iter().flat_map(|bytes| Messages::new(black_box(bytes))).flatten()
        {
            stations(message.payload, |reading| {
                black_box(reading);
            });
        }
    });
    let each = |time: Duration| time.as_nanos() as f64 / f64::from(records);
    println!("{records} records of {} bytes", bytes / records.max(1) as usize);
    println!("copy {:6.1} ns/record", each(copied));
    println!("walk {:6.1} ns/record", each(walked));
    println!("read {:6.1} ns/record, {:.2} x copy", each(read), each(read) / each(copied));
    Ok(())
}

/// The datagrams that hold stations.
fn datagrams() -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    Recording::read(DUMP)?.replay(|datagram| {
        let holds = |bytes| {
            Messages::new(bytes).flatten().all(|one| one.payload.first() == Some(&NEW_STATION))
        };
        if holds(datagram) {
            found.push(datagram.to_vec());
        }
    });
    Ok(found)
}

fn best(mut work: impl FnMut()) -> Duration {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| time(&mut work)).min().unwrap_or_default()
}
