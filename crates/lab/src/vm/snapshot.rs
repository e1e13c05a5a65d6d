//! Snapshots: an access point with all of its clients, kept as a file from which trials start.
//!
//! One for each image, topology, client count, mode and QEMU. Finished once, checked, and used by many
//! machines at the same time. Beyond a bound on the disk those in no use go.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use model::{
    event::Event,
    facts::Facts,
    plural,
    wire::{Census, Frame, Order},
};
use serde::{Deserialize, Serialize};

use super::{Failure, Machine, Shape, Start};
use crate::{
    Error, Lab,
    cache::{self, Entry, Name},
    cache_model::Attached,
    device::Device,
    image::Image,
};

const KIND: &str = "snapshot";
const MEMORY: &str = "memory";
const BORN: &str = "born.json";

/// What snapshots may take of the disk, bytes, unless more are in use: about 24 of 114 clients.
const MOST_BYTES: u64 = 6 << 30;

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub memory: PathBuf,
    pub shape: Shape,
    pub born: Born,
    /// It stays where it is for as long as it may be restored.
    _in_use: Option<Arc<File>>,
}

/// How a snapshot came to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Born {
    /// From the start of QEMU until all clients were associated and settled, ms of wall time.
    pub associated_ms: u64,
    /// What the access point said of itself.
    pub facts: Facts,
    pub census: Census,
}

/// Finds the snapshot in the cache, or boots an access point and makes it.
pub fn obtain(lab: &Lab, image: &Image, shape: &Shape) -> Result<Snapshot, Error> {
    let shape = &with_root(image, shape);
    let key = key(lab, image, shape);
    let name = Name { kind: KIND, key: &key };
    let entry = obtain_entry(lab, name, |folder| make(lab, image, shape, folder))?;
    let memory = entry.path.join(MEMORY);
    let born: Born = cache::description(&entry.path, BORN)?;
    let bytes = fs::metadata(&memory).map_err(Error::file("read", &memory))?.len();
    lab.emit(Event::SnapshotReady {
        clients: shape.clients,
        mode: shape.mode,
        made: entry.made,
        associated_ms: if entry.made { born.associated_ms } else { 0 },
        bytes,
    });
    Ok(Snapshot { memory, shape: shape.clone(), born, _in_use: entry.in_use })
}

fn obtain_entry(
    lab: &Lab,
    name: Name<'_>,
    make: impl Fn(&Path) -> Result<(), Error>,
) -> Result<Entry, Error> {
    let tell = |hang: &Failure| {
        lab.emit(Event::Doubt { text: format!("{hang}; its snapshot is made once more") });
    };
    let entry = lab.cache.obtain(name, |folder| again_after_a_hang(|| make(folder), tell))?;
    lab.report_damage(&entry);
    if entry.made {
        lab.cache.shrink(KIND, MOST_BYTES);
    }
    Ok(entry)
}

/// A machine that hangs is not a study's end: another one starts from where this one did. Once, since one that hangs each
/// time has a fault of its own.
fn again_after_a_hang(
    make: impl Fn() -> Result<(), Error>,
    tell: impl FnOnce(&Failure),
) -> Result<(), Error> {
    match make() {
        Err(Error::Machine(hang @ Failure::Hang { .. })) => {
            tell(&hang);
            make()
        }
        made => made,
    }
}

pub(crate) fn is_cached(lab: &Lab, image: &Image, shape: &Shape) -> bool {
    let shape = &with_root(image, shape);
    lab.cache.find(Name { kind: KIND, key: &key(lab, image, shape) }).is_some()
}

fn with_root(image: &Image, shape: &Shape) -> Shape {
    Shape { root_mib: image.more_memory_mib(), ..shape.clone() }
}

fn key(lab: &Lab, image: &Image, shape: &Shape) -> String {
    cache::key([image.id.as_str(), lab.qemu.as_str(), &shape.key()])
}

/// The same access point after something was done to it, once: cached by what that was.
pub fn after(
    lab: &Lab,
    snapshot: &Snapshot,
    what: &str,
    done: impl Fn(&mut Machine) -> Result<(), Error>,
) -> Result<Snapshot, Error> {
    let from = snapshot.memory.parent().and_then(Path::file_name).unwrap_or_default();
    let key = cache::key([&*from.to_string_lossy(), what]);
    let name = Name { kind: KIND, key: &key };
    let entry = obtain_entry(lab, name, |folder| {
        let mut machine = snapshot.restore(lab, &folder.join("console.log"), None)?;
        machine.begin(&Order::Introduce { subject: None })?;
        let hello = machine.frame("the agent's hello")?;
        let census = machine.frame("the agent's census")?;
        let born = born(hello, census, 0)?;
        done(&mut machine)?;
        machine.hold_again()?;
        machine.write_snapshot(MEMORY).map_err(|error| unwritten(folder, error))?;
        cache::describe(folder, BORN, &born)
    })?;
    let born = cache::description(&entry.path, BORN)?;
    let memory = entry.path.join(MEMORY);
    Ok(Snapshot { memory, shape: snapshot.shape.clone(), born, _in_use: entry.in_use })
}

impl Snapshot {
    /// The access point in a QEMU of its own, standing still; with caches that are modelled, if they are, and empty.
    pub fn restore(
        &self,
        lab: &Lab,
        console_log: &Path,
        model: Option<&Attached>,
    ) -> Result<Machine, Error> {
        Machine::start(lab, &self.shape, Start::Restore(&self.memory, model), console_log)
    }
}

