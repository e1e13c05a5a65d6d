//! What an interrupted run keeps, and how to go on with it. The lab says that it was interrupted; the run's folder says
//! the rest.

use std::path::Path;

use lab::{
    Error,
    run_folder::{self, Recorded},
};
use model::experiment::{Any, Experiment};

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
    let Ok(recorded) = run_folder::read_any(run) else {
        return "interrupted before the first trial; nothing was measured".to_owned();
    };
    let of = match &recorded {
        Any::Clients(recorded) => of(recorded),
        Any::Contention(recorded) => of(recorded),
        Any::Completion(recorded) => of(recorded),
    };
    let run = run.display();
    format!("interrupted; {of} trials are kept; go on with `headroom run --resume {run}`")
}

fn of<K: Experiment>(recorded: &Recorded<K>) -> String {
    format!("{} of {}", recorded.trials.len(), recorded.run.plan.len())
}
