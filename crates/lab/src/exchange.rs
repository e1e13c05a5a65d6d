//! What an answer may take: time by what was ordered, and memory by what was ordered.
//!
//! Pure: clocks are arguments. [`crate::channel`] asks here before it waits on; the order of frames is
//! [`crate::session`]'s to judge, and what every answer may begin with is judged here.

use std::time::{Duration, Instant};

use model::{
    instrument::Instrument,
    order::TrialOrder,
    wire::{Frame, Order, Part},
};

use crate::vm::Failure;

/// A second of an ordered span may take this many on a virtual access point: a guest whose caches are
/// modelled on a busy host takes half a minute for a second.
pub(crate) const SLOWEST: u32 = 30;

/// A peer that works moves at least so much in a second, bytes: a serial line of 115,200 baud does more
/// than half of it, and what is missing is patience's. Slower ones are not waited for.
const SLOWEST_BYTES: u64 = 16 * 1024;

/// Bytes of an answer that may be kept in memory, on the stream; and more for each sample that was ordered.
/// Decoded they are up to 25 times as many, where a list has only empty texts in it.
const HELD: u64 = 4 << 20;
const HELD_SAMPLE: u64 = 16 << 10;

/// More where the subject, iw and hostapd tell of their clients, each in its own words: some 8 KiB a client.
const HELD_READINGS: u64 = 16 << 20;

/// More for each round that is checked: the same of each of three, but for no more clients than a study's rounds have.
const HELD_ROUND: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowance {
    /// How long the peer works by its own clock.
    span: Duration,
    /// Of that, how long it says nothing.
    silence: Duration,
    samples: u64,
    /// Bytes that values of clients may have.
    readings: u64,
    /// Whether what moves takes as long as it is long. What is measured comes while it is measured.
    is_bulk: bool,
}

impl Allowance {
    pub(crate) fn of(order: &Order) -> Self {
        match order {
            Order::Trial(order, _) => Self::trial(order),
            _ => Self::bulk(),
        }
    }

    pub(crate) fn bulk() -> Self {
        Self { is_bulk: true, ..Self::default() }
    }

    /// A boot until this many clients have joined: half a minute, and a second for each.
    pub(crate) fn boot(clients: u32) -> Self {
        Self { span: Duration::from_secs(30 + u64::from(clients)), ..Self::bulk() }
    }

    fn trial(order: &TrialOrder) -> Self {
        // A task with frames ends later than alone.
        const LONGEST_TASK: Duration = Duration::from_secs(60);
        let half = order.load.as_ref().map_or(0, |load| load.every.as_nanos() / 2);
        let has_task = order.card.is_some_and(|card| card.task_rounds.is_some());
        let task = if has_task { LONGEST_TASK } else { Duration::ZERO };
        let [offset, warm_up, window] =
            [order.offset, order.warm_up, order.window].map(Duration::from);
        let witness = order.witness.as_ref();
        // Work that was put off has its time after the last sample.
        let drain = witness.map_or(Duration::ZERO, |witness| witness.drain.into());
        let span = sum([offset, warm_up, window, Duration::from_nanos(half), task, drain]);
        let asked = match &order.instrument {
            Some(Instrument::Parity(order)) if !order.values.is_empty() => HELD_READINGS,
            _ => 0,
        };
        let rounds = witness.map_or(0, |witness| witness.rounds.len() as u64);
        Self {
            span,
            // What is sent in the window takes CPU from what is measured there.
            silence: if order.contends() { span } else { drain },
            samples: samples(order) as u64,
            readings: asked.saturating_add(rounds.saturating_mul(HELD_ROUND)),
            ..Self::default()
        }
    }

    fn held(&self) -> u64 {
        HELD.saturating_add(self.readings).saturating_add(self.samples.saturating_mul(HELD_SAMPLE))
    }
}

/// Samples of the subject that an order is answered with.
pub(crate) fn samples(order: &TrialOrder) -> usize {
    let intervals = order.window.as_nanos() / order.sample_every.as_nanos().max(1);
    if order.subject.is_some() { intervals as usize + 1 } else { 0 }
}

fn sum<const N: usize>(spans: [Duration; N]) -> Duration {
    spans.into_iter().fold(Duration::ZERO, Duration::saturating_add)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// How long it may be silent, and how much longer than ordered it may take.
    pub(crate) silence: Duration,
    /// Seconds of ours that one of its own may take.
    pub(crate) pace: u32,
}

/// An exchange under way: one order, and what has come since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    patience: Patience,
    allowance: Allowance,
    began: Instant,
    heard: Instant,
    moved: u64,
    held: u64,
    life: u64,
}

impl Exchange {
    pub(crate) fn begin(patience: Patience, allowance: Allowance, now: Instant) -> Self {
        Self { patience, allowance, began: now, heard: now, moved: 0, held: 0, life: 0 }
    }

    pub(crate) fn moved(&mut self, bytes: usize, now: Instant) {
        self.moved += bytes as u64;
        self.heard = now;
    }

    /// The peer's work as it is seen elsewhere: more than before is a sign of life.
    pub(crate) fn seen(&mut self, life: u64, now: Instant) {
        if life != self.life {
            (self.life, self.heard) = (life, now);
        }
    }

