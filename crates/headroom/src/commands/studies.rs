//! `headroom studies`: the studies that headroom brings, or the file of one, to read or to begin an own one with.

use model::experiment::Any;
use serde::Serialize;

use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    shipped::{self, Shipped},
};

/// A study, as a list says it.
#[derive(Debug, Serialize)]
struct Said {
    name: &'static str,
    kind: String,
    question: String,
}

/// The same with its file.
#[derive(Debug, Serialize)]
struct Whole {
    #[serde(flatten)]
    said: Said,
    text: &'static str,
}

pub(crate) fn print(options: &Options, flags: &flags::Studies) -> Result<Verdict, Failure> {
    match &flags.study {
        Some(name) => whole(options, name),
        None => list(options),
    }
}

fn whole(options: &Options, name: &str) -> Result<Verdict, Failure> {
    let study = shipped::named(name).ok_or_else(|| Failure::Usage(shipped::unknown(name)))?;
    if options.json {
        output::json(&Whole { said: said(study)?, text: study.text });
    } else {
        output::line(study.text.trim_end());
    }
    Ok(Verdict::Pass)
}

fn list(options: &Options) -> Result<Verdict, Failure> {
    let all = shipped::ALL.iter().map(said).collect::<Result<Vec<Said>, Failure>>()?;
    if options.json {
        output::json(&all);
        return Ok(Verdict::Pass);
    }
    let width = all.iter().map(|study| study.name.len()).max().unwrap_or_default();
    for Said { name, question, .. } in &all {
        output::line(format_args!("{name:width$}  {question}"));
    }
    Ok(Verdict::Pass)
}

fn said(study: &Shipped) -> Result<Said, Failure> {
    let file = shipped::text_of(study.name.as_ref())?.study().map_err(lab::Error::from)?;
    let kind = file.kind().to_string();
    let question = match file {
        Any::Clients(file) => file.study.question,
        Any::Contention(file) => file.study.question,
        Any::Completion(file) => file.study.question,
    };
    Ok(Said { name: study.name, kind, question })
}
