//! What jobs leave to read: reports, runs and flame graphs, as `headroom://job-1/report.html`.
//!
//! An address is looked up among those that are listed; nothing of it becomes a path.

use linux::folder::Folder;
use rmcp::model::Resource;

use super::{job::Job, jobs::Jobs};
use crate::run_path::PAGE;

/// A larger file is opened where it lies, bytes.
const LARGEST: u64 = 16 << 20;

const RUN: &str = "run.json";
const SCHEME: &str = "headroom://";

/// The resources of a job that has ended, as far as their files are there.
pub(super) fn of_job(job: &Job) -> Vec<Resource> {
    let Some(end) = job.ended() else { return Vec::new() };
    let Ok(folder) = Folder::open(&job.folder) else { return Vec::new() };
    let of = &job.order.of;
    let own = [
        (PAGE, format!("the report of {of}"), "text/html"),
        (RUN, format!("what was run of {of}, on what"), "application/json"),
    ];
    let flames = end.answer.iter().flat_map(|answer| &answer.flames);
    let flames = flames.map(|flame| {
        (flame.file.as_str(), format!("a flame graph of {}", flame.of), "image/svg+xml")
    });
    let resource = |(file, about, kind): (&str, String, &str)| {
        let size = folder.file(file).and_then(|file| file.metadata()).ok()?.len();
        let name = format!("{}/{file}", job.handle());
        let resource = Resource::new(format!("{SCHEME}{name}"), name).with_description(about);
        Some(resource.with_mime_type(kind).with_size(size))
    };
    own.into_iter().chain(flames).filter_map(resource).collect()
}

pub(super) fn all(jobs: &Jobs) -> Vec<Resource> {
    jobs.of_each(of_job).into_iter().flatten().collect()
}

/// A resource's text and its type.
pub(super) fn read(jobs: &Jobs, address: &str) -> Result<(String, String), String> {
    let read = |job: &Job| {
        let found = of_job(job).into_iter().find(|resource| resource.uri == address)?;
        Some(text(job, &found))
    };
    jobs.of_each(read).into_iter().flatten().next().unwrap_or_else(|| {
        Err(format!(
            "there is no resource `{address}`; `result` of a job that has ended names its own"
        ))
    })
}

fn text(job: &Job, resource: &Resource) -> Result<(String, String), String> {
    let (path, uri) = (job.folder.display(), &resource.uri);
    let size = resource.size.unwrap_or_default();
    if size > LARGEST {
        return Err(format!("{uri} has {size} bytes; open it in {path}"));
    }
    let file = uri.rsplit('/').next().unwrap_or_default();
    let text = Folder::open(&job.folder).and_then(|folder| folder.read_text(file, LARGEST));
    let text = text.map_err(|error| format!("cannot read {uri}: {error}; look into {path}"))?;
    Ok((text, resource.mime_type.clone().unwrap_or_default()))
}
