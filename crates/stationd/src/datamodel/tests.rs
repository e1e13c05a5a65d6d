//! What a consumer of the data model sees, from the arrival of a station to its end.

use linux::{nl80211::StationReading, sockets::Peer};
use serde_json::{Value as Json, json};

use super::{
    fixture::{Fixture, reading, view},
    *,
};

const STATION: &str = "WiFi.AccessPoint.1.AssociatedDevice.1.";

fn object(point: u32, instance: u32) -> ObjectPath {
    ObjectPath { point, instance }
}

#[test]
fn one_parameter_is_an_object_of_one() {
    let fixture = Fixture::with_stations(2);
    let path = "WiFi.AccessPoint.1.AssociatedDevice.2.SignalStrength";
    assert_eq!(fixture.get(&[path]), json!({ path: -40 }));
}

#[test]
fn a_station_is_read_with_its_static_and_its_volatile_values() {
    let all = Fixture::with_stations(1).get(&[STATION]);
    let value = |name: &str| &all[format!("{STATION}{name}")];
    assert_eq!(*value("MACAddress"), json!("02:00:00:00:01:01"));
    assert_eq!(*value("AssociationTime"), json!("2026-11-21T00:00:30Z"));
    assert_eq!(*value("OperatingStandard"), json!("ac"));
    assert_eq!(*value("SecurityModeEnabled"), json!("WPA3-Personal"));
    assert_eq!(*value("MaxBandwidthSupported"), json!("80MHz"));
    assert_eq!(*value("TxBytes"), json!(5_000_000_000_u64));
    assert_eq!(*value("Inactive"), json!(1));
    assert_eq!(*value("SignalStrengthHistory"), json!("-40,-40,-40,-41"));
    assert_eq!(*value("DownlinkRateSpec"), json!("vht 80MHz mcs9 2x sgi"));
    assert_eq!(*value("LinkBandwidth"), json!("80MHz"));
    assert_eq!(*value("DeviceType"), json!("Data"));
}

/// Others have mapped the downlink to what is received.
#[test]
fn downlink_and_sent_are_from_the_access_point_to_the_station() {
    let fixture = Fixture::with_stations(1);
    let all = fixture.get(&[STATION, "Device.WiFi.AccessPoint.1.AssociatedDevice.1."]);
    let pairs = [
        ("LastDataDownlinkRate", "LastDataDownlinkRate", 866_700_u64),
        ("LastDataUplinkRate", "LastDataUplinkRate", 400_000),
        ("TxBytes", "Stats.BytesSent", 5_000_000_000),
        ("RxBytes", "Stats.BytesReceived", 11),
        ("RxPacketCount", "Stats.PacketsReceived", 13),
        ("TxPacketCount", "Stats.PacketsSent", 14),
        ("Tx_Retransmissions", "Stats.RetransCount", 15),
        ("TxErrors", "Stats.ErrorsSent", 16),
        ("RxErrors", "Stats.ErrorsReceived", 17),
    ];
    for (field, standard, value) in pairs {
        assert_eq!(all[format!("{STATION}{field}")], json!(value), "{field}");
        assert_eq!(all[format!("Device.{STATION}{standard}")], json!(value), "{standard}");
    }
    assert_eq!(all[format!("{STATION}DownlinkBandwidth")], json!(80));
    assert_eq!(all[format!("{STATION}UplinkBandwidth")], json!(40));
}

#[test]
fn the_unknown_is_left_out_and_never_0() {
    let mut fixture = Fixture::with_stations(1);
    fixture.points.get_mut(0).unwrap().noise_dbm = None;
    let all = fixture.get(&["WiFi.", "Device."]);
    for name in ["SignalNoiseRatio", "Noise", "PowerSave", "RetryCount", "MUGroupId", "VendorOUI"] {
        assert_eq!(all.get(format!("{STATION}{name}")), None, "{name}");
    }
    assert_eq!(all.get(format!("Device.{STATION}SNR")), None);
    assert!(all.as_object().unwrap().values().all(|value| !value.is_null()));
    fixture.points.get_mut(0).unwrap().noise_dbm = Some(-30);
    let above = fixture.get(&[STATION]);
    assert_eq!(above.get(format!("{STATION}SignalNoiseRatio")), None, "noise above the signal");
}

