//! What a consumer asks, and what it gets.

use std::{thread::sleep, time::Duration};

use serde_json::json;

use crate::program::{Daemon, STATIONS, brief, refusal};

#[test]
fn access_points_are_listed_with_their_paths() {
    let daemon = Daemon::start(&[]);
    let points = daemon.client().result("getAccessPoints", json!({}));
    let first =
        json!({"number": 1, "name": "wlan0", "path": "WiFi.AccessPoint.1.", "stations": 13});
    assert_eq!(points[0], first);
    let points = points.as_array().unwrap();
    let stations: u64 = points.iter().map(|point| point["stations"].as_u64().unwrap()).sum();
    assert_eq!((points.len(), stations), (3, STATIONS as u64));
}

#[test]
fn what_cannot_be_answered_is_refused_in_words() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    let mut refusal = |method, params| client.refusal(method, params);
    let no_point = (-32001, "no access point \"wlan9\": getAccessPoints lists them".to_owned());
    assert_eq!(refusal("getStationStats", json!({"interface": "wlan9"})), no_point);
    for path in ["WiFi.Radio.1.", "WiFi.AccessPoint.1.AssociatedDevice.", "WiFi.AccessPoint.12"] {
        assert_eq!(refusal("getStationStats", json!({ "path": path })).0, -32001, "{path}");
    }
    let neither = "name the access point by \"path\" or by \"interface\"";
    assert_eq!(refusal("getStationStats", json!({})), (-32602, neither.to_owned()));
    assert_eq!(refusal("Subscribe", json!({})).0, -32601);
}

#[test]
fn who_came_is_listed_from_a_number_on() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    let events = client.result("getEvents", json!({}));
    let next = events["next"].as_u64().unwrap();
    let listed = events["events"].as_array().unwrap();
    assert_eq!((listed.len() as u64, &events["missed"]), (next, &json!(0)));
    assert_eq!((&listed[0]["event"], &listed[0]["number"]), (&json!("assoc"), &json!(0)));
    let last = client.result("getEvents", json!({ "since": next - 1, "follow": true }));
    assert_eq!(last["events"], json!([listed[listed.len() - 1]]));
    let none = client.result("getEvents", json!({ "since": next }));
    assert_eq!(none, json!({ "missed": 0, "next": next, "events": [] }));
}

#[test]
fn a_request_in_many_writes_is_answered_once_it_is_whole() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    for part in format!("{}{}", brief(1), brief(2)).as_bytes().chunks(50) {
        client.send(part);
        sleep(Duration::from_millis(5));
    }
    assert_eq!((client.reply()["id"].clone(), client.reply()["id"].clone()), (json!(1), json!(2)));
}

#[test]
fn rubbish_is_refused_and_the_next_request_is_answered() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    client.send(b"\xff\xfe\0rubbish\n\n  \r\n[1,2]\n");
    assert_eq!(refusal(&client.reply()).0, -32700);
    assert_eq!(refusal(&client.reply()).0, -32600);
    for path in ["WiFi.AccessPoint.1.", "Device.WiFi.AccessPoint.1"] {
        let stats = client.result("getStationStats", json!({ "path": path }));
        assert_eq!((stats.as_array().unwrap().len(), stats[0].as_array().unwrap().len()), (1, 13));
    }
}

#[test]
fn a_request_without_an_id_gets_no_reply() {
    let daemon = Daemon::start(&[]);
    let mut client = daemon.client();
    client.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"getAccessPoints\"}\n");
    assert_eq!(client.result("getAccessPoints", json!({})).as_array().unwrap().len(), 3);
}
