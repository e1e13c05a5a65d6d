//! The flags of the command line.
//!
//! Parsing opens nothing; [`Flags::options`] reads the configuration file that was named.

use std::{ffi::OsString, path::PathBuf};

use lexopt::{
    Arg::{Long, Short},
    Parser, ValueExt,
};

use super::{Error, KEYS, Options, unknown, wrong};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    pub config: Option<PathBuf>,
    /// Keys and values, in order; they count after the file.
    pub set: Vec<(String, String)>,
    pub once: bool,
    /// Look at the configuration and the machine, say what is wrong, and end.
    pub check: bool,
    /// A recording instead of this machine's kernel.
    pub replay: Option<PathBuf>,
    pub help: bool,
    pub version: bool,
}

impl Flags {
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let (mut flags, mut words) = (Self::default(), Parser::from_args(words));
        while let Some(word) = words.next()? {
            match word {
                Long("config") => flags.config = Some(words.value()?.into()),
                Long("replay") => flags.replay = Some(words.value()?.into()),
                Long("set") => flags.set.push(setting(&words.value()?.string()?)?),
                Long("once") => flags.once = true,
                Long("check") => flags.check = true,
                Short('h') | Long("help") => flags.help = true,
                Short('V') | Long("version") => flags.version = true,
                other => {
                    let known = "--config --set --once --check --replay --help --version";
                    return Err(unknown(&other, known));
                }
            }
        }
        match flags.once && flags.check {
            true => Err(wrong("--check", "cannot be given with --once: give one of them".into())),
            false => Ok(flags),
        }
    }

    /// The defaults, then the file, then the command line.
    /// Fails with the first setting that is wrong.
    pub fn options(&self) -> Result<Options, Error> {
        let (options, faults) = self.examined();
        faults.into_iter().next().map_or(Ok(options), Err)
    }

    /// The same, with everything that is wrong.
    pub fn examined(&self) -> (Options, Vec<Error>) {
        let mut options = Options::default();
        let mut faults = match &self.config {
            Some(path) => options.take_file(path),
            None => Vec::new(),
        };
        for (key, value) in &self.set {
            faults.extend(options.set(key, value).err().map(|what| wrong("--set", what)));
        }
        (options, faults)
    }
}

fn setting(text: &str) -> Result<(String, String), Error> {
    let pair = text.split_once('=').map(|(key, value)| (key.trim().into(), value.trim().into()));
    pair.ok_or_else(|| wrong("--set", format!("{text:?} is not a setting: write KEY=VALUE")))
}

pub fn help() -> String {
    let keys: String =
        KEYS.iter().map(|key| format!("  {:<14} {}\n", key.name, key.values)).collect();
    format!("{HEAD}{keys}{TAIL}")
}

const HEAD: &str = "\
stationd: statistics of associated Wi-Fi stations, read once for everybody

Usage: stationd [--config FILE] [--set KEY=VALUE]…
       stationd --once [--set KEY=VALUE]…
       stationd --check [--config FILE] [--set KEY=VALUE]…

      --config FILE    Settings, one a line: key = value; # begins a comment
      --set KEY=VALUE  One setting; counts after the file (repeatable)
      --once           Print all access points and stations as JSON, and end
      --check          Say what is wrong with the settings and what this machine
                       lacks for them, and end; changes nothing
      --replay FILE    Read a recording instead of this machine's kernel
  -h, --help           Print this
  -V, --version        Print the version

Settings:
";

const TAIL: &str = "
Defaults: socket=/run/stationd.sock socket-mode=0660 metrics=127.0.0.1:9810
  hosts=localhost ubus=off ubus-names=own max-age=500ms sample-every=off
  hostapd=/run/hostapd interfaces=all trace=warning seccomp=on

Examples:
  stationd --once --set interfaces=wlan0
  stationd --check --config /etc/stationd.conf
  stationd --config /etc/stationd.conf --set metrics=unix:/run/stationd.metrics
  curl http://127.0.0.1:9810/metrics
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"getStationStatsBrief\",\"params\":
    {\"interface\":\"wlan0\"}}' | tr -d '\\n' | socat - UNIX:/run/stationd.sock

Exit codes: 0 ended as asked, 2 usage or a wrong setting, 4 this machine lacks
  something. --check: 0 nothing is wrong or missing, and 2 and 4 the same.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Level;

    fn parse(words: &[&str]) -> Result<Flags, Error> {
        Flags::parse(words.iter().map(Into::into))
    }

    #[test]
    fn flags_take_their_values_joined_or_apart() {
        let apart = parse(&["--config", "/c", "--set", "max-age=1s", "--once"]).unwrap();
        let joined = parse(&["--config=/c", "--set=max-age=1s", "--once"]).unwrap();
        assert_eq!(apart, joined);
        assert_eq!(apart.set, [("max-age".into(), "1s".into())]);
    }

    #[test]
    fn the_command_line_counts_after_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c");
        std::fs::write(&path, "trace = none\nmax-age = 7s\n").unwrap();
        let flags = parse(&["--set", "trace=info", "--config", path.to_str().unwrap()]).unwrap();
        let options = flags.options().unwrap();
        assert_eq!((options.trace, options.max_age.as_secs()), (Level::Info, 7));
    }

    #[test]
    fn a_wrong_word_is_reported_with_what_would_be_right() {
        let message = |words: &[&str]| linux::error::chain(&parse(words).unwrap_err());
        assert_eq!(message(&["--onec"]), "--onec: unknown flag: did you mean \"--once\"?");
        let missing = "cannot read the command line (--help shows examples): missing argument for option '--set'";
        assert_eq!(message(&["--set"]), missing);
        let both = "--check: cannot be given with --once: give one of them";
        assert_eq!(message(&["--check", "--once"]), both);
        assert_eq!(message(&["--set", "x"]), "--set: \"x\" is not a setting: write KEY=VALUE");
        let flags = parse(&["--set", "ubus-names=onw"]).unwrap();
        let error = flags.options().unwrap_err().to_string();
        assert_eq!(error, "--set: ubus-names: unknown \"onw\": did you mean \"own\"?");
    }

    #[test]
    fn the_help_names_every_default() {
        let mut options = Options { trace: Level::None, ..Options::default() };
        let defaults = help();
        let defaults = defaults.split("Defaults: ").nth(1).unwrap().split("\n\n").next().unwrap();
        let settings: Vec<_> = defaults.split_whitespace().collect();
        assert_eq!(settings.len(), KEYS.len());
        for setting in settings {
            let (key, value) = setting.split_once('=').unwrap();
            options.set(key, value).unwrap();
        }
        assert_eq!(options, Options::default());
    }
}
