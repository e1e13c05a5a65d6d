//! An image for a slot of a board: kernel, ramdisk and root from the same packages and programs as the virtual access
//! point's, in one file.
//!
//! The kernel and its ramdisk are one FIT image, which U-Boot holds against its sums before it starts it; the root is a
//! squashfs. [`crate::board::image_file`] is the file around both. Nothing of the packages is executed on the host.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use linux::file;
use model::{architecture::Architecture, event::Event};

use super::{
    Program, image_key,
    initramfs::{CHARACTER_DEVICE, Entry, FILE, FOLDER, Initramfs, LINK, TYPE, entries},
    programs_of, read_base, recipe,
    recipe::Port,
    strip, whole_base,
};
use crate::{
    Error, Lab,
    board::image_file,
    cache::{self, Name},
    host,
    program::may_run_on,
    tool,
};

/// The cache's kind.
pub const KIND: &str = "board-image";

/// The list of the ramdisk's modules, as the base has it below `/etc/headroom`. In the ramdisk it has another name, by which
/// pid 1 knows that it is the first stage.
pub(super) const RAMDISK_LIST: &str = "ramdisk-modules";
const RAMDISK_LIST_THERE: &str = "etc/headroom/modules-slot";

/// A machine that has not come up after so many seconds is started again: `heartbeat` of the kernel's i6300esb.
const WATCHDOG: &str = "i6300esb.ko heartbeat=120";

/// A base is about 60 MB.
const LONGEST: u64 = 4 << 30;

/// What is put together, and how: a part of the key.
const HOW: &str = "fit gzip, squashfs zstd 6, root 755";

/// Another build of one of the programs in an image.
#[derive(Clone, Debug)]
pub struct Build {
    /// Its name among those of [`recipe::PROGRAMS`].
    pub program: String,
    pub path: PathBuf,
}

/// The image's file in the cache, made where it is not there: with other builds of some programs.
///
/// # Errors
///
/// [`Error`]: a missing host package or program, no network, a full disk; [`Error::NoProgram`] for a build of a program
/// that no image has, and [`Error::OtherProcessor`] for one that a board cannot run.
pub fn obtain(lab: &Lab, builds: &[Build]) -> Result<PathBuf, Error> {
    lab.emit(Event::ImageStarted);
    require_tools()?;
    let programs = programs(lab, builds)?;
    let port = Port::of_board();
    let base = whole_base(lab, port, &lab.settings.packages_with(&[]))?;
    let key = image_key(HOW, &base, &programs)?;
    let name = Name { kind: KIND, key: &key };
    let maker = |folder: &Path| Maker { lab, base: &base, programs: &programs, folder }.make();
    let entry = lab.cache.obtain(name, maker)?;
    lab.report_damage(&entry);
    Ok(entry.path.join(image_file::NAME))
}

fn require_tools() -> Result<(), Error> {
    host::require("mksquashfs", "squashfs-tools")?;
    host::require("mkimage", "u-boot-tools")?;
    host::require("dtc", "device-tree-compiler")
}

fn programs(lab: &Lab, builds: &[Build]) -> Result<Vec<Program>, Error> {
    let arch = Architecture::Arm64;
    let mut programs = programs_of(arch, &lab.settings.device)?;
    for Build { program, path } in builds {
        let found = programs.iter_mut().find(|one| one.name == program);
        let one = found.ok_or_else(|| Error::NoProgram(program.clone()))?;
        let processor = arch.processor();
        if !may_run_on(processor, path).map_err(Error::file("read", path))? {
            return Err(Error::OtherProcessor { path: path.clone(), processor });
        }
        one.sha256 = cache::sha256(path).map_err(Error::file("read", path))?;
        one.path.clone_from(path);
    }
    Ok(programs)
}

/// Puts an image together in a folder.
struct Maker<'a> {
    lab: &'a Lab,
    base: &'a Path,
    programs: &'a [Program],
    folder: &'a Path,
}

