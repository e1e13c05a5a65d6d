//! The lab's events as lines for people or for machines.
//!
//! On a terminal there are bars with an estimate; elsewhere [`lines`], also while nothing happens. With
//! `--json`, every event is a JSON line on the standard output.

mod lines;
mod pace;

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};
use lab::Events;
use model::plural::count;
use model::{event::Event, inert};

use self::lines::Lines;
pub(crate) use self::pace::Pace;
use crate::{output, run_path::PAGE};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    Silent,
    /// JSON lines on the standard output.
    Json,
    /// Bars on the error output.
    Bars,
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
            Progress::Bars => told(Bars::default(), Bars::show),
            Progress::Lines => told(Lines::default(), Lines::show),
        }
    }
}

/// A view that is shown one event at a time.
fn told<V: Send + 'static>(view: V, show: fn(&mut V, Event)) -> Events {
    let view = Mutex::new(view);
    Box::new(move |event| show(&mut view.lock().unwrap_or_else(PoisonError::into_inner), event))
}

/// What is worth a line, whether there are bars or not.
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
    format!("report: {}, readable from now on and kept up to date", page.display())
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1e3)
}

/// A bar for the run, and one for what is made before it.
#[derive(Default)]
struct Bars {
    all: MultiProgress,
    making: Option<ProgressBar>,
    run: Option<ProgressBar>,
    pace: Pace,
}

impl Bars {
    fn spin(&mut self, text: String) {
        let bar = self.making.get_or_insert_with(|| {
            let bar = self.all.add(ProgressBar::new_spinner());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        bar.set_message(inert::line(&text).into_owned());
    }

    fn say(&mut self, line: &str) {
        // A bar that is drawn over would leave half a line behind.
        let _ = self.all.println(inert::line(line));
    }

    fn end_making(&mut self) {
        self.making.take().into_iter().for_each(|bar| bar.finish_and_clear());
    }

    fn start_run(&mut self, trials: u32, done: u32) {
        let style = "{bar:32} {pos}/{len} trials  {elapsed} gone, {msg}";
        let bar = self.all.add(ProgressBar::new(trials.into()).with_position(done.into()));
        bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
        bar.enable_steady_tick(Duration::from_millis(500));
        bar.set_message("no estimate yet");
        self.run = Some(bar);
    }

    fn step_run(&mut self) {
        let Some(bar) = &self.run else { return };
        bar.inc(1);
        let left = bar.length().unwrap_or_default().saturating_sub(bar.position()) as u32;
        if let Some(left) = self.pace.left(left, Instant::now()) {
            bar.set_message(format!("about {:#} left", HumanDuration(left)));
        }
    }

    fn show(&mut self, event: Event) {
        if let Some(line) = sentence(&event) {
            self.say(&line);
        }
        self.pace.follow(&event, Instant::now());
        match event {
            Event::ImageStarted => self.spin("image".to_owned()),
            Event::ImageStep { step } => self.spin(format!("image: {step}")),
            Event::DeviceStep { device, step } => self.spin(format!("{device}: {step}")),
            Event::KvmStarted => self.spin("trying KVM (at most 8 s)".to_owned()),
            Event::ImageReady { .. }
            | Event::DeviceReady { .. }
            | Event::KvmTried { .. }
            | Event::SnapshotReady { .. } => {
                self.end_making();
            }
            Event::SnapshotStarted { clients, mode } => {
                self.spin(format!(
                    "access point with {clients} ({}): booting",
                    mode.name(),
                    clients = count(clients, "client")
                ));
            }
            Event::Associated { associated, clients } => {
                self.spin(format!(
                    "access point: {associated} of {clients} have joined",
                    clients = count(clients, "client")
                ));
            }
            Event::RunStarted { folder, trials, done } => {
                self.say(&format!("run: {folder}"));
                self.say(&readable(&folder));
                self.start_run(trials, done);
            }
            Event::TrialEnded { id: name, invalid, .. } => {
                invalid.into_iter().for_each(|why| self.say(&format!("invalid: {name}: {why}")));
                self.step_run();
            }
            Event::RunEnded { .. } => {
                self.end_making();
                self.run.take().into_iter().for_each(|bar| bar.finish_and_clear());
            }
            Event::TrialStarted { .. } | Event::SoFar { .. } | Event::Doubt { .. } => {}
        }
    }
}
