//! Events that fire where a function begins or returns: uprobes and kprobes without tracefs.
//!
//! The kernel's probe units make a probe that lives as long as its event's descriptor, for the event's
//! threads alone, and need no file system mounted. Talks to `/sys/bus/event_source`; the events are
//! opened elsewhere.
//!
//! Formats: commits e12f03d7031a and 33ea4b24277b (Linux 4.17), `perf_event_open(2)` («dynamic PMU»):
//! `config1` is the path or the function's name, `config2` the offset.

use std::{ffi::CString, io, os::unix::ffi::OsStrExt, path::Path};

use rustix::io::Errno;

use super::{
    attributes::{Attributes, flag},
    error::{Error, Purpose},
};

/// At which end of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it begins.
    Entry,
    /// Where it has returned to.
    Return,
}

/// A probe on an instruction of a file.
///
/// # Errors
///
/// Where the kernel has no uprobe events, or the path has a zero in it.
pub fn user(path: &Path, offset: u64, end: End) -> Result<Attributes, Error> {
    let text = CString::new(path.as_os_str().as_bytes());
    probe(("uprobe", Purpose::UserProbe), (text, offset), end)
}

/// A probe on a function of the kernel.
///
/// # Errors
///
/// Where the kernel has no kprobe events, or the name has a zero in it.
pub fn kernel(function: &str, end: End) -> Result<Attributes, Error> {
    probe(("kprobe", Purpose::KernelProbe), (CString::new(function), 0), end)
}

fn probe(
    (unit, purpose): (&str, Purpose),
    (text, offset): (Result<CString, std::ffi::NulError>, u64),
    end: End,
) -> Result<Attributes, Error> {
    let refused = |errno: Errno| {
        let what = format!("use {unit} events of /sys/bus/event_source/devices");
        Error::new(purpose, what, io::Error::from(errno))
    };
    let text = text.map_err(|_| refused(Errno::INVAL))?;
    let folder = Path::new("/sys/bus/event_source/devices").join(unit);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let kind = read("type").and_then(|text| text.trim().parse().ok());
    let returns = read("format/retprobe").and_then(|text| bit(&text));
    let (kind, returns) = kind.zip(returns).ok_or_else(|| refused(Errno::NODEV))?;
    let config = if end == End::Return { 1 << returns } else { 0 };
    Ok(Attributes::new(kind, config).place(text, offset).flags(flag::DISABLED | flag::INHERIT))
}

/// The bit in `config:0`.
fn bit(text: &str) -> Option<u32> {
    text.trim().strip_prefix("config:")?.parse().ok().filter(|bit| *bit < 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_is_read_as_the_kernel_writes_it() {
        assert_eq!(bit("config:0\n"), Some(0));
        assert_eq!(bit("config:32-63\n"), None);
        assert_eq!(bit("config1:0\n"), None);
    }

    #[test]
    fn a_kernel_without_probe_units_is_told_in_one_line() {
        let no_unit = ("no-such-unit", Purpose::UserProbe);
        let error = probe(no_unit, (Ok(c"/bin/true".into()), 0), End::Entry).unwrap_err();
        assert!(error.to_string().contains("no-such-unit events"), "{error}");
        assert!(error.why().contains("CONFIG_UPROBE_EVENTS"), "{}", error.why());
    }
}
