//! What guard itself costs, printed: its CPU and its memory while it works at 5 Hz, and while nothing happens.
//!
//! `cargo bench -p guard --bench cost`. It starts the real program in the tests' scene (a group and a network
//! namespace of our own) and reads its own account, which the kernel keeps. A figure, no judgement: a busy host
//! moves it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints, and says why it fails"
)]

#[path = "../tests/program/scene.rs"]
#[expect(dead_code, reason = "the tests use the rest of it")]
mod scene;

use std::{thread::sleep, time::Duration};

use scene::Scene;

/// How long each figure is taken over.
const SPAN: Duration = Duration::from_secs(30);

fn main() {
    let Some(mut scene) = Scene::set() else { return };
    println!("{:10} {:>10} {:>12} {:>8}", "while", "ticks/s", "of one CPU", "RSS");
    measured(&scene, "idle");
    scene.application();
    scene.traffic();
    measured(&scene, "working");
}

fn measured(scene: &Scene, name: &str) {
    let policy = scene.policy("");
    let guard = scene.run(&[policy.to_str().unwrap()]);
    sleep(Duration::from_secs(8));
    let own = || {
        let status = scene.status();
        let figure = |name: &str| status["own"][name].as_f64().unwrap();
        (figure("cpu_s"), figure("ticks"), figure("rss_kib"), status["uptime_s"].as_f64().unwrap())
    };
    let before = own();
    sleep(SPAN);
    let after = own();
    let span = after.3 - before.3;
    println!(
        "{name:10} {:>10.2} {:>10.3} % {:>4.1} MiB",
        (after.1 - before.1) / span,
        (after.0 - before.0) / span * 100.0,
        after.2 / 1024.0
    );
    guard.signal("TERM");
    assert_eq!(guard.end().code, 0);
}
