//! The real program on the running kernel: version 1 groups of our own, a network namespace of our own, and
//! nothing else of the machine. Each test says why where it cannot run.

#![expect(clippy::unwrap_used, reason = "a test says why it fails or is skipped")]

/// A scene to play in; where there can be none, the test is over, and has said why.
macro_rules! scene {
    () => {
        match crate::scene::Scene::set() {
            Some(scene) => scene,
            None => return,
        }
    };
}

mod life;
mod listening;
mod scene;
mod weather;
mod words;
