//! `headroom flash`: another image for a device, and what proves that it runs from it.

use lab::{
    device_file::DeviceFile,
    flash::{self, Flashed, MOST_FILES},
    power,
};
use serde_json::json;

use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
};

/// So many files of an overlay are listed for a person; `--json` has them all.
const SHOWN: usize = 20;

pub(crate) fn flash(options: &Options, flags: &flags::Flash) -> Result<Verdict, Failure> {
    let device = DeviceFile::named(&flags.target).map_err(Failure::Usage)?;
    let lab = options.lab_for_devices()?;
    // Before the device is turned on for it.
    flash::check(&device, &flags.image)?;
    let address = power::on(&lab, &device)?;
    let flashed = flash::flash(&lab, &device, &address, &flags.image)?;
    if options.json {
        // Events came before it, a line each.
        output::json_text(&json!({ "device": device.name, "flashed": flashed }).to_string());
    } else {
        print(&flashed);
    }
    Ok(Verdict::Pass)
}

fn print(flashed: &Flashed) {
    let Flashed { content, overlay, took_ms } = flashed;
    for sum in content {
        output::line(format_args!("content {sum} (SHA-256), as in the image"));
    }
    if content.is_empty() {
        output::line(format_args!("content it is back; nothing there proves what it runs from"));
    }
    for file in overlay.iter().take(SHOWN) {
        output::line(format_args!("overlay {} {}", file.effect, file.path));
    }
    match overlay.len() {
        MOST_FILES => {
            output::line(format_args!("overlay and more: there are {MOST_FILES} or more files"))
        }
        all if all > SHOWN => {
            output::line(format_args!("overlay and {} more; --json has them", all - SHOWN))
        }
        _ => {}
    }
    output::line(format_args!("took    {} s", took_ms / 1000));
}
