//! What runs at places share, be they of contention or of completion: the image and its snapshots, how time passes,
//! and the count of what is done. What is made there, in which order, is the run's own.

use std::{
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
};

use model::{contention::Machine, event::Event, study::Mode};

use crate::{
    Error, Lab,
    image::{self, Image},
    vm::{
        self, Accelerator, Shape,
        snapshot::{self, Snapshot},
    },
};

/// How time passes on a machine that is asked for this mode: a host's is always real.
pub(crate) fn mode_of(on: Machine, asked: Mode) -> Mode {
    if on == Machine::Host { Mode::RealTime } else { asked }
}

/// The image, where virtual access points are needed.
///
/// # Errors
///
/// As [`image::obtain`].
pub(crate) fn image(lab: &Lab, is_needed: bool) -> Result<Option<Image>, Error> {
    is_needed.then(|| image::obtain(lab, &[])).transpose()
}

/// The image's identity, as a run keeps it.
pub(crate) fn id(image: Option<&Image>) -> Option<String> {
    image.map(|image| image.id.clone())
}

/// Refuses to go on with a run whose image is not what it was.
///
/// # Errors
///
/// [`Error::Changed`].
pub(crate) fn unchanged(
    path: &Path,
    then: Option<&String>,
    image: Option<&Image>,
) -> Result<(), Error> {
    let now = id(image);
    if then == now.as_ref() {
        return Ok(());
    }
    let told = |image: Option<&String>| image.map_or_else(|| "none".to_owned(), String::clone);
    let (then, now) = (told(then), told(now.as_ref()));
    Err(Error::Changed { path: path.to_owned(), what: "image", then, now })
}

/// The virtual access points of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Their radios.
    pub(crate) radios: u32,
    /// Their clients, which share the radios.
    pub(crate) clients: u32,
}

impl Wanted {
    /// One snapshot for each way in which time passes at these places; a mode may come more than once.
    ///
    /// # Errors
    ///
    /// As [`snapshot::obtain`].
    pub(crate) fn snapshots(
        self,
        lab: &Lab,
        image: Option<&Image>,
        places: impl Iterator<Item = (Machine, Mode)>,
    ) -> Result<Vec<Snapshot>, Error> {
        let Some(image) = image else { return Ok(Vec::new()) };
        let of = |shape: Shape| {
            let accelerator = vm::accelerator(lab, image, shape.mode);
            snapshot::obtain(lab, image, &Shape { accelerator, ..shape })
        };
        self.shapes(places).into_iter().map(of).collect()
    }

    /// The machine for each way in which time passes at these places, by the accelerator that every host has. It has
    /// a WAN side: only such a one has the modules of a wire, and the kernel's TAP interfaces.
    pub(crate) fn shapes(self, places: impl Iterator<Item = (Machine, Mode)>) -> Vec<Shape> {
        let mut modes: Vec<Mode> = Vec::new();
        for (_, mode) in places.filter(|(on, _)| *on == Machine::Vm) {
            if !modes.contains(&mode) {
                modes.push(mode);
            }
        }
        let (Self { radios, clients }, accelerator) = (self, Accelerator::Tcg);
        let of = |mode| Shape {
            mode,
            accelerator,
            radios,
            clients,
            shell: false,
            wan: true,
            forward: None,
        };
        modes.into_iter().map(of).collect()
    }
}

/// What of a plan has been done so far, counted by whoever does it.
#[derive(Debug)]
pub(crate) struct Tally {
    all: u32,
    before: u32,
    done: AtomicU32,
    failed: AtomicU32,
}

impl Tally {
    /// Of a plan of so many, so many were done before.
    pub(crate) fn of(all: u32, before: u32) -> Self {
        Self { all, before, done: AtomicU32::new(before), failed: AtomicU32::new(0) }
    }

    /// One more.
    pub(crate) fn add(&self, has_failed: bool) {
        self.done.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u32::from(has_failed), Ordering::Relaxed);
    }

    /// The run begins, or goes on.
    pub(crate) fn started(&self, folder: &Path) -> Event {
        let folder = folder.display().to_string();
        Event::RunStarted { folder, trials: self.all, done: self.before }
    }

    /// The run ended so.
    pub(crate) fn ended(&self, result: &Result<(), Error>) -> Event {
        Event::RunEnded {
            done: self.done.load(Ordering::Relaxed),
            invalid: self.failed.load(Ordering::Relaxed),
            interrupted: matches!(result, Err(Error::Interrupted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_goes_on_with_its_own_image_or_with_none_as_before() {
        let image = Image {
            id: "0123".to_owned(),
            kernel: "kernel".into(),
            root: "root".into(),
            release: "6.1".to_owned(),
            packages: Vec::new(),
            agent: "4567".to_owned(),
        };
        let path = Path::new("run");
        unchanged(path, None, None).unwrap();
        unchanged(path, Some(&"0123".to_owned()), Some(&image)).unwrap();
        let other = unchanged(path, Some(&"89ab".to_owned()), Some(&image)).unwrap_err();
        assert!(
            matches!(other, Error::Changed { then, now, .. } if (&*then, &*now) == ("89ab", "0123"))
        );
        let none = unchanged(path, Some(&"89ab".to_owned()), None).unwrap_err();
        assert!(matches!(none, Error::Changed { now, .. } if now == "none"));
    }

    #[test]
    fn what_was_done_before_counts_and_a_failure_is_done_too() {
        let tally = Tally::of(5, 2);
        [false, true].into_iter().for_each(|failed| tally.add(failed));
        let Event::RunStarted { trials, done, .. } = tally.started(Path::new("run")) else {
            panic!()
        };
        assert_eq!((trials, done), (5, 2));
        let ended = tally.ended(&Err(Error::Interrupted));
        assert_eq!(ended, Event::RunEnded { done: 4, invalid: 1, interrupted: true });
    }

    #[test]
    fn time_on_a_host_is_real_whatever_is_asked() {
        assert_eq!(mode_of(Machine::Host, Mode::Counted), Mode::RealTime);
        assert_eq!(mode_of(Machine::Vm, Mode::Counted), Mode::Counted);
    }
}
