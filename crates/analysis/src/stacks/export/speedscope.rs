//! JSON for speedscope, by <https://www.speedscope.app/file-format-schema.json>.

use serde::Serialize;

use super::Weight;
use crate::stacks::{cost::Costs, profile::Profile};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared<'a>,
    profiles: [Sampled<'a>; 1],
    name: &'a str,
    active_profile_index: u32,
    exporter: &'static str,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    name: &'a str,
    file: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    unit: &'static str,
    start_value: f64,
    end_value: f64,
    /// Outermost first.
    samples: Vec<&'a [u32]>,
    weights: Vec<f64>,
}

/// A profile of type `sampled`; its unit is none, or ms of CPU a second.
pub fn speedscope(name: &str, profile: &Profile, weight: Weight<'_>) -> String {
    let profile = &*profile.without_loops();
    let cpu = match weight {
        Weight::Samples => &[],
        Weight::Cpu(cpu) => cpu,
    };
    let costs = Costs::of(&profile.samples, cpu);
    let scale = if costs.known() { 1e-3 } else { 1.0 };
    let weights: Vec<f64> =
        profile.stacks.iter().map(|stack| costs.mean(&stack.samples) * scale).collect();
    let place = |frame: &'_ crate::stacks::profile::Frame| {
        let module = profile.modules.get(frame.module as usize);
        module.map(|module| module.name.as_str()).unwrap_or_default()
    };
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared: Shared {
            frames: profile
                .frames
                .iter()
                .map(|frame| Place { name: &frame.name, file: place(frame) })
                .collect(),
        },
        profiles: [Sampled {
            kind: "sampled",
            name,
            unit: if costs.known() { "milliseconds" } else { "none" },
            start_value: 0.0,
            end_value: weights.iter().sum(),
            samples: profile.stacks.iter().map(|stack| stack.frames.as_slice()).collect(),
            weights,
        }],
        name,
        active_profile_index: 0,
        exporter: "headroom",
    };
    // Text, numbers and lists always have a form in JSON.
    serde_json::to_string(&file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::stacks::test_data::profile;

    fn parsed(weight: Weight) -> Value {
        let profile = profile(&[("d;main;k:read", &[6, 2]), ("d;main", &[2, 6])]);
        serde_json::from_str(&speedscope("found@114", &profile, weight)).unwrap()
    }

    #[test]
    fn every_stack_is_a_sample_with_its_weight() {
        let found = parsed(Weight::Samples);
        let profile = &found["profiles"][0];
        assert_eq!(profile["samples"], json!([[0, 1, 2], [0, 1]]));
        assert_eq!((&profile["weights"], &profile["unit"]), (&json!([8.0, 8.0]), &json!("none")));
        assert_eq!(found["shared"]["frames"][2], json!({ "name": "read", "file": "[kernel]" }));
        assert_eq!((&profile["type"], &profile["endValue"]), (&json!("sampled"), &json!(16.0)));
    }

    #[test]
    fn with_known_cpu_weights_are_milliseconds_of_it() {
        let cpu = [Some(8_000.0), Some(8_000.0)];
        let profile = &parsed(Weight::Cpu(&cpu))["profiles"][0];
        assert_eq!(
            (&profile["weights"], &profile["unit"]),
            (&json!([4.0, 4.0]), &json!("milliseconds"))
        );
    }
}
