//! Who comes to guard's sockets with bad intent: slow talkers, other users.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::device::{Device, Ended, Running};

const ADDRESS: &str = "127.0.0.1:9811";
const SOON: Duration = Duration::from_secs(1);

fn guard_that_listens(device: &Device) -> Running {
    let policy = device.policy("");
    device.run(&[policy.to_str().unwrap(), "--listen", ADDRESS])
}

fn get(request: &str) -> String {
    let address: SocketAddr = ADDRESS.parse().unwrap();
    let mut stream = TcpStream::connect_timeout(&address, SOON).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn is_reached_by_root(device: &Device) {
    let begin = Instant::now();
    let ended = device.ended(&["status"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

#[test]
fn a_request_that_drips_or_has_no_end_is_ended() {
    let device = device!();
    let guard = guard_that_listens(&device);
    let mut drips = TcpStream::connect(ADDRESS).unwrap();
    let begin = Instant::now();
    while drips.write_all(b"G").is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it drips on");
        sleep(Duration::from_millis(200));
    }
    assert!(begin.elapsed() > Duration::from_secs(4));
    let endless = format!("GET /{} HTTP/1.1\r\n", "x".repeat(5000));
    assert!(get(&endless).starts_with("HTTP/1.1 431 "));
    is_reached_by_root(&device);
    drop(guard);
}

#[test]
fn only_root_controls_it_whatever_the_socket_allows() {
    let device = device!();
    let guard = guard_that_listens(&device);
    let socket = device.path("state/control");
    let open = |path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let state = device.path("state");
    // A copy that the other user may reach: cargo's folder may be anybody's.
    let program = device.path("guard");
    fs::copy(env!("CARGO_BIN_EXE_guard"), &program).unwrap();
    let by_another_user = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        Ended::of(&command.args(["set", "90", "--state"]).arg(&state).output().unwrap())
    };
    let before = device.status()["aggressiveness"].clone();
    open(device.path(""), 0o755);
    open(state.clone(), 0o755);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let ended = by_another_user();
    assert!(ended.code == 4 && ended.err.contains("only root reaches"), "{ended:?}");
    open(socket, 0o666);
    let ended = by_another_user();
    assert!(ended.code == 3 && ended.err.contains("only root controls"), "{ended:?}");
    assert_eq!(device.status()["aggressiveness"], before);
    drop(guard);
}
