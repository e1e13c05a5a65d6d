//! What happens in the lab, as it happens. Libraries emit these; only the command line prints them.
//!
//! # As a state machine
//!
//! ```text
//! ImageStarted → ImageStep* → ImageReady
//! (DeviceStep+ → DeviceReady)?                            where a device is acquired, turned on or waited for
//! (KvmStarted → KvmTried)?                                where real time is asked for, once a boot of this machine
//! (SnapshotStarted → Associated* → SnapshotReady)*        one a topology that is not cached yet
//! RunStarted → (TrialStarted → TrialEnded)* → RunEnded    trials overlap, and SoFar comes in between
//! Doubt may come at any time
//! ```

use serde::{Deserialize, Serialize};

use crate::study::Mode;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The image is looked for in the cache.
    ImageStarted,
    /// A step of making it.
    ImageStep {
        /// What is being done, as “packages”.
        step: String,
    },
    ImageReady {
        /// Its SHA-256, hexadecimal.
        image: String,
        made: bool,
        took_ms: u64,
    },
    /// A step of having a device that can be measured on.
    DeviceStep {
        /// The device or its place, as people call it.
        device: String,
        /// What is being done, as “turning it on”.
        step: String,
    },
    DeviceReady {
        device: String,
    },
    /// /dev/kvm opens, and it is tried whether a guest runs on it.
    KvmStarted,
    /// It was tried; the result is kept until this machine boots again.
    KvmTried {
        /// Whether the guest came to its end.
        works: bool,
        took_ms: u64,
    },
    /// An access point is booted to be snapshot.
    SnapshotStarted {
        clients: u32,
        mode: Mode,
    },
    Associated {
        /// So many.
        associated: u32,
        /// Of so many.
        clients: u32,
    },
    SnapshotReady {
        clients: u32,
        mode: Mode,
        made: bool,
        /// From the start of QEMU until all clients were associated, ms; 0 if it was not made now.
        associated_ms: u64,
        /// The file, bytes.
        bytes: u64,
    },
    /// The run folder exists.
    RunStarted {
        folder: String,
        trials: u32,
        /// Trials that an earlier execution finished.
        done: u32,
    },
    TrialStarted {
        id: String,
    },
    /// A trial ended and is on disk.
    TrialEnded {
        id: String,
        took_ms: u64,
        /// What passed on the access point, ms: warm-up and window. 0 where the trial is another one's copy.
        #[serde(default)]
        device_ms: u64,
        invalid: Option<String>,
    },
    RunEnded {
        done: u32,
        invalid: u32,
        interrupted: bool,
    },
    /// What the trials so far come to, where that is said in other words than before; preliminary.
    SoFar {
        /// One sentence, names in backticks.
        headline: String,
    },
    /// Something is not as it should be, and was repaired or can be lived with.
    Doubt {
        /// What, where, and what was done.
        text: String,
    },
}
