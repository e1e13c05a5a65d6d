//! What a recording tells, one thing after the other: the words between anyone who reads a recording and
//! anyone who explains it.
//!
//! Neutral about where it comes from: our own recorder, or somebody's `perf record`. Borrowed, because a
//! recording is larger than the memory that it is read with.

/// One thing that a recording tells, in order of time.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one lives at a time, and a box would cost an allocation for each sample"
)]
pub enum Happening<'a> {
    Sample(Sample<'a>),
    /// A process mapped a file for execution.
    Map(Map<'a>),
    /// A process or thread got a name; `exec`: by becoming another program.
    Name {
        pid: u32,
        tid: u32,
        name: &'a str,
        /// Whether its memory is another now.
        exec: bool,
    },
    Fork {
        pid: u32,
        tid: u32,
        /// The old one's process: the same for a thread.
        parent: u32,
    },
    Lost(u64),
    Throttled,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    pub pid: u32,
    pub tid: u32,
    /// When, ns of the recorder's clock.
    pub time_ns: u64,
    /// What it stands for, in the event's unit (ns for `cpu-clock`); 0 where that was not recorded.
    pub period: u64,
    /// Where the processor was.
    pub ip: u64,
    /// Whether that was in the kernel.
    pub in_kernel: bool,
    /// The kernel's part of the stack, innermost first, without the kernel's own markers.
    pub kernel: &'a [u64],
    /// The user part as the kernel walked it by frame pointers, innermost first, where that was asked for.
    pub chain: &'a [u64],
    pub registers: Option<Registers>,
    /// The user's stack from its stack pointer upwards.
    pub stack: &'a [u8],
    /// Whether the stack went on behind the copy.
    pub stack_cut: bool,
}

/// Registers of user mode, by perf's numbers of the architecture
/// (`arch/*/include/uapi/asm/perf_regs.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Values; those without a bit in the mask are 0.
    pub values: [u64; 64],
    /// A bit for each that was recorded.
    pub mask: u64,
    /// Whose they are: not always the kernel's own ones.
    pub architecture: Architecture,
}

#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    pub pid: u32,
    pub start: u64,
    pub length: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// The file, or a name in brackets.
    pub path: &'a str,
    /// The build's id, where the record has it.
    pub build_id: Option<&'a [u8]>,
}

/// Whose registers and code a recording holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Architecture {
    #[default]
    X86_64,
    Aarch64,
    /// 32-bit ARM.
    Arm,
    /// Another one; its name is reported, and its user stacks are not unwound.
    Other,
}

impl Architecture {
    /// What a kernel of this architecture runs 32-bit programs as.
    #[must_use]
    pub const fn of_32_bits(self) -> Self {
        match self {
            Self::Aarch64 | Self::Arm => Self::Arm,
            // 32-bit x86 is none that we read.
            Self::X86_64 | Self::Other => Self::Other,
        }
    }
}

/// What a recording says of itself before its first sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    pub architecture: Architecture,
    /// The event, by perf's name for it.
    pub event: String,
    /// Samples asked for in a second of CPU time; `None` where a period was asked for instead.
    pub frequency: Option<u32>,
    /// The most that was copied of a user stack, bytes; 0: none.
    pub stack_bytes: u32,
    /// The command line, where the file has it.
    pub command: Option<String>,
    /// Build ids by path, where the file lists them, hexadecimal.
    pub build_ids: Vec<(String, String)>,
}
