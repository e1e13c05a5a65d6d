//! A page in a browser, where somebody asked for it with `--open`. What cannot be opened is said, and fails nothing: the
//! page is there all the same.

use std::{
    env,
    ffi::OsString,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::output;

/// Which program opens pages, where `BROWSER` names none.
const OPENER: &str = "xdg-open";

/// One that cannot start a browser ends within this; one that is a browser itself goes on.
const MOMENT: Duration = Duration::from_secs(2);

pub(crate) fn open(page: &Path) {
    let opener = env::var_os("BROWSER").filter(|name| !name.is_empty());
    let opener = opener.unwrap_or_else(|| OsString::from(OPENER));
    if let Err(why) = start(Command::new(&opener).arg(page)) {
        let (page, name) = (page.display(), opener.display());
        output::note(format_args!(
            "headroom: cannot open {page}: {name}: {why}; open it in a browser"
        ));
    }
}

fn start(command: &mut Command) -> Result<(), String> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + MOMENT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(ended)) if ended.success() => return Ok(()),
            Ok(Some(ended)) => return Err(ended.to_string()),
            _ => thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(())
}
