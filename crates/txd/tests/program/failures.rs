//! Bad weather: what ends the program in the middle of its work leaves nothing, and what harms it is told.

use std::{net::UdpSocket, thread, time::Duration};

use linux::link::Links;
use rustix::process::Signal;

use crate::stage::{FAR, NEAR, Stage, complaint, has_taps, output, txd};

/// Sends for a while, whatever comes of it.
fn send(stage: &Stage, frames: u32) {
    stage.inside(true, move || {
        let socket = UdpSocket::bind((NEAR, 0)).expect("it is free");
        for _ in 0..frames {
            // No one listens, and an interface may be down: that is what is tried.
            let _ = socket.send_to(&[7; 500], (FAR, 9));
            thread::sleep(Duration::from_micros(200));
        }
    });
}

#[test]
fn no_interface_is_left_after_any_end_not_even_after_a_kill() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let Some(mut stage) = Stage::set(&["--strategy", "event"]) else { return };
        assert!(stage.has_link(true, "txd0") && stage.has_link(false, "txd1"));
        send(&stage, 20);
        stage.signal(signal);
        let (status, _, _) = stage.ended();
        assert_eq!(status.success(), signal != Signal::KILL, "{signal:?}");
        assert!(!stage.has_link(true, "txd0") && !stage.has_link(false, "txd1"), "{signal:?}");
    }
}

#[test]
fn an_interface_that_goes_down_in_mid_burst_and_comes_up_again_carries_on() {
    for end in [true, false] {
        let Some(stage) = Stage::set(&["--strategy", "hybrid"]) else { return };
        let name = if end { "txd0" } else { "txd1" };
        let set = move |up: bool| {
            let mut links = Links::open().expect("netlink answers");
            let index = links.index(name).expect("netlink answers").expect("it is there");
            if up { links.set_up(index) } else { links.set_down(index) }.expect("it is ours");
        };
        send(&stage, 100);
        stage.inside(end, move || set(false));
        send(&stage, 100);
        stage.inside(end, move || set(true));
        let far = stage.inside(false, || UdpSocket::bind((FAR, 7)).expect("it is free"));
        far.set_read_timeout(Some(Duration::from_millis(200))).expect("not zero");
        let came = (0..100).any(|_| {
            stage.inside(true, || {
                let socket = UdpSocket::bind((NEAR, 0)).expect("it is free");
                let _ = socket.send_to(b"again", (FAR, 7));
            });
            far.recv_from(&mut [0; 64]).is_ok()
        });
        assert!(came, "{name}: nothing comes out any more");
        let (status, text, errors) = stage.end(Signal::TERM);
        assert!(status.success(), "{name}: {text}\n{errors}");
    }
}

#[test]
fn an_interface_that_somebody_removes_ends_it_with_one_line() {
    let Some(mut stage) = Stage::set(&[]) else { return };
    stage.inside(true, || {
        linux::link::Links::open().expect("netlink answers").remove("txd0").expect("it is ours");
    });
    let (status, _, errors) = stage.ended();
    assert_eq!(status.code(), Some(4), "{errors}");
    assert!(errors.starts_with("txd: interface txd0 is gone: it was removed: "), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn a_card_that_dies_ends_it_with_one_line_and_counts_what_was_lost() {
    let Some(mut stage) = Stage::set(&["--faults", "dies-at=30"]) else { return };
    send(&stage, 100);
    let (status, text, errors) = stage.ended();
    assert_eq!(status.code(), Some(1), "{errors}");
    assert_eq!(errors, "txd: the card does not answer: it was reset 10 times in vain\n");
    assert!(text.contains("dropped 1 timed-out"), "{text}");
    assert!(!stage.has_link(true, "txd0"));
}

#[test]
fn counters_are_printed_when_they_are_asked_for() {
    let Some(stage) = Stage::set(&["--strategy", "busy"]) else { return };
    send(&stage, 20);
    stage.signal(Signal::USR1);
    assert!(stage.line().starts_with("txd0 to txd1: "));
    let (status, _, _) = stage.end(Signal::TERM);
    assert!(status.success());
}

#[test]
fn it_ends_by_itself_after_its_time() {
    let Some(mut stage) = Stage::set(&["--for", "300ms"]) else { return };
    assert!(stage.ended().0.success());
}

#[test]
fn a_name_that_is_taken_or_is_none_is_one_line() {
    if !has_taps() {
        return;
    }
    let taken = output(&["run", "--names", "lo,txd9"]);
    assert_eq!(taken.status.code(), Some(4));
    let text = complaint(&taken);
    assert!(text.starts_with("txd: cannot make the TAP lo ("), "{text}");
    let none = output(&["run", "--names", "a/b,txd9"]);
    let text = complaint(&none);
    let right = "txd: cannot make the TAP a/b (take a free name of up to 15 letters, without / : %): Invalid argument";
    assert!(text.starts_with(right), "{text}");
}

#[test]
fn without_the_right_to_make_interfaces_it_says_so() {
    if !rustix::process::geteuid().is_root() || !crate::stage::has("setpriv") {
        return skip::skip!("it takes root and setpriv to give a right up");
    }
    let program = txd().get_program().to_owned();
    for (verb, begins) in [
        ("measure", "txd: cannot make a network namespace (run it as root): "),
        ("run", "txd: cannot make the TAP txd0 (it needs CAP_NET_ADMIN: run it as root): "),
    ] {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--bounding-set", "-all", "--inh-caps", "-all", "--"]);
        let output = command.arg(&program).arg(verb).output().expect("it is there");
        assert_eq!(output.status.code(), Some(4));
        let text = complaint(&output);
        assert!(text.starts_with(begins), "{text}");
    }
}
