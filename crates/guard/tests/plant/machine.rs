//! A machine of some CPUs, in steps of 2 ms: who runs, who waits, what the kernel's counters say.
//!
//! Each CPU is shared among those who want it in proportion to their weights, as a fair scheduler does over many
//! slices. A group's weight is split over the CPUs by its threads there (`calc_group_shares`,
//! kernel/sched/fair.c).

use guard::{
    bounds::{Bounds, FULL_WEIGHT, Placement},
    reading::{Application, Cpu, Interface, Reading, Worker, WorkerKind},
};

/// One step, s.
const STEP: f64 = 0.002;
/// Steps of a quota's period of 10 ms.
const PERIOD_STEPS: u64 = 5;
/// `/proc/stat` counts in ticks of 10 ms.
const STAT_TICK: f64 = 0.010;
/// What one CPU carries, bits a second.
pub(crate) const BITS_A_CPU: f64 = 100e6;
/// A packet, bits.
const PACKET: f64 = 12_000.0;

/// A source of numbers that is the same with one seed (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub u64);

impl Dice {
    /// From 0 to 1.
    pub(crate) fn roll(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Wi-Fi's work on one CPU.
#[derive(Clone, Debug)]
pub(crate) struct Wifi {
    pub cpu: usize,
    pub kind: WorkerKind,
    /// CPU time that its packets need for each second; above 1 it is saturated.
    pub demand: f64,
    /// How much of a CPU it can use even so, because the link takes no more; 1 without such a limit.
    pub link: f64,
    /// Work that waits, s.
    pub queue: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct App {
    pub name: String,
    pub runs: bool,
    /// Threads, spread over the CPUs that it may use.
    pub threads: usize,
    /// The share of the time in which each thread wants to run.
    pub demand: f64,
    /// What its bounds are now: those of the kernel.
    pub bounds: Bounds,
    /// Of the quota of this period, s.
    left: f64,
}

impl App {
    pub(crate) fn new(name: &str, threads: usize) -> Self {
        let name = name.to_owned();
        Self { name, runs: true, threads, demand: 1.0, bounds: Bounds::default(), left: 0.0 }
    }
}

/// What the kernel of the machine tells, and how well.
#[derive(Clone, Debug)]
pub(crate) struct Sensors {
    pub waits: bool,
    pub canary: bool,
    pub split: bool,
    /// Relative error of each counter.
    pub noise: f64,
}

/// Counters since the last reading, s.
#[derive(Clone, Debug, Default)]
struct Counters {
    wifi_ran: Vec<f64>,
    wifi_waited: Vec<f64>,
    app_ran: Vec<Vec<f64>>,
    app_waited: Vec<f64>,
    throttled: Vec<f64>,
    busy: Vec<f64>,
    dropped: Vec<f64>,
    done: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub cpus: usize,
    pub wifi: Vec<Wifi>,
    pub apps: Vec<App>,
    /// Share of each CPU that endpoints of real-time rank take.
    pub endpoints: f64,
    /// Threads on each CPU that no policy names, always running.
    pub strangers: f64,
    /// How much slower Wi-Fi's work is while applications run anywhere (shared cache).
    pub cache_penalty: f64,
    /// Time that Wi-Fi's work waits for each second it runs beside an application though the CPU suffices.
    pub latency: f64,
    /// What its kernel tells, and how well.
    pub sensors: Sensors,
    pub interfaces: bool,
    pub air_busy: Option<f64>,
    pub backlog_bytes: Option<u64>,
    /// Times that the queue in front of the link held back by its own rate, each tick.
    pub held_back: Option<u64>,
    pub dice: Dice,
    pub placement: Placement,
    steps: u64,
    now: f64,
    counted: Counters,
    carry: Vec<[f64; 3]>,
    pub seen: Seen,
}

/// What truly happened since the last reading, for the tests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Work of Wi-Fi's that was done, s.
    pub done: f64,
    /// CPU time of each application, s.
    pub app_ran: Vec<f64>,
    pub span: f64,
    /// What Wi-Fi's work would have had.
    pub wanted: f64,
}

impl Machine {
    /// One saturated `ksoftirqd` on each CPU and these applications.
    pub(crate) fn new(cpus: usize, apps: Vec<App>) -> Self {
        let kind = WorkerKind::Ksoftirqd;
        let one = |cpu| Wifi { cpu, kind, demand: 2.0, link: 1.0, queue: 0.0 };
        let mut machine = Self {
            cpus,
            wifi: (0..cpus).map(one).collect(),
            apps,
            endpoints: 0.0,
            strangers: 0.0,
            cache_penalty: 0.0,
            latency: 0.0,
            sensors: Sensors { waits: true, canary: false, split: true, noise: 0.0 },
            interfaces: true,
            air_busy: None,
            backlog_bytes: None,
            held_back: None,
            dice: Dice(0x9E37_79B9_7F4A_7C15),
            placement: Placement::default(),
            steps: 0,
            now: 1000.0,
            counted: Counters::default(),
            carry: vec![[0.0; 3]; cpus],
            seen: Seen::default(),
        };
        machine.clear();
        machine
    }

    /// Wi-Fi's demand on every CPU.
    pub(crate) fn demand(mut self, demand: f64) -> Self {
        self.set_demand(demand);
        self
    }

    pub(crate) fn set_demand(&mut self, demand: f64) {
        self.wifi.iter_mut().for_each(|one| one.demand = demand);
    }

    fn clear(&mut self) {
        self.counted = Counters {
            wifi_ran: vec![0.0; self.wifi.len()],
            wifi_waited: vec![0.0; self.wifi.len()],
            app_ran: vec![vec![0.0; self.cpus]; self.apps.len()],
            app_waited: vec![0.0; self.apps.len()],
            throttled: vec![0.0; self.apps.len()],
            busy: vec![0.0; self.cpus],
            dropped: vec![0.0; self.cpus],
            done: 0.0,
        };
        self.seen = Seen { app_ran: vec![0.0; self.apps.len()], ..Seen::default() };
    }

    /// The CPUs that an application may use.
    fn cpus_of(&self, app: &App) -> Vec<usize> {
        let all = 0..self.cpus;
        match &app.bounds.cpus {
            Some(listed) => all.filter(|cpu| listed.contains(&(*cpu as u32))).collect(),
            None => all.collect(),
        }
    }

    /// Runs for so long and gives the reading of it.
    pub(crate) fn run(&mut self, span: f64) -> Reading {
        self.clear();
        let steps = (span / STEP).round() as u64;
        for _ in 0..steps {
            self.step();
        }
        let span = steps as f64 * STEP;
        self.now += span;
        self.read(span)
    }

    fn step(&mut self) {
        if self.steps.is_multiple_of(PERIOD_STEPS) {
            let period = STEP * PERIOD_STEPS as f64;
            for app in &mut self.apps {
                app.left = app.bounds.quota.map_or(f64::INFINITY, |quota| quota.get() * period);
            }
        }
        self.steps += 1;
        let others: f64 = self.seen.app_ran.iter().sum();
        for cpu in 0..self.cpus {
            self.share(cpu);
        }
        let ran_now = self.seen.app_ran.iter().sum::<f64>() - others;
        let slow = 1.0 - self.cache_penalty * (ran_now / (STEP * self.cpus as f64)).min(1.0);
        self.seen.done += self.counted.done * slow;
        self.counted.done = 0.0;
        self.seen.span += STEP;
    }

    /// One step of one CPU.
    fn share(&mut self, cpu: usize) {
        let room = STEP * (1.0 - self.endpoints);
        let mut takers = self.takers(cpu);
        deal(&mut takers, room);
        let others: f64 = takers.iter().filter(|t| t.is_app()).map(|t| t.got).sum();
        let mut busy = STEP * self.endpoints;
        for taker in &takers {
            busy += taker.got;
            match taker.who {
                Who::Wifi(at) => self.serve(at, taker, others),
                Who::App(at) => {
                    let app = &mut self.apps[at];
                    app.left -= taker.got;
                    self.counted.app_ran[at][cpu] += taker.got;
                    self.seen.app_ran[at] += taker.got;
                    let waits = (taker.wants - taker.got).max(0.0);
                    self.counted.app_waited[at] += waits;
                }
                Who::Stranger => {}
            }
        }
        self.counted.busy[cpu] += busy;
    }

    /// Wi-Fi's work had this much; its queue holds 50 ms and drops the rest.
    fn serve(&mut self, at: usize, taker: &Taker, others: f64) {
        let (got, waits) = (taker.got, taker.got + 1e-12 < taker.wants);
        let one = &mut self.wifi[at];
        one.queue -= got;
        self.counted.wifi_ran[at] += got;
        self.counted.done += got;
        let idles = (others * self.latency).min(got);
        self.counted.wifi_waited[at] += if waits { STEP - got } else { idles };
        let over = (one.queue - 0.05).max(0.0);
        one.queue -= over;
        self.counted.dropped[one.cpu] += over;
    }

    fn takers(&mut self, cpu: usize) -> Vec<Taker> {
        let mut takers = Vec::new();
        let nice = self.placement.nice.unwrap_or(0);
        for (at, one) in self.wifi.iter_mut().enumerate().filter(|(_, one)| one.cpu == cpu) {
            let wanted = one.demand.min(one.link) * STEP;
            one.queue += wanted;
            self.seen.wanted += wanted.min(STEP * (1.0 - self.endpoints));
            let is_nice = one.kind != WorkerKind::Ksoftirqd && nice < 0;
            let weight = FULL_WEIGHT as f64 * if is_nice { 1.25f64.powi(-nice) } else { 1.0 };
            takers.push(Taker { who: Who::Wifi(at), weight, wants: one.queue.min(STEP), got: 0.0 });
        }
        for at in 0..self.apps.len() {
            let cpus = self.cpus_of(&self.apps[at]);
            let app = &self.apps[at];
            if !app.runs || !cpus.contains(&cpu) || app.threads == 0 {
                continue;
            }
            let threads = app.threads as f64 / cpus.len() as f64;
            let wants = (threads * app.demand * STEP).min(STEP).min(app.left.max(0.0));
            let full = (threads * app.demand * STEP).min(STEP);
            self.counted.throttled[at] += full - wants;
            let whole = if app.bounds.idle { 3.0 } else { f64::from(app.bounds.weight) };
            let weight = whole / cpus.len().min(app.threads) as f64;
            takers.push(Taker { who: Who::App(at), weight, wants, got: 0.0 });
        }
        if self.strangers > 0.0 {
            let weight = FULL_WEIGHT as f64 * self.strangers;
            takers.push(Taker { who: Who::Stranger, weight, wants: STEP, got: 0.0 });
        }
        takers
    }

    fn read(&mut self, span: f64) -> Reading {
        let at_ns = (self.now * 1e9) as u64;
        let span_ns = (span * 1e9) as u64;
        let cpus = (0..self.cpus).map(|cpu| self.read_cpu(cpu, span)).collect();
        let workers = (0..self.wifi.len()).map(|at| self.read_worker(at)).collect();
        let applications = (0..self.apps.len()).map(|at| self.read_app(at)).collect();
        let interfaces = if self.interfaces { vec![self.read_interface()] } else { Vec::new() };
        Reading { at_ns, span_ns, interfaces, cpus, workers, applications, ..Reading::default() }
    }

    fn read_interface(&mut self) -> Interface {
        let bits = self.seen.done * BITS_A_CPU;
        Interface {
            name: "wlan0".to_owned(),
            rx_bytes: (bits / 8.0) as u64,
            packets: (bits / PACKET) as u64,
            backlog_bytes: self.backlog_bytes,
            held_back: self.held_back,
            air_busy: self.air_busy,
            ..Interface::default()
        }
    }

    /// In ticks of 10 ms, with what is left carried to the next reading, as a kernel's ticks fall.
    fn read_cpu(&mut self, cpu: usize, span: f64) -> Cpu {
        let of = |list: &[f64]| -> f64 {
            self.wifi.iter().zip(list).filter(|(one, _)| one.cpu == cpu).map(|(_, v)| v).sum()
        };
        let softirq = of(&self.counted.wifi_ran);
        let busy = self.counted.busy[cpu];
        let truth = [busy - softirq, softirq, (span - busy).max(0.0)];
        let mut ticks = [0u64; 3];
        for (at, time) in truth.iter().enumerate() {
            let whole = self.carry[cpu][at] + time + STAT_TICK * (self.dice.roll() - 0.5) * 0.5;
            let counted = (whole / STAT_TICK).floor().max(0.0);
            self.carry[cpu][at] = whole - counted * STAT_TICK;
            ticks[at] = (counted * STAT_TICK * 1e9) as u64;
        }
        let packets = softirq * BITS_A_CPU / PACKET;
        let dropped = self.counted.dropped[cpu] * BITS_A_CPU / PACKET;
        let is_full = truth[2] < 0.02 * span;
        let weights: f64 =
            self.apps.iter().filter(|a| a.runs).map(|a| f64::from(a.bounds.weight)).sum();
        let late = if is_full { 8e6 * (weights / 1024.0).min(2.0) } else { 0.2e6 };
        Cpu {
            cpu: cpu as u32,
            user_ns: ticks[0],
            softirq_ns: ticks[1],
            idle_ns: ticks[2],
            packets: packets as u64,
            dropped: dropped as u64,
            canary_late_ns: self.sensors.canary.then_some(late as u64),
            ..Cpu::default()
        }
    }

    fn noisy(&mut self, seconds: f64) -> u64 {
        let error = 1.0 + self.sensors.noise * (2.0 * self.dice.roll() - 1.0);
        (seconds * error * 1e9).max(0.0) as u64
    }

    fn read_worker(&mut self, at: usize) -> Worker {
        let one = self.wifi[at].clone();
        let ran_ns = self.noisy(self.counted.wifi_ran[at]);
        let waited_ns = self.noisy(self.counted.wifi_waited[at]);
        Worker {
            tid: 10 + at as u32,
            name: format!("worker/{}", one.cpu),
            kind: one.kind,
            cpu: one.cpu as u32,
            ran_ns,
            waited_ns: self.sensors.waits.then_some(waited_ns),
        }
    }

    fn read_app(&mut self, at: usize) -> Application {
        let by_cpu = self.counted.app_ran[at].clone();
        let ran_by_cpu_ns: Vec<u64> = by_cpu.iter().map(|ran| self.noisy(*ran)).collect();
        let ran_ns = ran_by_cpu_ns.iter().sum();
        let app = &self.apps[at];
        Application {
            name: app.name.clone(),
            runs: app.runs,
            charged_ns: ran_ns,
            ran_ns,
            ran_by_cpu_ns: if self.sensors.split { ran_by_cpu_ns } else { Vec::new() },
            waited_ns: Some((self.counted.app_waited[at] * 1e9) as u64),
            throttled_ns: Some((self.counted.throttled[at] * 1e9) as u64),
            memory_kib: Some(32 * 1024),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Wifi(usize),
    App(usize),
    Stranger,
}

#[derive(Clone, Debug)]
struct Taker {
    who: Who,
    weight: f64,
    wants: f64,
    got: f64,
}

impl Taker {
    fn is_app(&self) -> bool {
        matches!(self.who, Who::App(_))
    }
}

/// Deals a CPU's time out by weight; what one does not want goes to the others.
fn deal(takers: &mut [Taker], mut room: f64) {
    loop {
        let open: f64 = takers.iter().filter(|t| t.got < t.wants).map(|t| t.weight).sum();
        if open <= 0.0 || room <= 1e-15 {
            return;
        }
        let mut dealt = 0.0;
        for taker in takers.iter_mut().filter(|t| t.got < t.wants) {
            let part = (room * taker.weight / open).min(taker.wants - taker.got);
            taker.got += part;
            dealt += part;
        }
        room -= dealt;
        if takers.iter().all(|t| t.got >= t.wants) || dealt <= 1e-15 {
            return;
        }
    }
}
