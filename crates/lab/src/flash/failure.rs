//! What can keep an image from getting onto a device, each in one line. Unless the line says otherwise, nothing was changed.

use std::path::PathBuf;

use model::{architecture::Processor, boot_state::Slot};

/// A flash that did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The device file has no table for it.
    #[error(
        "{device} says nothing of how an image gets there; write a table [flash] into its device file"
    )]
    NoWay { device: String },
    /// The device is at no address of ssh's.
    #[error("{device} is not reached by ssh, so nothing is flashed there")]
    NoAddress { device: String },
    /// A flag that this way to flash does not have.
    #[error(
        "{device} is not flashed into slots, so it has no overlay that --wipe-overlay could mean"
    )]
    NoOverlay { device: String },
    /// The image is for another processor.
    #[error("{} is an image for {image}, and {device} is {machine}", path.display())]
    OtherProcessor {
        path: PathBuf,
        image: Processor,
        device: String,
        /// What the device says that it is.
        machine: String,
    },
    /// The device has no slots as `headroom board` makes them.
    #[error("{device} has no slots of headroom's: {why}")]
    NoSlots { device: String, why: String },
    /// A part of the image is longer than its place.
    #[error("the {part} of {} has {size} KiB, and slot {slot} of {device} has {room} KiB for it", path.display())]
    TooLarge {
        path: PathBuf,
        part: &'static str,
        /// Its length, KiB.
        size: u64,
        device: String,
        slot: Slot,
        /// What there is, KiB.
        room: u64,
    },
    /// The slot that runs is itself on trial.
    #[error("{device} is still trying slot {slot}; wait until that has come up, or was given up")]
    OnTrial { device: String, slot: Slot },
    #[error("somebody else flashes {device} at this moment")]
    Busy { device: String },
    /// The device does not take the image.
    #[error("{device} does not take the image: {said}; nothing was flashed")]
    Refused { device: String, said: String },
    /// What was written is not what was sent, or could not be written. The slot that runs still starts.
    #[error("slot {slot} of {device} could not be written: {said}; the slot that runs stays")]
    NotWritten { device: String, slot: Slot, said: String },
    /// The image did not come up, and the device is back with the one before.
    #[error(
        "the image did not come up on {device}: it is back in slot {slot} with the image that it had{}",
        reasons(console)
    )]
    RolledBack {
        device: String,
        slot: Slot,
        /// What the console said of it.
        console: Vec<String>,
    },
    /// The device does not answer any more, with neither image.
    #[error("{device} did not come back within {waited_s} s{}", reasons(console))]
    NotBack {
        device: String,
        /// How long it was waited for.
        waited_s: u64,
        console: Vec<String>,
    },
    /// It came up with something else than was flashed.
    #[error(
        "{device} runs from {what} whose content is not the image's: {found} in place of {wanted}"
    )]
    OtherContent {
        device: String,
        what: &'static str,
        /// SHA-256 of what is there.
        found: String,
        /// SHA-256 of what should be.
        wanted: String,
    },
    /// The device says what is no answer.
    #[error("{device} does not say what it runs from: {why}")]
    NoAnswer { device: String, why: String },
}

fn reasons(console: &[String]) -> String {
    if console.is_empty() {
        String::new()
    } else {
        format!("; its console: {}", console.join("; "))
    }
}
