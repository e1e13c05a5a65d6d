//! The tools: their names, what they are for, and what each does with a client's words.
//!
//! Each answers within 45 s, because clients give up after a minute; what takes longer is a job.

use std::time::Duration;

use rmcp::{
    RoleServer,
    model::{
        CallToolResult, ContentBlock, JsonObject, ProgressNotificationParam, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    answers::{Outcome, Plan, Short, Status, Studies},
    arguments::{Compare, Handle, Nothing, Profile, Study, Wait},
    described::{present, tool},
    improve, resources,
    start::Starter,
};
use crate::commands::studies;

/// No call takes longer.
const LONGEST: Duration = Duration::from_secs(45);
/// A wait where the client says none, s.
const USUAL_WAIT: u32 = 30;
/// The longest wait, s: an answer has its way to go, too.
const LONGEST_WAIT: u32 = 44;

/// A client's call.
pub(super) struct Call<'a> {
    pub(super) starter: &'a Starter,
    pub(super) arguments: JsonObject,
    pub(super) context: &'a RequestContext<RoleServer>,
}

/// Every tool, as clients list them.
pub(super) fn all() -> Vec<Tool> {
    let looks = ToolAnnotations::new().read_only(true).open_world(false);
    let acts = ToolAnnotations::new().read_only(false).destructive(false).open_world(false);
    let stops = ToolAnnotations::new().read_only(false).idempotent(true).open_world(false);
    let mut tools = vec![
        tool::<Nothing, Studies>(
            "studies",
            "The studies that headroom brings, each with its question.",
            &looks,
        ),
        tool::<Study, Plan>(
            "plan",
            "What a study would take: its variants, trials, wall time, and seconds on access points. Nothing is measured.",
            &looks,
        ),
        tool::<Study, Status>(
            "start",
            "Carries a study out on a virtual access point and gives a handle at once; `wait` follows it.",
            &acts,
        ),
        tool::<Compare, Status>(
            "compare",
            "Compares two variants of a study, or a variant with another build of a program, pair by pair to a verdict; gives a \
             handle at once.",
            &acts,
        ),
        tool::<Profile, Status>(
            "profile",
            "Records stacks of a study's variants or of a process, for flame graphs of where the CPU goes; gives a handle at once.",
            &acts,
        ),
        tool::<Wait, Status>(
            "wait",
            "Waits for a job's end, at most 45 s, and says how far it is and how long it will take.",
            &looks,
        ),
        tool::<Handle, Outcome>(
            "result",
            "What a job that has ended found: verdict, gates, figures, doubts, and its report as a resource.",
            &looks,
        ),
        tool::<Handle, Status>("cancel", "Stops a job; its finished trials are kept.", &stops),
    ];
    tools.extend(improve::tools(&acts, &looks));
    tools
}

/// Carries a call out; `None` where there is no such tool. What went wrong with it the client reads in its result.
pub(super) async fn call(name: &str, call: Call<'_>) -> Option<CallToolResult> {
    let starter = call.starter;
    let carried_out = async {
        match name {
            "studies" => answered(call.studies()),
            "plan" => answered(starter.plan(&call.said()?).await),
            "start" => answered(starter.run(&call.said()?).await),
            "compare" => answered(starter.compare(&call.said()?).await),
            "profile" => answered(starter.profile(&call.said()?)),
            "wait" => answered(call.wait(call.said()?).await),
            "result" => call.result(),
            "cancel" => answered(call.cancel(call.said()?)),
            "submit" => answered(starter.submit(&call.said()?)),
            "ledger" => answered(starter.ledger(&call.said()?).await),
            _ => Err(None),
        }
    };
    match timeout(LONGEST, carried_out).await {
        Ok(Ok(result)) => Some(result),
        Ok(Err(None)) => None,
        Ok(Err(Some(why))) => Some(CallToolResult::error(vec![ContentBlock::text(why)])),
        Err(_) => {
            let why = "this took longer than 45 s; ask again, or look with `wait`";
            Some(CallToolResult::error(vec![ContentBlock::text(why)]))
        }
    }
}

type Carried = Result<CallToolResult, Option<String>>;

fn answered<T: Short + Serialize>(answer: Result<T, String>) -> Carried {
    let answer = answer.map_err(Some)?;
    let mut result =
        CallToolResult::structured(present(serde_json::to_value(&answer).unwrap_or_default()));
    result.content = vec![ContentBlock::text(answer.short())];
    Ok(result)
}

impl Call<'_> {
    /// The client's words.
    fn said<T: DeserializeOwned>(&self) -> Result<T, Option<String>> {
        let value = Value::Object(self.arguments.clone());
        serde_json::from_value(value).map_err(|error| {
            Some(format!("the arguments are not what the tool takes: {error}; see its schema"))
        })
    }

    fn studies(&self) -> Result<Studies, String> {
        let Nothing {} = self.said().map_err(Option::unwrap_or_default)?;
        let studies = studies::all().map_err(|failure| failure.sentence())?;
        Ok(Studies { studies })
    }

    async fn wait(&self, Wait { handle, seconds }: Wait) -> Result<Status, String> {
        let seconds = seconds.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
        let until = Instant::now() + Duration::from_secs(seconds.into());
        let mut changes = self.starter.jobs.changes();
        let mut seen = None;
        loop {
            let look = |job: &mut super::job::Job| {
                let (done, stage, ended) = job.progress();
                ((done, stage.map(str::to_owned)), ended, job.status())
            };
            let (progress, ended, status) = self.starter.jobs.of(&handle, look)?;
            if ended {
                return Ok(status);
            }
            if seen.as_ref() != Some(&progress) {
                self.report(&status).await;
                seen = Some(progress);
            }
            match timeout_at(until, changes.changed()).await {
                Ok(Ok(())) => {}
                _ => return Ok(status),
            }
        }
    }

    /// Says how far a job is, to a client that wants to hear it.
    async fn report(&self, status: &Status) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let progress = ProgressNotificationParam::new(token, status.trials_done as f64);
        let progress = match status.trials_planned {
            Some(planned) => progress.with_total(planned as f64),
            None => progress,
        };
        // A client that has left is no fault of the job's.
        let _ = self.context.peer.notify_progress(progress.with_message(status.short())).await;
    }

    fn result(&self) -> Carried {
        let Handle { handle } = self.said()?;
        let found = |job: &mut super::job::Job| {
            let end = job.ended()?.clone();
            let outcome = Outcome {
                job: job.status(),
                answer: end.answer,
                value: end.value,
                resources: resources::of_job(job).iter().map(|one| one.uri.clone()).collect(),
                folder: job.folder.display().to_string(),
            };
            Some((outcome, resources::of_job(job)))
        };
        let found = self.starter.jobs.of(&handle, found).map_err(Some)?;
        let (outcome, links) =
            found.ok_or_else(|| Some(format!("{handle} still works; `wait` for its end")))?;
        if outcome.answer.is_none() && outcome.value.is_none() {
            return Err(Some(outcome.job.short()));
        }
        let mut result = answered(Ok(outcome))?;
        result.content.extend(links.into_iter().map(ContentBlock::resource_link));
        Ok(result)
    }

    fn cancel(&self, Handle { handle }: Handle) -> Result<Status, String> {
        let number = self.starter.jobs.of(&handle, |job| job.number)?;
        self.starter.jobs.interrupt(number, "cancelled by the client");
        self.starter.jobs.of(&handle, |job| job.status())
    }
}
