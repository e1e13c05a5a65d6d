//! The words of `headroom up`, `flash` and `mcp`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lab::vm::Forward;

const UP_EXAMPLES: &str = "\
Examples:
  headroom up                                    18 clients, a shell
  headroom up --clients 114 -- hostapd_cli -i wlan0 all_sta
  echo 'iw dev; uptime' | headroom up
  headroom up --with mine=target/mine -- /run/headroom/put/mine --help
  headroom up --forward 9810 -- stationd …       curl http://127.0.0.1:9810/metrics, from here
  headroom up -- sh -c 'ip netns exec clients iperf3 -s -D; iperf3 -c 10.0.1.1 -t 5'

Clients live in the network namespace `clients`. Ctrl-] leaves the shell and ends the access point.";

#[derive(Args, Debug)]
#[command(after_help = UP_EXAMPLES)]
pub(crate) struct Up {
    /// Number of clients
    #[arg(long, short, default_value_t = 18, value_name = "N")]
    pub(crate) clients: u32,
    /// Access-point radios
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) radios: u32,
    /// How its clock runs
    #[arg(long, default_value = "real-time", value_name = "MODE")]
    pub(crate) mode: ModeWord,
    /// Forward a TCP port of this machine to one of the access point [default: the same port]
    #[arg(long, value_name = "PORT[:PORT]", value_parser = forward)]
    pub(crate) forward: Option<Forward>,
    /// Copy this program there, as /run/headroom/put/PROGRAM (repeatable)
    #[arg(long, value_name = "PROGRAM=FILE", value_parser = super::compare::with)]
    pub(crate) with: Vec<(String, PathBuf)>,
    /// Command to run on the access point [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

const FLASH_EXAMPLES: &str = "\
Examples:
  headroom flash ap-1 --image new.image         devices/ap-1.toml
  headroom flash lab/ap.toml --image new.image

How the image gets there is [flash] of the device file: sysupgrade, or a command of yours. Where the
device comes back with something else than the image, the exit code is 1.";

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
}

const MCP_EXAMPLES: &str = "\
Examples:
  claude mcp add headroom -- headroom mcp --budget-trials 500
  headroom mcp --allow ~/firmware --budget-seconds 3600
  headroom mcp --task tasks/hostapd/task.toml
  claude mcp add headroom -- ssh lab headroom mcp --allow firmware

Speaks the Model Context Protocol on its standard input and output until that ends. What runs then is
interrupted, and its finished trials are kept.";

/// How programs are served.
#[derive(Args, Debug)]
#[command(after_help = MCP_EXAMPLES)]
pub(crate) struct Mcp {
    /// Folder below which clients may name study files and builds (repeatable) [default: the working folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) allow: Vec<PathBuf>,
    /// A task file of `headroom improve` that clients may work on; its commands run as you (repeatable)
    #[arg(long = "task", value_name = "FILE")]
    pub(crate) tasks: Vec<PathBuf>,
    /// Most trials that clients may run in total [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) budget_trials: Option<u32>,
    /// Most seconds on access points that clients may use in total [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) budget_seconds: Option<u32>,
    /// Jobs to run in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) at_once: u16,
    /// Folder for the runs of all jobs [default: runs/mcp-DATE-TIME]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// `9810`, or `8080:9810`: a port here, and the port that it leads to.
fn forward(text: &str) -> Result<Forward, String> {
    let port = |word: &str| {
        let number = word.parse().ok().filter(|port| *port > 0);
        number.ok_or_else(|| format!("`{word}` is no port; there are 1 to 65535"))
    };
    let (host, guest) = text.split_once(':').unwrap_or((text, text));
    Ok(Forward { host: port(host)?, guest: port(guest)? })
}

/// `counted` or `real-time`, typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModeWord {
    /// CPU time is a count of instructions; idle time takes no time
    Counted,
    /// CPU time is the host's
    RealTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_leads_to_the_same_one_or_to_another() {
        let read = forward;
        assert_eq!(read("9810"), Ok(Forward { host: 9810, guest: 9810 }));
        assert_eq!(read("8080:80"), Ok(Forward { host: 8080, guest: 80 }));
        for wrong in ["0", "70000", "http", "80:", ":80", "1:2:3"] {
            assert!(read(wrong).unwrap_err().contains("no port"), "{wrong}");
        }
    }
}
