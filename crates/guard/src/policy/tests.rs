//! Good, misspelt and dangerous policies, each with the line that a person gets to read.

use std::fs;

use super::*;

fn refused(text: &str) -> String {
    parse(text, "guard.toml").unwrap_err().to_string()
}

/// An application with this line in it.
fn application(line: &str) -> String {
    format!("aggressiveness = 80\n[[application]]\nname = \"backup\"\n{line}\n")
}

#[test]
fn an_empty_policy_protects_every_wireless_interface_and_bounds_no_one() {
    let policy = parse("", "guard.toml").unwrap();
    assert_eq!((policy.aggressiveness, policy.applications.len()), (80, 0));
    assert!(policy.protect.interfaces.is_empty() && !policy.allow.threaded_napi);
}

#[test]
fn a_target_may_be_a_rate() {
    let policy = parse("[protect]\ntarget = \"400 Mb/s\"\n", "guard.toml").unwrap();
    assert_eq!(policy.protect.target, Some(Target::Rate(400_000_000)));
}

#[test]
fn a_misspelt_key_is_reported_with_its_line_and_the_nearest_one() {
    let line = refused("application-floor = \"10%\"\nagressiveness = 3\n");
    assert_eq!(line, "guard.toml:2: unknown key `agressiveness`; did you mean `aggressiveness`?");
    let line = refused(&application("servise = \"backup\""));
    assert_eq!(line, "guard.toml:4: unknown key `servise`; did you mean `service`?");
    let line = refused("floor = \"10%\"\n");
    assert_eq!(line, "guard.toml:1: unknown key `floor`; did you mean `application-floor`?");
    let line = refused("[allow]\nfreezer = true\n");
    assert!(line.contains("known here: idle, packing, quota"), "{line}");
}

#[test]
fn values_out_of_range_are_refused() {
    for (text, why) in [
        ("aggressiveness = 101\n", ":1: aggressiveness 101 is above 100; write 0 to 100"),
        ("aggressiveness = 300\n", ":1: aggressiveness is a whole number from 0 to 100"),
        ("application-floor = \"a lot\"\n", ":1: `a lot` is not a share"),
        ("application-floor = \"90\"\n", ":1: a floor of more than 64 CPUs"),
        ("[protect]\ntarget = \"120%\"\n", ":2: a target of 120% of what Wi-Fi asks for"),
        ("[protect]\ntarget = \"0%\"\n", ":2: a target of 0%"),
        ("[protect]\ntarget = \"fast\"\n", "`fast` is not a target; write 95% or 400 Mb/s"),
        ("\n[protect]\ninterfaces = [\"wl*an\"]\n", ":3: `wl*an` is not an interface"),
        (
            "[protect]\ndaemons = [\"/usr/sbin/hostapd\"]\n",
            ":2: `/usr/sbin/hostapd` is not the name",
        ),
    ] {
        let line = refused(text);
        assert!(line.contains(why), "{line}");
        assert_eq!(line.lines().count(), 1);
    }
}

#[test]
fn an_application_is_found_in_exactly_one_way() {
    for (text, why) in [
        ("", ":3: application `backup`: nothing says how to find it; give one of service,"),
        ("service = \"a\"\nuser = \"b\"", ":5: application `backup`: found by service and by user"),
        ("process = \" \"", ":4: application `backup`: process is empty"),
        ("service = \"a/b\"", "there is a `/` in it"),
        ("service = \"a\"\nfloor = \"9000%\"", ":5: application `backup`: a floor of more than 64"),
    ] {
        let line = refused(&application(text));
        assert!(line.contains(why), "{line}");
    }
}

