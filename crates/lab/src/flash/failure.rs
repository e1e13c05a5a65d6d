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
    NoWay {
        /// The device.
        device: String,
    },
    /// The device is at no address of ssh's.
    #[error("{device} is not reached by ssh, so nothing is flashed there")]
    NoAddress {
        /// The device.
        device: String,
    },
    /// A flag that this way to flash does not have.
    #[error(
        "{device} is not flashed into slots, so it has no overlay that --wipe-overlay could mean"
    )]
    NoOverlay {
        /// The device.
        device: String,
    },
    /// The image is for another processor.
    #[error("{} is an image for {image}, and {device} is {machine}", path.display())]
    OtherProcessor {
        /// The image.
        path: PathBuf,
        /// What it is for.
        image: Processor,
        /// The device.
        device: String,
        /// What the device says that it is.
        machine: String,
    },
    /// The device has no slots as `headroom board` makes them.
    #[error("{device} has no slots of headroom's: {why}")]
    NoSlots {
        /// The device.
        device: String,
        /// What is missing.
        why: String,
    },
    /// A part of the image is longer than its place.
    #[error("the {part} of {} has {size} KiB, and slot {slot} of {device} has {room} KiB for it", path.display())]
    TooLarge {
        /// The image.
        path: PathBuf,
        /// Which part.
        part: &'static str,
        /// Its length, KiB.
        size: u64,
        /// The device.
        device: String,
        /// The slot.
        slot: Slot,
        /// What there is, KiB.
        room: u64,
    },
    /// The slot that runs is itself on trial.
    #[error("{device} is still trying slot {slot}; wait until that has come up, or was given up")]
    OnTrial {
        /// The device.
        device: String,
        /// The slot.
        slot: Slot,
    },
    /// Somebody else flashes it.
    #[error("somebody else flashes {device} at this moment")]
    Busy {
        /// The device.
        device: String,
    },
    /// The device does not take the image.
    #[error("{device} does not take the image: {said}; nothing was flashed")]
    Refused {
        /// The device.
        device: String,
        /// What it said.
        said: String,
    },
    /// What was written is not what was sent, or could not be written. The slot that runs still starts.
    #[error("slot {slot} of {device} could not be written: {said}; the slot that runs stays")]
    NotWritten {
        /// The device.
        device: String,
        /// The slot.
        slot: Slot,
        /// What the device said.
        said: String,
    },
    /// The image did not come up, and the device is back with the one before.
    #[error(
        "the image did not come up on {device}: it is back in slot {slot} with the image that it had{}",
        reasons(console)
    )]
    RolledBack {
        /// The device.
        device: String,
        /// The slot that runs.
        slot: Slot,
        /// What the console said of it.
        console: Vec<String>,
    },
    /// The device does not answer any more, with neither image.
    #[error("{device} did not come back within {waited_s} s{}", reasons(console))]
    NotBack {
        /// The device.
        device: String,
        /// How long it was waited for.
        waited_s: u64,
        /// What the console said.
        console: Vec<String>,
    },
    /// It came up with something else than was flashed.
    #[error(
        "{device} runs from {what} whose content is not the image's: {found} in place of {wanted}"
    )]
    OtherContent {
        /// The device.
        device: String,
        /// Which part.
        what: &'static str,
        /// SHA-256 of what is there.
        found: String,
        /// SHA-256 of what should be.
        wanted: String,
    },
    /// The device says what is no answer.
    #[error("{device} does not say what it runs from: {why}")]
    NoAnswer {
        /// The device.
        device: String,
        /// What it said.
        why: String,
    },
}

fn reasons(console: &[String]) -> String {
    if console.is_empty() {
        String::new()
    } else {
        format!("; its console: {}", console.join("; "))
    }
}
