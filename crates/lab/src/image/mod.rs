//! The guest's image: a kernel, and one in-memory root made of Debian packages and our own programs.
//!
//! Two layers, each cached by what it is made of. The base is the packages, pruned; it needs the
//! network once. The image is the base with our programs on top; a new one of those costs no download.
//! A user's own firmware is another base, in the first one's place.

mod firmware;
mod initramfs;
mod kernel;
mod modules;
mod needs;
mod origin;
mod packages;
mod packed;
mod recipe;
mod relocated;
mod rootfs;
mod strip;
mod tree;

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read},
    path::{Path, PathBuf},
    time::Instant,
};

use model::{
    architecture::Architecture,
    event::Event,
    firmware::{Files, Firmware, Sums},
    name::{PackageName, Sha256Hex},
};
use serde::{Deserialize, Serialize};

pub use self::strip::Stripped;
pub(crate) use self::strip::stripped;
use self::{
    initramfs::Initramfs,
    modules::{Index, Module, Place},
    origin::Origin,
    recipe::Port,
};
use crate::{
    Cancel, Error, Lab, Replaced,
    cache::{self, Name},
    program,
};

const BASE: &str = "base";
const IMAGE: &str = "image";

#[derive(Clone, Debug)]
pub struct Image {
    /// SHA-256 of kernel and root together, cut to 32 hexadecimal digits.
    pub id: String,
    pub kernel: PathBuf,
    pub root: PathBuf,
    pub release: String,
    /// The packages, as `name_version_architecture`.
    pub packages: Vec<String>,
    /// SHA-256 of the agent in it, hexadecimal.
    pub agent: String,
    pub firmware: Option<Firmware>,
}

/// The root of Debian's packages is about 110 MB; a guest's memory is enough for as much.
const USUAL_ROOT: u64 = 160 << 20;

