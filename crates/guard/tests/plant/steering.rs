//! The target is reached, held and not overdone; the worst offender comes first; what is bounded is released.

use crate::{
    machine::{App, Machine},
    story::Story,
};

/// One CPU, Wi-Fi saturated, one application of four threads.
fn harm() -> Machine {
    Machine::new(1, vec![App::new("backup", 4)])
}

#[test]
fn a_saturated_path_is_brought_to_its_target_within_a_second_and_kept_there() {
    for (lines, target) in [
        ("aggressiveness = 0", 0.70),
        ("aggressiveness = 50", 0.90),
        ("aggressiveness = 100", 0.99),
        ("protect.target = \"95%\"", 0.95),
    ] {
        let mut story = Story::new(harm(), lines);
        story.run(60.0);
        let took = story.protected_after(0.0, target - 0.003);
        let took = took.unwrap_or_else(|| panic!("{lines}:\n{}", story.text()));
        assert!(took <= 1.0, "{lines}: {took} s\n{}", story.text());
        let kept = story.kept(10.0, 60.0);
        let allowed = 1.0 - target;
        assert!(kept >= target - 0.1 * allowed - 1e-6, "{lines}: {kept}\n{}", story.text());
        assert!(kept <= target + 0.65 * allowed, "{lines}: {kept}\n{}", story.text());
    }
}
