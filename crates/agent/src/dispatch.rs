//! The agent's work: say who we are, take an order, carry it out, again. Which order is whose is known here alone.

use model::wire::{Frame, Order};

use crate::{
    completion, contention, fetch, locate,
    measure::measure,
    programs, put,
    session::{End, Session, Stop},
    subject,
};

/// The agent at work.
#[derive(Debug)]
pub struct Dispatch {
    session: Session,
    /// What was put here in this conversation.
    files: put::Files,
}

impl Dispatch {
    /// Takes its orders there.
    pub fn new(session: Session) -> Self {
        Self { session, files: put::Files::default() }
    }

    /// Serves until the stream ends or a signal comes; a port whose host left is served again.
    ///
    /// # Errors
    ///
    /// [`Stop`], always: there is no other way out.
    pub fn run(&mut self) -> Result<(), Stop> {
        loop {
            self.session.await_host()?;
            let served = self.serve();
            self.files = put::Files::default();
            match served {
                Err(Stop::Lost(_)) if self.session.has_no_host() => {}
                ended => return ended,
            }
        }
    }

    fn serve(&mut self) -> Result<(), Stop> {
        self.introduce(None)?;
        let mut next = None;
        loop {
            let order = match next.take() {
                Some(order) => order,
                None => self.session.next_order()?,
            };
            next = self.obey(&order)?;
        }
    }

    /// Carries an order out; answers the order that cut it short, if one did.
    fn obey(&mut self, order: &Order) -> Result<Option<Order>, Stop> {
        match order {
            Order::Introduce { subject } => self.introduce(subject.as_deref()).map(|()| None),
            Order::Measure(shape) => {
                let ended = measure(&mut self.session, shape);
                self.conclude(ended.map(|()| Frame::Done))
            }
            Order::Locate(names) => {
                self.session.send(&Frame::Located(locate::all(names))).map(|()| None)
            }
            Order::Fetch(wanted) => match fetch::send(&mut self.session, wanted) {
                Ok(()) => Ok(None),
                Err(end) => self.conclude(Err(end)),
            },
            Order::Put(piece) => {
                let taken = self.files.take(piece);
                self.conclude(taken.map(|()| Frame::Done).map_err(End::from))
            }
            Order::Contention(order) => {
                let ended = contention::make(&mut self.session, order);
                self.conclude(ended.map(|()| Frame::Done))
            }
            Order::Completion(order) => {
                let ended = completion::measure(&mut self.session, order);
                self.conclude(ended.map(|()| Frame::Done))
            }
        }
    }

    /// Says how an order ended; answers the order that cut it short, if one did.
    fn conclude(&mut self, ended: Result<Frame, End>) -> Result<Option<Order>, Stop> {
        match ended {
            Ok(frame) => self.session.send(&frame).map(|()| None),
            Err(End::Refused(refusal)) => {
                self.session.send(&Frame::Refused(refusal)).map(|()| None)
            }
            Err(End::Order(order)) => Ok(Some(*order)),
            Err(End::Stop(stop)) => Err(stop),
        }
    }

    fn introduce(&mut self, subject: Option<&str>) -> Result<(), Stop> {
        let pids = subject.and_then(|name| subject::pids_of(name).ok()).unwrap_or_default();
        self.session.hello(programs::running(&pids))?;
        self.session.census()
    }
}