impl Image {
    /// Memory that its root takes beyond the usual one, MiB: twice its length, while it is unpacked.
    pub(crate) fn more_memory_mib(&self) -> u32 {
        let length = fs::metadata(&self.root).map_or(0, |root| root.len());
        (2 * (length.saturating_sub(USUAL_ROOT) >> 20)) as u32
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Base {
    release: String,
    packages: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    firmware: Option<Firmware>,
    /// Where a user's own root has a program in the place of one of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    theirs: Vec<String>,
}

const DESCRIPTION: &str = "base.json";

/// Finds the image in the cache, or makes it: with the packages that the command line names, and these.
pub fn obtain(lab: &Lab, more: &[PackageName]) -> Result<Image, Error> {
    let began = Instant::now();
    lab.emit(Event::ImageStarted);
    // Before the packages: what is missing here is reported before they are fetched.
    let programs = find_programs(lab)?;
    let origin = Origin::of(lab, more)?;
    if origin.find(lab).is_none() {
        origin.whole(lab)?;
    }
    let lost = || Error::ImageLacks("base".to_owned());
    let (base_key, base) = origin.find(lab).ok_or_else(lost)?;
    let key = image_key(&base_key, &base, &programs)?;
    let name = Name { kind: IMAGE, key: &key };
    // A base is held against its sums only where an image is made of it.
    let make = |folder: &Path| make_image(lab, &origin.whole(lab)?, &programs, folder);
    let entry = lab.cache.obtain(name, make)?;
    lab.report_damage(&entry);
    let image = open(&entry.path, &programs)?;
    lab.emit(Event::ImageReady {
        image: image.id.clone(),
        made: entry.made,
        took_ms: began.elapsed().as_millis() as u64,
    });
    Ok(image)
}

/// Finds the base in the cache, or makes it: an image without our programs, which may still be being built. Its folder.
pub fn obtain_base(lab: &Lab) -> Result<PathBuf, Error> {
    let origin = Origin::Packages(lab.settings.packages_with(&[]));
    origin.find(lab).map_or_else(|| origin.whole(lab), |(_, found)| Ok(found))
}

fn whole_base(lab: &Lab, port: Port, more: &[PackageName]) -> Result<PathBuf, Error> {
    let key = base_key(lab, port, more);
    let name = Name { kind: BASE, key: &key };
    let base = lab.cache.trusting_nothing().obtain(name, |folder| {
        let tar = folder.join("packages.tar");
        BaseMaker { lab, folder, more, port, tar }.make()
    })?;
    lab.report_damage(&base);
    Ok(base.path)
}

/// Refuses to go on with a run on other firmware than it was begun on.
pub fn same_firmware(run: &Path, files: &Files, then: &Sums, cancel: &Cancel) -> Result<(), Error> {
    let now = firmware::sums(files, cancel)?;
    let text = |sums: &Sums| {
        let all = sums.named().map(|(name, sum)| format!("{name} {}", &sum[..12]));
        all.collect::<Vec<_>>().join(", ")
    };
    if now == *then {
        return Ok(());
    }
    Err(Error::changed(run, "firmware", &text(then), &text(&now)))
}

#[derive(Clone, Debug)]
pub enum Cached {
    Image(Box<Image>),
    /// Its packages, without our programs on top.
    Base,
    Nothing,
}

/// Looks for the image in the cache; makes nothing, and does not check what it finds.
pub fn cached(lab: &Lab, more: &[PackageName]) -> Result<Cached, Error> {
    let programs = find_programs(lab)?;
    let found = Origin::of(lab, more)?.find(lab);
    let Some((base_key, base)) = found else { return Ok(Cached::Nothing) };
    let key = image_key(&base_key, &base, &programs)?;
    let entry = lab.cache.find(Name { kind: IMAGE, key: &key });
    entry.map_or(Ok(Cached::Base), |entry| {
        open(&entry, &programs).map(|image| Cached::Image(Box::new(image)))
    })
}

fn base_key(lab: &Lab, port: Port, packages: &[PackageName]) -> String {
    let mirror = lab.settings.mirror.as_deref().unwrap_or("");
    let recipe = port.text();
    let accounts = [recipe::ADDED_USERS, recipe::ADDED_FOLDERS].concat();
    let of_more = if packages.is_empty() { String::new() } else { packages.join(" ") + &accounts };
    cache::key([recipe.as_str(), mirror, &of_more])
}

fn image_key(base_key: &str, base: &Path, programs: &[Program]) -> Result<String, Error> {
    Ok(cache::key([base_key, &*sum(base)?, &*identity(programs)]))
}

/// The base's own sums: what its name cannot tell, because packages change under one name.
fn sum(base: &Path) -> Result<Sha256Hex, Error> {
    let path = base.join("sums.json");
    cache::sha256(&path).map_err(Error::file("read", path))
}

fn open(entry: &Path, programs: &[Program]) -> Result<Image, Error> {
    let agent = programs.iter().find(|program| program.name == recipe::AGENT);
    let agent = agent.map(|agent| agent.sha256.to_string()).unwrap_or_default();
    let Base { release, packages, firmware, .. } = read_base(entry)?;
    let (kernel, root) = (entry.join("kernel"), entry.join("root.cpio"));
    let id = sum(entry)?[..32].to_owned();
    Ok(Image { id, kernel, root, release, packages, agent, firmware })
}

fn read_base(folder: &Path) -> Result<Base, Error> {
    cache::description(folder, DESCRIPTION)
}

/// A program that lies over the base: one of ours as the build left it, or another build of one of the base's.
struct Program {
    name: &'static str,
    /// Where the guest has it, without a leading slash.
    place: String,
    path: PathBuf,
    sha256: Sha256Hex,
}

fn find_programs(lab: &Lab) -> Result<Vec<Program>, Error> {
    let mut programs = programs_of(lab.settings.arch, &lab.settings.device)?;
    for Replaced { place, file } in &lab.settings.replaced {
        let sha256 = cache::sum_of_given(file, &lab.cancel)?;
        programs.push(Program { name: "", place: place.to_string(), path: file.clone(), sha256 });
    }
    Ok(programs)
}

fn programs_of(arch: Architecture, folders: &[PathBuf]) -> Result<Vec<Program>, Error> {
    let find = |(name, place): (&'static str, &'static str)| {
        let path = program::find(name, arch.processor(), folders)?;
        let sha256 = cache::sha256(&path).map_err(Error::file("read", &path))?;
        Ok(Program { name, place: place.to_owned(), path, sha256 })
    };
    recipe::PROGRAMS.into_iter().map(find).collect()
}

fn identity(programs: &[Program]) -> String {
    programs
        .iter()
        .map(|program| format!("{} {} stripped\n", program.place, program.sha256))
        .collect()
}

struct BaseMaker<'a> {
    lab: &'a Lab,
    folder: &'a Path,
    /// Packages beyond the recipe's, which may need what its own do not.
    more: &'a [PackageName],
    port: Port,
    /// All packages unpacked, while it is made.
    tar: PathBuf,
}

impl BaseMaker<'_> {
    fn make(&self) -> Result<(), Error> {
        let step = |step: &str| self.lab.emit(Event::ImageStep { step: step.to_owned() });
        step("packages");
        packages::fetch(self.lab, &self.tar, self.port, self.more)?;
        step("root");
        self.unpack()?;
        fs::remove_file(&self.tar).map_err(Error::file("remove", &self.tar))
    }

