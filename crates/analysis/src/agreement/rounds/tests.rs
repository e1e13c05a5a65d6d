//! Windows of two rounds: an honest subject, and what the cheats of this world do to it.

use model::{
    parity::{Answer, BitRate, StationList, StationValues},
    span::Span,
};

use super::*;

const SECOND: u64 = 1_000_000_000;

/// One client whose counters are at so much, with a rate that may swing.
fn iw(bytes: u64, rate: &str) -> String {
    format!(
        "Station 02:00:00:00:01:0a (on wlan0)\n\trx bytes:\t{bytes}\n\ttx bytes:\t{bytes}\n\trx packets:\t7\n\
         \tsignal:  \t-30 dBm\n\ttx bitrate:\t{rate} MBit/s\n\tcurrent time:\t0 ms\n"
    )
}

/// The same by nl80211.
fn kernel(bytes: u64, kbps: u32) -> Answer {
    let rate = BitRate { kbps, width_mhz: 20, ..BitRate::default() };
    let station = StationValues {
        address: "02:00:00:00:01:0a".to_owned(),
        rx_bytes: Some(bytes),
        tx_bytes: Some(bytes),
        rx_packets: Some(7),
        signal_dbm: Some(-30),
        tx_rate: Some(rate),
        ..StationValues::default()
    };
    Answer::Kernel(StationList { stations: vec![station], ..StationList::default() })
}

fn reading(at_ns: u64, answer: Answer) -> Reading {
    Reading { interface: Some("wlan0".to_owned()), at_ns, answer }
}

/// A client that moves 100 bytes each second, from 0; what the subject says of it at a moment, s.
fn bytes(at_s: u64) -> u64 {
    100 * at_s
}

/// A round at a second, in which the subject says this.
fn round(place: u32, at_s: u64, own: String) -> CheckedRound {
    let at = at_s * SECOND;
    CheckedRound {
        place,
        read_from_ns: at - 1_100_000_000,
        started_ns: Some(at),
        readings: vec![
            reading(at - 1_050_000_000, kernel(bytes(at_s - 1), 6000)),
            reading(at + 10_000_000, Answer::Subject(own)),
            reading(at + 20_000_000, kernel(bytes(at_s), 6000)),
        ],
    }
}

fn order(rounds: u32) -> WitnessOrder {
    WitnessOrder {
        rounds: (0..rounds).collect(),
        interfaces: vec![Some("wlan0".to_owned())],
        age: Span::from_secs(1),
        drain: Span::from_secs(3),
        hostapd: false,
    }
}

/// A window with rounds at 5, 9 and 14 s, whose last one says this.
fn window(own: String) -> Witnessed {
    let rounds =
        vec![round(0, 5, iw(bytes(5), "6.0")), round(4, 9, iw(bytes(8), "6.0")), round(9, 14, own)];
    Witnessed { rounds, drained: None }
}

fn checked(own: &str) -> Result<Checked, Conclusion> {
    of(&window(own.to_owned()), &order(3))
}

#[track_caller]
fn faulty(verdict: Verdict, found: Result<Checked, Conclusion>) -> String {
    let Conclusion { verdict: is, sentence } = found.expect_err("it is true");
    assert_eq!(is, verdict, "{sentence}");
    sentence
}

#[track_caller]
fn differs(own: String) -> String {
    faulty(Verdict::Fail, checked(&own))
}

#[track_caller]
fn unable(witnessed: &Witnessed) -> String {
    faulty(Verdict::Invalid, of(witnessed, &order(3)))
}

#[test]
fn an_honest_subject_is_confirmed_by_nl80211_alone() {
    let own = "{\"MACAddress\":\"02:00:00:00:01:0A\",\"RxBytes\":1400,\"TxBytes\":1400,\"RxPacketCount\":7,\"SignalStrength\":-30,\
               \"LastDataDownlinkRate\":6000,\"DownlinkBandwidth\":20,\"TxPacketCount\":null}";
    let found = checked(own).unwrap();
    assert_eq!((found.replies, found.rounds, found.oldest_ns), (3, 3, 1_100_000_000));
    // Twice the keys of iw, and six of the brief reply's.
    assert!(found.values >= 6, "{found:?}");
    // hostapd's own words; those of its keys that nl80211 has are confirmed by it.
    let own = "02:00:00:00:01:0a\nrx_bytes=1400\ntx_bytes=1400\nrx_packets=7\nsignal=-30\ntx_rate_info=60\n";
    let found = checked(own).unwrap();
    assert!(found.alone.is_empty() && found.values > 5, "{found:?}");
    let asked = WitnessOrder { hostapd: true, ..order(3) };
    let why = faulty(Verdict::Invalid, of(&window(own.to_owned()), &asked));
    assert!(why.ends_with("hostapd said nothing of the clients before the subject did"), "{why}");
}

