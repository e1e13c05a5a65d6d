//! Whole trials: what nl80211, hostapd and a subject say of two clients, and one thing changed at a time.

use model::{
    parity::{BitRate, StationList, StationValues},
    verdict::Verdict,
};
use proptest::prelude::*;

use super::*;

const IW: &str = "Station 02:00:00:00:01:0a (on wlan0)\n\tinactive time:\t1500 ms\n\trx bytes:\t4321\n\
    \trx packets:\t12\n\ttx bytes:\t987\n\ttx packets:\t7\n\ttx retries:\t1\n\ttx failed:\t0\n\
    \trx drop misc:\t2\n\tsignal:  \t-30 [-31, -32] dBm\n\tsignal avg:\t-31 dBm\n\
    \ttx bitrate:\t72.2 MBit/s MCS 7 short GI\n\trx bitrate:\t6.0 MBit/s\n\tauthorized:\tyes\n\tauthenticated:\tyes\n\tassociated:\tyes\n\tWMM/WME:\tyes\n\
    \tconnected time:\t90 seconds\n\tassociated at:\t1790000000500 ms\n\tcurrent time:\t1790000090500 ms\n\
    Station 02:00:00:00:01:0b (on wlan0)\n\trx bytes:\t1\n\tcurrent time:\t1790000090500 ms\n";
const HOSTAPD: &str = "freq=2412\n02:00:00:00:01:0a\nflags=[AUTH][ASSOC][AUTHORIZED][WMM][HT]\n\
    rx_bytes=4321\ntx_bytes=987\nrx_packets=12\ntx_packets=7\nsignal=-30\ninactive_msec=1500\ntx_rate_info=722 mcs 7\n\
    rx_rate_info=60\nconnected_time=90\n02:00:00:00:01:0b\nrx_bytes=1\n";
const BRIEF: &str = r#"{"MACAddress":"02:00:00:00:01:0A","TxBytes":987,"RxBytes":4321,"TxErrors":0,"RxErrors":2,"TxPacketCount":7,"RxPacketCount":12,"TxUnicastPacketCount":7,"Tx_Retransmissions":1,"LastDataDownlinkRate":72200,"LastDataUplinkRate":6000,"DownlinkBandwidth":20,"SignalNoiseRatio":null,"SignalStrength":-30}
{"MACAddress":"02:00:00:00:01:0B","TxBytes":null,"RxBytes":1}
"#;

fn legacy(kbps: u32) -> BitRate {
    BitRate { kbps, width_mhz: 20, mode: "legacy".to_owned(), ..BitRate::default() }
}

/// What nl80211 has where [`IW`] and [`HOSTAPD`] are printed.
fn kernel() -> StationList {
    let ht = BitRate {
        kbps: 72_200,
        mode: "ht".to_owned(),
        mcs: Some(7),
        streams: Some(1),
        ..legacy(0)
    };
    let first = StationValues {
        address: "02:00:00:00:01:0a".to_owned(),
        associated_at_unix_ms: Some(1_790_000_000_500),
        connected_s: Some(90),
        inactive_ms: Some(1500),
        rx_bytes: Some(4321),
        tx_bytes: Some(987),
        rx_packets: Some(12),
        tx_packets: Some(7),
        tx_retries: Some(1),
        tx_failed: Some(0),
        rx_drop_misc: Some(2),
        signal_dbm: Some(-30),
        signal_avg_dbm: Some(-31),
        tx_rate: Some(BitRate { short_guard: true, ..ht }),
        rx_rate: Some(legacy(6000)),
        authorized: Some(true),
        authenticated: Some(true),
        associated: Some(true),
        wme: Some(true),
        ..StationValues::default()
    };
    let address = "02:00:00:00:01:0b".to_owned();
    let second = StationValues { address, rx_bytes: Some(1), ..StationValues::default() };
    StationList { unix_ms: 1_790_000_090_500, noise_dbm: None, stations: vec![first, second] }
}

fn reading(answer: Answer) -> Reading {
    let of_all = matches!(answer, Answer::Subject(_));
    let interface = (!of_all).then(|| "wlan0".to_owned());
    Reading { interface, at_ns: 0, answer }
}

