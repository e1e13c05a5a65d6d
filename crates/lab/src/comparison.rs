//! What a comparison adds to a run: the two sides, the programs that are brought to the access point for them, and
//! anyone who says when it is decided.
//!
//! Both builds of a program are put on one access point, and the snapshot that every pair starts from holds
//! both: the sides differ in one letter of a path. What the figures mean is not known here.

use std::path::{Path, PathBuf};

use model::{
    name::{RelativePath, Sha256Hex},
    run::Run,
    trial::Trial,
    verdict::{Difference, Versus},
    wire::{PUT, SIDES},
};

use crate::{
    Error, Lab, cache,
    device::Device,
    image::{self, Stripped},
    objects,
    uploads::{self, Sums},
};

#[derive(Clone, Debug)]
pub struct Comparing<'a> {
    pub versus: Versus,
    pub program: Option<Program>,
    /// A lab whose image is the variant's, where images are compared.
    pub other: Option<&'a Lab>,
}

/// Whether the trials so far decide a comparison; asked at each look.
pub type Decided = dyn Fn(&Run, &[Trial]) -> bool + Sync;

#[derive(Clone, Debug)]
pub struct Program {
    /// What the access point calls it.
    pub name: String,
    pub path: PathBuf,
    /// The base's build, where it is not the one that the access point has.
    pub base: Option<PathBuf>,
}

impl Program {
    fn absent(&self) -> Error {
        let what = "to compare another build with";
        Error::Usage(format!("the access point has no program `{}` {what}", self.name))
    }
}

/// Both builds of a program, as the access point gets them.
#[derive(Clone, Debug)]
pub struct Builds {
    name: String,
    files: [Stripped; 2],
}

impl Builds {
    /// The base's build and the one that is given; each loses its symbols, as the image's own programs do.
    pub fn of(lab: &Lab, device: &mut dyn Device, program: &Program) -> Result<Self, Error> {
        let given = Stripped::of(uploads::read(&program.path)?);
        let there = match &program.base {
            Some(base) => Stripped::of(uploads::read(base)?),
            None => Stripped { file: Self::there(lab, device, program)?, debug: None },
        };
        let name = program.name.rsplit('/').next().unwrap_or_default().to_owned();
        side_of(SIDES[0], &name).ok_or_else(|| program.absent())?;
        let builds = Self { name, files: [there, given] };
        let [ours, theirs] = builds.sums();
        // A user who brings both may mean one of them twice.
        if ours == theirs && program.base.is_none() {
            let why =
                "is the build that the access point has already, symbols aside: nothing differs";
            return Err(Error::Usage(format!("{} {why}", program.path.display())));
        }
        Ok(builds)
    }

    fn there(lab: &Lab, device: &mut dyn Device, program: &Program) -> Result<Vec<u8>, Error> {
        let located = objects::locate(device, std::slice::from_ref(&program.name))?;
        let content = located.first().map(|one| objects::bring_located(lab, device, one));
        let content = content.transpose()?.flatten().ok_or_else(|| program.absent())?;
        uploads::read(&content)
    }

    pub fn difference(&self) -> Difference {
        let [base, variant] = self.sums();
        Difference::Program { name: self.name.clone(), base, variant }
    }

    fn sums(&self) -> [Sha256Hex; 2] {
        self.files.each_ref().map(|content| cache::sum(&content.file))
    }

    pub fn brought(self) -> impl Iterator<Item = (RelativePath, Stripped)> {
        let path = move |side: &str| side_of(side, &self.name);
        SIDES.into_iter().zip(self.files).filter_map(move |(side, file)| Some((path(side)?, file)))
    }
}

/// What a build of a program is known by: its content without symbols.
pub fn identity(build: &Path) -> Result<Sha256Hex, Error> {
    Ok(cache::sum(&image::stripped(uploads::read(build)?)))
}

/// What was in both builds, where builds are compared.
pub fn sums(difference: &Difference) -> Sums {
    let Difference::Program { name, base, variant } = difference else { return Sums::new() };
    let sums = SIDES.into_iter().zip([base, variant]);
    sums.filter_map(|(side, sum)| Some((side_of(side, name)?, sum.clone()))).collect()
}

/// A side's build of a program; a file's name always is a part of such a path.
fn side_of(side: &str, name: &str) -> Option<RelativePath> {
    format!("{side}/{name}").parse().ok()
}

/// Where a side's build of a program lies on the access point.
pub fn place_of(side: usize, name: &str) -> String {
    let file = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
    format!("{PUT}/{}/{file}", SIDES[side.min(1)])
}
