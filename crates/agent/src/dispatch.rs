//! Orders: each is taken, carried out by the module that it is for, and answered, one after the other.

use std::fs;

use linux::{mark::Marks, system::hide_memory};
use model::{
    cache,
    wire::{Frame, Order, Refusal},
};

use crate::{
    fetch, hold, locate, programs, put,
    session::{End, Session, Stop},
    settings, subject, trial,
};

/// Yama's limit on who may attach to whom, and nobody to anybody, which no one can take back (Linux,
/// `Documentation/admin-guide/LSM/Yama.rst`).
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
const NO_ATTACH: &str = "3";

/// Serves until the stream ends or a signal comes; a port whose host left is served again.
pub fn run(session: &mut Session) -> Result<(), Stop> {
    loop {
        session.await_host()?;
        match serve(session) {
            Err(Stop::Lost(_)) if session.awaits_host() => {}
            ended => return ended,
        }
    }
}

/// What a conversation has changed beyond one order. It is as it was once this is dropped.
#[derive(Debug, Default)]
struct Changed {
    files: put::Files,
    settings: settings::ChangedSettings,
}

/// One conversation. What was put here in it goes with it.
fn serve(session: &mut Session) -> Result<(), Stop> {
    let mut changed = Changed::default();
    introduce(session, None)?;
    let mut next = hold::waiting(session);
    loop {
        let order = match next.take() {
            Some(order) => order,
            None => next_order(session)?,
        };
        let answer = obey(session, &mut changed, &order);
        next = conclude(session, answer)?;
    }
}

fn next_order(session: &mut Session) -> Result<Order, Stop> {
    loop {
        match session.wait(None, &[]) {
            Err(End::Order(order)) => return Ok(*order),
            Err(End::Stop(stop)) => return Err(stop),
            Err(End::Refused(_)) | Ok(_) => {}
        }
    }
}

/// Carries an order out: its last frame, where it has not said all itself.
fn obey(session: &mut Session, changed: &mut Changed, order: &Order) -> Result<Option<Frame>, End> {
    match order {
        Order::Introduce { subject } => {
            introduce(session, subject.as_deref())?;
            return Ok(None);
        }
        Order::Locate(names) => return Ok(Some(Frame::Located(locate::all(names)))),
        Order::Fetch(wanted) => {
            fetch::send(session, wanted)?;
            return Ok(None);
        }
        Order::Trial(order, marks) => trial::carry_out(session, order, marked(*marks)?)?,
        Order::Put(piece) => changed.files.take(piece)?,
        Order::Set(settings) => return Ok(Some(Frame::Settings(changed.settings.set(settings)))),
        Order::Hold => return hold::stop(session),
        // The stream takes it; it is no order to anybody else.
        Order::Alive(_) => return Ok(None),
    }
    Ok(Some(Frame::Done))
}

/// What marks the window. From then on nobody of this machine may read or change this process: not its own user's
/// programs, and where the kernel has Yama, not root's either, until the machine is restored for another trial.
fn marked(marks: Option<cache::Marks>) -> Result<Option<Marks>, Refusal> {
    let Some(cache::Marks { open, close }) = marks else { return Ok(None) };
    let _ = fs::write(PTRACE_SCOPE, NO_ATTACH);
    let marks = hide_memory().and_then(|()| Marks::new(open, close));
    marks.map(Some).map_err(|why| Refusal::plain(format!("cannot mark the window: {why}")))
}

/// Says how an order ended; answers the order that cut it short, if one did.
fn conclude(
    session: &mut Session,
    ended: Result<Option<Frame>, End>,
) -> Result<Option<Order>, Stop> {
    match ended {
        Ok(frame) => frame.map_or(Ok(()), |frame| session.send(&frame)).map(|()| None),
        Err(End::Refused(refusal)) => session.send(&Frame::Refused(refusal)).map(|()| None),
        Err(End::Order(order)) => Ok(Some(*order)),
        Err(End::Stop(stop)) => Err(stop),
    }
}

fn introduce(session: &mut Session, subject: Option<&str>) -> Result<(), Stop> {
    let pids = subject.and_then(|name| subject::pids_of(name).ok()).unwrap_or_default();
    session.hello(programs::running(&pids))?;
    session.census()
}
