//! The tools for a task: `submit` and `ledger`, which are `headroom improve` for clients. Where this headroom has no such verb,
//! there are no such tools.
//!
//! What a task asks, what may be edited, and how a try is judged is that verb's; here a client's words become its command line.

use std::{ffi::OsString, io, path::PathBuf};

use lab::run_folder;
use linux::folder::Folder;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};

use super::{
    answers::{Ledger, Status},
    arguments::{Submission, Submit, Task},
    described::tool,
    job::{Kind, Wanted},
    start::{Starter, Words},
};
use crate::flags;

/// A longer diff is no change that is proposed but another program, bytes.
const LONGEST_DIFF: usize = 512 << 10;

/// The tools, where the verb is there.
pub(super) fn tools(acts: &ToolAnnotations, looks: &ToolAnnotations) -> Vec<Tool> {
    if flags::command().find_subcommand("improve").is_none() {
        return Vec::new();
    }
    vec![
        tool::<Submit, Status>(
            "submit",
            "Begins a task (begin, once), proposes a change for it, which is built, measured beside its base and judged (try), or \
             has the best try accepted on cells that no one was shown (accept); gives a handle at once.",
            acts,
        ),
        tool::<Task, Ledger>(
            "ledger",
            "The books of a task: every try with its verdict and its cost.",
            looks,
        ),
    ]
}

impl Starter {
    /// Begins a try, or an acceptance.
    ///
    /// # Errors
    ///
    /// What is wrong with the words, or what the budget says.
    pub(super) fn submit(&self, asked: &Submit) -> Result<Status, String> {
        let task = self.allowed.task(&asked.task)?;
        let (kind, mut words) = match asked.kind {
            Submission::Try => (Kind::Try, Words::of("improve try")),
            Submission::Accept => (Kind::Accept, Words::of("improve accept")),
            Submission::Begin => (Kind::Begin, Words::of("improve init")),
        };
        words.rest([task.into()]);
        match (asked.kind, &asked.diff) {
            (Submission::Try, Some(diff)) => words.rest([self.written(diff)?.into()]),
            (Submission::Try, None) => {
                return Err("a try is a diff; give its text as `diff`".to_owned());
            }
            (Submission::Begin | Submission::Accept, None) => {}
            (Submission::Begin | Submission::Accept, Some(_)) => {
                return Err("only a try has a diff; leave it out".to_owned());
            }
        }
        let of = asked.task.clone();
        self.begin(Wanted { kind, of, cost: None, estimate_s: None }, words)
    }

    /// A diff as a file of the server's.
    fn written(&self, diff: &str) -> Result<PathBuf, String> {
        if diff.len() > LONGEST_DIFF {
            return Err(format!(
                "the diff has more than {LONGEST_DIFF} bytes; propose less at a time"
            ));
        }
        let cannot = |error: io::Error| {
            let folder = self.folder.display();
            format!(
                "cannot make {folder} for the diff: {error}; start the server where files can be written"
            )
        };
        Folder::create(&self.folder).map_err(cannot)?;
        let number = self.jobs.next_number();
        // The number is ours.
        let file = PathBuf::from(format!("{}/job-{number}.diff", self.folder.display()));
        run_folder::write_whole(&file, diff.as_bytes()).map_err(|error| error.to_string())?;
        Ok(file)
    }

    /// The books of a task.
    pub(super) async fn ledger(&self, asked: &Task) -> Result<Ledger, String> {
        let task = self.allowed.task(&asked.task)?;
        let words =
            ["improve", "ledger", "--"].map(OsString::from).into_iter().chain([task.into()]);
        let ledger = self.again.ask(&words.collect::<Vec<_>>()).await?;
        let ledger: JsonObject = serde_json::from_value(ledger)
            .map_err(|error| format!("headroom's ledger is no object: {error}"))?;
        Ok(Ledger { task: asked.task.clone(), ledger })
    }
}
