//! `perf record` and `perf report`, both on the access point.
//!
//! Its events wait for two seconds, as ours do through the warm-up, so that its start is not in the window.
//! The command that it records by reads perf's own CPU where the window opens and where it closes.

use anyhow::{Context, Result};

use super::{
    Function, Recording, WINDOW_S,
    subject::{Aliases, Subject},
};

/// Marks between the parts of what the script prints.
const MARKS: [&str; 3] = ["== cost before", "== cost after", "== report"];

/// One recording at a rate.
pub(super) fn record(subject: &Subject, rate: u32) -> Result<Recording> {
    let said = subject.script(&script(subject, rate)?)?;
    read(&said, &subject.aliases()?).with_context(|| format!("perf did not record:\n{said}"))
}

fn script(subject: &Subject, rate: u32) -> Result<String> {
    let Subject { start, ready, load, .. } = subject;
    let (symbols, window) = (subject.packed_symbols()?, WINDOW_S);
    let [before, after, report] = MARKS;
    Ok(format!(
        r#"{start} >/tmp/subject.log 2>&1 & subject=$!
while [ ! -e {ready} ]; do sleep 0.1; done
{load} >/tmp/load.log 2>&1 & load=$!
sleep 3
cat > /tmp/window <<'window'
sleep 1.99
echo '{before}'; cat /proc/$PPID/task/*/schedstat
sleep {window}
echo '{after}'; cat /proc/$PPID/task/*/schedstat
sleep 0.01
window
perf record -q -e cpu-clock -F {rate} --call-graph dwarf,32768 -D 2000 -p $subject -o /tmp/perf.data -- sh /tmp/window
kill $load $subject
echo '{report}'
cat > /tmp/symbols.gz.text <<'symbols'
{symbols}symbols
id=$(perf buildid-list -i /tmp/perf.data | grep stationd | cut -d ' ' -f 1)
folder=/usr/lib/debug/.build-id/$(echo $id | cut -c 1-2)
mkdir -p $folder
base64 -d /tmp/symbols.gz.text | gzip -d > $folder/$(echo $id | cut -c 3-).debug
perf report -i /tmp/perf.data --stats 2>/dev/null | tail -5
perf report -i /tmp/perf.data --children --no-inline --no-demangle --stdio -g none --percent-limit 0.02 \
    -F overhead_children,sym -t '|' 2>/dev/null
"#
    ))
}

fn read(said: &str, aliases: &Aliases) -> Option<Recording> {
    let [before, after, report] = MARKS;
    let rest = said.split_once(before)?.1;
    let (before, rest) = rest.split_once(after)?;
    let (after, report) = rest.split_once(report)?;
    let functions: Vec<Function> =
        report.lines().filter_map(|line| function(line, aliases)).collect();
    let cpu_ns = cpu_ns(after)?.checked_sub(cpu_ns(before)?)?;
    Some(Recording {
        cpu_ns_per_s: cpu_ns as f64 / f64::from(WINDOW_S),
        samples: number_behind(report, "SAMPLE events:")?,
        lost: number_behind(report, "Total Lost Samples:")?,
        functions: (!functions.is_empty()).then_some(functions)?,
    })
}

/// CPU of all threads: the first word of each line of `schedstat`.
fn cpu_ns(lines: &str) -> Option<u64> {
    let words = lines.lines().filter_map(|line| line.split_whitespace().next());
    let each: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
    each.filter(|each| !each.is_empty()).map(|each| each.iter().sum())
}

fn number_behind(text: &str, words: &str) -> Option<u64> {
    text.split_once(words)?.1.split_whitespace().next()?.parse().ok()
}

/// A line as ` 63.25%|[.] _ZN8stationd6engine…`: a share, whether it is the kernel's, and a symbol.
fn function(line: &str, aliases: &Aliases) -> Option<Function> {
    let (share, symbol) = line.split_once('|')?;
    let share: f64 = share.trim().strip_suffix('%')?.parse().ok()?;
    let (place, symbol) = symbol.trim().split_once(' ')?;
    let (symbol, kernel) = (symbol.trim(), place == "[k]");
    let others = aliases.get(symbol).filter(|_| !kernel).into_iter().flatten();
    let names = [symbol].into_iter().chain(others.map(String::as_str)).map(readable);
    Some(Function { names: names.collect(), kernel, share: share / 100.0 })
}

fn readable(symbol: &str) -> String {
    let name = rustc_demangle::try_demangle(symbol);
    name.map_or_else(|_| symbol.to_owned(), |name| format!("{name:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_is_a_recording() {
        let said = "== cost before\n100 1 1\n50 1 1\n== cost after\n20000000100 9 9\n150 2 2\n== report\n\
            cpu-clock stats:\n  SAMPLE events: 1155\n# Total Lost Samples: 9\n\
            # Children|Symbol\n 63.25%|[.] _ZN8stationd6engine3run17h0123456789abcdefE\n  7.00%|[k] netlink_sendmsg \n";
        let aliases = Aliases::from([("netlink_sendmsg".to_owned(), vec!["not this".to_owned()])]);
        let found = read(said, &aliases).unwrap();
        assert_eq!((found.samples, found.lost, found.cpu_ns_per_s), (1155, 9, 1_000_000_005.0));
        let names: Vec<_> =
            found.functions.iter().map(|one| (&*one.names[0], one.kernel)).collect();
        assert_eq!(names, [("stationd::engine::run", false), ("netlink_sendmsg", true)]);
        assert_eq!(found.functions[1].names, ["netlink_sendmsg"]);
        assert!(read("== cost before\n== cost after\n== report\n", &aliases).is_none());
    }
}