#[test]
fn what_keeps_the_device_and_wifi_alive_is_never_bounded() {
    for way in [
        "process = \"hostapd\"",
        "process = \"/usr/sbin/hostapd\"",
        "process = \"guard\"",
        "service = \"dropbear\"",
        "unit = \"wpa_supplicant.service\"",
        "group = \"/services/dnsmasq/instance1\"",
        "group = \"/system.slice/hostapd.service\"",
        "process = \"headroom-agent\"",
    ] {
        let line = refused(&application(way));
        assert!(line.contains("is never bounded; leave it out"), "{line}");
    }
    let own =
        "[protect]\ndaemons = [\"wifid\"]\n".to_owned() + &application("process = \"wifid\"")[20..];
    assert!(refused(&own).contains("wifid is never bounded"));
    assert!(
        refused(&application("user = \"root\"")).contains("root runs what keeps the device alive")
    );
}

#[test]
fn groups_are_below_the_root_and_written_in_full() {
    for (group, why) in [
        ("/", "`/` is the whole device"),
        ("//", "`/` is the whole device"),
        ("apps", "does not begin with `/`; write /apps"),
        ("/apps/../x", "goes up or has an empty part"),
        ("/apps//x", "goes up or has an empty part"),
    ] {
        let line = refused(&application(&format!("group = \"{group}\"")));
        assert!(line.contains(why), "{line}");
    }
}

#[test]
fn names_are_plain_and_there_are_no_two_of_one_kind() {
    for name in ["", "a b", "../a", ".a", "wifi"] {
        let text = format!("[[application]]\nname = \"{name}\"\nservice = \"a\"\n");
        assert!(refused(&text).starts_with("guard.toml:2: application `"), "{name}");
    }
    let two = application("service = \"a\"") + &application("service = \"b\"")[20..];
    assert_eq!(
        refused(&two),
        "guard.toml:6: application `backup`: there are two of this name; give one another name"
    );
    let same =
        application("service = \"a\"") + "[[application]]\nname = \"other\"\nservice = \"a\"\n";
    assert!(refused(&same).contains(":7: application `other`: found as `backup` is"));
}

#[test]
fn files_next_to_the_policy_are_laid_over_it_in_the_order_of_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard.toml");
    let drop_ins = folder.path().join("guard.d");
    fs::create_dir(&drop_ins).unwrap();
    fs::write(&path, application("service = \"backup\"")).unwrap();
    let more = "[[application]]\nname = \"index\"\nuser = \"media\"\n[allow]\nquota = false\n";
    fs::write(drop_ins.join("20-index.toml"), more).unwrap();
    fs::write(drop_ins.join("10-knob.toml"), "aggressiveness = 40\n[allow]\nidle = false\n")
        .unwrap();
    fs::write(drop_ins.join("notes.txt"), "not = a policy").unwrap();
    let policy = Policy::read(&path).unwrap();
    let names: Vec<&str> = policy.applications.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["backup", "index"]);
    assert_eq!(policy.aggressiveness, 40);
    assert!(!policy.allow.quota && !policy.allow.idle && policy.allow.packing);
    // What two files have together is told with the later one's line.
    fs::write(
        drop_ins.join("30-again.toml"),
        "\n[[application]]\nname = \"index\"\nuser = \"x\"\n",
    )
    .unwrap();
    let line = Policy::read(&path).unwrap_err().to_string();
    assert!(line.contains("30-again.toml:3: application `index`: there are two"), "{line}");
}

#[test]
fn the_examples_can_be_used() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/guard");
    for (name, applications) in [("policy.toml", 3), ("openwrt.toml", 3)] {
        let policy = Policy::read(&Path::new(folder).join(name)).unwrap();
        assert_eq!(policy.applications.len(), applications, "{name}");
    }
}

#[test]
fn every_policy_of_the_guide_is_taken() {
    let guide = include_str!("../../../../docs/guide/guard.md");
    let blocks = guide.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut taken = 0;
    for block in blocks {
        let policy = parse(block, "guard.md");
        assert!(policy.is_ok(), "{policy:?}\n{block}");
        taken += 1;
    }
    assert!(taken > 0, "the guide has no policy");
}
