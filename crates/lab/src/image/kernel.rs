//! A kernel that QEMU starts: the kernel proper, out of the self-extracting file that it comes in.
//!
//! Unpacking itself costs an emulated guest 10 to 15 s at every boot; QEMU starts the plain ELF file
//! by its PVH entry (`CONFIG_PVH`). Layouts: the kernel's `Documentation/arch/x86/boot.rst`,
//! `Documentation/arch/arm64/booting.rst`, and `drivers/firmware/efi/libstub/zboot-header.S`.

use memchr::memmem;
use model::architecture::Architecture;
use object::elf;

use super::packed::Format;
use crate::Error;

const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x20e;
const FLAGS: usize = 0x236;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
/// Of its flags: the kernel runs in 64-bit mode.
const RUNS_IN_64_BITS: u8 = 1;

const SECTOR: usize = 512;

/// In an arm64 kernel's header.
const ARM64: (usize, &[u8]) = (0x38, b"ARM\x64");
/// In one that is packed for UEFI: what it is, where the kernel lies, and how long it is.
const ZBOOT: (usize, &[u8]) = (4, b"zimg");
const ZBOOT_OFFSET: usize = 8;
const ZBOOT_LENGTH: usize = 12;

/// The end of the head of an ELF note by which QEMU finds the PVH entry: its type, 18, and its owner.
const PVH_NOTE: &[u8] = b"\x12\0\0\0Xen\0";

/// U-Boot's own containers of kernels.
const UBOOT: [&[u8]; 2] = [b"\x27\x05\x19\x56", b"\xd0\x0d\xfe\xed"];

/// The longest kernel, packed or not, bytes. Debian's has 66 MB.
pub(super) const LONGEST: u64 = 256 << 20;

/// No kernel becomes longer than this many times when it is unpacked: Debian's becomes 8 times as long.
const LARGEST_RATIO: u64 = 100;

fn unpacked(format: Format, packed: &[u8]) -> Result<Vec<u8>, Error> {
    format.bytes(packed, LONGEST.min(LARGEST_RATIO * packed.len() as u64))
}

/// The compressed kernel in a boot file; `None` if this is no such file, or another compression.
fn payload(file: &[u8]) -> Option<(Format, &[u8])> {
    if !is_boot_file(file) {
        return None;
    }
    // A count of 0 means 4, for the sake of very old kernels.
    let sectors = match file.get(SETUP_SECTORS)? {
        0 => 4,
        sectors => usize::from(*sectors),
    };
    let begin = ((sectors + 1) * SECTOR).checked_add(number(file, PAYLOAD_OFFSET)?)?;
    let end = begin.checked_add(number(file, PAYLOAD_LENGTH)?)?;
    let packed = file.get(begin..end)?;
    let format = Format::of(packed)?;
    // The build puts the length behind it, where it does not end so by itself.
    let end = if format.ends_with_its_length() { 0 } else { 4 };
    Some((format, &packed[..packed.len().checked_sub(end)?]))
}

fn is_boot_file(file: &[u8]) -> bool {
    holds(file, MAGIC, b"HdrS")
}

fn holds(file: &[u8], at: usize, what: &[u8]) -> bool {
    file.get(at..at + what.len()) == Some(what)
}

fn number(file: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?) as usize)
}

/// The kernel that QEMU starts quickest: unpacked where that is possible, else the file as it is.
pub(super) fn unpack(file: Vec<u8>) -> Result<Vec<u8>, Error> {
    match payload(&file) {
        Some((format, packed)) => unpacked(format, packed),
        None => Ok(file),
    }
}

pub(super) struct Kernel {
    pub(super) boots: Vec<u8>,
    /// The kernel proper, where that is another file.
    plain: Option<Vec<u8>>,
    pub(super) release: String,
}

