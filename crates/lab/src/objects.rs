//! Files of the access point that explain its stacks: brought once, kept by content.
//!
//! A file is named by its SHA-256, and so is brought from the access point only if neither the run nor the
//! cache has it. The kernel's symbols have no content that could be hashed cheaply on a device: they are
//! named by the boot and the modules that they belong to. What they mean is not known here.

use std::{fs::File, io, path::PathBuf};

use linux::{file, folder::Folder};
use model::{
    event::Event,
    instrument::{KernelSymbols, Located, MappedFile, Wanted},
    name::{BootId, Sha256Hex},
    reading::Stacks,
    wire::{Frame, Order},
};

use crate::{
    Error, Lab,
    cache::Name,
    device::{Device, ask},
    fetch::fetch,
    vm::Failure,
};

pub const KIND: &str = "object";

const CONTENT: &str = "content";

pub fn kernel_name(boot: &BootId) -> String {
    format!("kernel-{boot}")
}

/// The name of the symbols that a program lost when headroom stripped it, by the content that was left.
pub fn debug_name(stripped: &Sha256Hex) -> String {
    format!("{stripped}.debug")
}

/// The name under which the code lives that the kernel maps into every process.
const VDSO: &str = "[vdso]";

/// Brings everything that explains a recording into a run's folder. A file that cannot be read there is reported as a
/// doubt, and missing.
pub fn bring_all(
    lab: &Lab,
    device: &mut dyn Device,
    stacks: &Stacks,
    folder: &Folder,
) -> Result<(), Error> {
    for file in stacks.recorded.files.iter().chain(&stacks.recorder.proof.files) {
        if let Some(sha256) = &file.sha256 {
            let announced = Some(file.bytes).filter(|&bytes| bytes > 0);
            let brought = bring((lab, device), sha256, &wanted(file), (announced, Some(sha256)));
            keep(lab, brought, folder, sha256)?;
        }
    }
    if let KernelSymbols::Boot(boot) = &stacks.recorded.kernel {
        let key = kernel_name(boot);
        let brought = bring((lab, device), &key, &Wanted::KernelSymbols, (None, None));
        keep(lab, brought, folder, &key)?;
    }
    Ok(())
}

/// Brings one file that was looked for by name, and answers where its content is.
pub fn bring_located(
    lab: &Lab,
    device: &mut dyn Device,
    located: &Located,
) -> Result<Option<PathBuf>, Error> {
    let (Some(path), Some(sha256)) = (&located.path, &located.sha256) else { return Ok(None) };
    let wanted = Wanted::File(path.clone());
    bring((lab, device), sha256, &wanted, (None, Some(sha256))).map(Some)
}

fn wanted(file: &MappedFile) -> Wanted {
    if file.path == VDSO { Wanted::Vdso } else { Wanted::File(file.source.clone()) }
}

/// Copies an object into a run's folder, or tells why there is none.
fn keep(
    lab: &Lab,
    brought: Result<PathBuf, Error>,
    folder: &Folder,
    name: &str,
) -> Result<(), Error> {
    match brought {
        Ok(_) if folder.has_file(name) => Ok(()),
        Ok(from) => {
            let mut content = file::open(&from).map_err(Error::file("read", from))?;
            let copied = |to: &mut File| io::copy(&mut content, to).map(drop);
            folder.replace_with(name, copied).map_err(Error::file("write", folder.path_of(name)))
        }
        Err(Error::Machine(Failure::Refused(refusal))) => {
            lab.emit(Event::Doubt { text: refusal.to_string() });
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Brings an object into the cache, if it is not there. `announced` is its length as the access point told it, bytes;
/// `sum` is what its content must be, where that is known.
fn bring(
    (lab, device): (&Lab, &mut dyn Device),
    key: &str,
    wanted: &Wanted,
    (announced, sum): (Option<u64>, Option<&Sha256Hex>),
) -> Result<PathBuf, Error> {
    let entry = lab.cache.obtain(Name { kind: KIND, key }, |folder| {
        let found = fetch(device, wanted, announced, &folder.join(CONTENT))?;
        if sum.is_some_and(|announced| *announced != found) {
            let why = format!("its content changed while it was read: {found}");
            return Err(refused(wanted, why).into());
        }
        Ok(())
    })?;
    Ok(entry.path.join(CONTENT))
}

fn refused(wanted: &Wanted, why: String) -> Failure {
    let path = match wanted {
        Wanted::File(path) => path.clone(),
        Wanted::Vdso => VDSO.to_owned(),
        Wanted::KernelSymbols => "/proc/kallsyms".to_owned(),
    };
    let what = format!("cannot read `{path}` on the access point");
    Failure::Refused(model::wire::Refusal::new(what, why))
}

pub fn locate(device: &mut dyn Device, names: &[String]) -> Result<Vec<Located>, Error> {
    ask(device, &Order::Locate(names.to_vec()), "where programs are", |frame| match frame {
        Frame::Located(located) => Ok(located),
        frame => Err(frame),
    })
}
