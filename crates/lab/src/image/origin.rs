//! Where an image's first layer comes from: Debian's packages, or a user's own firmware.
//!
//! Names bases and finds them. What is in them is [`super::packages`]'s and [`super::firmware`]'s.

use std::path::PathBuf;

use model::{firmware::Sums, name::PackageName};

use super::{BASE, base_key, firmware, recipe::Port, sum, whole_base};
use crate::{
    Cancel, Error, FirmwareSource, Lab,
    cache::{self, Name},
};

const FIRMWARE: &str = "firmware";

pub(super) enum Origin<'a> {
    /// Debian's packages, with these beyond the recipe's.
    Packages(Vec<PackageName>),
    Firmware(&'a FirmwareSource, Sums),
}

impl Origin<'_> {
    /// That of the lab's images: with these packages beyond those that the command line names.
    pub(super) fn of<'a>(lab: &'a Lab, more: &[PackageName]) -> Result<Origin<'a>, Error> {
        let more = lab.settings.packages_with(more);
        let Some(source) = &lab.settings.firmware else { return Ok(Origin::Packages(more)) };
        if !more.is_empty() {
            return Err(Error::Usage(format!(
                "packages ({}) are added to Debian's root, and this access point has firmware of its own; leave one of \
                 them out",
                more.join(", ")
            )));
        }
        Ok(Origin::Firmware(source, source.sums(&lab.cancel)?))
    }

    pub(super) fn find(&self, lab: &Lab) -> Option<(String, PathBuf)> {
        let (kind, key) = (self.kind(), self.key(lab)?);
        let found = lab.cache.find(Name { kind, key: &key })?;
        lab.cache.mark_used(Name { kind, key: &key });
        Some((key, found))
    }

    fn kind(&self) -> &'static str {
        match self {
            Origin::Packages(_) => BASE,
            Origin::Firmware(..) => FIRMWARE,
        }
    }

    /// Its name; of firmware `None` where Debian's base, of which a part is in it, is not there yet.
    fn key(&self, lab: &Lab) -> Option<String> {
        match self {
            Origin::Packages(more) => Some(base_key(lab, port(lab), more)),
            Origin::Firmware(_, sums) => {
                let (key, debian) = Origin::Packages(Vec::new()).find(lab)?;
                let sums: String =
                    sums.named().map(|(name, sum)| format!("{name} {sum}\n")).collect();
                Some(cache::key([firmware::HOW, &sums, &key, &sum(&debian).ok()?]))
            }
        }
    }

    /// Makes the base, or holds that of the cache against its sums; its folder.
    pub(super) fn whole(&self, lab: &Lab) -> Result<PathBuf, Error> {
        match self {
            Origin::Packages(more) => whole_base(lab, port(lab), more),
            Origin::Firmware(source, sums) => {
                let debian = whole_base(lab, port(lab), &[])?;
                let key = self.key(lab).ok_or_else(|| Error::ImageLacks("base".to_owned()))?;
                let name = Name { kind: FIRMWARE, key: &key };
                let made = lab.cache.trusting_nothing().obtain(name, |folder| match source {
                    FirmwareSource::Recorded(_) => {
                        let why =
                            "the firmware that this run was begun on is no longer in the cache";
                        let files = "name the same files with --rootfs, --kernel and --modules";
                        Err(Error::Environment(format!("{why}; {files}")))
                    }
                    FirmwareSource::Files(files) => {
                        firmware::Maker { lab, files, sums, debian: &debian, folder }.make()
                    }
                })?;
                lab.report_damage(&made);
                Ok(made.path)
            }
        }
    }
}

fn port(lab: &Lab) -> Port {
    Port::of(lab.settings.arch)
}

impl FirmwareSource {
    pub(crate) fn sums(&self, cancel: &Cancel) -> Result<Sums, Error> {
        match self {
            Self::Files(files) => firmware::sums(files, cancel),
            Self::Recorded(sums) => Ok(sums.clone()),
        }
    }
}
