//! What the figures are of, by content: read from the running processes and the kernel.
//!
//! ```text
//! of ─┬─ kernel    the build, its modules, its command line
//!     ├─ files     what a process set executes and what its words name, hashed once each, and what speaks against it
//!     ├─ mounts    overlays, and which file system a path is on
//!     └─ nl80211   the access points on the air
//! ```
//!
//! Nothing is asked of a program, and no version is read: only bytes are proof. Of the subject everything that
//! it has mapped for execution is hashed; of the others the executable only, because hashing the libraries of
//! a hostapd in an emulated access point for each trial would cost more than it proves: their CPU is counted
//! beside the question.

mod files;
mod kernel;
mod mounts;

use std::{fs, path::Path};

use linux::nl80211::{Address, Interface};
use model::{
    identity::{FileIdentity, Identity, InterfaceIdentity, ProcessIdentity, Role},
    wire::LoadOrder,
};

use self::{files::Files, mounts::Mounts};
use crate::{census, programs};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Processes<'a> {
    pub(crate) subject: &'a [u32],
    /// The processes that are counted beside it.
    pub(crate) others: &'a [u32],
    pub(crate) load: Option<&'a LoadOrder>,
}

pub(crate) fn of(processes: Processes<'_>) -> Identity {
    let mounts = Mounts::read();
    let mut files = Files::new(&mounts);
    let of_role = |role| move |pid: &u32| (role, *pid);
    let pids = processes.subject.iter().map(of_role(Role::Subject));
    let pids = pids.chain(processes.others.iter().map(of_role(Role::Other)));
    let mut reported: Vec<ProcessIdentity> =
        pids.filter_map(|(role, pid)| process(role, pid, &mut files)).collect();
    let commands = processes.load.map_or(&[][..], |load| load.work.commands());
    reported.extend(commands.iter().filter_map(|words| command(words, &mut files)));
    Identity {
        agent: programs::digest("/proc/self/exe".as_ref()).ok(),
        kernel: kernel::running(),
        processes: reported,
        interfaces: census::access_points_now().iter().map(interface).collect(),
        overlays: mounts.overlays(),
    }
}

/// A process that runs; `None` where it has just ended.
fn process(role: Role, pid: u32, files: &mut Files<'_>) -> Option<ProcessIdentity> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned();
    let command = words(&fs::read(format!("/proc/{pid}/cmdline")).ok()?);
    let mut reported = vec![files.executable(pid)];
    if role == Role::Subject {
        reported.extend(files.mapped(pid));
    }
    reported.extend(files.named(&command, Some(pid)));
    Some(ProcessIdentity { role, name, command, files: each_once(reported) })
}

/// A command of a load, before it runs; `None` for one without words.
fn command(words: &[String], files: &mut Files<'_>) -> Option<ProcessIdentity> {
    let program = words.first()?;
    let path = programs::resolve(program);
    let name = path.as_deref().unwrap_or(program.as_ref()).file_name().unwrap_or_default();
    let mut reported: Vec<FileIdentity> = path.iter().map(|path| files.at(path)).collect();
    reported.extend(files.named(&words[1..], None));
    Some(ProcessIdentity {
        role: Role::Load,
        name: name.to_string_lossy().into_owned(),
        command: words.to_vec(),
        files: each_once(reported),
    })
}

/// The words of `/proc/PID/cmdline`, each with a zero behind it.
fn words(cmdline: &[u8]) -> Vec<String> {
    let whole = cmdline.strip_suffix(&[0]).unwrap_or(cmdline);
    if whole.is_empty() {
        return Vec::new();
    }
    whole.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn each_once(files: Vec<FileIdentity>) -> Vec<FileIdentity> {
    let mut once: Vec<FileIdentity> = Vec::with_capacity(files.len());
    for file in files {
        if once.iter().all(|known| known.path != file.path) {
            once.push(file);
        }
    }
    once
}

fn interface(interface: &Interface) -> InterfaceIdentity {
    let channel = interface.channel.or(interface.first_link);
    InterfaceIdentity {
        name: interface.name.clone(),
        megahertz: channel.map(|channel| channel.frequency_mhz),
        width_megahertz: channel.and_then(|channel| channel.width_mhz).map(Into::into),
        address: Some(address(interface.address)),
    }
}

/// `02:00:00:00:01:0a`, as hostapd and `iw` write it.
pub(crate) fn address(address: Address) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// Whether headroom itself has put a file there: its content is what was sent, however new it is.
fn is_ours(path: &Path) -> bool {
    path.starts_with(model::wire::PUT)
}

#[cfg(test)]
mod tests {
    use linux::nl80211::{Channel, InterfaceKind};
    use model::{span::Span, wire::Work};

    use super::*;

    #[test]
    fn words_are_split_at_zeros_and_may_be_empty() {
        assert_eq!(words(b"stationd\0--set\0\0all\0"), ["stationd", "--set", "", "all"]);
        assert_eq!(words(b""), Vec::<String>::new());
        // A process may write over its words, as sshd does.
        assert_eq!(words(b"sshd: root"), ["sshd: root"]);
    }

    #[test]
    fn a_loads_command_is_its_program_its_words_and_their_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let words = vec!["true".to_owned(), format!("--config={path}")];
        let load =
            LoadOrder { work: Work::LongRunning(vec![words.clone()]), every: Span::default() };
        let reported = of(Processes { subject: &[], others: &[u32::MAX], load: Some(&load) });
        let [command] = &reported.processes[..] else { panic!("{reported:?}") };
        assert_eq!((command.role, command.name.as_str()), (Role::Load, "true"));
        assert_eq!(command.command, words);
        assert!(command.files[0].path.ends_with("/true"));
        assert_eq!(command.files[1].path, path);
    }

    #[test]
    fn an_interface_is_where_it_is_on_the_air() {
        let on_air = Interface {
            index: 3,
            name: "wlan0".to_owned(),
            wiphy: 0,
            kind: InterfaceKind::AccessPoint,
            address: [2, 0, 0, 0, 1, 10],
            ssid: None,
            channel: Some(Channel { frequency_mhz: 5180, width_mhz: Some(80) }),
            first_link: None,
        };
        let reported = interface(&on_air);
        assert_eq!((reported.megahertz, reported.width_megahertz), (Some(5180), Some(80)));
        assert_eq!(reported.address.as_deref(), Some("02:00:00:00:01:0a"));
        let silent = interface(&Interface { channel: None, ..on_air });
        assert_eq!((silent.megahertz, silent.width_megahertz), (None, None));
    }
}