#[test]
fn paths_may_leave_the_instance_open_or_name_the_address() {
    let fixture = Fixture::with_stations(3);
    let count = |path: &str| fixture.get(&[path]).as_object().unwrap().len();
    assert_eq!(count("WiFi.AccessPoint.*.AssociatedDevice.*.TxBytes"), 3);
    assert_eq!(count("Device.WiFi.AccessPoint.1.AssociatedDevice.*.Stats."), 3 * 8);
    assert_eq!(count("WiFi.AccessPoint.7.AssociatedDevice.*.TxBytes"), 0);
    assert_eq!(count("WiFi.AccessPoint.1.AssociatedDevice.9."), 0);
    let search = "WiFi.AccessPoint.*.AssociatedDevice.[MACAddress==\"02:00:00:00:01:02\"].TxBytes";
    let expected = json!({ "WiFi.AccessPoint.1.AssociatedDevice.2.TxBytes": 5_000_000_000_u64 });
    assert_eq!(fixture.get(&[search]), expected);
    assert_eq!(
        fixture.get(&["WiFi.AccessPoint.1.SSID"]),
        json!({ "WiFi.AccessPoint.1.SSID": "a \"net\"" })
    );
}

#[test]
fn what_two_paths_have_is_reported_once() {
    let fixture = Fixture::with_stations(2);
    let mut out = Vec::new();
    let paths = ["WiFi.AccessPoint.1.AssociatedDevice.2.", "WiFi.", "WiFi.AccessPoint.1.SSID"];
    fixture.model.get(&paths, &fixture.view(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for once in ["AssociatedDevice.2.TxBytes\"", "AssociatedDevice.1.TxBytes\"", "1.SSID\""] {
        assert_eq!(text.matches(once).count(), 1, "{once}");
    }
}

#[test]
fn a_wrong_path_among_right_ones_writes_nothing() {
    let fixture = Fixture::with_stations(1);
    let mut out = Vec::new();
    let paths = ["WiFi.", "WiFi.AccessPoint.1.Nonsense"];
    let error = fixture.model.get(&paths, &fixture.view(), &mut out).unwrap_err();
    assert!(
        error.to_string().contains("`WiFi.AccessPoint.1.Nonsense` is not a path: at character 20")
    );
    let many = vec!["WiFi."; 65];
    assert_eq!(fixture.model.get(&many, &fixture.view(), &mut out), Err(GetError::TooMany(65)));
    assert!(out.is_empty());
}

#[test]
fn a_transaction_reports_what_really_changed() {
    let mut fixture = Fixture::with_stations(1);
    let mut transaction = Transaction::begin(object(1, 1));
    transaction.set("DevicePriority", Value::Unsigned(1));
    transaction.set("DeviceType", Value::Text("Guest".into()));
    let before = fixture.model.counts();
    let view = view(&fixture.table, &fixture.points, &fixture.trace);
    let applied = fixture.model.apply(&transaction, &view).unwrap();
    assert_eq!(applied, Applied { set: 2, changed: vec!["DeviceType"] });
    let after = fixture.model.counts();
    assert_eq!(after.transactions - before.transactions, 1);
    assert_eq!((after.set - before.set, after.changed - before.changed), (2, 1));
    assert_eq!(after.events - before.events, 1);
    let again = fixture.model.apply(&transaction, &view).unwrap();
    assert_eq!((again.changed.len(), fixture.model.counts().events), (0, after.events));
}

#[test]
fn a_transaction_with_one_fault_writes_nothing() {
    let mut fixture = Fixture::with_stations(1);
    let faults: [(&str, Value<'_>, &str); 5] = [
        ("TxBytes", Value::Unsigned(1), "is volatile and cannot be set"),
        ("TxByte", Value::Unsigned(1), "has no parameter `TxByte`"),
        ("MaxRxSpatialStreamsSupported", Value::Unsigned(70_000), "does not admit Unsigned(70000)"),
        ("OperatingStandard", Value::Text("z".into()), "does not admit Text(\"z\")"),
        ("DeviceType", Value::Text("Data".into()), "is set twice in one transaction"),
    ];
    let before = fixture.get(&["WiFi."]);
    for (name, value, said) in faults {
        let mut transaction = Transaction::begin(object(1, 1));
        transaction.set("DeviceType", Value::Text("Video".into()));
        transaction.set(name, value);
        let view = view(&fixture.table, &fixture.points, &fixture.trace);
        let error = fixture.model.apply(&transaction, &view).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(fixture.get(&["WiFi."]), before, "{name}");
    }
    assert_eq!(fixture.model.counts().refused, 5);
    let no_one = Transaction::begin(object(1, 7));
    let view = view(&fixture.table, &fixture.points, &fixture.trace);
    let error = fixture.model.apply(&no_one, &view).unwrap_err();
    assert_eq!(error.to_string(), "WiFi.AccessPoint.1.AssociatedDevice.7. is not there");
}

#[test]
fn in_steady_state_nothing_is_written_on_change_and_one_transaction_a_station_each_poll() {
    let readings: Vec<_> = (1..=5).map(reading).collect();
    let mut fixture = Fixture::with_stations(5);
    let after_arrival = fixture.model.counts();
    assert_eq!(after_arrival.transactions, 10, "at the arrival, and with the identity");
    fixture.poll(&readings);
    assert_eq!(fixture.model.counts(), after_arrival);
    fixture.write_back = WriteBack::EachPoll;
    for polls in 1..=3 {
        fixture.poll(&readings);
        let counts = fixture.model.counts();
        assert_eq!(counts.transactions - after_arrival.transactions, 5 * polls);
        assert_eq!(counts.set - after_arrival.set, 5 * 45 * polls);
    }
    assert_eq!(fixture.model.counts().changed, after_arrival.changed, "45 sets, none of them news");
}

#[test]
fn both_ways_of_writing_show_the_same() {
    let readings: Vec<_> = (1..=3).map(reading).collect();
    let mut on_change = Fixture::with_stations(3);
    let mut each_poll = Fixture::with_stations(3);
    each_poll.write_back = WriteBack::EachPoll;
    let weaker = StationReading { signal_average_dbm: Some(-77), tx_rate: None, ..readings[0] };
    let readings = [weaker, readings[1], readings[2]];
    on_change.poll(&readings);
    each_poll.poll(&readings);
    assert_eq!(on_change.get(&["WiFi.", "Device."]), each_poll.get(&["WiFi.", "Device."]));
    let all = on_change.get(&[STATION]);
    assert_eq!(
        all[format!("{STATION}AvgSignalStrength")],
        json!(-77),
        "a slow value is not a stale one"
    );
}

#[test]
fn what_a_later_reading_knows_better_is_read_from_it_without_a_transaction() {
    let mut fixture = Fixture::new();
    let early = StationReading { associated_at_boottime_ns: None, connected_s: None, ..reading(1) };
    fixture.poll(&[early]);
    let path = "WiFi.AccessPoint.1.AssociatedDevice.1.AssociationTime";
    assert_eq!(fixture.get(&[path]), json!({ path: "2026-11-21T00:01:01Z" }), "first seen");
    let transactions = fixture.model.counts().transactions;
    fixture.poll(&[reading(1)]);
    assert_eq!(fixture.get(&[path]), json!({ path: "2026-11-21T00:00:30Z" }), "the kernel's word");
    assert_eq!(fixture.model.counts().transactions, transactions);
}

#[test]
fn a_station_that_leaves_cleans_up_and_its_number_is_not_given_again() {
    let mut fixture = Fixture::with_stations(2);
    fixture.poll(&[reading(2)]);
    assert_eq!(fixture.model.len(), 1);
    assert_eq!(fixture.get(&[STATION]), json!({}));
    fixture.poll(&[reading(2), reading(1)]);
    let path = "WiFi.AccessPoint.1.AssociatedDevice.*.MACAddress";
    let expected = json!({
        "WiFi.AccessPoint.1.AssociatedDevice.2.MACAddress": "02:00:00:00:01:02",
        "WiFi.AccessPoint.1.AssociatedDevice.3.MACAddress": "02:00:00:00:01:01",
    });
    assert_eq!(fixture.get(&[path]), expected);
    fixture.poll(&[]);
    assert!(fixture.model.is_empty());
    assert_eq!(fixture.model.texts(), 0, "texts go with their last owner");
}

/// A connection of a process and a user of its own.
fn owner(number: u32) -> Owner {
    Owner { connection: number.into(), peer: Peer { uid: number, pid: Some(number) } }
}

const ALL: Kinds = Kinds { value_change: true, object_creation: true, object_deletion: true };

fn kinds(notifications: &[(u64, Json)]) -> Vec<(&str, &Json)> {
    notifications
        .iter()
        .map(|(_, note)| (note["kind"].as_str().unwrap(), &note["values"]))
        .collect()
}

#[test]
fn a_station_that_comes_and_goes_is_reported_with_its_last_counters() {
    let mut fixture = Fixture::new();
    let wanted = Kinds { value_change: false, ..ALL };
    let id =
        fixture.model.subscribe(owner(7), "WiFi.AccessPoint.*.AssociatedDevice.", wanted).unwrap();
    fixture.model.subscribe(owner(8), "Device.WiFi.", wanted).unwrap();
    fixture.poll(&[reading(1)]);
    fixture.leave(&StationReading { rx_packets: Some(99), ..reading(1) });
    let notes = fixture.notifications();
    let (creation, deletion) = (&notes[0], &notes[2]);
    let mac = "02:00:00:00:01:01";
    assert_eq!(
        *creation,
        (
            7,
            json!({
                "subscription": id, "kind": "ObjectCreation", "path": STATION,
                "values": { "MACAddress": mac }
            })
        )
    );
    assert_eq!(
        deletion.1["values"],
        json!({
            "MACAddress": mac, "RxBytes": 11, "TxBytes": 5_000_000_000_u64, "RxPacketCount": 99,
            "TxPacketCount": 14, "ConnectionDuration": 31, "Reason": 3, "Exact": true
        })
    );
    assert_eq!(notes[3].0, 8);
    assert_eq!(notes[3].1["path"], json!(format!("Device.{STATION}")));
    assert_eq!(notes[3].1["values"]["Stats.PacketsReceived"], json!(99));
}

#[test]
fn static_changes_are_reported_at_once_and_only_what_changed() {
    let mut fixture = Fixture::new();
    fixture.poll(&[reading(1)]);
    fixture.model.subscribe(owner(7), "Device.WiFi.AccessPoint.1.AssociatedDevice.", ALL).unwrap();
    fixture
        .model
        .subscribe(owner(8), "WiFi.AccessPoint.1.AssociatedDevice.1.VendorOUI", ALL)
        .unwrap();
    fixture.table.identify(0, crate::identity::Identity::parse(fixture::IDENTITY).unwrap());
    fixture.write(0);
    let notes = fixture.notifications();
    assert_eq!(notes.len(), 1, "nobody tells the vendor");
    let changed = json!({
        "MaxSupportedBandwidth": "80MHz",
        "MaxSupportedDataDownlinkRate": 866_666, "MaxSupportedDataUplinkRate": 866_666,
        "OperatingStandard": "ac"
    });
    assert_eq!(kinds(&notes), [("ValueChange", &changed)]);
    fixture.write(0);
    assert_eq!(fixture.notifications(), []);
}

#[test]
fn volatile_changes_are_reported_at_the_reading_that_shows_them() {
    let mut fixture = Fixture::with_stations(1);
    let path = "WiFi.AccessPoint.1.AssociatedDevice.*.SignalStrength";
    fixture.model.subscribe(owner(7), path, ALL).unwrap();
    fixture.poll(&[reading(1)]);
    assert_eq!(fixture.notifications(), [], "what is seen for the first time is no change");
    fixture.poll(&[StationReading { signal_dbm: Some(-50), ..reading(1) }]);
    fixture.poll(&[StationReading { signal_dbm: Some(-50), rx_packets: Some(50), ..reading(1) }]);
    fixture.poll(&[StationReading { signal_dbm: None, ..reading(1) }]);
    let notes = fixture.notifications();
    let (weaker, unknown) = (json!({ "SignalStrength": -50 }), json!({ "SignalStrength": null }));
    assert_eq!(kinds(&notes), [("ValueChange", &weaker), ("ValueChange", &unknown)]);
}

#[test]
fn a_change_is_reported_once_whichever_way_static_values_are_written() {
    let mut fixture = Fixture::with_stations(1);
    fixture.write_back = WriteBack::EachPoll;
    let path = "WiFi.AccessPoint.1.AssociatedDevice.1.AvgSignalStrength";
    fixture.model.subscribe(owner(7), path, ALL).unwrap();
    fixture.poll(&[reading(1)]);
    fixture.poll(&[StationReading { signal_average_dbm: Some(-60), ..reading(1) }]);
    assert_eq!(fixture.notifications().len(), 1);
}

#[test]
fn an_access_points_number_of_stations_can_be_watched() {
    let mut fixture = Fixture::new();
    fixture
        .model
        .subscribe(owner(7), "WiFi.AccessPoint.1.AssociatedDeviceNumberOfEntries", ALL)
        .unwrap();
    fixture.poll(&[]);
    fixture.poll(&[reading(1), reading(2)]);
    let notes = fixture.notifications();
    assert_eq!(kinds(&notes), [("ValueChange", &json!({ "AssociatedDeviceNumberOfEntries": 2 }))]);
    assert_eq!(notes[0].1["path"], json!("WiFi.AccessPoint.1."));
    fixture.model.subscribe(owner(7), "WiFi.AccessPoint.1.Status", ALL).unwrap();
    fixture.model.point_went(fixture.points.get(0).unwrap());
    let notes = fixture.notifications();
    assert_eq!(kinds(&notes), [("ValueChange", &json!({ "Status": "Disabled" }))]);
}

#[test]
fn who_has_gone_or_wants_no_more_is_reported_no_more() {
    let mut fixture = Fixture::new();
    let id = fixture.model.subscribe(owner(7), "WiFi.", ALL).unwrap();
    fixture.model.subscribe(owner(8), "WiFi.", ALL).unwrap();
    assert!(!fixture.model.unsubscribe(8, id), "it is another's");
    assert!(fixture.model.unsubscribe(7, id));
    fixture.poll(&[reading(1)]);
    fixture.model.drop_consumer(8);
    assert_eq!(fixture.notifications(), []);
    fixture.poll(&[]);
    assert_eq!(fixture.notifications(), []);
}

#[test]
fn a_subscription_has_a_path_and_a_purpose_and_there_are_not_too_many() {
    let mut model = DataModel::default();
    assert!(matches!(model.subscribe(owner(7), "Wifi.", ALL), Err(SubscribeError::Path(_))));
    assert_eq!(model.subscribe(owner(7), "WiFi.", Kinds::default()), Err(SubscribeError::Nothing));
    let mut fill = |who: Owner| {
        let refused = (0..300).find_map(|_| model.subscribe(who, "WiFi.", ALL).err());
        refused.unwrap().to_string()
    };
    let of = |connection, pid, uid| Owner { connection, peer: Peer { uid, pid: Some(pid) } };
    let notes = [of(1, 1, 1), of(2, 1, 1), of(3, 1, 1), of(4, 2, 1), of(5, 3, 1), of(6, 4, 2)]
        .map(&mut fill);
    insta::assert_snapshot!(notes.join("\n"), @r"
    this connection has 64 subscriptions already, which is the most; end one of them first
    this connection has 64 subscriptions already, which is the most; end one of them first
    this process has 128 subscriptions already, which is the most; end one of them first
    this connection has 64 subscriptions already, which is the most; end one of them first
    this user has 192 subscriptions already, which is the most; end one of them first
    this connection has 64 subscriptions already, which is the most; end one of them first
    ");
    assert!(model.subscribe(of(7, 5, 3), "WiFi.", ALL).is_err(), "there are not more in all");
    model.drop_consumer(6);
    assert!(model.subscribe(of(7, 5, 3), "WiFi.", ALL).is_ok());
}

#[test]
fn who_watches_everything_leaves_others_something_to_watch() {
    let mut fixture = Fixture::new();
    let everything = Kinds { value_change: true, ..Kinds::default() };
    for _ in 0..64 {
        fixture.model.subscribe(owner(7), "WiFi.", everything).unwrap();
    }
    let readings: Vec<StationReading> = (0..40).map(reading).collect();
    fixture.poll(&readings);
    assert!(fixture.model.counts().unwatched > 0, "the first has all that it may have");
    let path = "WiFi.AccessPoint.1.AssociatedDevice.*.RxPacketCount";
    fixture.model.subscribe(owner(8), path, everything).unwrap();
    for packets in [1, 2] {
        let others =
            readings.iter().map(|one| StationReading { rx_packets: Some(packets), ..*one });
        fixture.poll(&others.collect::<Vec<_>>());
    }
    let notes = fixture.notifications();
    assert_eq!(notes.iter().filter(|(of, _)| *of == 8).count(), 40);
}

#[test]
fn who_does_not_read_loses_notifications_and_hears_of_it_and_others_do_not_notice() {
    let mut fixture = Fixture::new();
    fixture.model.subscribe(owner(7), "WiFi.", ALL).unwrap();
    let quiet = "WiFi.AccessPoint.1.AssociatedDevice.*.RxPacketCount";
    fixture
        .model
        .subscribe(owner(8), quiet, Kinds { value_change: true, ..Kinds::default() })
        .unwrap();
    for packets in 0..600 {
        let of = |last| StationReading { rx_packets: Some(packets), ..reading(last) };
        fixture.poll(&[of(1), of(2)]);
    }
    let counts = fixture.model.counts();
    assert!(counts.lost > 0 && counts.notifications > 0);
    let notes = fixture.notifications();
    let of = |consumer: u64| notes.iter().filter(move |(of, _)| *of == consumer);
    assert_eq!(of(7).next_back().unwrap().1, json!({ "kind": "Lost" }));
    assert_eq!(of(7).filter(|(_, note)| note["kind"] == "Lost").count(), 1);
    assert!(of(8).all(|(_, note)| note["kind"] == "ValueChange" || note["kind"] == "Lost"));
    assert!(fixture.notifications().is_empty());
}
