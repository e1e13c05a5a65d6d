//! What `check` and wrong words are answered with.

use crate::device::Device;

#[test]
fn check_names_processes_and_groups() {
    let Some(mut device) = Device::set() else { return };
    device.application();
    let policy = device.policy("");
    let ended = device.ended(&["check", policy.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains(&device.group) && ended.out.contains("load"), "{ended:?}");
    let json = device.ended(&["check", policy.to_str().unwrap(), "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["applications"][0]["pids"].as_array().unwrap().len() >= 5, "{json}");
}

#[test]
fn without_a_guard_there_is_one_line_that_says_so() {
    let Some(device) = Device::set() else { return };
    for words in [&["status"][..], &["set", "5"], &["reload"]] {
        let ended = device.ended(words);
        assert_eq!((ended.code, ended.err.lines().count()), (4, 1), "{ended:?}");
        assert!(ended.err.contains("no guard runs"), "{ended:?}");
    }
}

#[test]
fn a_policy_that_is_not_there_is_named() {
    let Some(device) = Device::set() else { return };
    let ended = device.ended(&["check", "/none/guard.toml"]);
    assert_eq!(ended.code, 2);
    assert_eq!(
        ended.err,
        "guard: cannot read the policy /none/guard.toml: No such file or directory (os error 2)\n"
    );
}
