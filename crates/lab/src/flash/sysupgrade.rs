//! By OpenWrt's own `sysupgrade`: the image is copied into the device's memory, looked at there, and handed over.

use std::{path::Path, time::Duration};

use model::inert;

use super::Target;
use crate::{Error, cache};

/// The longest that copying may take, and how fast the slowest link is, bytes a second.
const COPYING: Duration = Duration::from_secs(60);
const SLOWEST: u64 = 128 << 10;

/// `sysupgrade` ends its ssh server while it works.
const FLASHING: Duration = Duration::from_secs(60);

/// Takes the image in, and has it looked at: `-T` says whether it is one for this device, and changes nothing.
const TAKE: &str = include_str!("take.sh");

/// Without the old settings: what is measured is the image. By a child of its own, because it ends ssh.
const FLASH: &str =
    "(sleep 1; exec sysupgrade -n /tmp/headroom.image) >/dev/null 2>&1 </dev/null &";

/// The start that the device had before.
pub(super) fn flash(target: Target<'_>, image: &Path) -> Result<String, Error> {
    let read = || Error::file("read", image);
    let sum = cache::sum_of_given(image, &target.lab.cancel)?;
    let file = linux::file::open(image).map_err(read())?;
    let size = file.metadata().map_err(read())?.len();
    let before = target.boot()?;
    target.step("copying the image");
    let script = TAKE.replace("$SIZE", &size.to_string()).replace("$SUM", sum.as_str());
    let ended = target.ssh(&script, COPYING + Duration::from_secs(size / SLOWEST), file.into())?;
    if ended.code() != Some(0) {
        let (device, words) = (target.device, ended.words());
        let said = inert::line(&words);
        return Err(Error::Environment(format!(
            "{device} does not take the image: {said}; nothing was flashed"
        )));
    }
    target.step("sysupgrade");
    target.output(FLASH, FLASHING)?;
    Ok(before)
}