/// The readings around what a subject says.
fn said(own: &str, after: (StationList, &str)) -> Vec<Reading> {
    vec![
        reading(Answer::Kernel(kernel())),
        reading(Answer::Hostapd(HOSTAPD.to_owned())),
        reading(Answer::Subject(own.to_owned())),
        reading(Answer::Kernel(after.0)),
        reading(Answer::Hostapd(after.1.to_owned())),
    ]
}

fn brief(own: &str) -> Result<Agreement, Conclusion> {
    of(&said(own, (kernel(), HOSTAPD)))
}

#[track_caller]
fn differs(own: &str, words: &str) {
    assert_eq!(brief(own), Err(Conclusion::fail(words)));
}

#[test]
fn values_that_agree_are_counted_and_the_others_named() {
    let agreement = brief(BRIEF).unwrap();
    assert_eq!((agreement.values, agreement.clients.len()), (13 + 2, 2));
    assert_eq!(agreement.confirmed.len(), 13);
    assert_eq!(agreement.unreported, BTreeSet::from(["SignalNoiseRatio".to_owned()]));
    assert!(agreement.alone.is_empty());
}

#[test]
fn one_wrong_value_of_one_client_is_named_with_both_values() {
    let wrong = |from, to| BRIEF.replacen(from, to, 1);
    differs(
        &wrong("\"RxBytes\":4321", "\"RxBytes\":4320"),
        "RxBytes of 02:00:00:00:01:0a on wlan0 is 4320 B, nl80211's “rx bytes” is 4321 B",
    );
    differs(
        &wrong("\"SignalStrength\":-30", "\"SignalStrength\":null"),
        "SignalStrength of 02:00:00:00:01:0a on wlan0 is unknown, nl80211's “signal” is -30 dBm",
    );
    differs(
        &wrong("\"SignalNoiseRatio\":null", "\"SignalNoiseRatio\":0"),
        "SignalNoiseRatio of 02:00:00:00:01:0a on wlan0 is 0 dB, nl80211's “signal” and survey is nothing",
    );
    differs(
        &wrong("\"TxBytes\":null", "\"TxBytes\":0"),
        "TxBytes of 02:00:00:00:01:0b on wlan0 is 0 B, nl80211's “tx bytes” is nothing",
    );
}

#[test]
fn every_client_must_be_there_and_no_other() {
    let first = BRIEF.lines().next().unwrap();
    differs(first, "it tells nothing of 02:00:00:00:01:0b on wlan0, which nl80211 has");
    let third = format!("{BRIEF}{{\"MACAddress\":\"02:00:00:00:01:0C\"}}\n");
    differs(
        &third,
        "it tells of a client 02:00:00:00:01:0c, which neither nl80211 nor hostapd has",
    );
}

#[test]
fn a_value_that_moved_lies_between_both_readings() {
    let hostapd = HOSTAPD.replace("4321", "4400");
    for (value, holds) in
        [("4321", true), ("4390", true), ("4400", true), ("4401", false), ("4320", false)]
    {
        let mut after = kernel();
        after.stations[0].rx_bytes = Some(4400);
        let own = BRIEF.replace("4321", value);
        assert_eq!(of(&said(&own, (after, &hostapd))).is_ok(), holds, "{value}");
    }
    let mut without = kernel();
    without.stations.pop();
    let first = BRIEF.lines().next().unwrap();
    let hostapd = HOSTAPD.split("02:00:00:00:01:0b").next().unwrap();
    assert!(of(&said(first, (without, hostapd))).is_ok(), "who left in between may be missing");
}

