//! What `check` and wrong words are answered with.

use crate::scene::Scene;

#[test]
fn check_names_processes_and_groups() {
    let Some(mut scene) = Scene::set() else { return };
    scene.application();
    let policy = scene.policy("");
    let told = scene.told(&["check", policy.to_str().unwrap()]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.out.contains(&scene.group) && told.out.contains("load"), "{told:?}");
    let json = scene.told(&["check", policy.to_str().unwrap(), "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["applications"][0]["pids"].as_array().unwrap().len() >= 5, "{json}");
}

#[test]
fn without_a_guard_there_is_one_line_that_says_so() {
    let Some(scene) = Scene::set() else { return };
    for words in [&["status"][..], &["set", "5"], &["reload"]] {
        let told = scene.told(words);
        assert_eq!((told.code, told.err.lines().count()), (4, 1), "{told:?}");
        assert!(told.err.contains("no guard runs"), "{told:?}");
    }
}

#[test]
fn a_policy_that_is_not_there_is_named() {
    let Some(scene) = Scene::set() else { return };
    let told = scene.told(&["check", "/none/guard.toml"]);
    assert_eq!(told.code, 2);
    assert_eq!(
        told.err,
        "guard: cannot read the policy /none/guard.toml: No such file or directory (os error 2)\n"
    );
}