#[test]
fn an_old_value_is_found_with_its_age() {
    let why = differs(iw(bytes(9), "6.0"));
    let words = "round 10 of the window: rx bytes of 02:00:00:00:01:0a on wlan0 is 900";
    assert!(why.starts_with(words), "{why}");
    assert!(why.ends_with("which is the value of 5.0 s before"), "{why}");
    // Between two readings: it cannot be younger than the first that says more.
    let why = differs(iw(bytes(6), "6.0"));
    assert!(why.ends_with("which is at least 6.1 s old"), "{why}");
    let zeros = differs(iw(0, "6.0"));
    assert!(zeros.contains("is 0") && zeros.ends_with("which is at least 10.1 s old"), "{zeros}");
}

#[test]
fn a_value_that_is_no_older_than_allowed_is_confirmed_and_silence_is_found() {
    for at_s in [13, 14] {
        checked(&iw(bytes(at_s), "6.0")).unwrap();
    }
    let why = differs(iw(bytes(15), "6.0"));
    assert!(!why.contains("old"), "a value of the future has no age: {why}");
    let why = differs(String::new());
    let words = "it tells nothing of 02:00:00:00:01:0a on wlan0, which nl80211 has";
    assert!(why.ends_with(words), "{why}");
}

#[test]
fn a_level_that_swings_in_the_window_proves_nothing_and_one_that_stays_does() {
    let swung = |own: &str| {
        let mut window = window(iw(bytes(14), own));
        window.rounds[1].readings[2].answer = kernel(bytes(9), 24_000);
        window.rounds[1].readings[1].answer = Answer::Subject(iw(bytes(8), "24.0"));
        of(&window, &order(3))
    };
    assert!(swung("54.0").is_ok());
    let why = differs(iw(bytes(14), "54.0"));
    assert!(why.contains("tx bitrate"), "{why}");
}

#[test]
fn what_could_not_be_checked_is_named() {
    type Change = fn(&mut Witnessed);
    let still: Change = |window| {
        for (round, at_s) in window.rounds.iter_mut().zip([5, 9, 14]) {
            let mut now = self::round(0, at_s, iw(100, "6.0"));
            now.readings[0].answer = kernel(100, 6000);
            now.readings[2].answer = kernel(100, 6000);
            *round = now;
        }
    };
    let cases: [(Change, &str); 6] = [
        (
            |window| window.rounds[2].started_ns = None,
            "the load left it out: the round before had not ended",
        ),
        (|window| drop(window.rounds[2].readings.remove(1)), "a command of the load failed"),
        (
            |window| drop(window.rounds[2].readings.remove(0)),
            "nl80211 said nothing of the clients before",
        ),
        (
            |window| window.rounds[2].readings[0].at_ns = 14 * SECOND + 1,
            "had not ended when it began",
        ),
        (|window| window.rounds.clear(), "0 of 3 checked rounds came"),
        (still, "no client's counters moved in the window"),
    ];
    for (change, words) in cases {
        let mut window = window(iw(bytes(14), "6.0"));
        change(&mut window);
        let why = unable(&window);
        assert!(why.contains(words), "{words}: {why}");
        let of_round = words != cases[4].1 && words != cases[5].1;
        assert_eq!(why.starts_with("round 10 of the window: "), of_round, "{why}");
    }
    // A reading that was late does not make a liar of anyone.
    let mut window = window(iw(bytes(12), "6.0"));
    window.rounds[2].readings[0].at_ns = 14 * SECOND - 500_000_000;
    let why = unable(&window);
    assert!(why.ends_with("so that a value may be no older than 1s"), "{why}");
}
