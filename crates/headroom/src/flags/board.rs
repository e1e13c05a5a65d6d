//! The words of `headroom board` and `headroom flash`.

use std::path::PathBuf;

use clap::Args;
use lab::power::Turn;

const EXAMPLES: &str = "\
Examples:
  headroom board                                a board in ./board, until Ctrl-C
  headroom board --clients 60 --dir /srv/board
  ssh -F board/ssh_config board                 a shell there
  headroom flash board/board.toml --image new.image
  headroom board --power cycle                  off and on, as a lab's power switch does it
  headroom board --console                      its serial console

The folder is the board: its disk, its keys and board.toml, the device file for `--on` and `flash`.";

/// A board, and what is done with it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Board {
    /// Its folder, made where it is not there
    #[arg(long, default_value = "board", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Clients that join
    #[arg(long, short, default_value_t = 18, value_name = "N")]
    pub(crate) clients: u32,
    /// Access-point radios
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) radios: u32,
    /// What a new board has in its first slot [default: headroom's own image]
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Port of 127.0.0.1 that leads to its ssh [default: the one that it had, or a free one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Turn a board that runs on or off, or both: on, off or cycle
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["console", "clients", "radios", "image", "port"])]
    pub(crate) power: Option<Turn>,
    /// Join standard input and output to the serial console of a board that runs
    #[arg(long, conflicts_with_all = ["clients", "radios", "image", "port"])]
    pub(crate) console: bool,
}

const FLASH_EXAMPLES: &str = "\
Examples:
  headroom image --board new.image --with stationd=target/new/stationd
  headroom flash board/board.toml --image new.image
  headroom flash ap-1 --image new.image --wipe-overlay     devices/ap-1.toml

The image is looked at whole before anything is changed. On a board it goes into the slot that does
not run; when it does not come up, U-Boot starts the old one again, and the exit code is 1.";

/// An image for a device.
#[derive(Args, Debug)]
#[command(after_help = FLASH_EXAMPLES)]
pub(crate) struct Flash {
    /// A device file: its path, or NAME for devices/NAME.toml
    #[arg(value_name = "DEVICE")]
    pub(crate) target: String,
    /// The image
    #[arg(long, value_name = "FILE")]
    pub(crate) image: PathBuf,
    /// Begin with an empty overlay, so that no file there hides the image's; the image before keeps its own
    #[arg(long)]
    pub(crate) wipe_overlay: bool,
}
