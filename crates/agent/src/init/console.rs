//! The console: the lines that the host reads.
//!
//! Talks to `/dev/console`. Each line begins with `headroom-init: `:
//!
//! | line | meaning |
//! | --- | --- |
//! | `booted` | file systems are mounted and the plan is read |
//! | `associated 57/114` | clients that may exchange data, of those planned |
//! | `ready` | all clients are there and have settled; the agent starts now |
//! | `NAME ended with …` | a service ended; the agent and the shell are started again |
//! | `failed: …` | the bring-up cannot go on |

use std::{fmt, fs::OpenOptions, io::Write};

/// What every line for the host begins with.
pub(super) const PREFIX: &str = "headroom-init: ";
/// Writes one line for the host; a console that cannot be written has nobody to tell.
pub(super) fn say(line: impl fmt::Display) {
    if let Ok(mut console) = OpenOptions::new().write(true).open("/dev/console") {
        // One write a line, so that the kernel's own lines do not cut it.
        let _ = console.write_all(format!("{PREFIX}{line}\n").as_bytes());
    }
}
