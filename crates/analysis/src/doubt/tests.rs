//! What a doubt knows of itself.

use model::{
    name::VariantName,
    trial::{Purpose, TrialId},
};

use super::*;

#[test]
fn a_doubt_knows_the_variants_that_it_is_about() {
    let id = |variant, repetition| TrialId {
        variant: VariantName::literal(variant),
        clients: 6,
        repetition,
        purpose: Purpose::Cpu,
        perturbed: None,
    };
    let trials = Affected(vec![id("b", 1), id("a", 1), id("b", 2)]);
    assert_eq!(Doubt::MissingSamples { trials }.variants(), ["a", "b"]);
    let cell = "v@114".to_owned();
    assert_eq!(Doubt::GrowingMemory { cell, kib: 1.0 }.variants(), ["v"]);
    let curved = Doubt::Curved { variant: "c".to_owned(), curvature: 1.0 };
    assert_eq!(curved.variants(), ["c"]);
    assert!(Doubt::Simulated {}.variants().is_empty());
    let few = Doubt::FewSamples { cell: "v@114".to_owned(), samples: 9 };
    assert!(few.is_about_instruments() && !Doubt::Simulated {}.is_about_instruments());
}
