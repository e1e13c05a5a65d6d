//! The registers of a Prism2 card (HFA384x), as its host sees them, and what their bits mean.
//!
//! Names and numbers are those that the drivers of the time use (Host AP's `hostap_wlan.h`, `hostap_common.h`).

/// A 16-bit register, by its place in the card's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Register {
    /// Commands are written here; reads tell whether one is running ([`BUSY`]).
    Command = 0x00,
    Param0 = 0x02,
    /// The last command's code, and its [`result`].
    Status = 0x08,
    /// The buffer that the access path is set to.
    Select0 = 0x18,
    /// The byte in it; reads tell whether the path is wrong ([`OFFSET_ERROR`]).
    Offset0 = 0x1c,
    /// The buffer that was allocated, or whose frame has left.
    AllocFid = 0x22,
    /// What has happened and is not acknowledged.
    EvStat = 0x30,
    /// What of it raises the interrupt.
    IntEn = 0x32,
    EvAck = 0x34,
}

/// Bit of [`Register::Command`]: not done yet.
pub const BUSY: u16 = 0x8000;
/// Bit of [`Register::Offset0`]: there is no such buffer or place in it, or it is the card's.
pub const OFFSET_ERROR: u16 = 0x4000;
/// What every register of a card reads that is not there any more.
pub const NO_CARD: u16 = 0xffff;

/// Event: a buffer can be used again.
pub const EVENT_ALLOC: u16 = 0x0008;
/// Event: a command has completed.
pub const EVENT_COMMAND: u16 = 0x0010;

/// Codes of commands, as [`Register::Command`] takes them.
pub mod command {
    /// Makes the card ready for everything else.
    pub const INITIALISE: u16 = 0x00;
    pub const ENABLE: u16 = 0x01;
    /// Gives the host a transmit buffer of `Param0` bytes.
    pub const ALLOCATE: u16 = 0x0a;
    /// Sends the frame in buffer `Param0`, which then comes back by itself.
    pub const TRANSMIT: u16 = 0x0b;
    pub const CODE: u16 = 0x003f;
}

/// Results of commands, in the upper bits of [`Register::Status`].
pub mod result {
    pub const MASK: u16 = 0x7f00;
    pub const DONE: u16 = 0;
    pub const FAILED: u16 = 0x7f00;
}

/// A transmit buffer begins with a descriptor; the frame is behind it.
pub mod descriptor {
    pub const LENGTH: usize = 14;
    /// Place of the word that names the next buffer of a chain; 0 ends it. The real card keeps it reserved:
    /// chains are the model's own, and only `batch` uses them.
    pub const LINK: usize = 2;
    /// Place of the word that says how many bytes of frame follow.
    pub const BYTES: usize = 12;
}
