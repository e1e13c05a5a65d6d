//! Changes settings that figures need until the stream ends, and then sets them back.
//!
//! Talks to [`linux::frequency`]. Who kills the agent also kills what would set them back, so before the first one is
//! changed there is a second process that waits for the agent's end, however that comes ([`crate::undo`]).

use std::io;

use linux::frequency::{self, Setting};
use model::settings::{Set, Settings};

use crate::undo::Undo;

/// Settings that were changed. Dropping it restores them.
#[derive(Debug, Default)]
pub(crate) struct ChangedSettings {
    changed: Vec<Change>,
    undo: Option<Undo>,
}

#[derive(Debug)]
struct Change {
    setting: Setting,
    was: String,
}

impl ChangedSettings {
    /// Sets what was asked for before back, and then what is asked for now; says what became of each.
    pub(crate) fn set(&mut self, settings: &Settings) -> Vec<Set> {
        let mut became = self.set_back();
        became.extend(asked(settings).into_iter().map(|asked| match asked {
            Ok((setting, value)) => self.change(setting, &value),
            Err(lacking) => lacking,
        }));
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
            self.changed.push(Change { setting: setting.clone(), was });
        }
        turn(&setting, value)
    }

    /// Tells the second process, which is started first if need be.
    fn note(&mut self, setting: &Setting, was: &str) -> io::Result<()> {
        let undo = match self.undo.take() {
            Some(undo) => undo,
            None => Undo::start(None)?,
        };
        self.undo.insert(undo).note(&format!("setting {was}\t{}", setting.path.display()))
    }

    /// Sets everything back, the last first.
    fn set_back(&mut self) -> Vec<Set> {
        let back = self.changed.drain(..).rev();
        let became = back.map(|Change { setting, was }| turn(&setting, &was)).collect();
        self.undo = None;
        became
    }
}

impl Drop for ChangedSettings {
    fn drop(&mut self) {
        self.set_back();
    }
}

/// The settings in question with the values that they are to have, and what this machine lacks of them.
fn asked(settings: &Settings) -> Vec<Result<(Setting, String), Set>> {
    let lacks = |what: &str, why: &str| {
        let (what, was, now) = (what.to_owned(), "absent".to_owned(), "absent".to_owned());
        Err(Set { what, was, now, why_not: Some(why.to_owned()) })
    };
    let mut asked = Vec::new();
    if let Some(governor) = &settings.governor {
        let governors = frequency::governors();
        if governors.is_empty() {
            let why = "this kernel does not change the frequency of CPUs";
            asked.push(lacks("the governor", why));
        }
        asked.extend(governors.into_iter().map(|setting| Ok((setting, governor.clone()))));
    }
    if let Some(on) = settings.turbo {
        let why = "this kernel does not say whether CPUs may clock above their base";
        asked.push(match frequency::turbo() {
            Some((setting, words)) => Ok((setting, words[usize::from(!on)].to_owned())),
            None => lacks("turbo", why),
        });
    }
    asked
}

pub(crate) fn turn(setting: &Setting, value: &str) -> Set {
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
        let became = ChangedSettings::default().set(&wanted);
        assert_eq!(became.len(), 1);
        assert_eq!(
            became[0].to_string(),
            "the governor stays absent: this kernel does not change the frequency of CPUs"
        );
    }
}
