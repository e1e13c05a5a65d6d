//! `headroom flash`: another image for a device, and what proves that it runs from it.

use lab::{
    device_file::DeviceFile,
    flash::{self, Content, Flashed, MOST_FILES, Request},
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
    let device =
        DeviceFile::named(&flags.target).map_err(|error| Failure::Usage(error.to_string()))?;
    let lab = options.lab_for_devices()?;
    let request = Request { image: flags.image.clone(), wipe_overlay: flags.wipe_overlay };
    // Before the device is turned on for it.
    flash::check(&device, &request)?;
    let address = power::on(&lab, &device)?;
    let flashed = flash::flash(&lab, &device, &address, &request)?;
    if options.json {
        // Events came before it, a line each.
        output::json_text(&json!({ "device": device.name, "flashed": flashed }).to_string());
    } else {
        print(&flashed);
    }
    Ok(Verdict::Pass)
}

fn print(flashed: &Flashed) {
    let Flashed { before, after, overlay, took_ms } = flashed;
    for (word, content) in [("before", before), ("after", after)] {
        if let Some(Content { slot, kernel, root }) = content {
            output::line(format_args!("{word:<7} slot {slot}, kernel {kernel}"));
            output::line(format_args!("{:<7}         root   {root}", ""));
        }
    }
    if after.is_none() {
        output::line(format_args!("after   it is back; nothing there proves what it runs from"));
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