impl Maker<'_> {
    fn make(&self) -> Result<(), Error> {
        let path = self.base.join("base.cpio");
        let read = || Error::file("read", &path);
        let base = file::bytes(&path, LONGEST).map_err(read())?;
        let entries = entries(&base).map_err(read())?;
        self.lab.emit(Event::ImageStep { step: "kernel".to_owned() });
        let kernel = self.write_kernel(&entries)?;
        self.lab.emit(Event::ImageStep { step: "root".to_owned() });
        let root = self.write_root(entries)?;
        let release = read_base(self.base)?.release;
        let parts = image_file::Parts { kernel: &kernel, root: &root, release: &release };
        image_file::write(&self.folder.join(image_file::NAME), parts)?;
        [kernel, root].into_iter().try_for_each(remove)
    }

    fn program(&self, name: &str) -> Result<Vec<u8>, Error> {
        let program = self.programs.iter().find(|program| program.name == name);
        let path = &program.ok_or_else(|| Error::NoProgram(name.to_owned()))?.path;
        Ok(strip::stripped(fs::read(path).map_err(Error::file("read", path))?))
    }

    /// The FIT image of kernel and ramdisk.
    fn write_kernel(&self, entries: &[Entry]) -> Result<PathBuf, Error> {
        let init = self.program(recipe::INIT)?;
        let (tree, fit) = (self.folder.join("kernel.its"), self.folder.join("kernel.itb"));
        let (packed, ramdisk) = (self.folder.join("kernel.gz"), self.folder.join("ramdisk"));
        fs::write(&tree, FIT).map_err(Error::file("write", &tree))?;
        let bytes = ramdisk_of(entries, &init).map_err(Error::file("write", &ramdisk))?;
        fs::write(&ramdisk, bytes).map_err(Error::file("write", &ramdisk))?;
        let out = File::create(&packed).map_err(Error::file("write", &packed))?;
        let mut gzip = Command::new("gzip");
        tool::run(gzip.args(["-n", "-9", "-c"]).arg(self.base.join("kernel")).stdout(out))?;
        let mut mkimage = Command::new("mkimage");
        // Equal content gives equal bytes. What the tree names is in its folder.
        mkimage.env("SOURCE_DATE_EPOCH", "0").current_dir(self.folder).arg("-f");
        tool::run(mkimage.arg(&tree).arg(&fit))?;
        [tree, packed, ramdisk].into_iter().try_for_each(remove)?;
        Ok(fit)
    }

    /// The squashfs of everything else.
    fn write_root(&self, mut entries: Vec<Entry>) -> Result<PathBuf, Error> {
        for program in self.programs {
            let content = self.program(program.name)?;
            entries.push(Entry {
                name: program.place.clone(),
                mode: FILE | 0o755,
                device: (0, 0),
                content,
            });
        }
        let path = self.folder.join("root.squashfs");
        let mut squash = Command::new("mksquashfs");
        squash
            .arg("-")
            .arg(&path)
            .args(["-tar", "-quiet", "-no-progress", "-mkfs-time", "0", "-root-mode", "755"])
            .args(["-comp", "zstd", "-Xcompression-level", "6"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = squash.spawn().map_err(|why| tool::not_started(&squash, &why))?;
        let written = child.stdin.take().map_or(Ok(()), |input| write_tar(&entries, input));
        let output = child.wait_with_output().map_err(|why| tool::not_started(&squash, &why))?;
        tool::judge(&squash, output)?;
        written.map_err(Error::file("write", &path))?;
        Ok(path)
    }
}

/// Where the kernel is unpacked, and what U-Boot holds kernel and ramdisk against.
const FIT: &str = r#"/dts-v1/;
/ {
    description = "headroom board";
    #address-cells = <1>;
    images {
        kernel {
            data = /incbin/("kernel.gz");
            type = "kernel";
            arch = "arm64";
            os = "linux";
            compression = "gzip";
            load = <0x40400000>;
            entry = <0x40400000>;
            hash { algo = "sha256"; };
        };
        ramdisk {
            data = /incbin/("ramdisk");
            type = "ramdisk";
            arch = "arm64";
            os = "linux";
            compression = "none";
            hash { algo = "sha256"; };
        };
    };
    configurations {
        default = "slot";
        slot { kernel = "kernel"; ramdisk = "ramdisk"; };
    };
};
"#;

fn remove(path: PathBuf) -> Result<(), Error> {
    fs::remove_file(&path).map_err(Error::file("remove", path))
}

/// Pid 1, and the modules that lead to the root.
fn ramdisk_of(entries: &[Entry], init: &[u8]) -> io::Result<Vec<u8>> {
    let list = format!("etc/headroom/{RAMDISK_LIST}");
    let list = entries.iter().find(|entry| entry.name == list);
    let list = String::from_utf8_lossy(list.map_or(&[][..], |entry| &entry.content));
    let mut ramdisk = Initramfs::new(Vec::new());
    for folder in ["dev", "etc", "etc/headroom", "proc", "sys"] {
        ramdisk.folder(folder)?;
    }
    ramdisk.device("dev/console", 5, 1)?;
    ramdisk.file("init", true, init)?;
    let with_parameters = list.replace("i6300esb.ko", WATCHDOG);
    ramdisk.file(RAMDISK_LIST_THERE, false, with_parameters.as_bytes())?;
    let paths: Vec<&str> = list.lines().map(|path| path.trim_start_matches('/')).collect();
    for entry in entries {
        let leads = |path: &&str| path.starts_with(&format!("{}/", entry.name));
        match entry.mode & TYPE {
            FOLDER if paths.iter().any(leads) && entry.name != "etc" => {
                ramdisk.folder(&entry.name)?
            }
            FILE if paths.contains(&entry.name.as_str()) => {
                ramdisk.file(&entry.name, false, &entry.content)?;
            }
            _ => {}
        }
    }
    ramdisk.finish()
}

/// The entries as a tar; of two with one name the later one counts.
fn write_tar(entries: &[Entry], out: impl Write) -> io::Result<()> {
    let last: std::collections::BTreeMap<&str, usize> =
        entries.iter().enumerate().map(|(at, entry)| (entry.name.as_str(), at)).collect();
    let mut tar = tar::Builder::new(io::BufWriter::new(out));
    for (_, entry) in
        entries.iter().enumerate().filter(|(at, entry)| last.get(&*entry.name) == Some(at))
    {
        let mut header = tar::Header::new_gnu();
        header.set_mode(entry.mode & 0o7777);
        header.set_mtime(0);
        header.set_size(0);
        match entry.mode & TYPE {
            FOLDER => {
                header.set_entry_type(tar::EntryType::Directory);
                tar.append_data(&mut header, &entry.name, io::empty())?;
            }
            LINK => {
                header.set_entry_type(tar::EntryType::Symlink);
                let target = String::from_utf8_lossy(&entry.content).into_owned();
                tar.append_link(&mut header, &entry.name, target)?;
            }
            CHARACTER_DEVICE => {
                header.set_entry_type(tar::EntryType::Char);
                header.set_device_major(entry.device.0)?;
                header.set_device_minor(entry.device.1)?;
                tar.append_data(&mut header, &entry.name, io::empty())?;
            }
            _ => {
                header.set_entry_type(tar::EntryType::Regular);
                header.set_size(entry.content.len() as u64);
                tar.append_data(&mut header, &entry.name, entry.content.as_slice())?;
            }
        }
    }
    tar.into_inner()?.flush()
}