    fn unpack(&self) -> Result<(), Error> {
        let read = || Error::file("read", &self.tar);
        let contents = self.index().map_err(read())?;
        if let Some(package) = contents.strange {
            return Err(Error::Usage(format!(
                "the package `{package}` makes users or groups when it is installed, and install scripts do not run; \
                 leave it out, and bring its daemon as a file with the key `programs`, or a root that has both with \
                 --rootfs"
            )));
        }
        let kernel = contents.kernel.ok_or_else(|| Error::ImageLacks("kernel".to_owned()))?;
        let mut tar = BufReader::new(File::open(&self.tar).map_err(read())?);
        let mut source = |place: &Place| place.read(&mut tar);
        let modules = Modules::find(&self.port.modules(), &contents.modules, &mut source)?;
        self.copy_kernel(&kernel, &mut tar)?;
        self.write_root(&modules).map_err(Error::file("write", self.folder.join("base.cpio")))?;
        let release = kernel.path.trim_start_matches("boot/vmlinuz-").to_owned();
        let (packages, firmware) = (contents.packages, None);
        let base = Base { release, packages, firmware, theirs: Vec::new() };
        cache::describe(self.folder, DESCRIPTION, &base)
    }

    fn archive(&self) -> io::Result<tar::Archive<BufReader<File>>> {
        Ok(tar::Archive::new(BufReader::new(File::open(&self.tar)?)))
    }

    /// One pass over the tar, reading only the headers and the package list.
    fn index(&self) -> io::Result<Contents> {
        let mut contents = Contents::default();
        for entry in self.archive()?.entries_with_seek()? {
            let mut entry = entry?;
            let path = root_path(&entry)?;
            let place = Place { path, offset: entry.raw_file_position(), size: entry.size() };
            if place.path == packages::LIST_FILE {
                contents.packages = package_list(&io::read_to_string(&mut entry)?);
            } else if let Some(package) = self.strange(&place.path)
                && makes_accounts(&mut entry)?
            {
                contents.strange = Some(package);
            } else if place.path.starts_with("boot/vmlinuz-") {
                contents.kernel = Some(place);
            } else if let Some(name) = modules::name_of(&place.path) {
                contents.modules.insert(name, place);
            }
        }
        Ok(contents)
    }

    /// The package whose install script is at a path, where it is not ours and the recipe has no accounts of it.
    fn strange(&self, path: &str) -> Option<String> {
        let package = path.strip_prefix(packages::SCRIPT_FOLDER)?.split('_').next()?;
        let may_be = !self.more.is_empty() && !self.port.has_accounts_of(package);
        may_be.then(|| package.to_owned())
    }

    fn copy_kernel(&self, kernel: &Place, tar: &mut BufReader<File>) -> Result<(), Error> {
        let path = self.folder.join("kernel");
        let packed = kernel.read(tar).map_err(Error::file("read", &self.tar))?;
        fs::write(&path, kernel::unpack(packed)?).map_err(Error::file("write", path))
    }

