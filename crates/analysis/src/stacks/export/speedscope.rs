//! JSON for speedscope, by <https://www.speedscope.app/file-format-schema.json>.

use serde::Serialize;

use crate::stacks::profile::Profile;

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
    start_value: u64,
    end_value: u64,
    /// Outermost first.
    samples: Vec<&'a [u32]>,
    weights: Vec<u64>,
}

/// A profile of type `sampled`, weighted by samples.
pub fn speedscope(name: &str, profile: &Profile) -> String {
    let profile = &*profile.without_loops();
    let weights: Vec<u64> = profile.stacks.iter().map(|stack| stack.samples.iter().sum()).collect();
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
            unit: "none",
            start_value: 0,
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

    #[test]
    fn every_stack_is_a_sample_with_its_weight() {
        let profile = profile(&[("d;main;k:read", &[6, 2]), ("d;main", &[2, 6])]);
        let found: Value = serde_json::from_str(&speedscope("found@114", &profile)).unwrap();
        let profile = &found["profiles"][0];
        assert_eq!(profile["samples"], json!([[0, 1, 2], [0, 1]]));
        assert_eq!((&profile["weights"], &profile["unit"]), (&json!([8, 8]), &json!("none")));
        assert_eq!(found["shared"]["frames"][2], json!({ "name": "read", "file": "[kernel]" }));
        assert_eq!((&profile["type"], &profile["endValue"]), (&json!("sampled"), &json!(16)));
    }
}
