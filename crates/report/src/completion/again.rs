//! How to make a completion run again: the command, to be typed in its folder, which has the study file.
//!
//! Of a comparison every word is said that decides what is compared, whether or not it was said then: the defaults
//! may be others by the time somebody types it.

use model::completion::{Run, Study, Versus};

use crate::again::{quoted, whole};

pub(super) fn command(run: &Run) -> String {
    match &run.study.completion.versus {
        Some(versus) => compare(&run.study, versus),
        None => whole(&run.overrides),
    }
}

/// The comparison that the run was.
fn compare(study: &Study, versus: &Versus) -> String {
    let shape = &study.completion;
    let mut words = vec!["headroom compare study.toml".to_owned(), versus.base.name().to_owned()];
    words.push(versus.variant.map_or("--a-a", |variant| variant.name()).to_owned());
    words.extend(study.places.first().map(|place| format!("--place {}", quoted(&place.name))));
    if let Some(load) = study.loads.first() {
        words.push(format!("--load {}", quoted(&load.name)));
        words.extend(load.rates.first().map(|rate| format!("--rate {rate}")));
    }
    words.push(format!("--pairs {} --window {}", shape.blocks, shape.window));
    words.extend(shape.margin.map(|margin| format!("--margin {margin}")));
    words.extend(shape.expect.map(|expect| format!("--expect {}", expect.name())));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use analysis::completion::test_data;
    use model::{completion::Strategy, verdict::Expect};

    use super::*;

    #[test]
    fn a_comparison_is_made_again_as_one_and_a_whole_study_as_a_whole() {
        let mut run = test_data::run();
        assert_eq!(command(&run), "headroom run study.toml");
        run.overrides =
            ["cell = [1, 3]", "window = 5s", "variants = busy, event"].map(str::to_owned).to_vec();
        let changed =
            "headroom run study.toml --cell 1,3 --window 5s --variant busy --variant event";
        assert_eq!(command(&run), changed);
        let shape = &mut run.study.completion;
        shape.versus = Some(Versus { base: Strategy::Busy, variant: Some(Strategy::Event) });
        run.study.loads.remove(0);
        run.study.loads[0].name = "full frames".to_owned();
        let plain = "headroom compare study.toml busy event --place ap --load 'full frames' --rate 440 --pairs 6 --window 2s";
        assert_eq!(command(&run), plain);
        let shape = &mut run.study.completion;
        (shape.expect, shape.margin) = (Some(Expect::Same), Some("0.5%".parse().unwrap()));
        assert_eq!(command(&run), format!("{plain} --margin 0.5% --expect same"));
        run.study.completion.versus = Some(Versus { base: Strategy::Busy, variant: None });
        assert!(command(&run).contains(" busy --a-a --place ap "));
    }
}
