//! `cargo xtask against-perf`: our recording of stacks alongside Debian's `perf record`, in one guest.
//!
//! Subject, load, event, rate and window are the same, and both get the same symbol table; the lab counts
//! instructions, so the costs do not depend on the host. `ours` and `perf` record, `compare` judges, and
//! here it is printed. Needs `make build`, binutils, and the network for the package `linux-perf` once.

mod compare;
mod ours;
mod perf;
mod subject;

use std::path::Path;

use anyhow::Result;

use self::{compare::Compared, subject::Subject};

/// Samples in a second of CPU: a study's, and ten times as many.
const RATES: [u32; 2] = [499, 4999];

/// The measured span.
const WINDOW_S: u32 = 20;

/// Functions that are compared one by one: those with the most, as our report has them.
const TOP: usize = 20;

/// What a recorder gave, whichever it was.
#[derive(Clone, Debug, Default)]
struct Recording {
    /// CPU of the recorder in the window, ns in a second.
    cpu_ns_per_s: f64,
    samples: u64,
    lost: u64,
    functions: Vec<Function>,
}

/// A function and its share of the samples with what it calls, 0 to 1.
#[derive(Clone, Debug, PartialEq)]
struct Function {
    /// Its name; of perf's, also other names of the same address.
    names: Vec<String>,
    kernel: bool,
    share: f64,
}

/// Records both ways at each rate; whether ours is the cheaper one, loses no more, and says the same.
///
/// # Errors
///
/// Where a program is missing, or the access point could not be measured.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let subject = Subject::of(root)?;
    println!("against-perf: {}", subject.about());
    let counters = ours::counters(&subject)?;
    let mut holds = true;
    for rate in RATES {
        let ours = ours::record(&subject, rate)?;
        let theirs = perf::record(&subject, rate)?;
        println!("\n{rate} samples in a second of CPU, cpu-clock, window {WINDOW_S} s");
        holds &= costs(&ours, counters, &theirs);
        holds &= functions(&compare::functions(&ours, &theirs));
    }
    Ok(holds)
}

/// Instructions in thousands: the lab's clock goes 2 ns an instruction.
fn thousands(cpu_ns_per_s: f64) -> f64 {
    cpu_ns_per_s / 2.0 / 1000.0
}

fn costs(ours: &Recording, counters: f64, theirs: &Recording) -> bool {
    let recording = ours.cpu_ns_per_s - counters;
    let line =
        |name: &str, ours: String, theirs: String| println!("  {name:44} {ours:>9} {theirs:>9}");
    let figure = |value: f64| format!("{:.0}", thousands(value));
    line("", "ours".to_owned(), "perf".to_owned());
    line("samples", ours.samples.to_string(), theirs.samples.to_string());
    line("samples lost", ours.lost.to_string(), theirs.lost.to_string());
    line(
        "recorder, thousand instructions a second",
        figure(recording),
        figure(theirs.cpu_ns_per_s),
    );
    line("… with our counters of every second", figure(ours.cpu_ns_per_s), "—".to_owned());
    let less = |ours: f64| {
        let change = (ours / theirs.cpu_ns_per_s - 1.0) * 100.0;
        format!("{:.0} % {}", change.abs(), if change < 0.0 { "less" } else { "more" })
    };
    println!(
        "  ours takes {} CPU than perf for the recording, {} with its counters",
        less(recording),
        less(ours.cpu_ns_per_s)
    );
    recording < theirs.cpu_ns_per_s && ours.lost <= theirs.lost
}

fn functions(compared: &[Compared]) -> bool {
    println!("  inclusive share, %    ours    perf   standard errors apart");
    for one in compared.iter().take(TOP) {
        report(one);
    }
    let agree = |compared: &[Compared]| compared.iter().filter(|one| one.agrees()).count();
    let top = compared.get(..TOP).unwrap_or(compared);
    println!("  {} of {} agree within 3 standard errors", agree(top), top.len());
    println!("  {} of {} functions with 1 % or more do", agree(compared), compared.len());
    for one in compared.iter().skip(TOP).filter(|one| !one.agrees()) {
        report(one);
    }
    agree(top) == top.len()
}

fn report(one: &Compared) {
    let mark = if one.agrees() { "" } else { "   DIFFERS" };
    let (ours, perf, apart) = (one.ours * 100.0, one.perf * 100.0, one.apart);
    println!("  {:20} {ours:7.2} {perf:7.2} {apart:6.1}   {}{mark}", "", one.name);
}