    /// A frame of this size is going to be kept in memory, if the order can be answered with as many bytes.
    pub(crate) fn hold(&mut self, bytes: u64) -> Result<(), Failure> {
        self.held += bytes;
        let most = self.allowance.held();
        if self.held <= most {
            return Ok(());
        }
        Err(Failure::Excess(format!("more than {} KiB of answers", most >> 10)))
    }

    /// Whether it may go on: [`Failure::Hang`] of a silent peer, [`Failure::Late`] of one that speaks and gets nowhere.
    pub(crate) fn check(&self, awaited: &'static str, now: Instant) -> Result<(), Failure> {
        let silence = self.patience.silence.saturating_add(self.slowest(self.allowance.silence));
        if now - self.heard > silence {
            return Err(Failure::Hang { awaited, waited: silence, console: Vec::new() });
        }
        let took = now - self.began;
        if took > self.longest() {
            return Err(Failure::Late { awaited, took });
        }
        Ok(())
    }

    /// What was ordered at the slowest pace, the bytes that moved at the slowest pace, and patience.
    fn longest(&self) -> Duration {
        let moved = if self.allowance.is_bulk { self.moved } else { 0 };
        let moving = Duration::from_millis(moved.saturating_mul(1000) / SLOWEST_BYTES);
        sum([self.patience.silence, self.slowest(self.allowance.span), moving])
    }

    fn slowest(&self, span: Duration) -> Duration {
        span.saturating_mul(self.patience.pace)
    }
}

/// What an agent may say before the answer to an order: who it is, when it is greeted, and again when it
/// takes the order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Preamble {
    hellos: u8,
    censuses: u8,
}

impl Preamble {
    pub(crate) fn take(&mut self, frame: &Frame, awaited: &'static str) -> Result<(), Failure> {
        let place = match frame {
            Frame::Hello { .. } if self.hellos < 2 => &mut self.hellos,
            Frame::Census(_) if self.censuses < self.hellos => &mut self.censuses,
            _ => return Err(unexpected(frame, awaited)),
        };
        *place += 1;
        Ok(())
    }
}

pub(crate) fn unexpected(frame: &Frame, awaited: &'static str) -> Failure {
    Failure::Unexpected { got: name_of(frame), awaited }
}

fn name_of(frame: &Frame) -> &'static str {
    match frame {
        Frame::Hello { .. } => "a hello",
        Frame::Census(_) => "a census",
        Frame::Sample(_) => "a sample",
        Frame::Recorder(_) => "how stacks are recorded",
        Frame::Records(_) => "stacks",
        Frame::Located(_) => "where programs are",
        Frame::Piece(_) => "a piece of a file",
        Frame::Done => "its last word",
        Frame::Refused(_) => "a refusal",
        Frame::Corrections(_) => "corrections",
        Frame::Settings(_) => "what became of settings",
        Frame::Part(part) => match part {
            Part::Recorded(_) => "the end of a recording",
            Part::Counts(_) => "counts of calls",
            Part::Pauses(_) => "pauses",
            Part::Reading(_) => "a reading",
            Part::Parity(_) => "parity",
            Part::Peers(_) => "peers",
            Part::Identity(_) => "an identity",
            Part::Checked(_) => "a checked round",
            Part::Drained(_) => "counters after the window",
            Part::LoadFailure(_) => "how the load failed",
            Part::Traffic(_) => "counters of traffic",
            Part::Card(_) => "counters of a card",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { silence: Duration::from_secs(2), pace: 1 };

    fn after(seconds: u64, moved: &[(u64, usize)]) -> Result<(), Failure> {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut exchange = Exchange::begin(PATIENCE, Allowance::boot(0), began);
        moved.iter().for_each(|&(when, bytes)| exchange.moved(bytes, at(when)));
        exchange.check("the end", at(seconds))
    }

    #[test]
    fn silence_ends_an_exchange_and_so_does_a_drip() {
        after(2, &[]).unwrap();
        assert!(matches!(after(3, &[]), Err(Failure::Hang { .. })));
        let drip: Vec<(u64, usize)> = (0..40).map(|second| (second, 1)).collect();
        after(32, &drip[..33]).unwrap();
        assert!(matches!(after(33, &drip[..33]), Err(Failure::Late { .. })));
        let work: Vec<(u64, usize)> = (0..40).map(|second| (second, 20_000)).collect();
        after(40, &work).unwrap();
    }

    #[test]
    fn what_is_kept_in_memory_has_a_limit() {
        let mut exchange = Exchange::begin(PATIENCE, Allowance::default(), Instant::now());
        (0..4).for_each(|_| exchange.hold(1 << 20).unwrap());
        assert!(matches!(exchange.hold(1), Err(Failure::Excess(_))));
    }

    #[test]
    fn an_agent_introduces_itself_twice_at_most() {
        let hello = || Frame::Hello { protocol: 0, facts: Box::default() };
        let census = || Frame::Census(Default::default());
        let mut preamble = Preamble::default();
        let mut take = |frame| preamble.take(&frame, "the answer");
        assert!(take(census()).is_err(), "no one has said who counts");
        for frame in [hello(), census(), hello(), census()] {
            take(frame).unwrap();
        }
        assert!(take(census()).is_err());
        let message = take(hello()).unwrap_err().to_string();
        assert_eq!(message, "the agent sent a hello while the answer was awaited");
    }
}
