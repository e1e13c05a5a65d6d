//! Every figure that a limit, a baseline, an index or a page speaks of, in one table. What a figure comes to in a run is
//! `analysis`'s to say.

use serde::{Deserialize, Serialize};

/// What a study must have for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Subject,
    Traffic,
    Frames,
}

/// A row of figures: each with its name, its unit and what it needs, in the order in which messages list them.
type Row = (Figure, &'static str, Measure, &'static [Part]);

macro_rules! figures {
    ($($(#[$doc:meta])* $figure:ident, $name:literal, $unit:ident, [$($part:ident),*];)*) => {
        /// A figure of a run, by the name that limits have for it. Beside these there are calls of counted functions and,
        /// for every control of a study of traffic, `work-against-NAME` and `work-over-NAME`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Figure {
            $($(#[$doc])* $figure,)*
        }

        const TABLE: &[Row] =
            &[$((Figure::$figure, $name, Measure::$unit, &[$(Part::$part),*])),*];
    };
}

figures! {
    /// The subject's CPU.
    Cpu, "cpu", Cpu, [Subject];
    /// The load's CPU.
    Load, "load", Cpu, [Subject];
    /// CPU of subject, load and others together.
    Sum, "sum", Cpu, [Subject];
    /// The subject's CPU for each client.
    Slope, "slope", Cpu, [Subject];
    /// The subject's memory at the end of the window.
    Memory, "memory", Kib, [Subject];
    MemoryPerClient, "memory-per-client", Kib, [Subject];
    /// What the subject's memory grows by, KiB a minute.
    MemoryGrowth, "memory-growth", Kib, [Subject];
    /// Samples that are not explained to their root.
    UnknownFrames, "unknown-frames", Share, [Subject];
    /// What each client adds between two neighbouring counts. Limits do not speak of it.
    Step, "step", Cpu, [];
    /// CPU of the transmit path, of one core.
    Path, "path", Share, [Frames];
    /// Of it, in loops that wait.
    Waiting, "waiting", Share, [Frames];
    /// Waiting, of rate × completion time, less 1; where all frames are carried and no task runs.
    WaitingError, "waiting-error", Share, [Frames];
    /// CPU of the transmit path, of the first strategy's.
    PathRatio, "path-ratio", Share, [Frames];
    /// The task's time, of that with the first strategy.
    TaskRatio, "task-ratio", Ratio, [Frames];
    /// The task's time, of the task alone.
    Slowdown, "slowdown", Ratio, [Frames];
    /// Cells in which harm is shown, of the whole run.
    HarmedCells, "harmed-cells", Count, [Traffic];
    /// Wi-Fi kept, of traffic alone; at most 1 in each block.
    Kept, "kept", Share, [Traffic];
    /// The same, above 1 too.
    KeptUncapped, "kept-uncapped", Share, [Traffic];
    /// The first percentile of all seconds of Wi-Fi kept.
    KeptP01, "kept-p01", Share, [Traffic];
    /// The share of the loss without control that is back.
    Restored, "restored", Share, [Traffic];
    /// Median round trip, or latency of a frame.
    P50, "p50", Seconds, [Traffic, Frames];
    /// 99th percentile of it.
    P99, "p99", Seconds, [Traffic, Frames];
    /// The same, of traffic alone's.
    P99Ratio, "p99-ratio", Ratio, [Traffic];
    /// Application work kept, of the application alone.
    Work, "work", Share, [Traffic];
    /// Share of all CPUs that was in use.
    CpuUse, "cpu-use", Share, [Traffic];
    /// Work that guard left less than the best other control that keeps as much Wi-Fi, of that one's.
    Regret, "regret", Share, [Traffic];
    /// CPU of guard and its watchdog, of one core.
    GuardCpu, "guard-cpu", Share, [Traffic];
    /// guard's resident memory, the most.
    GuardMemory, "guard-memory", Kib, [Traffic];
    /// guard's writes in a minute.
    GuardWrites, "guard-writes", Count, [Traffic];
    /// From the start of contention until guard held its target for a second; never is infinite.
    Protect, "protect", Seconds, [Traffic];
    /// Trials after which everything was as before, of all with guard.
    GuardRestored, "guard-restored", Share, [Traffic];
    /// guard's decisions that changed something, in the first block.
    GuardDecisions, "guard-decisions", Count, [Traffic];
    /// Pairs of cases whose modelled cache misses move as the field report's, of all.
    Agreement, "agreement", Share, [Traffic];
    /// Median latency, of the first strategy's.
    P50Ratio, "p50-ratio", Ratio, [Frames];
    /// Frames a second at which waiting alone would fill the core.
    FullRate, "full-rate", Count, [Frames];
    /// Frames a second that come out at most, of 1 ÷ completion time, less 1.
    SaturationError, "saturation-error", Share, [Frames];
    /// Frames lost, doubled, out of order, damaged or forgotten.
    Faults, "faults", Count, [Frames];
    /// The most that a figure of a counted trial differs when it is made again, of the whole run.
    RepeatError, "repeat-error", Share, [Frames];
    /// The task's time, from its start to its end.
    TaskTime, "task-time", Seconds, [Frames];
    /// Frames that come out.
    Sent, "sent", Rate, [Frames];
    /// Frames that are dropped.
    Dropped, "dropped", Rate, [Frames];
    /// CPU of a frame that was sent, but for waiting.
    Rest, "rest", Seconds, [Frames];
    /// Time in which interrupts are masked, of the window.
    Masked, "masked", Share, [Frames];
    /// Interrupts for each frame that was sent.
    Interrupts, "interrupts", Count, [Frames];
    /// The longest latency of a frame in a window.
    Longest, "longest", Seconds, [Frames];
    /// CPU of the threads of the source and the sink, of one core. Limits do not speak of it.
    Harness, "harness", Share, [];
    /// Bits of Wi-Fi that arrive. Limits do not speak of it.
    Received, "received", Rate, [];
}

impl Figure {
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    pub const fn unit(self) -> Measure {
        TABLE[self as usize].2
    }

    pub fn needs(self, part: Part) -> bool {
        TABLE[self as usize].3.contains(&part)
    }

    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Whether it is one figure over all client counts.
    pub const fn is_over_counts(self) -> bool {
        matches!(self, Self::Slope | Self::MemoryPerClient)
    }
}

impl Part {
    /// The names of the figures that a study with this part has.
    pub fn figures(self) -> impl Iterator<Item = &'static str> {
        TABLE.iter().filter(move |row| row.3.contains(&self)).map(|row| row.1)
    }
}

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    Share,
    Ratio,
    Seconds,
    Kib,
    Count,
    /// CPU, µs a second.
    Cpu,
    /// Times a second.
    Rate,
}

impl Measure {
    /// A value in words: `97.1 %`, `1.25 ×`, `180 µs`.
    pub fn words(self, value: f64) -> String {
        let (number, unit) = self.parts(value);
        match self {
            Self::Cpu => format!("{number}{unit}, {} % of a core", tidy(value / 1e4)),
            _ => format!("{number}{unit}"),
        }
    }

    /// The unit's symbol in files for machines; a share and a ratio are of 1.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Share | Self::Ratio | Self::Count => "1",
            Self::Seconds => "s",
            Self::Kib => "KiB",
            Self::Cpu => "us/s",
            Self::Rate => "1/s",
        }
    }

    /// What stands behind the unit where it is a rate: `/s`.
    pub const fn per(self) -> &'static str {
        if matches!(self, Self::Cpu | Self::Rate) { "/s" } else { "" }
    }

    /// A number, and its unit with the space before it.
    fn parts(self, value: f64) -> (String, &'static str) {
        let (number, unit) = match self {
            Self::Share if value.abs() < 0.01 => (format!("{:.2}", 100.0 * value), " %"),
            Self::Share => (format!("{:.1}", 100.0 * value), " %"),
            Self::Ratio => (format!("{value:.3}"), " ×"),
            Self::Seconds if value.is_infinite() => ("never".to_owned(), ""),
            Self::Seconds if value.abs() < 1e-3 => (format!("{:.0}", 1e6 * value), " µs"),
            Self::Seconds if value.abs() < 1.0 => (format!("{:.0}", 1e3 * value), " ms"),
            Self::Seconds => (format!("{value:.2}"), " s"),
            Self::Kib if value.abs() < 1024.0 => (format!("{value:.1}"), " KiB"),
            Self::Kib => (format!("{:.1}", value / 1024.0), " MiB"),
            Self::Cpu if value.abs() < 1e3 => (tidy(value), " µs"),
            Self::Cpu if value.abs() < 1e6 => (tidy(value / 1e3), " ms"),
            Self::Cpu => (tidy(value / 1e6), " s"),
            Self::Rate => (tidy(value), "/s"),
            Self::Count if value == value.trunc() => (format!("{value:.0}"), ""),
            Self::Count => (format!("{value:.1}"), ""),
        };
        let is_zero = number.trim_start_matches('-').chars().all(|digit| "0.".contains(digit));
        let number = if is_zero { number.trim_start_matches('-') } else { &number };
        (number.replace('-', "−"), unit)
    }

    /// A mean with the ends of its interval: `97.1 % [96.8, 97.4]`.
    pub fn with_interval(self, mean: f64, [low, high]: [f64; 2]) -> String {
        let (low, high) = (self.parts(low), self.parts(high));
        let ends = match (self.parts(mean).1, low.1, high.1) {
            (unit, one, other) if unit == one && one == other => format!("{}, {}", low.0, high.0),
            _ => format!("{}{}, {}{}", low.0, low.1, high.0, high.1),
        };
        format!("{} [{ends}]", self.words(mean))
    }
}

/// A number that a person wrote, without the digits that calculating adds.
fn tidy(value: f64) -> String {
    let digits = format!("{value:.6}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}