#[test]
fn a_client_that_joined_anew_in_between_may_be_on_its_way_and_no_other() {
    let joined = |at_ns: u64| {
        let mut list = kernel();
        list.stations[0].associated_at_boottime_ns = Some(at_ns);
        list
    };
    let on_its_way =
        IW.replace("WMM/WME:\tyes", "WMM/WME:\tno").replace("\trx bitrate:\t6.0 MBit/s\n", "");
    let (_, gone) = IW.split_at(IW.find("Station 02:00:00:00:01:0b").unwrap());
    let between = |own: &str, after: u64| {
        let mut readings = said(own, (joined(after), HOSTAPD));
        readings[0].answer = Answer::Kernel(joined(12_345_000_000));
        of(&readings)
    };
    let fails = |own: &str, after: u64| {
        between(own, after).is_err_and(|found| found.verdict == Verdict::Fail)
    };
    for own in [on_its_way.as_str(), gone] {
        between(own, 97_200_000_000).unwrap();
        assert!(fails(own, 12_345_000_000), "{own}");
    }
    let more = IW.replacen("rx bytes:\t4321", "rx bytes:\t4322", 1);
    assert!(fails(&more, 97_200_000_000), "a made-up counter");
}

#[test]
fn hostapd_alone_can_object() {
    let wrong = HOSTAPD.replace("tx_packets=7", "tx_packets=6");
    let mut readings = said(BRIEF, (kernel(), &wrong));
    readings[1].answer = Answer::Hostapd(wrong.clone());
    let found = of(&readings).unwrap_err();
    assert_eq!(found.verdict, Verdict::Fail);
    assert!(found.sentence.ends_with("is 7, hostapd's “tx_packets” is 6"), "{found:?}");
}

#[test]
fn a_full_reply_must_hold_what_is_known_and_may_hold_more() {
    let full = |more: &str| {
        let known = r#""Active":true,"AuthenticationState":true,"AssociationTime":"2026-09-21T14:13:21Z","AvgSignalStrength":-31,"ConnectionDuration":90,"DownlinkMCS":7,"DownlinkRateSpec":"ht 20MHz mcs7 1x sgi","DownlinkShortGuard":true,"Inactive":1,"LastStateChange":"2026-09-21T14:13:20Z","LinkBandwidth":"20MHz","UplinkBandwidth":20,"UplinkRateSpec":"legacy 20MHz","UplinkShortGuard":false,"FrequencyCapabilities":"2.4GHz","MaxBandwidthSupported":"20MHz","OperatingStandard":"n","Tx_RetransmissionsFailed":0,"DeviceType":"Data""#;
        let first = BRIEF.lines().next().unwrap().replace('}', &format!(",{known}{more}}}"));
        let second = r#"{"MACAddress":"02:00:00:00:01:0B","RxBytes":1,"Active":true,"FrequencyCapabilities":"2.4GHz"}"#;
        brief(&format!("{first}\n{second}\n"))
    };
    let agreement = full("").unwrap();
    assert_eq!(agreement.alone, BTreeSet::from(["DeviceType".to_owned()]));
    assert!(agreement.values > 30 && agreement.unreported.contains("VendorOUI"), "{agreement:?}");
    let unknown = full(",\"Colour\":\"red\"").unwrap_err();
    let why = "`Colour` is in no table of values, so nobody can confirm it";
    assert_eq!(unknown, Conclusion::invalid(why));
}

#[test]
fn programs_that_report_clients_in_their_own_words_are_confirmed_by_each_other() {
    let words = |own: &str| brief(own).unwrap();
    let (iw, hostapd) = (words(IW), words(HOSTAPD.split_once('\n').unwrap().1));
    assert!(iw.values >= 8 && hostapd.values >= 8, "{iw:?} {hostapd:?}");
    let metric = |name: &str, mac: &str, value: &str| {
        format!("node_wifi_station_{name}{{device=\"wlan0\",mac_address=\"{mac}\"}} {value}\n")
    };
    let known = [
        ("connected_seconds_total", "90"),
        ("inactive_seconds", "1.5"),
        ("receive_bits_per_second", "6e+06"),
        ("receive_bytes_total", "4321"),
        ("signal_dbm", "-30"),
        ("transmit_bits_per_second", "7.22e+07"),
        ("transmit_bytes_total", "987"),
        ("transmit_failed_total", "0"),
        ("transmit_retries_total", "1"),
    ];
    let first = known.map(|(name, value)| metric(name, "02:00:00:00:01:0a", value)).concat();
    let second = metric("receive_bytes_total", "02:00:00:00:01:0b", "1");
    assert_eq!(words(&(first + &second)).values, 10);
}

