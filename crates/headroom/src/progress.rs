//! Prints the lab's events as lines for people or for machines.
//!
//! Each thing that is worth a line gets one. What is being done, and how long that still takes, is at the foot of a
//! terminal, and elsewhere a line every 15 s. With `--json`, every event is a JSON line on the standard output.

mod lines;
pub(crate) mod pace;

use std::sync::{Mutex, PoisonError};

use lab::Events;
use model::{event::Event, plural::count};

use self::lines::Lines;
use crate::{options::Options, output};

/// Prints events as the options say.
pub(crate) fn events(options: &Options) -> Events {
    if options.json {
        return Box::new(|event| output::json(&event));
    }
    if options.quiet {
        return silent();
    }
    let lines = Mutex::new(if options.terminal { Lines::on_terminal() } else { Lines::default() });
    Box::new(move |event| lines.lock().unwrap_or_else(PoisonError::into_inner).show(event))
}

/// Prints doubts and nothing else.
pub(crate) fn silent() -> Events {
    Box::new(|event| {
        if let Event::Doubt { text } = event {
            output::note(format_args!("headroom: {text}"));
        }
    })
}

/// What is done before the trials from this event on: `Some(None)` where that is over, `None` where nothing changes.
pub(crate) fn stage(event: &Event) -> Option<Option<String>> {
    let joined = |associated: u32, clients: u32| {
        format!("access point: {associated} of {} have joined", count(clients, "client"))
    };
    let stage = match event {
        Event::ImageStarted => "image: looked for in the cache".to_owned(),
        Event::ImageStep { step } => format!("image: {step}"),
        Event::DeviceStep { device, step } => format!("{device}: {step}"),
        Event::KvmStarted => "KVM: a guest is tried on it, for 8 s at most".to_owned(),
        Event::SnapshotStarted { clients, .. } => joined(0, *clients),
        Event::Associated { associated, clients } => joined(*associated, *clients),
        Event::ImageReady { .. }
        | Event::DeviceReady { .. }
        | Event::KvmTried { .. }
        | Event::SnapshotReady { .. } => return Some(None),
        _ => return None,
    };
    Some(Some(stage))
}