fn make(lab: &Lab, image: &Image, shape: &Shape, folder: &Path) -> Result<(), Error> {
    lab.emit(Event::SnapshotStarted { clients: shape.clients, mode: shape.mode });
    let began = Instant::now();
    let console_log = folder.join("console.log");
    let mut machine = Machine::start(lab, shape, Start::Boot(image), &console_log)?;
    let hello = machine.wait_until_up(|associated, clients| {
        lab.emit(Event::Associated { associated, clients });
    })?;
    let census = machine.frame("the agent's census")?;
    let associated_ms = began.elapsed().as_millis() as u64;
    let born = born(hello, census, associated_ms)?;
    check_clients(&born.census, shape)?;
    machine.hold()?;
    machine.write_snapshot(MEMORY).map_err(|error| unwritten(folder, error))?;
    cache::describe(folder, BORN, &born)
}

/// QEMU writes through a pipe and so does not learn of a full disk: the disk itself is asked.
fn unwritten(folder: &Path, error: Error) -> Error {
    match rustix::fs::statvfs(folder) {
        Ok(disk) if disk.f_bavail == 0 => Error::disk_full(&folder.join(MEMORY)),
        _ => error,
    }
}

fn born(hello: Frame, census: Frame, associated_ms: u64) -> Result<Born, Failure> {
    match (hello, census) {
        (Frame::Hello { facts, .. }, Frame::Census(census)) => {
            Ok(Born { associated_ms, facts: *facts, census })
        }
        _ => Err(Failure::Clients("the agent did not introduce itself".to_owned())),
    }
}

/// Kernel and hostapd must both count what was planned, radio by radio.
pub fn check_clients(census: &Census, shape: &Shape) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::Clients(text));
    if census.interfaces.len() != shape.radios as usize {
        return refused(format!(
            "{} access-point interfaces, {} planned",
            census.interfaces.len(),
            shape.radios
        ));
    }
    for (radio, interface) in (0..).zip(&census.interfaces) {
        let planned = share(shape.clients, shape.radios, radio);
        let (kernel, hostapd) = (interface.kernel, interface.hostapd);
        if kernel != Some(planned) || hostapd != Some(planned) {
            return refused(format!(
                "{} has {} by the kernel and {} by hostapd, {planned} were planned",
                interface.name,
                counted(kernel),
                counted(hostapd)
            ));
        }
    }
    Ok(())
}

/// Clients of one radio: spread evenly, the first radios take what is over.
fn share(clients: u32, radios: u32, radio: u32) -> u32 {
    clients / radios + u32::from(radio < clients % radios)
}

fn counted(count: Option<u32>) -> String {
    count.map_or_else(|| "no count".to_owned(), |number| plural::count(number, "client"))
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use model::{architecture::Architecture, study::Mode, wire::InterfaceCensus};

    use super::*;

    #[test]
    fn kernel_hostapd_and_plan_must_agree() {
        let six = (6, Some(6));
        for (counts, clients, expected) in [
            (&[six, six, six][..], 18, ""),
            (&[(7, Some(7)), (7, Some(7)), six], 20, ""),
            (
                &[six, (5, Some(6)), six],
                18,
                "wlan1 has 5 clients by the kernel and 6 clients by hostapd, 6",
            ),
            (&[six, (6, None), six], 18, "no count by hostapd"),
            (&[(9, Some(9)), (9, Some(9))], 18, "2 access-point interfaces"),
        ] {
            let interface = |(radio, (kernel, hostapd)): (usize, &(u32, Option<u32>))| {
                let (kernel, hostapd) = (Some(*kernel), *hostapd);
                InterfaceCensus { name: format!("wlan{radio}"), kernel, hostapd }
            };
            let census = Census { interfaces: counts.iter().enumerate().map(interface).collect() };
            let shape = Shape::new(Architecture::X86_64, Mode::Counted, 3, clients);
            let said = check_clients(&census, &shape).err().map(|failure| failure.to_string());
            let said = said.unwrap_or_default();
            assert!(said.contains(expected) && said.is_empty() == expected.is_empty(), "{said}");
        }
    }

    #[test]
    fn a_machine_that_hangs_is_started_once_more_and_other_failures_stand() {
        // h hangs, c fails in another way, . works: whether it ends well, and how many attempts were made.
        for (attempts, ends_well, made) in
            [("..", true, 1), ("h.", true, 2), ("hh.", false, 2), ("c.", false, 1)]
        {
            let (left, told) = (Cell::new(attempts), Cell::new(0));
            let make = || {
                let (next, rest) = left.get().split_at(1);
                left.set(rest);
                let (awaited, waited) = ("the machine to stop", Duration::from_secs(180));
                match next {
                    "h" => Err(Failure::Hang { awaited, waited, console: Vec::new() }.into()),
                    "c" => Err(Failure::Clients(String::new()).into()),
                    _ => Ok(()),
                }
            };
            let ended = again_after_a_hang(make, |_| told.set(told.get() + 1));
            assert_eq!((ended.is_ok(), attempts.len() - left.get().len()), (ends_well, made));
            assert_eq!(told.get(), made - 1, "{attempts}");
        }
    }
}
