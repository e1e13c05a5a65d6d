//! What the pages of contention and completion runs have in common: the head, the answer, limits, what was left
//! out, how to run it again, and what was measured.
//!
//! Takes what each kind says of itself as [`Parts`]; the sections between are the kinds' own.

use analysis::{
    headline::Headline,
    metrics::{self, Target},
    quantity::count,
};
use model::{contention::Machine, run::Run, study::Mode, verdict::Verdict};

use crate::{
    identity::{self, Fact},
    lead::{self, Given, Screen},
    prose,
    table::Table,
    targets::Shot,
};

/// A section that the contents may list: whether it is there, its id and its title.
pub(crate) type Section = (bool, &'static str, &'static str);

/// The fields of a page's frame, as the templates call them; an empty text is a part that is not there.
pub(crate) struct Frame<'a> {
    pub(crate) question: &'a str,
    pub(crate) headroom: &'a str,
    /// Whether the run goes on.
    pub(crate) is_pending: bool,
    /// The first screen.
    pub(crate) lead: String,
    pub(crate) contents: Vec<(&'static str, &'static str)>,
    pub(crate) answer: Vec<String>,
    pub(crate) targets: Vec<Shot>,
    /// What the page is made of, in a word.
    pub(crate) made_of: &'static str,
    pub(crate) left_out: String,
    pub(crate) left_lead: String,
    pub(crate) again: Vec<String>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) described: Vec<String>,
    pub(crate) study_toml: &'a str,
}

/// What one kind of run says of itself.
pub(crate) struct Parts<'a> {
    pub(crate) question: &'a str,
    pub(crate) headline: &'a Headline,
    pub(crate) answer: &'a [String],
    pub(crate) targets: &'a [Target],
    /// Trials that count, and those that do not.
    pub(crate) counted: u32,
    pub(crate) left: usize,
    pub(crate) left_out: Table,
    pub(crate) status: Vec<String>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) described: Vec<Table>,
    /// The command that makes the run again.
    pub(crate) again: String,
    pub(crate) sections: Vec<Section>,
}

impl<'a> Frame<'a> {
    /// # Errors
    ///
    /// Where the template of the first screen cannot be filled; no input is known to do that.
    pub(crate) fn of<S, P>(
        run: &'a Run<S, P>,
        given: Given<'a>,
        parts: Parts<'a>,
    ) -> askama::Result<Self> {
        let Given { study_toml, pending } = given;
        // What cannot be decided yet is no verdict.
        let is_decided = |target: &&Target| pending.is_none() || target.verdict != Verdict::Invalid;
        let decided: Vec<_> = parts.targets.iter().filter(is_decided).cloned().collect();
        let (verdict, sentence) = metrics::overall(&decided, parts.counted);
        let lead = lead::html(&Screen {
            study: &run.study_name,
            began: &identity::utc(run.began_unix),
            question: parts.question,
            headline: parts.headline,
            verdict,
            why: &prose::html(&sentence),
            status: &parts.status,
            doubts: &[],
            all_doubts: None,
            command: &parts.again,
            pending,
        })?;
        Ok(Self {
            question: parts.question,
            headroom: &run.headroom,
            is_pending: pending.is_some(),
            lead,
            contents: contents(parts.sections),
            answer: parts.answer.iter().map(|sentence| prose::html(sentence)).collect(),
            targets: parts.targets.iter().map(Shot::from).collect(),
            made_of: "trials",
            left_out: parts.left_out.html_or_nothing(),
            left_lead: left_lead(parts.counted, parts.left),
            again: vec![parts.again, "headroom report .".to_owned()],
            facts: parts.facts,
            described: parts.described.into_iter().map(Table::html_or_nothing).collect(),
            study_toml,
        })
    }
}

/// The sections that there are, in their order.
pub(crate) fn contents(
    all: impl IntoIterator<Item = Section>,
) -> Vec<(&'static str, &'static str)> {
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there.map(|(_, id, title)| (id, title)).collect()
}

fn left_lead(counted: u32, left: usize) -> String {
    let counted = count(counted, "trial");
    match left {
        0 => format!("Nothing: {counted}, all valid."),
        left => format!("{counted} count; {left} do not, and are excluded from results."),
    }
}

/// Whose CPU and whose clock a place's figures are of.
pub(crate) fn core(on: Machine, mode: Mode) -> &'static str {
    match (on, mode) {
        (Machine::Vm, Mode::Counted) => "a 500-MIPS core, counted",
        (Machine::Vm, Mode::RealTime) => "the virtual access point in real time",
        (Machine::Host, _) => "this host’s cores in real time",
    }
}

/// A place's machine and time; `host` is what a trial has of a host.
pub(crate) fn machine(on: Machine, mode: Mode, host: &'static str) -> &'static str {
    match (on, mode) {
        (Machine::Vm, Mode::Counted) => {
            "the virtual access point, counted: time is executed instructions at 2 ns each, a 500-MIPS core"
        }
        (Machine::Vm, Mode::RealTime) => {
            "the virtual access point, in real time on this host’s cores"
        }
        (Machine::Host, _) => host,
    }
}

/// Gives a page its frame's fields: askama reads them, and the templates that both pages include, as the page's own.
macro_rules! framed {
    ($page:ident) => {
        impl<'a> std::ops::Deref for $page<'a> {
            type Target = $crate::frame::Frame<'a>;

            fn deref(&self) -> &Self::Target {
                &self.frame
            }
        }
    };
}
pub(crate) use framed;
