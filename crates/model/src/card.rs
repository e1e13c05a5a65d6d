//! A card that sends frames, and what its driver spends on waiting for it: what is ordered, and what `txd measure`
//! counts. JSON is how a reading leaves `txd`.

use serde::{Deserialize, Serialize};

use crate::{purpose::names, span::Span};

/// A way to wait for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Reads the command register until its busy bit is gone, interrupts masked meanwhile.
    Busy,
    /// Returns, and goes on at the card's command event.
    Event,
    /// Sleeps for the learnt short side of the completion time and spins for the rest, within a bound.
    Hybrid,
    /// One event for several frames where the queue is deep.
    Batch,
}

names!(Strategy { Busy = "busy", Event = "event", Hybrid = "hybrid", Batch = "batch" });

/// What a card is to send and how its driver waits: the words of `txd measure`, whose warm-up and window are the trial's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardOrder {
    /// How the driver waits; `None`: no driver runs, the task is alone.
    pub strategy: Option<Strategy>,
    /// Frames a second; 0 with a strategy: as fast as the card takes them.
    pub rate: u32,
    /// Bytes of a frame, with its Ethernet header.
    pub bytes: u32,
    /// How long the card takes to complete a transmit command.
    pub completes_in: Span,
    /// How long a word of 16 bits takes on the bus to the card.
    pub bus_word: Span,
    /// Work of a CPU task with it, in rounds of `txd measure`'s own loop. The window ends with the task.
    pub task_rounds: Option<u64>,
}

/// What was counted in the window of one trial. Absent is `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CardReading {
    pub window_ns: u64,
    /// Frames that the source made; what the interface's own queue could not hold never gets to the driver.
    pub offered: u64,
    /// Frames that the driver took from the TAP: accepted + queued_before = sent + dropped + queued.
    pub accepted: u64,
    /// Frames that came out of the second TAP.
    pub sent: u64,
    pub dropped: Vec<(String, u64)>,
    /// Frames still queued when the window closed.
    pub queued: u64,
    /// Frames queued already when it opened.
    pub queued_before: u64,
    /// Frames that came out of the second TAP and that the sink never saw, of the whole trial: 0 in a sound path.
    pub missing: u64,
    /// Frames that came out twice, or out of order, or damaged: 0 each in a sound path.
    pub duplicated: u64,
    /// See `duplicated`.
    pub reordered: u64,
    /// See `duplicated`.
    pub damaged: u64,
    /// CPU time of the driver's thread, ns: the transmit path.
    pub driver_ns: u64,
    /// Of it, in loops that read the command register, ns.
    pub spun_ns: u64,
    /// Time in which the modelled driver has interrupts masked, ns.
    pub masked_ns: u64,
    /// CPU time of the thread that stands for the air, ns: the model's, no driver has it.
    pub air_ns: u64,
    /// CPU time of the thread that makes the frames, ns.
    pub source_ns: u64,
    pub interrupts: u64,
    /// Equal parts of the window, one after the other; none with a task. What is left at the end is in none.
    pub periods: Vec<Period>,
    /// From the frame's creation until it came out of the second TAP, ns: quantiles.
    pub latency: Option<Latency>,
    pub commands: Vec<Command>,
    /// The CPU task: from its start to its end, ns.
    pub task_wall_ns: Option<u64>,
    /// The CPU task's own CPU time, ns.
    pub task_ran_ns: Option<u64>,
    pub task_rounds: Option<u64>,
    /// Times that the card's model was asked for more than its bound allows: lost events, resets.
    pub resets: u64,
    pub timeouts: u64,
}

/// A part of a window. A driver that sleeps where it would end ends it when it wakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    pub window_ns: u64,
    /// Frames that came out of the second TAP.
    pub sent: u64,
    /// CPU time of the driver's thread, ns.
    pub driver_ns: u64,
    /// CPU time of that thread for what stands for the air, ns: not in `driver_ns`.
    pub air_ns: u64,
    pub interrupts: u64,
}

/// The window is cut into so many periods, and a few more where a frame's interval does not divide them.
pub const PERIODS: u64 = 10;

/// Latencies of frames, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub frames: u64,
    /// Half are at most so long.
    pub p50_ns: u64,
    /// 99 of 100 are.
    pub p99_ns: u64,
    pub longest_ns: u64,
}

/// A kind of command, as the driver counts it: from its issue until its completion was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// `transmit`, `allocate`, `initialise` or `enable`.
    pub name: String,
    pub count: u64,
    /// Of them, those whose end no one awaited: how long they took is not known, and in none of the times.
    #[serde(default)]
    pub deferred: u64,
    pub total_ns: u64,
    pub least_ns: u64,
    pub most_ns: u64,
    /// How many failed: by an error of the card, or by a time-out.
    pub failed: u64,
}
