//! `headroom run`: a study file to a run folder, with its report.

use super::kinds;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
};

pub(crate) fn run(options: &Options, flags: &flags::Run) -> Result<Verdict, Failure> {
    match (&flags.resume, &flags.study) {
        (Some(run), _) => kinds::resume(options, flags, run),
        (None, Some(study)) => kinds::run(options, flags, study),
        (None, None) => Err(Failure::Usage("name a study file, or --resume RUN".to_owned())),
    }
}