    fn write_root(&self, modules: &Modules) -> io::Result<()> {
        let out = BufWriter::new(File::create(self.folder.join("base.cpio"))?);
        let mut root = Initramfs::new(out);
        for folder in recipe::folders() {
            root.folder(folder)?;
        }
        root.device("dev/console", 5, 1)?;
        let left_out = self.port.left_out();
        let kept = if self.more.is_empty() { Vec::new() } else { self.port.kept_for_more() };
        for entry in self.archive()?.entries_with_seek()? {
            let entry = entry?;
            let path = root_path(&entry)?;
            let begins = |prefix: &String| format!("{path}/").starts_with(prefix);
            // The kernel's modules come apart.
            let is_read = kept.iter().any(begins) || !left_out.iter().any(begins);
            if is_read && !path.is_empty() {
                copy_entry(&mut root, &path, entry)?;
            }
        }
        for (name, target) in recipe::LINKS {
            root.link(name, target)?;
        }
        for (name, content) in self.port.files(!self.more.is_empty()) {
            root.file(name, false, content.as_bytes())?;
        }
        write_modules(&mut root, modules)?;
        io::Write::flush(&mut root.finish()?)
    }
}

#[derive(Default)]
struct Contents {
    kernel: Option<Place>,
    modules: Index,
    packages: Vec<String>,
    /// A package that makes accounts which the recipe lacks.
    strange: Option<String>,
}

const ACCOUNT_PROGRAMS: [&str; 5] =
    ["adduser", "addgroup", "useradd", "groupadd", "systemd-sysusers"];

/// No install script is longer that is read, bytes.
const LONGEST_SCRIPT: u64 = 256 << 10;

fn makes_accounts(script: &mut impl io::Read) -> io::Result<bool> {
    let mut bytes = Vec::new();
    script.take(LONGEST_SCRIPT).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut words = lines.flat_map(|line| line.split([' ', '\t', '/', ';', '&', '|', '(', '`']));
    Ok(words.any(|word| ACCOUNT_PROGRAMS.contains(&word)))
}

/// `name_version_architecture` from the names of package files; a colon is escaped there.
fn package_list(listing: &str) -> Vec<String> {
    let names = listing.lines().filter_map(|line| line.strip_suffix(".deb"));
    names.map(|name| name.replace("%3a", ":")).collect()
}

fn root_path(entry: &tar::Entry<'_, impl io::Read>) -> io::Result<String> {
    let path = entry.path()?.to_string_lossy().into_owned();
    Ok(path.trim_start_matches("./").trim_matches('/').to_owned())
}

fn copy_entry(
    root: &mut Initramfs<impl io::Write>,
    path: &str,
    entry: tar::Entry<'_, impl io::Read>,
) -> io::Result<()> {
    match entry.header().entry_type() {
        tar::EntryType::Directory => root.folder(path),
        tar::EntryType::Symlink => match entry.link_name()? {
            Some(target) => root.link(path, &target.to_string_lossy()),
            None => Ok(()),
        },
        tar::EntryType::Regular => {
            let (mode, size) = (entry.header().mode()?, entry.size());
            root.stream(path, mode, (size, entry))
        }
        _ => Ok(()),
    }
}

/// All modules of the guest, each behind those that it needs.
struct Modules {
    all: Vec<Module>,
    /// How many, the first, are loaded in every guest.
    always: usize,
    /// How many after them only with a line to the host.
    forward: usize,
}

impl Modules {
    /// Of these that every guest loads.
    fn find(own: &[&str], index: &Index, source: &mut modules::Source<'_>) -> Result<Self, Error> {
        let always = modules::in_load_order(own, index, source)?.len();
        // The same ones come first again: what is wanted is looked for in its order.
        let wanted = [own, &recipe::FORWARD_MODULES[..]].concat();
        let forward = modules::in_load_order(&wanted, index, source)?.len() - always;
        let wanted = [&wanted[..], &recipe::WAN_MODULES[..]].concat();
        Ok(Self { all: modules::in_load_order(&wanted, index, source)?, always, forward })
    }

