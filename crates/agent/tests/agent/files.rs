//! Finding and bringing files: what is named, in pieces, whole.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use model::{
    instrument::Wanted,
    wire::{Frame, Order, Refusal},
};

use crate::dialogue::{Agent, sha256_of};

fn fetched(agent: &mut Agent, wanted: Wanted) -> Vec<Vec<u8>> {
    agent.order(&Order::Fetch(wanted));
    let mut pieces = Vec::new();
    loop {
        match agent.frame() {
            Frame::Piece(piece) => {
                pieces.push(piece.bytes);
                if piece.last {
                    return pieces;
                }
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

#[test]
fn a_program_is_located_and_brought_whole() {
    let mut agent = Agent::start().0;
    let own = env!("CARGO_BIN_EXE_headroom-agent");
    agent.order(&Order::Locate(vec!["sh".to_owned(), own.to_owned(), "no-such".to_owned()]));
    let Frame::Located(located) = agent.frame() else { panic!("nothing was located") };
    assert_eq!(located[1].path.as_deref(), Some(own));
    assert_eq!(located[1].sha256, Some(sha256_of(own)));
    assert!(located[1].mapped_by >= 1 && located[0].path.is_some());
    assert_eq!((&located[2].path, located[2].mapped_by), (&None, 0));

    let pieces = fetched(&mut agent, Wanted::File(own.to_owned()));
    assert!(pieces.iter().all(|piece| piece.len() <= 256 * 1024));
    assert!(pieces.len() > 1);
    assert!(pieces.concat() == std::fs::read(own).unwrap(), "it is another file");
}

#[test]
fn an_empty_file_is_one_piece_of_nothing() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let path = empty.path().to_str().unwrap().to_owned();
    let pieces = fetched(&mut Agent::start().0, Wanted::File(path));
    assert_eq!(pieces, [Vec::<u8>::new()]);
}

#[test]
fn the_kernels_code_and_symbols_are_brought() {
    let mut agent = Agent::start().0;
    let vdso = std::fs::read_to_string("/proc/self/maps").unwrap().contains("[vdso]");
    if vdso {
        assert!(fetched(&mut agent, Wanted::Vdso).concat().starts_with(b"\x7fELF"));
    }
    let symbols = fetched(&mut agent, Wanted::KernelSymbols).concat();
    assert!(symbols.windows(6).any(|word| word == b" _text" || word == b"_stext"));
}

#[test]
fn a_machine_that_is_not_headrooms_is_never_stopped() {
    let mut agent = Agent::start().0;
    agent.order(&Order::Hold);
    let Frame::Refused(refusal) = agent.frame() else { panic!("it was stopped") };
    assert!(refusal.what.starts_with("cannot stop the machine"), "{refusal}");
}

#[test]
fn a_file_that_is_not_there_is_refused_and_the_next_order_is_obeyed() {
    let mut agent = Agent::start().0;
    agent.order(&Order::Fetch(Wanted::File("/no/such/file".to_owned())));
    let Frame::Refused(Refusal { what, why }) = agent.frame() else { panic!("it came") };
    assert_eq!(what, "cannot read `/no/such/file` on the access point");
    assert!(why.contains("No such file"), "{why}");
    agent.order(&Order::Introduce { subject: None });
    agent.hello();
}

#[test]
fn a_pipe_and_a_device_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.to_str().unwrap(), "/dev/zero", folder.path().to_str().unwrap()] {
        let begun = Instant::now();
        let mut agent = Agent::ordered(&Order::Fetch(Wanted::File(path.to_owned())));
        let why = agent.refused().why;
        assert!(why.ends_with("not a regular file"), "{why}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{path}");
    }
}
