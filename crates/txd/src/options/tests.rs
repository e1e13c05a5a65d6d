//! Words and what they mean; `tests/program/words.rs` has what is refused.

use super::*;
use crate::card::{
    fault::{Fault, Rates},
    timing::{Rate, Spread},
};

fn read(words: &[&str]) -> Options {
    parse(words.iter().map(Into::into)).expect("they are right").1
}

#[test]
fn the_contract_of_a_trial_is_read() {
    let words = "measure --strategy batch --rate 440 --bytes 1514 --completes-in 150us --warm-up 500ms --window 2s \
                 --task-rounds 7 --json";
    let options = read(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!((options.strategy, options.rate), (Some(Strategy::Batch), 440));
    assert_eq!((options.bytes, options.card.completes_in_ns), (1514, 150_000));
    assert_eq!((options.warm_up_ns, options.window_ns), (500_000_000, 2_000_000_000));
    assert_eq!((options.task_rounds, options.json), (Some(7), true));
    assert_eq!(read(&["measure", "--strategy=none"]).strategy, None);
}

#[test]
fn a_card_is_described() {
    let words = "run --spread tail:20us --bus-word 600ns --air 5.5 --back direct --names a,b \
                 --faults late=1%,late-by=3ms,lost=0.5%,stuck=2%,dies-at=9";
    let options = read(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(options.card.spread, Spread::Tail(20_000));
    assert_eq!((options.card.air, options.card.bus_word_ns), (Some(Rate::FiveAndAHalf), 600));
    let faults = Rates {
        late: 10_000,
        late_by_ns: 3_000_000,
        lost: 5_000,
        error: 0,
        stuck: 20_000,
        at: Some((9, Fault::Death)),
    };
    assert_eq!(options.card.faults, faults);
    assert_eq!((options.back, options.names), (false, ["a".to_owned(), "b".to_owned()]));
}

#[test]
fn the_help_names_every_flag_and_every_default() {
    let help = HELP;
    for flag in FLAGS {
        assert!(help.contains(flag), "{flag}");
    }
    let shown = Options::default();
    let again = "run --strategy event --rate 440 --bytes 1514 --completes-in 150us --spread fixed --others-in 50us \
                 --access-in 0s --air off --seed 1 --patience 20ms --queue 64 --warm-up 500ms --window 2s --names \
                 txd0,txd1 --back card";
    let words: Vec<&str> = again.split_whitespace().collect();
    assert_eq!(read(&words), shown);
    for pair in words[1..].chunks(2) {
        let line = help.lines().find(|line| line.trim_start().starts_with(pair[0]));
        assert!(line.is_some_and(|line| line.contains(pair[1])), "{pair:?}: {line:?}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 80), "it fits a terminal");
}