#[test]
fn the_clocks_of_the_kernel_and_of_hostapd_are_a_second_apart_at_most() {
    for (seconds, holds) in [("89", true), ("91", true), ("92", false), ("88", false)] {
        let iw = IW.replace("time:\t90 s", &format!("time:\t{seconds} s"));
        assert_eq!(of(&said(&iw, (kernel(), HOSTAPD))).is_ok(), holds, "iw {seconds}");
        let hostapd = HOSTAPD.split_once('\n').unwrap().1;
        let hostapd = hostapd.replace("time=90", &format!("time={seconds}"));
        assert_eq!(of(&said(&hostapd, (kernel(), HOSTAPD))).is_ok(), holds, "hostapd {seconds}");
    }
}

#[test]
fn nothing_is_compared_with_nothing() {
    let all = said(BRIEF, (kernel(), HOSTAPD));
    let mut empty = said("\n", (StationList::default(), ""));
    empty[0].answer = Answer::Kernel(StationList::default());
    empty[1].answer = Answer::Hostapd(String::new());
    for (readings, why) in [
        (&all[..3], "nl80211 said nothing of the clients after the subject did"),
        (&all[1..], "nl80211 said nothing of the clients before the subject did"),
        (&all[..4], "hostapd said nothing of the clients after the subject did"),
        (&[], "nl80211 said nothing of the clients before the subject did"),
        (&empty, "no value of any client was reported"),
    ] {
        assert_eq!(of(readings), Err(Conclusion::invalid(why)));
    }
}

#[test]
fn each_of_the_86_keys_has_a_second_source_or_a_reason() {
    let keys = documented();
    assert_eq!((keys.len(), table::BRIEF.entries().count()), (86, 14));
    assert!(keys.is_sorted(), "by name");
    for [key, _, sources, rule] in &keys {
        assert!(!rule.is_empty(), "{key}: {sources}");
    }
    let table: String = keys.iter().map(|row| format!("| {} |\n", row.join(" | "))).collect();
    insta::assert_snapshot!(table);
}

proptest! {
    #[test]
    fn any_words_of_anyone_are_compared_without_a_panic(
        own: String,
        hostapd: String,
        like in "[0-9]{0,40}[-:T][0-9]{0,3}[-:]?[0-9]{0,3}T?[0-9:]{0,9}Z?",
        word in "-?[0-9a-fxz \\-\\[\\]]{0,48}",
    ) {
        let wrong = IW.replace("4321", &word);
        let after = HOSTAPD.replace("4321", &word) + &hostapd;
        let texts = [format!("{{{own}"), format!("{BRIEF}{own}"), format!("{IW}{own}"), format!("x{{mac_address=\"{own}")];
        for own in texts.iter().chain([&own, &wrong]) {
            let _ = of(&said(own, (kernel(), &hostapd)));
            let _ = of(&said(own, (kernel(), &after)));
        }
        let names = "freq 02:00:00:00:01:0a flags capability supported_rates ht_caps_info ht_mcs_bitmask vht_caps_info \
                     rx_vht_mcs_map tx_vht_mcs_map ext_capab AKMSuiteSelector dot11RSNAStatsSelectedPairwiseCipher";
        let words: String = names.split(' ').map(|name| format!("{name}={word}\n")).collect();
        let (status, mut all) = station::hostapd(&words.replacen("0a=", "0a\n", 1));
        let station = Station { hostapd: all.remove("02:00:00:00:01:0a"), status, ..Station::default() };
        prop_assert!(station.hostapd.is_some());
        let tables = [&table::FULL, &table::IW, &table::HOSTAPD, &table::NODE_EXPORTER];
        for entry in tables.iter().flat_map(|table| table.entries()) {
            let _ = [&own, &like, &word].map(|words| (entry.own)(&Value::Text(words.clone())));
            entry.sources.iter().for_each(|source| drop((source.read)(&station)));
        }
    }
}
