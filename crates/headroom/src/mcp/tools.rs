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
    answers::{Ledger, Outcome, Plan, Short, Status, Studies},
    arguments::{Compare, Handle, Nothing, Profile, Study, Submit, Task, Wait},
    described::{present, tool},
    job::{End, Job},
    jobs::Jobs,
    resources,
    start::Starter,
};
use crate::commands::studies;

/// No call takes longer.
const LONGEST: Duration = Duration::from_secs(45);
/// A wait where the client says none, s.
const USUAL_WAIT: u32 = 30;
/// The longest wait, s: an answer has its way to go, too.
const LONGEST_WAIT: u32 = 44;

pub(super) fn all() -> Vec<Tool> {
    let looks = ToolAnnotations::new().read_only(true).open_world(false);
    let acts = ToolAnnotations::new().read_only(false).destructive(false).open_world(false);
    let stops = ToolAnnotations::new().read_only(false).idempotent(true).open_world(false);
    vec![
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
        tool::<Submit, Status>(
            "submit",
            "Begins a task (begin, once), proposes a change for it, which is built, measured beside its base and judged (try), or \
             has the best try accepted on cells that no one was shown (accept); gives a handle at once.",
            &acts,
        ),
        tool::<Task, Ledger>(
            "ledger",
            "The books of a task: every try with its verdict and its cost.",
            &looks,
        ),
    ]
}

/// Carries out a call of a tool that there is. What went wrong with it the client reads in its result.
pub(super) async fn call(
    name: &str,
    words: JsonObject,
    starter: &Starter,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let carried_out = async {
        match name {
            "studies" => answered(all_studies(read(words)?)?),
            "plan" => answered(starter.plan(&read(words)?).await?),
            "start" => answered(starter.run(&read(words)?).await?),
            "compare" => answered(starter.compare(&read(words)?).await?),
            "profile" => answered(starter.profile(&read(words)?)?),
            "wait" => answered(wait(&starter.jobs, read(words)?, context).await?),
            "cancel" => answered(cancel(&starter.jobs, read(words)?)?),
            "submit" => answered(starter.submit(&read(words)?)?),
            "ledger" => answered(starter.ledger(&read(words)?).await?),
            "result" => result(&starter.jobs, read(words)?),
            _ => Err(format!("there is no tool `{name}`")),
        }
    };
    let late = || Err("this took longer than 45 s; ask again, or look with `wait`".to_owned());
    let result = timeout(LONGEST, carried_out).await.unwrap_or_else(|_| late());
    result.unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(why)]))
}

fn answered(answer: impl Short + Serialize) -> Result<CallToolResult, String> {
    let value = serde_json::to_value(&answer).unwrap_or_default();
    let mut result = CallToolResult::structured(present(value));
    result.content = vec![ContentBlock::text(answer.short())];
    Ok(result)
}

fn read<T: DeserializeOwned>(words: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(words)).map_err(|error| {
        format!("the arguments are not what the tool takes: {error}; see its schema")
    })
}

fn all_studies(Nothing {}: Nothing) -> Result<Studies, String> {
    let studies = studies::all().map_err(|failure| failure.sentence())?;
    Ok(Studies { studies })
}

async fn wait(
    jobs: &Jobs,
    Wait { handle, seconds }: Wait,
    context: &RequestContext<RoleServer>,
) -> Result<Status, String> {
    let seconds = seconds.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT);
    let until = Instant::now() + Duration::from_secs(seconds.into());
    let mut changes = jobs.changes();
    let mut seen = None;
    loop {
        let (ended, status) = jobs.of(&handle, |job| (job.ended().is_some(), job.status()))?;
        if ended {
            return Ok(status);
        }
        let progress = Some((status.trials_done, status.stage.clone()));
        if seen != progress {
            report(&status, context).await;
            seen = progress;
        }
        match timeout_at(until, changes.changed()).await {
            Ok(Ok(())) => {}
            _ => return Ok(status),
        }
    }
}

/// Says how far a job is, to a client that wants to hear it.
async fn report(status: &Status, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let progress = ProgressNotificationParam::new(token, status.trials_done as f64);
    let progress = match status.trials_planned {
        Some(planned) => progress.with_total(planned as f64),
        None => progress,
    };
    // A client that has left is no fault of the job's.
    let _ = context.peer.notify_progress(progress.with_message(status.short())).await;
}

fn result(jobs: &Jobs, Handle { handle }: Handle) -> Result<CallToolResult, String> {
    let found = jobs.of(&handle, |job| {
        let End { answer, value, .. } = job.ended()?.clone();
        let (links, folder) = (resources::of_job(job), job.folder.display().to_string());
        let resources = links.iter().map(|one| one.uri.clone()).collect();
        Some((Outcome { job: job.status(), answer, value, resources, folder }, links))
    })?;
    let (outcome, links) =
        found.ok_or_else(|| format!("{handle} still works; `wait` for its end"))?;
    if outcome.answer.is_none() && outcome.value.is_none() {
        return Err(outcome.job.short());
    }
    let mut result = answered(outcome)?;
    result.content.extend(links.into_iter().map(ContentBlock::resource_link));
    Ok(result)
}

fn cancel(jobs: &Jobs, Handle { handle }: Handle) -> Result<Status, String> {
    let number = jobs.of(&handle, |job| job.number)?;
    jobs.interrupt(number, "cancelled by the client");
    jobs.of(&handle, Job::status)
}
