//! Prints the lab's events as lines for people or for machines.
//!
//! Each thing that is worth a line gets one. What is being done, and how long that still takes, is at the foot of a
//! terminal, and elsewhere a line every 15 s. With `--json`, every event is a JSON line on the standard output.

mod lines;
mod pace;

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use lab::Events;
use model::{event::Event, plural::count};

use self::lines::Lines;
pub(crate) use self::pace::Pace;
use crate::{output, run_path::PAGE};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    Silent,
    /// JSON lines on the standard output.
    Json,
    /// Lines on a terminal, and below them what is being done.
    Terminal,
    /// Lines on the error output.
    Lines,
}

impl Progress {
    pub(crate) fn into_events(self) -> Events {
        match self {
            Progress::Silent => Box::new(|event| {
                if let Event::Doubt { text } = event {
                    output::note(format_args!("headroom: {text}"));
                }
            }),
            Progress::Json => Box::new(|event| {
                output::json(&event);
            }),
            Progress::Terminal => told(Lines::on_terminal()),
            Progress::Lines => told(Lines::default()),
        }
    }
}

/// Lines that are shown one event at a time.
fn told(lines: Lines) -> Events {
    let lines = Mutex::new(lines);
    Box::new(move |event| lines.lock().unwrap_or_else(PoisonError::into_inner).show(event))
}

/// What is worth a line.
fn sentence(event: &Event) -> Option<String> {
    Some(match event {
        Event::ImageStep { step } => format!("image: {step}"),
        Event::ImageReady { image, made: true, took_ms } => {
            format!("image: {} made in {}", &image[..12.min(image.len())], seconds(*took_ms))
        }
        Event::KvmTried { works, took_ms } => format!(
            "KVM: tried for {}: {}; kept until this machine boots again",
            seconds(*took_ms),
            if *works { "it works" } else { "no guest runs on it, so real time is emulated" }
        ),
        Event::SnapshotReady { clients, mode, made: true, associated_ms, bytes } => format!(
            "access point: {clients} associated in {} ({}, {} MB kept)",
            seconds(*associated_ms),
            mode.name(),
            bytes / 1_000_000,
            clients = count(clients, "client")
        ),
        Event::SoFar { headline } => format!("so far: {}", headline.replace('`', "")),
        Event::Doubt { text } => format!("note: {text}"),
        _ => return None,
    })
}

/// Where the page is while the run goes on.
fn readable(folder: &str) -> String {
    let page = Path::new(folder).join(PAGE);
    format!("report: {} (updated as trials finish)", page.display())
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1e3)
}
