//! Pairs of windows in each of the four ways to tell clients: honest candidates, and what dishonest ones leave out.

use model::{
    parity::{Answer, Reading, StationList, StationValues},
    verdict::Verdict,
};

use super::*;

const SECOND: u64 = 1_000_000_000;
const A: &str = "02:00:00:00:01:0a";
const B: &str = "02:00:00:00:01:0b";

/// What nl80211 has of both clients; the second one may have joined anew.
fn kernel(joined: u32) -> Answer {
    let station = |address: &str, at_s: u32| StationValues {
        address: address.to_owned(),
        associated_at_boottime_ns: Some(u64::from(at_s) * SECOND),
        ..StationValues::default()
    };
    let stations = vec![station(A, 1), station(B, joined)];
    Answer::Kernel(StationList { stations, ..StationList::default() })
}

/// A window of rounds whose replies `own` gives, by their number; from `joins` on the second client is a new one.
fn window(own: impl Fn(u32) -> String, joins: u32) -> Witnessed {
    let reading = |at_ns, answer| Reading { interface: Some("wlan0".to_owned()), at_ns, answer };
    let round = |place: u32| {
        let at = u64::from(place) * SECOND;
        let others = kernel(if place < joins { 1 } else { place.min(joins) + 7 });
        CheckedRound {
            place,
            read_from_ns: at,
            started_ns: Some(at + 1),
            readings: vec![
                reading(at, others.clone()),
                reading(at + 2, Answer::Subject(own(place))),
                reading(at + 3, others),
            ],
        }
    };
    Witnessed { rounds: (0..8).map(round).collect(), drained: None }
}

const NEVER: u32 = 99;

fn hostapd(bytes: u32, rest: &str) -> String {
    let of = |address: &str| {
        format!("{address}\nflags=[AUTH]\naid=1\nrx_bytes={bytes}\n{rest}supp_op_classes=5151\n")
    };
    of(A) + &of(B)
}

fn all(place: u32) -> String {
    hostapd(100 + place, "tx_rate_info=60 vhtmcs 0 vhtnss 2\n")
}

/// What becomes of a candidate beside a base, one pair.
fn compared(base: &Witnessed, own: &Witnessed) -> Result<u64, Conclusion> {
    of(&[(base, own)]).map_err(|(pair, why)| {
        assert_eq!(pair, 0);
        why
    })
}

