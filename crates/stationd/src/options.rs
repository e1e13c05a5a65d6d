//! stationd's settings: every key with its meaning, its default, and how its value is read.
//!
//! [`flags`] reads the command line, this file the configuration file; both set a key by [`Options::set`].

pub mod flags;
pub(crate) mod value;

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use linux::file;

use crate::trace::Level;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metrics {
    Off,
    /// On a TCP address of this machine only.
    Tcp(SocketAddr),
    Unix(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub socket: PathBuf,
    pub socket_mode: u32,
    pub metrics: Metrics,
    /// The socket of ubus's broker; `None`: stationd is not on ubus.
    pub ubus: Option<PathBuf>,
    /// What the names of the field's objects begin with there.
    pub ubus_names: &'static str,
    /// Names that the metrics are served under beside addresses and `localhost`, where they are on TCP.
    pub hosts: Vec<String>,
    /// How old a reading may be for anyone who does not say.
    pub max_age: Duration,
    /// Stations are read at least so often, also where no one asks; `None`: only when somebody does.
    pub sample_every: Option<Duration>,
    /// Where hostapd's control sockets are; `None`: it is not asked.
    pub hostapd: Option<PathBuf>,
    /// The interfaces that are read; empty: all in AP mode.
    pub interfaces: Vec<String>,
    pub trace: Level,
    /// Whether the kernel refuses system calls that stationd has no use for.
    pub seccomp: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            socket: PathBuf::from("/run/stationd.sock"),
            socket_mode: 0o660,
            metrics: Metrics::Tcp(SocketAddr::from(([127, 0, 0, 1], 9810))),
            ubus: None,
            ubus_names: OWN_NAMES,
            hosts: vec!["localhost".to_owned()],
            max_age: Duration::from_millis(500),
            sample_every: None,
            hostapd: Some(PathBuf::from("/run/hostapd")),
            interfaces: Vec::new(),
            trace: Level::Warning,
            seccomp: true,
        }
    }
}

/// A key that can be set: its name, and the values that it takes, for the help.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) values: &'static str,
    set: fn(&mut Options, &str) -> Result<(), String>,
}

/// A key whose value is read so, into that field.
macro_rules! key {
    ($name:literal, $values:literal, $field:ident, $read:expr) => {
        Key {
            name: $name,
            values: $values,
            set: |options, text| $read(text).map(|value| options.$field = value),
        }
    };
}

/// What the names of the field's objects begin with on ubus, where the field's daemons may have them.
const OWN_NAMES: &str = "stationd.";

/// Every key, in the order of the help.
pub(crate) const KEYS: [Key; 12] = [
    key!("socket", "PATH: requests are taken here", socket, value::path),
    key!("socket-mode", "OCTAL: its permissions", socket_mode, value::mode),
    key!("metrics", "ADDRESS:PORT of this machine | unix:PATH | off", metrics, value::metrics),
    key!("hosts", "NAME,…: the metrics are served under them, too", hosts, value::hosts),
    key!("ubus", "PATH of the broker's socket | off", ubus, value::broker),
    key!(
        "ubus-names",
        "own | field: names of objects, as stationd.iwinfo or iwinfo",
        ubus_names,
        |text| value::word(text, [("own", OWN_NAMES), ("field", "")])
    ),
    key!("max-age", "DURATION: a reading this fresh is shared", max_age, value::duration),
    key!(
        "sample-every",
        "DURATION: read at least so often, also where no one asks | off",
        sample_every,
        value::duration_or_off
    ),
    key!("hostapd", "FOLDER of its control sockets | off", hostapd, value::path_or_off),
    key!("interfaces", "NAME,… | all", interfaces, value::names),
    key!("trace", "none | warning | info: what it says on standard error", trace, |text| {
        value::word(
            text,
            [("none", Level::None), ("warning", Level::Warning), ("info", Level::Info)],
        )
    }),
    key!("seccomp", "on | off: refuse system calls that it does not need", seccomp, |text| {
        value::word(text, [("on", true), ("off", false)])
    }),
];

impl Options {
    /// Sets a key as the file and the command line spell it.
    /// Fails with what is wrong, and what would be right.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let Some(known) = KEYS.iter().find(|known| known.name == key) else {
            return Err(format!("unknown key {key:?}{}", nearest(key, KEYS.map(|key| key.name))));
        };
        (known.set)(self, text).map_err(|wrong| format!("{key}: {wrong}"))
    }

    /// Takes the lines of a configuration file that are right: `key = value`, `#` begins a comment. The others come
    /// back, each with what is wrong.
    pub fn take_file(&mut self, path: &Path) -> Vec<Error> {
        let text = match file::text(path, file::WRITTEN) {
            Ok(text) => text,
            Err(source) => return vec![Error::File { path: path.to_owned(), source }],
        };
        let take = |(line, words)| {
            let place = || format!("{}:{line}", path.display());
            self.take_line(words).err().map(|what| Error::Wrong { place: place(), what })
        };
        (1..).zip(text.lines()).filter_map(take).collect()
    }

    fn take_line(&mut self, line: &str) -> Result<(), String> {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            return Ok(());
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(format!("{line:?} is not a setting: write key = value"));
        };
        self.set(key.trim(), value.trim())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{place}: {what}")]
    Wrong {
        /// Which flag, or which file and line.
        place: String,
        /// What is wrong and what would be right.
        what: String,
    },
    #[error("cannot read the command line (--help shows examples)")]
    Words(#[from] lexopt::Error),
}

