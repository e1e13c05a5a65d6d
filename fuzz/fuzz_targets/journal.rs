//! Fuzzes what reads guard's journal, and what judges what it says: lines that are whole, torn, foreign, or forged.
//!
//! What is read is written and read again as it was, and what is permitted names nothing but the places that guard
//! changes, with values that such files have: told here once more, so that a mistake in `guard::journal::Places` is not
//! its own judge. How to build and run is said in `netlink.rs`; the program is `journal`, its corpus `fuzz/corpus/journal`.

#![no_main]

use std::path::{Component, Path};

use guard::journal::{Permitted, Places, Record, records};
use libfuzzer_sys::fuzz_target;

/// A device with a hierarchy, another one inside it, and resctrl.
const MOUNTS: &str = "1 1 0:1 / /g rw - cgroup cgroup rw,cpu\n\
                      2 1 0:2 / /g/u rw - cgroup2 cgroup2 rw\n\
                      3 1 0:3 / /r rw - resctrl resctrl rw\n";

const FILES: &str = "cpu.shares cpu.cfs_quota_us cpu.cfs_period_us cpu.max cpu.weight cpu.idle cpuset.cpus \
                     memory.high cgroup.subtree_control schemata";

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let read = records(&text);
    assert!(read.len() <= text.lines().count());
    let places = Places::of(Path::new("/"), MOUNTS);
    // The JSON behind a right checksum, too, so that nobody need find one.
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let all: Vec<Record> = read.into_iter().chain(lines).collect();
    all.iter().for_each(same);
    let permitted = all.iter().filter_map(|record| places.permit(record.clone()).ok());
    permitted.for_each(|record| only_what_guard_changes(&record));
});

/// What is read is written, and read again as it was.
fn same(record: &Record) {
    // A path that is no text is refused when it is written.
    let Ok(line) = record.line() else { return };
    assert_eq!(Record::parse(line.trim_end_matches('\n')).as_ref(), Some(record));
    assert!(Record::parse(&line[..line.floor_char_boundary(line.len() / 2)]).is_none());
}

fn only_what_guard_changes(permitted: &Permitted) {
    match permitted.record() {
        Record::Begin { .. } => {}
        Record::Change { path, old, new, .. } => {
            value(path);
            [old, new].into_iter().for_each(|text| text_of_a_file(text));
        }
        Record::Became { path, text } => {
            value(path);
            text_of_a_file(text);
        }
        Record::Gone { path } => value(path),
        Record::Made { folder } => own(folder),
        Record::Moved { from, to, .. } => {
            own(to);
            assert!(from.starts_with(to.parent().unwrap_or(to)), "{from:?} {to:?}");
            plain(from);
        }
    }
}

/// A path that leads nowhere but down.
fn plain(path: &Path) {
    let down = path.components().skip(1).all(|part| matches!(part, Component::Normal(_)));
    assert!(path.is_absolute() && down && path.as_os_str().len() <= 4096, "{path:?}");
}

fn value(path: &Path) {
    plain(path);
    let text = path.to_str().unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    let thread = text.strip_prefix("/proc/").and_then(|rest| rest.strip_suffix("/nice"));
    let interface =
        text.strip_prefix("/sys/class/net/").and_then(|rest| rest.strip_suffix("/threaded"));
    let known = match (thread, interface) {
        (Some(tid), _) => tid.bytes().all(|byte| byte.is_ascii_digit()),
        (_, Some(name)) => !name.contains('/') && name.len() <= 15,
        _ if path.starts_with("/r") => path.starts_with("/r/headroom-guard") && name == "schemata",
        _ => {
            path.starts_with("/g")
                && name != "schemata"
                && FILES.split(' ').any(|file| name == file)
        }
    };
    assert!(known, "{path:?}");
}

fn own(folder: &Path) {
    plain(folder);
    let above = folder.parent().unwrap_or(folder);
    let mounted = ["/g", "/g/u", "/r"].iter().any(|mount| above == Path::new(mount));
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    assert!(mounted && name.starts_with("headroom-guard"), "{folder:?}");
}

fn text_of_a_file(text: &str) {
    let odd = |c: char| !(c.is_ascii_graphic() || matches!(c, ' ' | '\n'));
    assert!(text.len() <= 4096 && !text.trim().contains(odd), "{text:?}");
}
