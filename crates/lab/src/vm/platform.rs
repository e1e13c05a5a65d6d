//! What differs between the machines that QEMU plays, in one table: its program, its own words for processor and
//! devices, and what the kernel calls the serial port.
//!
//! What differs in the image is in `image::recipe`.

use model::architecture::Architecture;

#[derive(Clone, Copy, Debug)]
pub struct Platform {
    pub qemu: &'static str,
    pub package: &'static str,
    pub(super) machine: &'static str,
    /// The processor of counted mode: none of its instructions returns the host's entropy.
    pub(super) counted: &'static str,
    /// The processor of real-time mode where it is emulated.
    pub(crate) emulated: &'static str,
    /// Another processor, for which the C library and the kernel choose other code; the same holds for it as for
    /// that of counted mode.
    pub(super) other: &'static str,
    /// The kernel's name of the serial port.
    pub(super) console: &'static str,
}

impl Platform {
    pub const fn of(architecture: Architecture) -> &'static Self {
        match architecture {
            Architecture::X86_64 => &PC,
            Architecture::Arm64 => &VIRT,
        }
    }
}

/// `rdrand` and `rdseed` return the host's entropy. Without `erms` and `fsrm` memory is copied word by word: a string
/// instruction is counted once for each of its bytes, which no real core takes. The other processor is without AVX,
/// BMI, SMAP and XSAVE; it has the AES that a module of the image does not load without.
const PC: Platform = Platform {
    qemu: "qemu-system-x86_64",
    package: "qemu-system-x86",
    machine: "pc",
    counted: "max,-rdrand,-rdseed,-erms,-fsrm",
    emulated: "max",
    other: "Westmere,-rdrand,-rdseed,-erms,-fsrm",
    console: "ttyS0",
};

/// The core of most access points of the field. `max` would have RNDR, which returns the host's entropy, and the
/// device tree that QEMU makes holds seeds of the host's, unless it is told otherwise. The PMU that QEMU plays counts the
/// guest's time as cycles, idle time too: what is no cycle is left out. The other processor has atomic instructions, for
/// which the kernel and the C library have other code.
const VIRT: Platform = Platform {
    qemu: "qemu-system-aarch64",
    package: "qemu-system-arm",
    machine: "virt,gic-version=2,dtb-randomness=off",
    counted: "cortex-a53,pmu=off",
    emulated: "cortex-a53,pmu=off",
    other: "cortex-a76,pmu=off",
    console: "ttyAMA0",
};
