//! Snapshots: an access point with all of its clients, kept as a file from which trials start.
//!
//! One for each image, topology, client count, mode and QEMU. Finished once, checked, and used by many
//! machines at the same time. Beyond a bound on the disk those in no use go.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use model::{
    event::Event,
    facts::Facts,
    plural,
    wire::{Census, Frame, Order},
};
use serde::{Deserialize, Serialize};

use super::{Failure, Machine, Shape, Start, Surroundings};
use crate::{
    Error, Lab,
    cache::{self, Entry, InUse, Name},
    device::Device,
    image::Image,
};

/// The cache's kind of them.
const KIND: &str = "snapshot";
const MEMORY: &str = "memory";
const BORN: &str = "born.json";

/// What snapshots may take of the disk, bytes, unless more are in use: about 24 of 114 clients.
const MOST_BYTES: u64 = 6 << 30;

/// A snapshot that can be restored.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The machine's state.
    pub memory: PathBuf,
    /// What it is a snapshot of.
    pub shape: Shape,
    /// How it came to be.
    pub born: Born,
    /// It stays where it is for as long as it may be restored.
    _in_use: InUse,
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
///
/// # Errors
///
/// [`Error`]: the access point does not come up with the clients that it should have.
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

/// Whether the cache has a snapshot; it is not checked.
pub(crate) fn is_cached(lab: &Lab, image: &Image, shape: &Shape) -> bool {
    let shape = &with_root(image, shape);
    lab.cache.find(Name { kind: KIND, key: &key(lab, image, shape) }).is_some()
}

/// The shape with memory for the image's root.
fn with_root(image: &Image, shape: &Shape) -> Shape {
    Shape { root_mib: image.more_memory_mib(), ..shape.clone() }
}

fn key(lab: &Lab, image: &Image, shape: &Shape) -> String {
    cache::key([image.id.as_str(), lab.qemu.as_str(), &shape.key()])
}

/// The same access point after something was done to it, once: cached by what that was.
///
/// # Errors
///
/// [`Error`] of the machine, of what is done, or of the disk.
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
        let mut machine = snapshot.restore(lab, &folder.join("console.log"))?;
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
    /// The access point in a QEMU of its own, standing still.
    pub(crate) fn restore(&self, lab: &Lab, console_log: &Path) -> Result<Machine, Error> {
        Machine::start(
            &self.shape,
            Start::Restore(&self.memory),
            Surroundings::of(lab, console_log),
        )
    }
}

fn make(lab: &Lab, image: &Image, shape: &Shape, folder: &Path) -> Result<(), Error> {
    lab.emit(Event::SnapshotStarted { clients: shape.clients, mode: shape.mode });
    let began = Instant::now();
    let console_log = folder.join("console.log");
    let mut machine =
        Machine::start(shape, Start::Boot(image), Surroundings::of(lab, &console_log))?;
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

    fn census(counts: &[(u32, Option<u32>)]) -> Census {
        let interface =
            |(radio, (kernel, hostapd)): (usize, &(u32, Option<u32>))| InterfaceCensus {
                name: format!("wlan{radio}"),
                kernel: Some(*kernel),
                hostapd: *hostapd,
            };
        Census { interfaces: counts.iter().enumerate().map(interface).collect() }
    }

    fn check(counts: &[(u32, Option<u32>)], clients: u32) -> Result<(), String> {
        let shape = Shape::new(Architecture::X86_64, Mode::Counted, 3, clients);
        check_clients(&census(counts), &shape).map_err(|failure| failure.to_string())
    }

    #[test]
    fn kernel_hostapd_and_plan_must_agree() {
        assert_eq!(check(&[(6, Some(6)), (6, Some(6)), (6, Some(6))], 18), Ok(()));
        assert_eq!(check(&[(7, Some(7)), (7, Some(7)), (6, Some(6))], 20), Ok(()));
        let less = check(&[(6, Some(6)), (5, Some(6)), (6, Some(6))], 18).unwrap_err();
        assert!(
            less.contains("wlan1 has 5 clients by the kernel and 6 clients by hostapd, 6"),
            "{less}"
        );
        let deaf = check(&[(6, Some(6)), (6, None), (6, Some(6))], 18).unwrap_err();
        assert!(deaf.contains("no count by hostapd"), "{deaf}");
        assert!(
            check(&[(9, Some(9)), (9, Some(9))], 18)
                .unwrap_err()
                .contains("2 access-point interfaces")
        );
    }

    #[test]
    fn a_machine_that_hangs_is_started_once_more_and_other_failures_stand() {
        let hang = || {
            let waited = Duration::from_secs(180);
            Failure::Hang { awaited: "the machine to stop", waited, console: Vec::new() }
        };
        let outcomes = |all: Vec<Result<(), Failure>>| {
            let (left, told) = (Cell::new(all), Cell::new(0));
            let make = || {
                let mut all = left.take();
                let next = all.remove(0);
                left.set(all);
                next.map_err(Error::from)
            };
            let ended = again_after_a_hang(make, |_| told.set(told.get() + 1));
            (ended.is_ok(), told.get(), left.take().len())
        };
        assert_eq!(outcomes(vec![Ok(()), Ok(())]), (true, 0, 1));
        assert_eq!(outcomes(vec![Err(hang()), Ok(())]), (true, 1, 0));
        assert_eq!(outcomes(vec![Err(hang()), Err(hang()), Ok(())]), (false, 1, 1));
        assert_eq!(outcomes(vec![Err(Failure::Clients(String::new())), Ok(())]), (false, 0, 1));
    }
}