fn wrong(place: &str, what: String) -> Error {
    Error::Wrong { place: place.to_owned(), what }
}

/// A word of the command line that is none of the known flags.
pub(crate) fn unknown(word: &lexopt::Arg<'_>, known: &'static str) -> Error {
    let word = match word {
        lexopt::Arg::Long(name) => format!("--{name}"),
        lexopt::Arg::Short(letter) => format!("-{letter}"),
        lexopt::Arg::Value(text) => text.to_string_lossy().into_owned(),
    };
    wrong(&word, format!("unknown flag{}", nearest(&word, known.split(' '))))
}

/// `: did you mean "…"?` where one of the words is near, else all of them.
fn nearest(word: &str, known: impl IntoIterator<Item = &'static str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known.iter().map(|one| (strsim::damerau_levenshtein(word, one), one)).min();
    match near {
        Some((distance, one)) if distance <= 3.min(word.len() / 2) => {
            format!(": did you mean \"{one}\"?")
        }
        _ => format!(": there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn set(key: &str, text: &str) -> Result<Options, String> {
        let mut options = Options::default();
        options.set(key, text).map(|()| options)
    }

    #[test]
    fn every_key_takes_its_values() {
        assert_eq!(set("socket", "/tmp/s").unwrap().socket, PathBuf::from("/tmp/s"));
        assert_eq!(set("socket-mode", "0600").unwrap().socket_mode, 0o600);
        assert_eq!(set("metrics", "off").unwrap().metrics, Metrics::Off);
        assert_eq!(set("metrics", "unix:/m").unwrap().metrics, Metrics::Unix("/m".into()));
        assert!(matches!(set("metrics", "[::1]:9000").unwrap().metrics, Metrics::Tcp(_)));
        assert_eq!(set("max-age", "2s").unwrap().max_age, Duration::from_secs(2));
        assert_eq!(set("max-age", "0").unwrap().max_age, Duration::ZERO);
        assert_eq!(set("sample-every", "2s").unwrap().sample_every, Some(Duration::from_secs(2)));
        assert_eq!(set("hostapd", "off").unwrap().hostapd, None);
        assert_eq!(set("interfaces", "wlan0, wlan1").unwrap().interfaces, ["wlan0", "wlan1"]);
        assert_eq!(set("trace", "info").unwrap().trace, Level::Info);
    }

    #[test]
    fn a_wrong_value_is_reported_with_what_would_be_right() {
        let wrong = |key, text| set(key, text).unwrap_err();
        insta::assert_snapshot!(
            [
                wrong("max-aeg", "1s"),
                wrong("colour", "red"),
                wrong("max-age", "soon"),
                wrong("metrics", "0.0.0.0:9810"),
                wrong("metrics", "localhost"),
                wrong("socket", "run/s"),
                wrong("socket-mode", "rw"),
                wrong("ubus-names", "onw"),
                wrong("trace", "*=info"),
                wrong("interfaces", ""),
                wrong("hosts", "http://router.lan"),
                wrong("seccomp", "no"),
                wrong("sample-every", "0"),
            ]
            .join("\n"),
            @r#"
        unknown key "max-aeg": did you mean "max-age"?
        unknown key "colour": there are socket, socket-mode, metrics, hosts, ubus, ubus-names, max-age, sample-every, hostapd, interfaces, trace, seccomp
        max-age: "soon" is not a duration: write it as 500ms, 2s or 0
        metrics: 0.0.0.0 can be reached from outside: take 127.0.0.1:9810 or unix:PATH
        metrics: "localhost" is not an address: write 127.0.0.1:9810, unix:PATH or off
        socket: "run/s" is not a path from the root: begin it with /
        socket-mode: "rw" is not a permission: write it in octal, as 0660
        ubus-names: unknown "onw": did you mean "own"?
        trace: unknown "*=info": did you mean "info"?
        interfaces: "" misses a name: write wlan0,wlan1 or all
        hosts: "http://router.lan" is not a list of names: write router.lan,ap.lan
        seccomp: unknown "no": did you mean "on"?
        sample-every: "0" is shorter than 10ms: write it as 500ms or 2s, or off
        "#
        );
    }

    #[test]
    fn a_wrong_line_is_reported_with_its_file_and_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stationd.conf");
        fs::write(&path, "# ours\n\nmax-age = 1s # fresh\ninterface = wlan0\n").unwrap();
        let mut options = Options::default();
        let mut first = |path: &Path| options.take_file(path).remove(0);
        let error = first(&path).to_string();
        let expected = "/stationd.conf:4: unknown key \"interface\": did you mean \"interfaces\"?";
        assert!(error.ends_with(expected), "{error}");
        let mut marked = Options::default();
        fs::write(&path, "\u{feff}max-age = 1s\n").unwrap();
        assert!(marked.take_file(&path).is_empty() && marked.max_age == Duration::from_secs(1));
        fs::write(&path, "max-age 1s\n").unwrap();
        let error = first(&path).to_string();
        assert!(
            error.ends_with(":1: \"max-age 1s\" is not a setting: write key = value"),
            "{error}"
        );
        let error = linux::error::chain(&first(Path::new("/none")));
        assert!(error.starts_with("cannot read /none: No such file"), "{error}");
        assert_eq!(options.max_age, Duration::from_secs(1), "what is right is taken");
    }
}
