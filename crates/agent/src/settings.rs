//! Settings that figures need: set until the stream ends, and then what they were.
//!
//! Talks to [`linux::frequency`]. Who kills the agent also kills what would set them back, so before the first one is
//! changed there is a second process that waits for the agent's end, however that comes ([`crate::standby`]).

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::Child,
};

use linux::frequency::{self, Setting};
use model::settings::{Set, Settings};

use crate::standby;

/// The word that makes the agent one who sets settings back.
pub const WORD: &str = "--set-back";

/// It is there; it has taken a line.
const DONE: u8 = b'+';

/// What was changed here. Dropping it sets it back.
#[derive(Debug, Default)]
pub(crate) struct Held {
    changed: Vec<Changed>,
    standby: Option<Standby>,
}

/// A setting, and what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Changed {
    setting: Setting,
    was: String,
}

impl Held {
    /// Sets what was asked for before back, and then what is asked for now; says what became of each.
    pub(crate) fn set(&mut self, settings: &Settings) -> Vec<Set> {
        let mut became = self.set_back();
        became.extend(
            asked(settings).into_iter().map(|(setting, value)| self.change(setting, &value)),
        );
        became.extend(lacking(settings));
        became
    }

    fn change(&mut self, setting: Setting, value: &str) -> Set {
        let Ok(was) = setting.value() else { return turn(&setting, value) };
        if was != value {
            if let Err(error) = self.note(&setting, &was) {
                let why_not =
                    Some(format!("nobody could set it back if the agent were killed: {error}"));
                return Set { what: setting.what, now: was.clone(), was, why_not };
            }
            self.changed.push(Changed { setting: setting.clone(), was });
        }
        turn(&setting, value)
    }

    /// Tells the second process, which is started first if need be.
    fn note(&mut self, setting: &Setting, was: &str) -> io::Result<()> {
        let standby = match self.standby.take() {
            Some(standby) => standby,
            None => Standby::start()?,
        };
        self.standby.insert(standby).note(setting, was)
    }

    /// Sets everything back, the last first.
    fn set_back(&mut self) -> Vec<Set> {
        let back = self.changed.drain(..).rev();
        let became = back.map(|Changed { setting, was }| turn(&setting, &was)).collect();
        self.standby = None;
        became
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set_back();
    }
}

/// The settings in question with the values that they are to have.
fn asked(settings: &Settings) -> Vec<(Setting, String)> {
    let governors = settings.governor.iter().flat_map(|governor| {
        frequency::governors().into_iter().map(|setting| (setting, governor.clone()))
    });
    let turbo = settings.turbo.and_then(|on| {
        let (setting, words) = frequency::turbo()?;
        Some((setting, words[usize::from(!on)].to_owned()))
    });
    governors.chain(turbo).collect()
}

/// What is asked for and not there.
fn lacking(settings: &Settings) -> Vec<Set> {
    let lacks = |what: &str, why: &str| Set {
        what: what.to_owned(),
        was: "absent".to_owned(),
        now: "absent".to_owned(),
        why_not: Some(why.to_owned()),
    };
    let governor = (settings.governor.is_some() && frequency::governors().is_empty())
        .then(|| lacks("the governor", "this kernel does not change the frequency of CPUs"));
    let turbo = (settings.turbo.is_some() && frequency::turbo().is_none()).then(|| {
        lacks("turbo", "this kernel does not say whether CPUs may clock above their base")
    });
    governor.into_iter().chain(turbo).collect()
}

/// Sets a setting, and says what became of it.
fn turn(setting: &Setting, value: &str) -> Set {
    let was = setting.value();
    let failure = match &was {
        Ok(was) if was == value => None,
        Ok(_) => setting.set(value).err(),
        Err(error) => Some(io::Error::new(error.kind(), error.to_string())),
    };
    let was = was.unwrap_or_default();
    let now = setting.value().unwrap_or_else(|_| was.clone());
    // A kernel may take a word and not obey it.
    let why_not = failure.map(|error| error.to_string());
    let why_not =
        why_not.or_else(|| (now != value).then(|| format!("the kernel does not make it {value}")));
    Set { what: setting.what.clone(), was, now, why_not }
}

/// The second process. Dropping it lets it set back what still is to be, and end.
#[derive(Debug)]
struct Standby {
    child: Child,
    line: Option<UnixStream>,
}

impl Standby {
    fn start() -> io::Result<Self> {
        let (child, line) = standby::start(&[WORD])?;
        let standby = Self { child, line: Some(line) };
        standby.hear()?;
        Ok(standby)
    }

    fn note(&self, setting: &Setting, was: &str) -> io::Result<()> {
        let mut line = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        line.write_all(format!("{was}\t{}\n", setting.path.display()).as_bytes())?;
        self.hear()
    }

    fn hear(&self) -> io::Result<()> {
        let line = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        match standby::hear(line)? {
            DONE => Ok(()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        self.line = None;
        let _ = self.child.wait();
    }
}

/// The second process's whole life.
///
/// # Errors
///
/// Where its standard input is no socket: a person has called it.
pub fn run() -> io::Result<()> {
    let line = linux::standby::stand_by(standby::NAME)?;
    let (mut from, mut to) = (BufReader::new(&line), &line);
    let mut noted: Vec<Changed> = Vec::new();
    let mut text = String::new();
    while to.write_all(&[DONE]).is_ok() {
        text.clear();
        // Half a line is of an agent that was killed as it wrote; it changed nothing yet.
        if from.read_line(&mut text).unwrap_or(0) == 0 || !text.ends_with('\n') {
            break;
        }
        let Some((was, path)) = text.trim_end_matches('\n').split_once('\t') else { break };
        let setting = Setting { what: String::new(), path: PathBuf::from(path) };
        noted.push(Changed { setting, was: was.to_owned() });
    }
    for Changed { setting, was } in noted.iter().rev() {
        turn(setting, was);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(folder: &tempfile::TempDir, value: &str) -> Setting {
        let path = folder.path().join("scaling_governor");
        std::fs::write(&path, format!("{value}\n")).unwrap();
        Setting { what: "the governor of policy0".to_owned(), path }
    }

    #[test]
    fn what_a_setting_became_is_said_with_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        // A file of the kernel's forgets what was written before; this one is as long as its longest word.
        let setting = setting(&folder, "performant ");
        let became = turn(&setting, "performance");
        assert_eq!(became.to_string(), "the governor of policy0 is performance, was performant");
        assert_eq!(turn(&setting, "performance").why_not, None);
        let absent = Setting { path: folder.path().join("none"), ..setting };
        let became = turn(&absent, "performance").to_string();
        assert!(became.starts_with("the governor of policy0 stays : No such file"), "{became}");
    }

    #[test]
    fn what_a_machine_lacks_is_said() {
        if !frequency::governors().is_empty() {
            skip::skip!("this machine has governors");
            return;
        }
        let wanted = Settings { governor: Some("performance".to_owned()), turbo: None };
        let became = Held::default().set(&wanted);
        assert_eq!(became.len(), 1);
        assert_eq!(
            became[0].to_string(),
            "the governor stays absent: this kernel does not change the frequency of CPUs"
        );
    }
}
