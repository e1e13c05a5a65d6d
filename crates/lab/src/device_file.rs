//! Device files: an access point that is there already, how it is reached, and how it gets power, an image and clients.
//!
//! TOML text to a checked [`DeviceFile`], and one clear line where that fails. Nothing is done here: commands are
//! [`Command`]s, and an address is only called by [`crate::remote`]. A device file is trusted as a Makefile is: whoever
//! names it has its commands run on this machine. What comes from a run's folder is no device file.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use linux::file;
pub use model::settings::Settings;
use serde::Deserialize;

use crate::{
    remote::Address,
    study_file::{Fault, folder_of, lines::Lines, shape_fault},
};

/// The folder in which a device's name is looked for.
const FOLDER: &str = "devices";

/// A device, as the command line or a file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeviceFile {
    /// What people call it: the file's name without its ending, or the address.
    #[serde(skip)]
    pub name: String,
    /// Where its commands run and its relative paths begin.
    #[serde(skip)]
    pub folder: PathBuf,
    pub address: Address,
    /// ssh's configuration for it, which the address has once the file is read.
    ssh_config: Option<PathBuf>,
    /// How clients come; `None`: those that are there.
    pub clients: Option<Clients>,
    pub hold: Option<Hold>,
    pub power: Option<Power>,
    pub console: Option<Console>,
    pub flash: Option<Flash>,
    /// What figures need of it.
    #[serde(default)]
    pub settings: Settings,
}

/// A command line for `sh -c` on this machine, in the device file's folder. Values for it are in its environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Command(pub String);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Clients {
    /// Brings as many as `HEADROOM_CLIENTS` says, and ends once they are associated.
    pub bring: Command,
}

/// How a device that several people use is lent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Hold {
    /// Acquires it; ends with 75 where another user has it.
    pub acquire: Command,
    /// Releases it, if it is ours.
    pub release: Command,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Power {
    pub on: Command,
    pub off: Command,
    /// Turns it off and on again; without it, `off` and `on`.
    pub cycle: Option<Command>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Console {
    /// Its standard streams are the console.
    pub command: Command,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenFlash")]
pub struct Flash {
    pub by: FlashBy,
    /// Prints the SHA-256 of each part of an image that it runs from, a line each; without it, the squashfs is hashed that
    /// its root is.
    pub content: Option<Command>,
    /// Gets the image before back; headroom names it, and does not run it.
    pub fall_back: Option<Command>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlashBy {
    /// This command writes it and restarts the device; `HEADROOM_IMAGE` is the file, `HEADROOM_ADDRESS` the device.
    Command(Command),
    /// OpenWrt's own `sysupgrade -n`.
    Sysupgrade,
}

impl DeviceFile {
    pub fn of(address: Address) -> Self {
        Self {
            name: address.to_string(),
            folder: PathBuf::from("."),
            address,
            ssh_config: None,
            clients: None,
            hold: None,
            power: None,
            console: None,
            flash: None,
            settings: Settings::default(),
        }
    }

    /// What the command line names: an address, a device file's path, or a name for `devices/NAME.toml`.
    pub fn named(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::of(address));
        }
        let unknown = || {
            format!(
                "`{text}` is not an access point; write vm, local, ssh:USER@HOST, ssh://USER@HOST:PORT, or a device file: its \
                 path, or NAME for {FOLDER}/NAME.toml"
            )
        };
        let path = path_of(text).ok_or_else(unknown)?;
        match file::text(&path, file::WRITTEN) {
            Ok(text) => Self::read(&path, &text),
            // A name may have been meant as an address.
            Err(_) if path != Path::new(text) && !path.exists() => Err(unknown()),
            Err(error) => Err(format!("cannot read the device file {}: {error}", path.display())),
        }
    }

    fn read(path: &Path, text: &str) -> Result<Self, String> {
        let wrong = |Fault { line, why }| format!("{}:{line}: {why}", path.display());
        without_removed_keys(text).map_err(wrong)?;
        let device: Self =
            toml::from_str(text).map_err(|error| wrong(shape_fault(text, &error)))?;
        let folder = folder_of(path).to_owned();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let address = device.address.with_config(device.ssh_config.map(|path| folder.join(path)));
        Ok(Self { name, folder, address, ssh_config: None, ..device })
    }
}

/// What trials are made on that are made on an access point, with how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum On {
    /// A virtual one, raised for the run.
    #[default]
    Vm,
    /// One that is there already: this machine, or a device over ssh.
    Device(Box<DeviceFile>),
}

impl fmt::Display for DeviceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Keys that older device files have, and what does the same now.
const REMOVED: [(&str, &str); 3] = [
    ("flash.slots", "write a `command` that writes the other slot, as examples/board/board.toml"),
    ("clients.hwsim", "write a command that makes them: bring = \"COMMAND\""),
    ("labgrid", "write an address, and commands of labgrid-client as in examples/labgrid.toml"),
];

