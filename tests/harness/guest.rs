//! A small virtual access point with one more program on it, ordered without the command line.

use std::{fs, path::Path, process::Command};

use super::{Place, cache, programs_of};
use lab::{
    Cancel, Lab, Settings,
    cache_model::Attached,
    image,
    runner::TrialFiles,
    session, uploads,
    vm::{
        Machine, Shape,
        snapshot::{self, Snapshot},
    },
};
use model::{
    architecture::Architecture,
    cache::Marks,
    reading::Reading,
    study::Mode,
    trial::HostCost,
    wire::{Order, PUT, TrialOrder},
};

/// A program of `tests/programs`, and how the compiler makes it.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) flags: &'static str,
}

impl Program {
    /// Makes it there, for an access point of this architecture.
    pub(crate) fn compile(&self, arch: Architecture, to: &Path) {
        let mut compiler = Command::new(match arch {
            Architecture::X86_64 => "cc",
            Architecture::Arm64 => "aarch64-linux-gnu-gcc",
        });
        compiler
            .args(self.flags.split(' '))
            .arg("-Wl,--build-id=none")
            .arg("-o")
            .arg(to)
            .arg(self.source());
        assert!(compiler.status().unwrap().success());
    }

    fn source(&self) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(self.source)
    }

    /// Where it is on the access point.
    pub(crate) fn path(&self) -> String {
        format!("{PUT}/{}", self.name)
    }
}

/// The laboratory that tests share, with access points of this architecture, whose programs must be there.
pub(crate) fn lab(arch: Architecture) -> Lab {
    let settings = Settings {
        cache: cache(),
        arch,
        device: vec![programs_of(arch.processor())],
        mirror: None,
        packages: Vec::new(),
        firmware: None,
        replaced: Vec::new(),
        looked_for: None,
        counts_memory: false,
        patience: std::time::Duration::from_secs(180),
        workers: 1,
    };
    Lab::new(settings, Cancel::default(), Box::new(drop)).unwrap()
}

/// A small access point that has the programs; these are in the place, too.
pub(crate) fn access_point(lab: &Lab, place: &Place, programs: &[&Program]) -> Snapshot {
    let shape = Shape::new(lab.settings.arch, Mode::Counted, 3, 6);
    let snapshot = snapshot::obtain(lab, &image::obtain(lab, &[]).unwrap(), &shape).unwrap();
    let built = |program: &&Program| {
        let path = place.path(program.name);
        program.compile(lab.settings.arch, &path);
        (program.name.parse().unwrap(), fs::read(path).unwrap())
    };
    let all: Vec<_> = programs.iter().map(built).collect();
    let sources = programs.iter().map(|program| fs::read_to_string(program.source()).unwrap());
    let names = programs.iter().map(|program| program.name.to_owned());
    let key = lab::cache::key(names.chain(sources).collect::<Vec<_>>().iter().map(String::as_str));
    snapshot::after(lab, &snapshot, &key, |machine| {
        all.iter().try_for_each(|(name, bytes)| uploads::put(machine, name, bytes))
    })
    .unwrap()
}

/// A machine from a snapshot, and where its files are.
pub(crate) struct Guest {
    pub(crate) machine: Machine,
    folder: tempfile::TempDir,
}

impl Guest {
    /// As it was taken; with a plugin that counts, or without.
    pub(crate) fn restored(lab: &Lab, snapshot: &Snapshot, counter: Option<&Attached>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = snapshot.restore(lab, &folder.path().join("console.log"), counter).unwrap();
        Self { machine, folder }
    }

    pub(crate) fn measure(&mut self, order: &TrialOrder, marks: Option<Marks>) -> Reading {
        let below = |name: &str| self.folder.path().join(name);
        let files = TrialFiles {
            console_log: below("console.log"),
            stacks: below("stacks"),
            objects: self.folder.path().to_owned(),
        };
        self.machine.begin(&Order::Trial(Box::new(order.clone()), marks)).unwrap();
        session::listen(&mut self.machine, order, &files, &mut HostCost::default()).unwrap()
    }
}
