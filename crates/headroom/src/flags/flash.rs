//! The words of `headroom flash`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  headroom flash ap-1 --image new.image         devices/ap-1.toml
  headroom flash lab/ap.toml --image new.image

How the image gets there is [flash] of the device file: sysupgrade, or a command of yours. Where the
device comes back with something else than the image, the exit code is 1.";

/// An image for a device.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Flash {
    /// A device file: its path, or NAME for devices/NAME.toml
    #[arg(value_name = "DEVICE")]
    pub(crate) target: String,
    /// The image
    #[arg(long, value_name = "FILE")]
    pub(crate) image: PathBuf,
}