fn without_removed_keys(text: &str) -> Result<(), Fault> {
    match REMOVED.into_iter().find(|(path, _)| Lines(text).has(path)) {
        Some((path, instead)) => {
            Err(Lines(text).fault((path.to_owned(), format!("`{path}` is no more; {instead}"))))
        }
        None => Ok(()),
    }
}

/// The file that a word means, where it can mean one.
fn path_of(text: &str) -> Option<PathBuf> {
    if text.contains('/') || text.ends_with(".toml") {
        return (!text.contains(':') || text.ends_with(".toml")).then(|| PathBuf::from(text));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !text.is_empty() && !text.starts_with(['.', '-']) && text.chars().all(plain);
    is_name.then(|| Path::new(FOLDER).join(format!("{text}.toml")))
}

/// `[flash]` as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct WrittenFlash {
    command: Option<Command>,
    #[serde(default)]
    sysupgrade: bool,
    content: Option<Command>,
    fall_back: Option<Command>,
}

impl TryFrom<WrittenFlash> for Flash {
    type Error = &'static str;

    fn try_from(written: WrittenFlash) -> Result<Self, Self::Error> {
        let WrittenFlash { command, sysupgrade, content, fall_back } = written;
        let by = match (command, sysupgrade) {
            (Some(command), false) => FlashBy::Command(command),
            (None, true) => FlashBy::Sysupgrade,
            _ => return Err("[flash] says one of `sysupgrade = true` or `command = \"COMMAND\"`"),
        };
        Ok(Self { by, content, fall_back })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DeviceFile, String> {
        DeviceFile::read(Path::new("lab/ap.toml"), text)
    }

    #[test]
    fn a_device_is_an_address_and_what_can_be_done_with_it() {
        let text = "address = \"ssh://root@ap:2222\"\nssh-config = \"ssh_config\"\n[clients]\nbring = \"./clients\"\n\
                    [power]\non = \"./power on\"\noff = \"./power off\"\n[console]\ncommand = \"./console\"\n\
                    [flash]\nsysupgrade = true\nfall-back = \"./back\"\n[settings]\ngovernor = \"performance\"\n";
        let device = read(text).unwrap();
        assert_eq!((device.name.as_str(), device.folder.as_path()), ("ap", Path::new("lab")));
        let address: Address = "ssh://root@ap:2222".parse().unwrap();
        let address = address.with_config(Some("lab/ssh_config".into()));
        assert_eq!(device.address, address);
        assert_eq!(device.clients.unwrap().bring.0, "./clients");
        let fall_back = Some(Command("./back".to_owned()));
        let flash = Flash { by: FlashBy::Sysupgrade, content: None, fall_back };
        assert_eq!(device.flash, Some(flash));
        assert_eq!(device.power.unwrap().cycle, None);
        assert_eq!(device.settings.governor.as_deref(), Some("performance"));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, why) in [
            ("", "lab/ap.toml:1: `address` is missing here"),
            ("address = \"ap\"\n", "lab/ap.toml:1: `ap` is not an access point"),
            ("address = \"ssh:ap\"\n\n[clients]\n", "lab/ap.toml:3: `bring` is missing here"),
            (
                "address = \"ssh:ap\"\n[clients]\nhwsim = true\n",
                "lab/ap.toml:3: `clients.hwsim` is no more; write a command that makes them",
            ),
            (
                "address = \"ssh:ap\"\n[flash]\nslots = true\n",
                "lab/ap.toml:3: `flash.slots` is no more; write a `command`",
            ),
            (
                "address = \"ssh:ap\"\n[flash]\ncommand = \"x\"\nsysupgrade = true\n",
                "lab/ap.toml:2: [flash] says one of",
            ),
            (
                "address = \"ssh:ap\"\n[powr]\n",
                "lab/ap.toml:2: unknown key `powr`; did you mean `power`?",
            ),
            ("address = \"ssh:ap\"\n[power]\non = \"x\"\n", "lab/ap.toml:2: `off` is missing here"),
            (
                "ssh-config = \"x\"\n\n[labgrid]\nplace = \"ap-1\"\n",
                "lab/ap.toml:3: `labgrid` is no more; write an address",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(why), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_word_is_an_address_a_path_or_a_name() {
        assert_eq!(DeviceFile::named("local").unwrap(), DeviceFile::of(Address::Local));
        assert_eq!(path_of("board"), Some("devices/board.toml".into()));
        assert_eq!(path_of("lab/board.toml"), Some("lab/board.toml".into()));
        assert_eq!(path_of("board.toml"), Some("board.toml".into()));
        for word in ["", "../x:1", "ssh://-oX", "telnet:ap", "-x", "a b"] {
            let error = DeviceFile::named(word).unwrap_err();
            assert!(error.contains("not an access point"), "{word}: {error}");
        }
        let error = DeviceFile::named("lab/none.toml").unwrap_err();
        assert!(error.starts_with("cannot read the device file lab/none.toml: "), "{error}");
    }
}