    /// The lists from which pid 1 loads them, of paths in the root.
    fn lists(&self, place: impl Fn(&str) -> String) -> [(&'static str, String); 3] {
        let (always, rest) = self.all.split_at(self.always);
        let (forward, wan) = rest.split_at(self.forward);
        let list = |modules: &[Module]| {
            modules.iter().map(|module| format!("/{}\n", place(&module.path))).collect()
        };
        [("modules", list(always)), ("modules-forward", list(forward)), ("modules-wan", list(wan))]
    }
}

fn write_modules(root: &mut Initramfs<impl io::Write>, modules: &Modules) -> io::Result<()> {
    let mut made = Vec::new();
    for module in &modules.all {
        let parents = module.path.match_indices('/').map(|(at, _)| &module.path[..at]);
        for parent in parents.filter(|parent| parent.starts_with("lib/modules")) {
            if !made.iter().any(|known| known == parent) {
                root.folder(parent)?;
                made.push(parent.to_owned());
            }
        }
        root.file(&module.path, false, &module.content)?;
    }
    for (name, list) in modules.lists(str::to_owned) {
        root.file(&format!("etc/headroom/{name}"), false, list.as_bytes())?;
    }
    Ok(())
}

/// The base with our programs on top: the kernel unpacks archives one after the other.
fn make_image(lab: &Lab, base: &Path, programs: &[Program], folder: &Path) -> Result<(), Error> {
    lab.emit(Event::ImageStep { step: "programs".to_owned() });
    for name in ["kernel", DESCRIPTION] {
        let to = folder.join(name);
        fs::copy(base.join(name), &to).map_err(Error::file("write", to))?;
    }
    let path = folder.join("root.cpio");
    let theirs = read_base(base)?.theirs;
    let write = || {
        let mut out = BufWriter::new(File::create(&path)?);
        io::copy(&mut File::open(base.join("base.cpio"))?, &mut out)?;
        let mut root = Initramfs::new(out);
        for program in programs.iter().filter(|program| !theirs.contains(&program.place)) {
            root.file(&program.place, true, &strip::stripped(fs::read(&program.path)?))?;
        }
        io::Write::flush(&mut root.finish()?)
    };
    write().map_err(Error::file("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_a_part_of_the_images_name() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        recipe::PROGRAMS.iter().for_each(|(name, _)| write(name, "one"));
        let find = || programs_of(Architecture::X86_64, &[folder.path().to_owned()]);
        let name = || identity(&find().unwrap());
        let before = name();
        for (program, _) in recipe::PROGRAMS {
            write(program, "another");
            assert_ne!(name(), before, "{program}");
            write(program, "one");
        }
        assert_eq!(name(), before);
        fs::remove_file(folder.path().join("station-floor")).unwrap();
        let missing = find().map(drop).unwrap_err();
        assert!(missing.to_string().contains("`station-floor`"), "{missing}");
    }

    #[test]
    fn a_program_of_another_processor_is_in_no_image() {
        use object::elf;

        let folder = tempfile::tempdir().unwrap();
        let program = [&elf::ELFMAG[..], &[0; 14], &elf::EM_AARCH64.0.to_le_bytes()].concat();
        for (name, _) in recipe::PROGRAMS {
            fs::write(folder.path().join(name), &program).unwrap();
        }
        let find = |arch| programs_of(arch, &[folder.path().to_owned()]).map(drop);
        assert!(find(Architecture::Arm64).is_ok());
        let refused = find(Architecture::X86_64).unwrap_err().to_string();
        assert!(refused.contains(
            "headroom-init is a program for another processor than x86-64; run `make build`"
        ));
    }

    #[test]
    fn a_script_that_makes_a_user_or_a_group_is_seen() {
        for (script, expected) in [
            ("  if ! getent passwd x; then\n    /usr/sbin/adduser --system x\n  fi", true),
            ("systemd-sysusers ${DPKG_ROOT:+--root=\"$DPKG_ROOT\"} x.conf", true),
            (
                "# adduser is no longer needed\ndpkg-maintscript-helper rm_conffile /etc/adduser.x",
                false,
            ),
            ("chown x: /var/lib/x", false),
        ] {
            assert_eq!(makes_accounts(&mut script.as_bytes()).unwrap(), expected, "{script}");
        }
    }

    #[test]
    fn package_names_are_read_from_their_files() {
        let listing = "busybox-static_1%3a1.35.0-4_amd64.deb\nlock\npartial\n";
        assert_eq!(package_list(listing), ["busybox-static_1:1.35.0-4_amd64"]);
    }
}