#[track_caller]
fn differs(base: impl Fn(u32) -> String, own: impl Fn(u32) -> String, words: &str) {
    match compared(&window(base, NEVER), &window(own, NEVER)) {
        Err(Conclusion { verdict: Verdict::Fail, sentence: why }) => {
            assert_eq!(why.strip_prefix("round 1 of the window: ").unwrap_or(&why), words);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_changes_in_time_may_differ() {
    let own = |place| hostapd(70 + 3 * place, "tx_rate_info=600 vhtmcs 9 vhtnss 1\n");
    // Eight rounds of two clients; what is about no client has no lines here.
    assert_eq!(compared(&window(all, NEVER), &window(own, NEVER)), Ok(16));
}

#[test]
fn a_reply_that_is_cut_reordered_or_another_is_named_with_both_words() {
    let swapped = |all: String| all.replacen(A, "x", 1).replacen(B, A, 1).replacen('x', B, 1);
    type Change = fn(String) -> String;
    let cases: [(Change, &str); 5] = [
        (
            |all| all.replace("aid=1", "aid=2"),
            "it says “aid=2” of 02:00:00:00:01:0a, and the base “aid=1”",
        ),
        (
            |all| all.replace("flags=[AUTH]\n", "flags=[AUTH] \n"),
            "it says “flags=[AUTH] ” of 02:00:00:00:01:0a, and the base “flags=[AUTH]”",
        ),
        (swapped, "it tells of clients in another order than the base"),
        (
            |all| all + "supp_op_classes=1\n",
            "it says “supp_op_classes=1” of 02:00:00:00:01:0b, and the base nothing",
        ),
        (
            |all| all.replace(" vhtnss 2", ""),
            "tx_rate_info of 02:00:00:00:01:0a is “60 vhtmcs 0”, a form that the base never gives it",
        ),
    ];
    for (change, words) in cases {
        differs(all, |place| change(all(place)), words);
    }
    let cut = "it says “supp_op_classes=5151” of 02:00:00:00:01:0a, and the base “tx_rate_info=~”";
    differs(all, |place| hostapd(place, ""), cut);
}

#[test]
fn a_key_that_is_frozen_is_seen_once_the_base_has_changed_it() {
    let from = |change: u32| {
        move |place| all(place).replace("aid=1", if place < change { "aid=1" } else { "aid=3" })
    };
    let why = "round 6 of the window: it says “aid=1” of 02:00:00:00:01:0a, and the base “aid=3”";
    differs(from(4), all, why);
    // A round earlier or later is honest: the candidate is asked at another moment.
    for change in [3, 5] {
        let own = window(from(change), NEVER);
        assert!(compared(&window(from(4), NEVER), &own).is_ok(), "{change}");
    }
}

#[test]
fn a_client_that_joins_is_compared_once_it_stays() {
    let joining = |from: &'static str, to: &'static str| {
        move |place| if place == 3 { all(place).replace(from, to) } else { all(place) }
    };
    let why = compared(&window(all, 3), &window(joining("aid=1", "aid=9"), 3));
    let verdict = why.as_ref().map_err(|found| found.verdict);
    assert_eq!(verdict, Err(Verdict::Fail), "the first one stays: {why:?}");
    let flags = joining("02:00:00:00:01:0b\nflags=[AUTH]", "02:00:00:00:01:0b\nflags=");
    // Three rounds of the second client are not compared: those around it.
    assert_eq!(compared(&window(all, 3), &window(flags, 3)), Ok(16 - 2));
}

#[test]
fn nothing_to_compare_with_is_no_agreement() {
    let empty = || Witnessed { rounds: Vec::new(), drained: None };
    let mut silent = window(all, NEVER);
    silent.rounds.iter_mut().for_each(|round| round.readings.retain(|one| one.subject().is_some()));
    let pairs = [(empty(), empty()), (empty(), window(all, NEVER)), (window(all, NEVER), silent)];
    for (base, own) in pairs {
        assert_eq!(compared(&base, &own).map_err(|found| found.verdict), Err(Verdict::Invalid));
    }
}

#[test]
fn objects_series_and_iw_are_held_alike() {
    let json = |place: u32| {
        let address = A.to_uppercase();
        format!(
            "{{\"MACAddress\":\"{address}\",\"RxBytes\":{place},\"DeviceType\":\"\",\"TxBytes\":7}}\n"
        )
    };
    let node = |place: u32| {
        format!(
            "# HELP a b\nnode_wifi_station_receive_bytes_total{{device=\"wlan0\",mac_address=\"{A}\"}} 1.{place}e+06\nnode_scrape_collector_success{{collector=\"wifi\"}} 1\nnode_scrape_collector_duration_seconds{{collector=\"wifi\"}} 0.{place}\n"
        )
    };
    let words = |place: u32| {
        format!(
            "Station {A} (on wlan0)\n\trx bytes:\t{place}\n\ttx duration:\t{place} us\n\tDTIM period:\t2\n"
        )
    };
    type Said = fn(u32) -> String;
    for (said, alike) in [(json as Said, 8), (node, 16), (words, 8)] {
        let own = window(|place| said(place + 1), NEVER);
        assert_eq!(compared(&window(said, NEVER), &own), Ok(alike));
    }
    differs(
        json,
        |place| json(place).replace(",\"DeviceType\":\"\"", ""),
        "it says “TxBytes\\\":~” of 02:00:00:00:01:0a, and the base “DeviceType\\\":\\\"\\\"”",
    );
    differs(
        node,
        |place| node(place).replace("\"} 1\n", "\"} 0\n"),
        "it says “node_scrape_collector_success{collector=\\\"wifi\\\"} 0”, and the base “node_scrape_collector_success{collector=\\\"wifi\\\"} 1”",
    );
    let still = |place: u32| {
        let all = node(place);
        let (before, _) = all.split_once("seconds{").unwrap();
        format!("{before}seconds{{collector=\"wifi\"}} 0.1\n")
    };
    let why = "node_scrape_collector_duration_seconds never changes, and the base's does";
    differs(node, still, why);
    differs(
        words,
        |place| words(place).replace("DTIM period:\t2", "DTIM period:\t3"),
        "it says “\\tDTIM period:\\t3” of 02:00:00:00:01:0a, and the base “\\tDTIM period:\\t2”",
    );
}
