//! The kernel's part: messages as nl80211 writes them, and scripts of answers.
//!
//! It plays no driver: what a station's figures are is up to the test.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use linux::{
    netlink::{Reply, Request, Script},
    nl80211::{Address, Nl80211},
};

pub(crate) const FAMILY: u16 = 28;
pub(crate) const WLAN0: u32 = 4;

const NLM_F_MULTI: u16 = 2;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const GENL_ID_CTRL: u16 = 0x10;

/// The nest's or message's attributes alone.
pub(crate) fn attributes() -> Request {
    Request::new("", 0)
}

pub(crate) fn address(last: u8) -> Address {
    [2, 0, 0, 0, 1, last]
}

/// A message about a station, with this as its information.
pub(crate) fn station(command: u8, last: u8, info: &Request) -> Request {
    Request::generic("", FAMILY, command)
        .number(3, WLAN0)
        .attribute(6, &address(last))
        .number(46, 7)
        .nest(21, info)
}

/// A message of a list.
pub(crate) fn listed(last: u8) -> Request {
    station(19, last, &attributes().number(1, u32::from(last)))
}

pub(crate) fn done(code: i32) -> Request {
    Request::new("", NLMSG_DONE).fixed(&code.to_ne_bytes())
}

pub(crate) fn refused(code: i32) -> Request {
    Request::new("", NLMSG_ERROR).fixed(&code.to_ne_bytes())
}

/// What a script's kernel does with one request.
pub(crate) enum Answer {
    /// Sends these datagrams of messages, numbered as the request is.
    Says(Vec<Vec<Request>>),
    /// Sends bytes made from the request's number.
    Raw(fn(u32) -> Vec<u8>),
}

/// A conversation whose kernel knows the family, and gives these answers in turn.
pub(crate) fn conversation(answers: Vec<Answer>) -> Nl80211 {
    counted(answers).0
}

/// The same, and the requests that were made after the family's.
pub(crate) fn counted(answers: Vec<Answer>) -> (Nl80211, Arc<Mutex<Vec<Vec<u8>>>>) {
    let mut answers = VecDeque::from(answers);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&asked);
    let script = Script::new(move |request| {
        let number = u32::from_ne_bytes(request[8..12].try_into().unwrap());
        if request[4..6] == GENL_ID_CTRL.to_ne_bytes() {
            return family(number);
        }
        requests.lock().unwrap().push(request.to_vec());
        given(answers.pop_front().expect("a request beyond the script"), number)
    });
    (Nl80211::over(script.unwrap()).unwrap(), asked)
}

fn given(answer: Answer, number: u32) -> Vec<Reply> {
    match answer {
        Answer::Says(datagrams) => datagrams.iter().map(|one| Ok(datagram(one, number))).collect(),
        Answer::Raw(make) => vec![Ok(make(number))],
    }
}

pub(crate) fn datagram(messages: &[Request], number: u32) -> Vec<u8> {
    messages.iter().flat_map(|message| message.bytes(NLM_F_MULTI, number)).collect()
}

fn family(number: u32) -> Vec<Reply> {
    let found =
        Request::generic("", GENL_ID_CTRL, 1).attribute(1, &FAMILY.to_ne_bytes()).bytes(0, number);
    vec![Ok(found), Ok(refused(0).bytes(0, number))]
}
