//! What an interrupted run keeps, and how to go on with it. The lab says that it was interrupted; the run's folder says
//! the rest.

use std::path::Path;

use lab::{
    Error,
    run_folder::{self, Progress},
};

use crate::failure::Failure;

/// A failure of a run in this folder, with what is kept where somebody stopped it.
pub(crate) fn explain(error: Error, run: &Path) -> Failure {
    match error {
        Error::Interrupted => Failure::Interrupted(what_is_kept(run)),
        error => error.into(),
    }
}

fn what_is_kept(run: &Path) -> String {
    // Before its first trial a run may have no folder yet.
    let Some(Progress { made, planned }) = run_folder::progress(run) else {
        return "interrupted before the first trial; nothing was measured".to_owned();
    };
    let run = run.display();
    format!(
        "interrupted; {made} of {planned} trials are kept; go on with `headroom run --resume {run}`"
    )
}
