//! What trials at named places start from, of contention and of completion alike: the image and its snapshots, and how
//! time passes. What is made there, in which order, is their kind's to know.

use std::time::Duration;

use model::{contention::Machine, run::LabIdentity, share::Share, study::Mode};

use crate::{
    Error, Lab,
    clients::identity,
    image::{self, Image},
    request::Places,
    vm::{
        self, Accelerator, Shape,
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
        let snapshots = self.snapshots(lab, &image, places)?;
        Ok((Places { snapshots, idle_gate, patience }, identity))
    }

    /// One snapshot for each way in which time passes.
    fn snapshots(
        self,
        lab: &Lab,
        image: &Image,
        places: &[(Machine, Mode)],
    ) -> Result<Vec<Snapshot>, Error> {
        let of = |shape: Shape| {
            let accelerator = vm::accelerator(lab, image, shape.mode);
            snapshot::obtain(lab, image, &Shape { accelerator, ..shape })
        };
        self.shapes(places).into_iter().map(of).collect()
    }

    /// The machine for each way in which time passes at these places, by the accelerator that every host has. It has
    /// a WAN side: only such a one has the modules of a wire, and the kernel's TAP interfaces.
    pub(crate) fn shapes(self, places: &[(Machine, Mode)]) -> Vec<Shape> {
        let mut modes: Vec<Mode> = Vec::new();
        for (_, mode) in places.iter().filter(|(on, _)| *on == Machine::Vm) {
            if !modes.contains(mode) {
                modes.push(*mode);
            }
        }
        let (Self { radios, clients, .. }, accelerator) = (self, Accelerator::Tcg);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_on_a_host_is_real_whatever_is_asked() {
        assert_eq!(mode_of(Machine::Host, Mode::Counted), Mode::RealTime);
        assert_eq!(mode_of(Machine::Vm, Mode::Counted), Mode::Counted);
    }
}
