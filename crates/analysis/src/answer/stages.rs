//! The answer of a study of many variants: who costs most and least, and what a client adds. What each cure is worth
//! and what others published is the tables'.

use model::plural::count;
use model::run::Run;

use super::cell_price;
use crate::{Analysis, curve::Slope, figures::Part, quantity::Unit, stages::Stage};

/// The sentences, without those that have nothing to say.
pub(super) fn of(run: &Run, analysis: &Analysis) -> Vec<String> {
    let mut sentences = extremes(run, analysis);
    sentences.extend(slopes(analysis));
    sentences
}

fn extremes(run: &Run, analysis: &Analysis) -> Vec<String> {
    let Some((dearest, cheapest)) = analysis.stages.extremes() else { return Vec::new() };
    let price = |stage: &Stage| {
        let cell = analysis.cell(&stage.variant, analysis.stages.clients)?;
        cell_price(run, cell)
    };
    let clients = analysis.stages.clients;
    let most = price(dearest).map(|price| {
        format!(
            "At {clients} `{}` costs the most: {price}.",
            dearest.variant,
            clients = count(clients, "client")
        )
    });
    let least = price(cheapest).filter(|_| cheapest.variant != dearest.variant);
    let least = least.map(|price| format!("`{}` costs the least: {price}.", cheapest.variant));
    most.into_iter().chain(least).collect()
}

fn slopes(analysis: &Analysis) -> Option<String> {
    let (dearest, cheapest) = analysis.stages.extremes()?;
    let slope = |stage: &Stage| {
        let curve = analysis.curves.iter().find(|curve| curve.variant == stage.variant)?;
        curve.slope(Part::Sum).map(|slope| per_client(slope, &stage.variant))
    };
    let most = slope(dearest)?;
    let least = slope(cheapest).filter(|_| cheapest.variant != dearest.variant);
    let least = least.map_or(String::new(), |least| format!(", and {least}"));
    Some(format!("Each client adds {most}{least}."))
}

fn per_client(slope: &Slope, variant: &str) -> String {
    let reported = slope.per_client.differs_from_zero() || slope.per_client.interval.is_none();
    let doubt = if reported { "" } else { " (not measurably different from 0)" };
    let per_client = Unit::MICROS.with_interval(&slope.per_client);
    format!("{per_client} of CPU a second to `{variant}`{doubt}")
}
