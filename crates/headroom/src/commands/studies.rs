//! `headroom studies`: the studies that headroom brings, or the file of one, to read or to begin an own one with.

use serde::Serialize;

use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
    output,
    shipped::{self, Shipped},
};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "mcp", derive(schemars::JsonSchema))]
pub(crate) struct Listed {
    /// What it is called
    pub(crate) name: &'static str,
    /// What it asks
    pub(crate) question: String,
}

#[derive(Debug, Serialize)]
struct Whole {
    #[serde(flatten)]
    listed: Listed,
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
        output::json(&Whole { listed: listed(study)?, text: study.text });
    } else {
        output::line(study.text.trim_end());
    }
    Ok(Verdict::Pass)
}

pub(crate) fn all() -> Result<Vec<Listed>, Failure> {
    shipped::ALL.iter().map(listed).collect()
}

fn list(options: &Options) -> Result<Verdict, Failure> {
    let all = all()?;
    if options.json {
        output::json(&all);
        return Ok(Verdict::Pass);
    }
    let width = all.iter().map(|study| study.name.len()).max().unwrap_or_default();
    for Listed { name, question, .. } in &all {
        output::line(format_args!("{name:width$}  {question}"));
    }
    Ok(Verdict::Pass)
}

fn listed(study: &Shipped) -> Result<Listed, Failure> {
    let file = shipped::text_of(study.name.as_ref())?.study()?;
    Ok(Listed { name: study.name, question: file.study.question })
}
