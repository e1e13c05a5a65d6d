//! `headroom studies`: the studies that headroom brings, or the file of one, to read or to begin an own one with.

use serde::Serialize;
use serde_json::json;

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

pub(crate) fn print(options: &Options, flags: &flags::Studies) -> Result<Verdict, Failure> {
    if let Some(name) = &flags.study {
        let study = shipped::named(name).ok_or_else(|| Failure::Usage(shipped::unknown(name)))?;
        if options.json {
            let Listed { name, question } = listed(study)?;
            output::json(&json!({"name": name, "question": question, "text": study.text}));
        } else {
            output::line(study.text.trim_end());
        }
        return Ok(Verdict::Pass);
    }
    let all = all()?;
    if options.json {
        output::json(&all);
        return Ok(Verdict::Pass);
    }
    let width = all.iter().map(|study| study.name.len()).max().unwrap_or_default();
    for Listed { name, question } in &all {
        output::line(format_args!("{name:width$}  {question}"));
    }
    Ok(Verdict::Pass)
}

pub(crate) fn all() -> Result<Vec<Listed>, Failure> {
    shipped::ALL.iter().map(listed).collect()
}

fn listed(study: &Shipped) -> Result<Listed, Failure> {
    let file = shipped::text_of(study.name.as_ref())?.study()?;
    Ok(Listed { name: study.name, question: file.study.question })
}
