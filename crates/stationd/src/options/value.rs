//! How one value is read from its words. Pure; an error says what would be right.

use std::{net::SocketAddr, ops::RangeInclusive, path::PathBuf, time::Duration};

use super::{Metrics, nearest};

/// A path from the root: a daemon's working folder is no one's concern.
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    match text.starts_with('/') {
        true => Ok(PathBuf::from(text)),
        false => Err(format!("{text:?} is not a path from the root: begin it with /")),
    }
}

/// The socket of ubus's broker, in a build that has the bus.
pub(crate) fn broker(text: &str) -> Result<Option<PathBuf>, String> {
    match path_or_off(text)? {
        Some(_) if cfg!(not(feature = "ubus")) => Err("this build has no ubus".to_owned()),
        path => Ok(path),
    }
}

pub(super) fn path_or_off(text: &str) -> Result<Option<PathBuf>, String> {
    if text == "off" { Ok(None) } else { path(text).map(Some) }
}

pub(super) fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("{text:?} is not a permission: write it in octal, as 0660"))
}

/// An address that only this machine can reach: the page tells who is where.
pub(super) fn metrics(text: &str) -> Result<Metrics, String> {
    if text == "off" {
        return Ok(Metrics::Off);
    }
    if let Some(socket) = text.strip_prefix("unix:") {
        return path(socket).map(Metrics::Unix);
    }
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Metrics::Tcp(address)),
        Ok(address) => Err(format!(
            "{} can be reached from outside: take 127.0.0.1:{} or unix:PATH",
            address.ip(),
            address.port()
        )),
        Err(_) => {
            Err(format!("{text:?} is not an address: write 127.0.0.1:9810, unix:PATH or off"))
        }
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration: write it as 500ms, 2s or 0");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u32 = digits.parse().map_err(|_| wrong())?;
    match &text[digits.len()..] {
        "ms" => Ok(Duration::from_millis(number.into())),
        "s" => Ok(Duration::from_secs(number.into())),
        "min" => Ok(Duration::from_secs(u64::from(number) * 60)),
        "" if number == 0 => Ok(Duration::ZERO),
        _ => Err(wrong()),
    }
}

/// A duration from one reading to the next: with none between them the daemon would do nothing else.
pub(super) fn duration_or_off(text: &str) -> Result<Option<Duration>, String> {
    const SHORTEST: Duration = Duration::from_millis(10);
    match text {
        "off" => Ok(None),
        text if duration(text)? < SHORTEST => {
            Err(format!("{text:?} is shorter than 10ms: write it as 500ms or 2s, or off"))
        }
        text => duration(text).map(Some),
    }
}

pub(crate) fn names(text: &str) -> Result<Vec<String>, String> {
    if text == "all" {
        return Ok(Vec::new());
    }
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    match names.iter().any(String::is_empty) {
        true => Err(format!("{text:?} misses a name: write wlan0,wlan1 or all")),
        false => Ok(names),
    }
}

/// Names as a browser sends them; addresses are served anyway.
pub(super) fn hosts(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    let is_name = |name: &String| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
    };
    match names.iter().all(is_name) {
        true => Ok(names),
        false => Err(format!("{text:?} is not a list of names: write router.lan,ap.lan")),
    }
}

pub(super) fn word<T: Copy, const N: usize>(
    text: &str,
    known: [(&'static str, T); N],
) -> Result<T, String> {
    let found = known.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| format!("unknown {text:?}{}", nearest(text, known.map(|(word, _)| word))))
}

pub(crate) fn number(text: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        format!("{text:?} is not a number from {} to {}", range.start(), range.end())
    })
}
