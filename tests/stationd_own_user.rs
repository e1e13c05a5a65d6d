//! stationd as it is packaged: a user of its own, no capability, few system calls, and on ubus by the broker's rules that
//! are shipped with it. The broker comes late, refuses, dies and comes back.

use crate::harness::{Place, stationd, with_broker};

/// The file that OpenWrt's package puts into `/usr/share/acl.d`.
const RULES: &str =
    include_str!("../crates/stationd/packaging/openwrt/files/usr/share/acl.d/stationd.json");

/// The guide's page, with the rules of a consumer that is not root.
const GUIDE: &str = include_str!("../docs/guide/ubus.md");

const SERVICE: &str = r#"
echo 'stationd:x:990:' >>/etc/group
echo 'stationd:x:990:990::/:/bin/false' >>/etc/passwd
echo 'collector:x:991:' >>/etc/group
echo 'collector:x:991:991::/:/bin/false' >>/etc/passwd
mkdir /tmp/run && chown 990:990 /tmp/run
as() {
    exec busybox start-stop-daemon -S -q -p /nonexistent -c stationd:stationd -x "$(command -v stationd)" -- --set socket=/tmp/run/s --set ubus=/tmp/ubus.sock --set ubus-names=$names "$@"
}
names=own
(as --set trace=info) 2>>/tmp/said &
daemon=$!
within 10 test -S /tmp/run/s
within 5 grep -q 'seccomp: the filter is set' /tmp/said
part status; grep -E '^(Uid|Groups|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/$daemon/status
# Without rules the broker takes nothing from it.
broker
within 10 grep -q 'refuses `stationd`' /tmp/said
part alone; stationd --check --set metrics=127.0.0.1:9811 --set interfaces=wlan0,wlan9 || echo "code $?"
end() { kill -9 $broker; wait $broker || :; rm /tmp/ubus.sock; }
stations() { client call stationd.iwinfo assoclist '{"device":"wlan0"}'; echo; }
for time in 1 2 3; do
    end
    broker --acl-dir=/tmp/acl.d
    there stationd.hostapd.wlan2
    part stations-$time; stations
done
collect() {
    busybox start-stop-daemon -S -q -p /nonexistent -c collector:collector -x /run/headroom/put/ubus-client -- \
        -s /tmp/ubus.sock "$@"
}
part collected; collect call stationd.iwinfo assoclist '{"device":"wlan0"}'; echo
part denied; collect call stationd.hostapd.wlan0 get_clients || echo "code $?"
collect -n 1 -t 20 subscribe stationd >/tmp/heard &
heard=$!
sleep 1
hostapd_cli -i wlan1 deauthenticate "$(hostapd_cli -i wlan1 list_sta | head -1)"
wait $heard
part heard; cat /tmp/heard
part descriptors; ls /proc/$daemon/fd | wc -l
part end
end; broker --acl-dir=/tmp/acl.d; there stationd.hostapd.wlan2
part descriptors-later; ls /proc/$daemon/fd | wc -l
kill $daemon; wait $daemon
names=field
(as) 2>>/tmp/said &
daemon=$!
there hostapd.wlan2
part field; client call hostapd.wlan0 get_clients; client call WiFi.AccessPoint.1 getStationStatsBrief | head -1
kill $daemon; wait $daemon
part left; ls /tmp/run | wc -l
"#;

#[test]
fn it_serves_on_ubus_as_its_own_user_and_comes_back_through_the_filter() {
    let place = Place::with_guests();
    let (_, consumer) = GUIDE.split_once("```json\n").unwrap();
    let (consumer, _) = consumer.split_once("```").unwrap();
    let files = [("stationd", RULES), ("collector", consumer)];
    let rules = files.map(|(user, text)| {
        format!("cat >/tmp/acl.d/{user}.json <<'END'\n{text}END\nchmod 644 /tmp/acl.d/*\n")
    });
    let script = format!("mkdir /tmp/acl.d\n{}{SERVICE}", rules.concat());
    let Some(parts) = with_broker(&place, 6, &script) else { return };
    let status = parts.text("status");
    assert!(status.contains("Uid:\t990\t990\t990\t990"), "{status}");
    let capabilities: Vec<_> = status.lines().filter(|line| line.starts_with("Cap")).collect();
    assert_eq!(capabilities.len(), 4, "{status}");
    assert!(capabilities.iter().all(|line| line.ends_with("\t0000000000000000")), "{status}");
    assert!(status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"), "{status}");
    let alone = parts.text("alone");
    for words in [
        "works    kernel        nl80211 answers",
        "works    access point  wlan0: number 1, 02:00:00:00:00:00, ",
        " MHz, 2 stations",
        "absent   access point  wlan9 is no interface in AP mode at present",
        "works    hostapd       /run/hostapd/wlan0 answers",
        "works    socket        /run/stationd.sock is free",
        "works    metrics       127.0.0.1:9811 is free",
        "works    seccomp       the kernel takes the filter",
    ] {
        assert!(alone.lines().any(|line| line.contains(words)), "no `{words}` in {alone}");
    }
    assert!(!alone.contains("code "), "{alone}");
    for time in 1..=3 {
        let reply = &parts.lines(&format!("stations-{time}"))[0];
        assert_eq!(reply["results"].as_array().unwrap().len(), 2, "{reply}");
    }
    assert_eq!(parts.lines("collected")[0]["results"].as_array().unwrap().len(), 2);
    assert!(parts.text("denied").contains("code "), "{}", parts.text("denied"));
    assert!(parts.text("heard").contains("disassoc"), "{}", parts.text("heard"));
    assert_eq!(parts.number("descriptors"), parts.number("descriptors-later"));
    let field = parts.lines("field");
    assert_eq!(field[0]["clients"].as_object().unwrap().len(), 2, "{field:?}");
    assert_eq!(field[1]["retval"].as_array().unwrap().len(), 2, "{field:?}");
    assert_eq!(parts.number("left"), 0);
}

/// The costs that `cargo xtask sensitivity` plants are in a build of its own; names and lines stay on the host.
#[test]
fn the_stationd_that_ships_is_one_small_file_and_has_nothing_planted() {
    let program = std::fs::read(stationd()).unwrap();
    let holds = |text: &[u8]| program.windows(text.len()).any(|here| here == text);
    assert!(holds(b"getStationStats"), "it holds the names of its methods");
    assert!(!holds(b"STATIOND_PLANT"), "it was built with the feature `planted`");
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(&*program).unwrap();
    let (parts, endian) = (file.elf_program_headers(), file.endian());
    assert!(parts.iter().all(|part| part.p_type.get(endian) != object::elf::PT_INTERP));
    // A device has what is loaded.
    let ends = parts.iter().map(|part| part.p_offset.get(endian) + part.p_filesz.get(endian));
    assert!(ends.max().unwrap() <= 2 << 20, "{} bytes", program.len());
}
