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

/// One thing to read.
#[derive(Clone, Debug)]
struct Item {
    file: String,
    about: String,
    kind: &'static str,
}

impl Item {
    fn new(file: &str, about: &str, kind: &'static str) -> Self {
        Self { file: file.to_owned(), about: about.to_owned(), kind }
    }

    fn address(&self, job: &Job) -> String {
        format!("headroom://{}/{}", job.handle(), self.file)
    }
}

/// What a job that has ended could have to read.
fn items(job: &Job) -> Vec<Item> {
    let Some(end) = job.ended() else { return Vec::new() };
    let of = &job.wanted.of;
    let mut items = vec![
        Item::new(PAGE, &format!("the report of {of}"), "text/html"),
        Item::new(RUN, &format!("what was run of {of}, on what"), "application/json"),
    ];
    let flames = end.answer.iter().flat_map(|answer| &answer.flames);
    items.extend(flames.map(|flame| {
        Item::new(&flame.file, &format!("a flame graph of {}", flame.of), "image/svg+xml")
    }));
    items
}

/// What is there of it, with its size.
fn there(job: &Job) -> Vec<(Item, u64)> {
    let Ok(folder) = Folder::open(&job.folder) else { return Vec::new() };
    let sized = |item: Item| {
        let size = folder.file(&item.file).and_then(|file| file.metadata()).ok()?.len();
        Some((item, size))
    };
    items(job).into_iter().filter_map(sized).collect()
}

/// The addresses of a job's resources.
pub(super) fn addresses(job: &Job) -> Vec<String> {
    there(job).iter().map(|(item, _)| item.address(job)).collect()
}

/// The resources of a job.
pub(super) fn of_job(job: &Job) -> Vec<Resource> {
    let resource = |(item, size): &(Item, u64)| {
        Resource::new(item.address(job), format!("{}/{}", job.handle(), item.file))
            .with_description(item.about.clone())
            .with_mime_type(item.kind)
            .with_size(*size)
    };
    there(job).iter().map(resource).collect()
}

/// The resources of all jobs.
pub(super) fn all(jobs: &Jobs) -> Vec<Resource> {
    let numbers = jobs.numbers().into_iter();
    numbers.filter_map(|number| jobs.with(number, |job| of_job(job))).flatten().collect()
}

/// A resource's text and its type.
///
/// # Errors
///
/// Which there are, or how large it is and where it lies.
pub(super) fn read(jobs: &Jobs, address: &str) -> Result<(String, &'static str), String> {
    let read = |job: &mut Job| {
        let (item, size) = there(job).into_iter().find(|(item, _)| item.address(job) == address)?;
        Some(text(job, &item, size))
    };
    let mut found =
        jobs.numbers().into_iter().filter_map(|number| jobs.with(number, read).flatten());
    found.next().unwrap_or_else(|| {
        Err(format!(
            "there is no resource `{address}`; `result` of a job that has ended names its own"
        ))
    })
}

fn text(job: &Job, item: &Item, size: u64) -> Result<(String, &'static str), String> {
    let path = job.folder.display();
    if size > LARGEST {
        return Err(format!("{} has {size} bytes; open it in {path}", item.address(job)));
    }
    let text = Folder::open(&job.folder).and_then(|folder| folder.read_text(&item.file, LARGEST));
    let text = text
        .map_err(|error| format!("cannot read {}: {error}; look into {path}", item.address(job)))?;
    Ok((text, item.kind))
}