impl Kernel {
    pub(super) fn of(file: Vec<u8>, arch: Architecture) -> Result<Self, Error> {
        let file = unwrapped(file)?;
        let is = architecture(&file).ok_or_else(|| Error::Usage(described(&file)))?;
        if is != arch {
            let why = format!(
                "it is a kernel for {is}, and this access point has {arch}; say --arch {is}"
            );
            return Err(Error::Usage(why));
        }
        let plain = match payload(&file) {
            Some((format, packed)) => Some(unpacked(format, packed)?),
            None => None,
        };
        let has_entry = |kernel: &[u8]| memmem::find(kernel, PVH_NOTE).is_some();
        let (boots, plain) = match plain {
            Some(plain) if has_entry(&plain) => (plain, None),
            // QEMU runs the file as a boot loader would, and it unpacks itself.
            plain => (file, plain),
        };
        if boots.starts_with(&elf::ELFMAG) && !has_entry(&boots) {
            let why =
                "it has no PVH entry by which QEMU could start it (CONFIG_PVH); give the bzImage";
            return Err(Error::Usage(why.to_owned()));
        }
        let read = plain.as_ref().unwrap_or(&boots);
        let release = release(read).or_else(|| release_in_header(&boots));
        let nameless = || Error::Usage("it does not say which Linux it is".to_owned());
        Ok(Self { release: release.ok_or_else(nameless)?, boots, plain })
    }

    /// Whether this text is anywhere in it; `None` where it is packed in a way that is not known here.
    pub(super) fn has(&self, text: &str) -> Option<bool> {
        let read = self.plain.as_ref().unwrap_or(&self.boots);
        let is_packed = self.plain.is_none() && is_boot_file(read);
        (!is_packed).then(|| memmem::find(read, text.as_bytes()).is_some())
    }
}

/// The kernel in a file that is packed as a whole, as arm64's are.
fn unwrapped(file: Vec<u8>) -> Result<Vec<u8>, Error> {
    if let Some(format) = Format::of(&file) {
        return unpacked(format, &file);
    }
    let inside = || {
        let begin = number(&file, ZBOOT_OFFSET)?;
        let packed = file.get(begin..begin.checked_add(number(&file, ZBOOT_LENGTH)?)?)?;
        Some((Format::of(packed)?, packed))
    };
    match holds(&file, ZBOOT.0, ZBOOT.1).then(inside).flatten() {
        Some((format, packed)) => unpacked(format, packed),
        None => Ok(file),
    }
}

fn architecture(file: &[u8]) -> Option<Architecture> {
    let is_64_bit_elf = |machine: u16| {
        holds(file, 0, &[&elf::ELFMAG[..], &[elf::ELFCLASS64.0]].concat())
            && holds(file, 18, &machine.to_le_bytes())
    };
    if holds(file, ARM64.0, ARM64.1) {
        return Some(Architecture::Arm64);
    }
    let runs_in_64_bits = || file.get(FLAGS).is_some_and(|flags| flags & RUNS_IN_64_BITS != 0);
    let is_x86 = is_64_bit_elf(elf::EM_X86_64.0) || (is_boot_file(file) && runs_in_64_bits());
    is_x86.then_some(Architecture::X86_64)
}

/// What a file is that is no kernel for any access point of ours.
fn described(file: &[u8]) -> String {
    if UBOOT.iter().any(|magic| file.starts_with(magic)) {
        return "it is a container of U-Boot's; give the kernel that is in it, a bzImage or an Image".to_owned();
    }
    if is_boot_file(file) {
        return "it is a kernel for 32-bit x86; there are access points of x86-64 and arm64"
            .to_owned();
    }
    "it is no kernel for x86-64 or arm64; give a bzImage, a vmlinux or an Image".to_owned()
}

