//! Other programs across the pair: UDP by our own hand, ping, iperf3, tcpdump.

use std::{
    io::{BufRead, BufReader},
    net::UdpSocket,
    time::Duration,
};

use rustix::process::Signal;

use crate::stage::{FAR, NEAR, Stage, has};

const STRATEGIES: [&str; 4] = ["busy", "event", "hybrid", "batch"];

#[test]
fn what_is_sent_at_one_end_comes_out_at_the_other_and_back() {
    for strategy in STRATEGIES {
        let Some(stage) = Stage::set(&["--strategy", strategy]) else { return };
        let far = stage.inside(false, || UdpSocket::bind((FAR, 7)).expect("it is free"));
        let near = stage.inside(true, || UdpSocket::bind((NEAR, 7)).expect("it is free"));
        for socket in [&far, &near] {
            socket.set_read_timeout(Some(crate::stage::LONG)).expect("not zero");
        }
        let mut buffer = [0; 2048];
        for length in [1, 100, 1400] {
            let sent = vec![length as u8; length];
            near.send_to(&sent, (FAR, 7)).expect("there is a way");
            let (got, from) = far.recv_from(&mut buffer).expect("it comes out");
            assert_eq!(buffer[..got], sent, "{strategy}");
            far.send_to(&buffer[..got], from).expect("there is a way back");
            let (got, _) = near.recv_from(&mut buffer).expect("it comes back");
            assert_eq!(buffer[..got], sent, "{strategy}");
        }
        let (status, text, errors) = stage.end(Signal::TERM);
        assert!(status.success() && errors.is_empty(), "{errors}");
        assert!(text.contains("txd0 to txd1: ") && text.contains("  transmit "), "{text}");
    }
}

#[test]
fn ping_goes_there_and_back() {
    if !has("ping") {
        return;
    }
    for way in ["card", "direct"] {
        let Some(stage) = Stage::set(&["--strategy", "hybrid", "--back", way]) else { return };
        let output = stage.near(&["ping", "-c", "5", "-i", "0.05", "10.9.0.2"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(" 0% packet loss"), "{text}");
    }
}

#[test]
fn iperf3_loses_nothing_at_a_rate_that_the_card_carries() {
    if !has("iperf3") {
        return;
    }
    for strategy in STRATEGIES {
        let Some(stage) = Stage::set(&["--strategy", strategy]) else { return };
        let mut server = stage.far(&["iperf3", "-s", "-1", "-B", "10.9.0.2", "--forceflush"]);
        let mut says = BufReader::new(server.stdout.take().expect("it is piped"));
        let mut line = String::new();
        while !line.contains("listening") {
            line.clear();
            assert!(says.read_line(&mut line).is_ok_and(|length| length > 0), "it does not listen");
        }
        let words =
            ["iperf3", "-c", "10.9.0.2", "-u", "-b", "2M", "-l", "1000", "-t", "2", "--json"];
        let output = stage.near(&words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let _ = server.kill();
        let _ = server.wait();
        let ends: serde_json::Value = serde_json::from_str(&text).expect("iperf3 prints JSON");
        let sum = &ends["end"]["sum"];
        assert_eq!(sum["lost_packets"], 0, "{strategy}: {text}");
        assert!(sum["packets"].as_u64() > Some(200), "{strategy}: {sum}");
    }
}

#[test]
fn tcpdump_sees_frames_at_both_ends() {
    if !has("tcpdump") {
        return;
    }
    let Some(stage) = Stage::set(&[]) else { return };
    let capture = stage.far(&["tcpdump", "-i", "txd1", "-c", "3", "-n", "udp", "port", "9"]);
    let near = stage.inside(true, || UdpSocket::bind((NEAR, 0)).expect("it is free"));
    for _ in 0..100 {
        near.send_to(b"seen", (FAR, 9)).expect("there is a way");
        std::thread::sleep(Duration::from_millis(20));
    }
    let seen = capture.wait_with_output().expect("it ends after three");
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert_eq!(text.matches("10.9.0.2.9: ").count(), 3, "{text}");
}
