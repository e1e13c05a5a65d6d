//! What trials at named places start from, of contention and of completion alike: the image and its snapshots, and how
//! time passes. What is made there, in which order, is their kind's to know.

use std::{path::Path, time::Duration};

use model::{contention::Machine, run::LabIdentity, share::Share, study::Mode};

use crate::{
    Error, Lab,
    clients::identity,
    image::{self, Image},
    request::Places,
    runner::unchanged,
    vm::{
        self, Shape,
        snapshot::{self, Snapshot},
    },
};

/// How time passes on a machine that is asked for this mode: a host's is always real.
pub(crate) fn mode_of(on: Machine, asked: Mode) -> Mode {
    if on == Machine::Host { Mode::RealTime } else { asked }
}

/// What the trials of a study want of its places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Radios of the virtual access points.
    pub(crate) radios: u32,
    /// Their clients, which share the radios.
    pub(crate) clients: u32,
    /// How idle this machine is before a trial in real time, if that can be waited for.
    pub(crate) idle_gate: Share,
    /// How long it is waited for.
    pub(crate) patience: Duration,
}

impl Wanted {
    /// The places of a new run, and what they are made of. An image is made only where virtual access points are
    /// needed.
    ///
    /// # Errors
    ///
    /// As [`image::obtain`] and [`snapshot::obtain`].
    pub(crate) fn raise(
        self,
        lab: &Lab,
        places: &[(Machine, Mode)],
    ) -> Result<(Places, LabIdentity), Error> {
        let is_virtual = |(on, _): &&(Machine, Mode)| *on == Machine::Vm;
        let modes: Vec<Mode> = places.iter().filter(is_virtual).map(|(_, mode)| *mode).collect();
        let Self { idle_gate, patience, .. } = self;
        if modes.is_empty() {
            let places = Places { snapshots: Vec::new(), idle_gate, patience };
            return Ok((places, LabIdentity::default()));
        }
        let image = image::obtain(lab, &[])?;
        let identity = identity(lab, modes.iter().copied(), &image);
        let snapshots = self.snapshots(lab, &image, &modes)?;
        Ok((Places { snapshots, idle_gate, patience }, identity))
    }

    /// The places of a run that is gone on with.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`]; else as [`Wanted::raise`].
    pub(crate) fn raise_again(
        self,
        lab: &Lab,
        places: &[(Machine, Mode)],
        path: &Path,
        then: &LabIdentity,
    ) -> Result<Places, Error> {
        let (places, now) = self.raise(lab, places)?;
        unchanged(path, "image", &then.image, &now.image)?;
        unchanged(path, "QEMU", &then.qemu, &now.qemu)?;
        Ok(places)
    }

    /// One snapshot for each way in which time passes.
    fn snapshots(self, lab: &Lab, image: &Image, modes: &[Mode]) -> Result<Vec<Snapshot>, Error> {
        let mut each: Vec<Mode> = Vec::new();
        modes.iter().for_each(|mode| {
            if !each.contains(mode) {
                each.push(*mode);
            }
        });
        let of = |mode| snapshot::obtain(lab, image, &self.shape(lab, image, mode));
        each.into_iter().map(of).collect()
    }

    /// A machine with a WAN side: only such a one has the modules of a wire, and the kernel's TAP interfaces.
    fn shape(self, lab: &Lab, image: &Image, mode: Mode) -> Shape {
        let accelerator = vm::accelerator(lab, image, mode);
        let Self { radios, clients, .. } = self;
        Shape { mode, accelerator, radios, clients, shell: false, wan: true, forward: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_a_host_is_real_whatever_is_asked() {
        assert_eq!(mode_of(Machine::Host, Mode::Counted), Mode::RealTime);
        assert_eq!(mode_of(Machine::Vm, Mode::Counted), Mode::Counted);
    }
}