/// The release in the kernel's own banner, `Linux version 6.1.0 (…`. The same words are elsewhere the beginning of a
/// format.
fn release(kernel: &[u8]) -> Option<String> {
    const BANNER: &[u8] = b"Linux version ";
    let places = memmem::find_iter(kernel, BANNER).map(|at| &kernel[at + BANNER.len()..]);
    places.filter_map(first_word).find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

fn release_in_header(file: &[u8]) -> Option<String> {
    if !is_boot_file(file) {
        return None;
    }
    let at = u16::from_le_bytes(*file.get(VERSION..)?.first_chunk()?);
    first_word(file.get(usize::from(at) + SECTOR..)?)
}

/// A release is a name of a folder, too: anything else is none.
fn first_word(text: &[u8]) -> Option<String> {
    const LONGEST_RELEASE: usize = 64;
    let end = text.iter().take(LONGEST_RELEASE).position(|byte| *byte == b' ')?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._+~-".contains(byte);
    let word = &text[..end];
    (!word.is_empty() && word.iter().all(is_plain)).then(|| String::from_utf8_lossy(word).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const XZ: &[u8] = b"\xfd7zXZ\0";

    /// A boot file with one setup sector and this payload.
    fn boot_file(payload: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 2 * SECTOR];
        file[SETUP_SECTORS] = 1;
        file[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        file[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&0x30_u32.to_le_bytes());
        let length = (payload.len() + 4) as u32;
        file[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        file.extend([0; 0x30]);
        file.extend(payload);
        file.extend([0; 4]);
        file
    }

    /// One of 64 bits whose header names a release.
    fn named(payload: &[u8], release: &str) -> Vec<u8> {
        let mut file = boot_file(payload);
        file[FLAGS] = RUNS_IN_64_BITS;
        let at = file.len() - SECTOR;
        file[VERSION..VERSION + 2].copy_from_slice(&(at as u16).to_le_bytes());
        file.extend(release.bytes());
        file
    }

    fn refusal(file: &[u8], arch: Architecture) -> String {
        Kernel::of(file.to_vec(), arch).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn the_payload_is_found_where_the_header_says() {
        let packed = [XZ, b"rest"].concat();
        assert_eq!(payload(&boot_file(&packed)).unwrap().1, &*packed);
        // A gzip file ends with its length by itself.
        let packed = b"\x1f\x8bgzip";
        assert_eq!(payload(&boot_file(packed)).unwrap().1, b"\x1f\x8bgzip\0\0\0\0");
    }

    #[test]
    fn what_is_packed_otherwise_is_left_as_it_is() {
        let file = boot_file(b"other");
        assert_eq!(unpack(file.clone()).unwrap(), file);
        assert_eq!(unpack(b"\x7fELF".to_vec()).unwrap(), b"\x7fELF");
    }

    #[test]
    fn a_kernel_that_cannot_be_unpacked_here_boots_as_it_is_and_hides_what_it_has() {
        let file = named(b"other", "6.6.52-vendor (me@here) #1");
        let kernel = Kernel::of(file.clone(), Architecture::X86_64).map_err(|_| ()).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.boots == file), ("6.6.52-vendor", true));
        assert_eq!(kernel.has("virtio-pci"), None);
    }

    #[test]
    fn a_small_file_that_unpacks_to_a_very_large_one_is_refused_before_it_fills_the_memory() {
        let mut zstd = std::process::Command::new("sh");
        let zstd = zstd.args(["-c", "head -c 64M /dev/zero | zstd --quiet --stdout"]).output();
        let packed = zstd.unwrap().stdout;
        assert!((1000..1 << 20).contains(&packed.len()), "{}", packed.len());
        let why = refusal(&packed, Architecture::X86_64);
        assert!(why.contains("it is larger than what is taken here"), "{why}");
    }

    #[test]
    fn the_release_is_the_banners_and_no_formats() {
        let kernel = b"\x01Linux version %s\0..Linux version 6.12.1+deb13-amd64 (debian";
        assert_eq!(release(kernel).unwrap(), "6.12.1+deb13-amd64");
        assert_eq!(release(b"Linux version ../../etc (x"), None);
        assert_eq!(release(b"Linux version 6"), None);
    }

    #[test]
    fn what_is_no_kernel_for_the_access_point_is_described() {
        let mut arm64 = vec![0; 0x40];
        arm64[0x38..0x3c].copy_from_slice(b"ARM\x64");
        let x86 = named(b"other", "6.6.52 x");
        let mut narrow = x86.clone();
        narrow[FLAGS] = 0;
        let vmlinux = [&elf::ELFMAG[..], &[2; 14], &elf::EM_X86_64.0.to_le_bytes()].concat();
        let words = [
            refusal(b"hsqs", Architecture::X86_64),
            refusal(b"", Architecture::X86_64),
            refusal(b"\xd0\x0d\xfe\xed", Architecture::Arm64),
            refusal(&narrow, Architecture::X86_64),
            refusal(&arm64, Architecture::X86_64),
            refusal(&x86, Architecture::Arm64),
            refusal(&arm64, Architecture::Arm64),
            refusal(&vmlinux, Architecture::X86_64),
        ];
        insta::assert_snapshot!(words.join("\n"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_have_a_payload_or_none(mut bytes: Vec<u8>, fill in 0_usize..2000) {
            bytes.resize(fill, 7);
            payload(&bytes);
            architecture(&bytes);
            release(&bytes);
            release_in_header(&bytes);
        }
    }
}
