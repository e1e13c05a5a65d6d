//! The machine's CPUs: where their time went, and the packets that they took.
//!
//! `/proc/stat` is in hundredths of a second, and most kernels count by looking at each timer interrupt: in a
//! tick of 200 ms a CPU's times are true to 5 %.

use std::path::Path;

use linux::load::{self, CpuLine, Softnet};

use super::source::{File, below};
use crate::reading::Cpu;

/// A sum of this many ticks says how the kernel counts interrupts.
const ENOUGH_TICKS: u64 = 2_000;
/// With interrupts timed apart their time is never so small a part of all busy time as one in this.
const APART: u64 = 20_000;

/// One CPU at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    line: CpuLine,
    softnet: Option<Softnet>,
}

/// The CPUs, read again and again.
#[derive(Debug)]
pub(crate) struct Machine {
    stat: File,
    softnet: Option<File>,
    tick_ns: u64,
    before: Vec<Moment>,
    now: Vec<Moment>,
}

impl Machine {
    /// Opens the files below the root; `None` without `/proc/stat`.
    pub(crate) fn open(root: &Path) -> Option<Self> {
        Some(Self {
            stat: File::open(below(root, "/proc/stat"))?,
            softnet: File::open(below(root, "/proc/net/softnet_stat")),
            tick_ns: 1_000_000_000 / linux::system::ticks_per_second().max(1),
            before: Vec::new(),
            now: Vec::new(),
        })
    }

    /// Whether packets are counted CPU by CPU.
    pub(crate) fn has_softnet(&self) -> bool {
        self.softnet.is_some()
    }

    pub(crate) fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    /// What each CPU did since the last time. A CPU that just came, or whose counters went back, is left out.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Vec<Cpu> {
        self.look(buffer);
        let cpus = self.now.iter().filter_map(|now| {
            let before = self.before.iter().find(|before| before.line.cpu == now.line.cpu)?;
            difference(now, before, self.tick_ns)
        });
        let cpus = cpus.collect();
        std::mem::swap(&mut self.before, &mut self.now);
        cpus
    }

    /// Fills `now`.
    fn look(&mut self, buffer: &mut [u8]) {
        let now = &mut self.now;
        now.clear();
        if let Some(text) = self.stat.read(buffer) {
            load::cpus(text, |line| now.push(Moment { line, softnet: None }));
        }
        let Some(text) = self.softnet.as_ref().and_then(|file| file.read(buffer)) else { return };
        let mut row = 0;
        load::softnet(text, |softnet| {
            let moment = match softnet.cpu {
                Some(cpu) => now.iter_mut().find(|moment| moment.line.cpu == cpu),
                None => now.get_mut(row),
            };
            if let Some(moment) = moment {
                moment.softnet = Some(softnet);
            }
            row += 1;
        });
    }

    /// Whether the kernel charges interrupts and softirqs to whatever they interrupt. Where it times them apart
    /// (`CONFIG_IRQ_TIME_ACCOUNTING`), the timer's own interrupts make the column `irq` of `/proc/stat` grow on
    /// every machine; where it does not, a tick cannot see an interrupt, since it is one itself. `None` on a
    /// machine that has hardly run.
    pub(crate) fn charges_softirqs(&self) -> Option<bool> {
        let lines = || self.before.iter().map(|moment| moment.line);
        let irq: u64 = lines().map(|line| line.irq).sum();
        let busy: u64 = lines().map(|line| line.user + line.system + line.softirq).sum();
        (busy >= ENOUGH_TICKS).then(|| irq.saturating_mul(APART) < busy)
    }
}

fn difference(now: &Moment, before: &Moment, tick_ns: u64) -> Option<Cpu> {
    let (line, old) = (now.line, before.line);
    let ns = |now: u64, before: u64| Some(now.checked_sub(before)?.saturating_mul(tick_ns));
    // The kernel lets these two go back a little while a CPU sleeps.
    let resting = |now: u64, before: u64| now.saturating_sub(before).saturating_mul(tick_ns);
    let mut cpu = Cpu {
        cpu: line.cpu,
        user_ns: ns(line.user, old.user)?,
        system_ns: ns(line.system, old.system)?,
        softirq_ns: ns(line.irq.saturating_add(line.softirq), old.irq.saturating_add(old.softirq))?,
        idle_ns: resting(line.idle, old.idle).saturating_add(resting(line.wait, old.wait)),
        steal_ns: resting(line.steal, old.steal),
        ..Cpu::default()
    };
    if let (Some(now), Some(before)) = (now.softnet, before.softnet) {
        // 32 bits: they wrap, and nothing resets them.
        cpu.packets = now.processed.wrapping_sub(before.processed).into();
        cpu.dropped = now.dropped.wrapping_sub(before.dropped).into();
        cpu.squeezed = now.squeezed.wrapping_sub(before.squeezed).into();
    }
    cpu.backlog = now.softnet.and_then(|softnet| softnet.backlog).map(u64::from);
    Some(cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::{source::buffer, tree::Tree};

    fn machine(stat: &str) -> (Tree, Machine) {
        let tree = Tree::new(&[("proc/stat", stat)]);
        let machine = Machine::open(tree.root()).unwrap();
        (tree, machine)
    }

    #[test]
    fn time_and_packets_are_differences() {
        let (tree, _) = machine("cpu  0\ncpu0 100 0 50 1000 0 0 10 0\ncpu1 5 0 5 1000 0 0 0 0\n");
        tree.write("proc/net/softnet_stat", "ffffffff 1 2 0 0 0 0 0 0 0 0 4 0\n");
        let mut machine = Machine::open(tree.root()).unwrap();
        let mut buffer = buffer();
        assert_eq!(machine.read(&mut buffer), [], "nothing to compare with");
        tree.write("proc/stat", "cpu  0\ncpu0 110 1 52 1003 1 1 14 2\ncpu1 5 0 5 999 0 0 0 0\n");
        tree.write("proc/net/softnet_stat", "00000009 1 5 0 0 0 0 0 0 0 0 7 0\n");
        let cpus = machine.read(&mut buffer);
        let first = Cpu {
            cpu: 0,
            user_ns: 110_000_000,
            system_ns: 20_000_000,
            softirq_ns: 50_000_000,
            idle_ns: 40_000_000,
            steal_ns: 20_000_000,
            packets: 10,
            dropped: 0,
            squeezed: 3,
            backlog: Some(7),
            canary_late_ns: None,
        };
        assert_eq!(cpus[0], first);
        assert_eq!(
            cpus[1],
            Cpu { cpu: 1, ..Cpu::default() },
            "idle time that goes back is no time"
        );
    }

    #[test]
    fn a_cpu_that_comes_or_goes_back_is_left_out_for_one_tick() {
        let (tree, mut machine) = machine("cpu  0\ncpu0 100 0 50 1000 0 0 10 0\n");
        let mut buffer = buffer();
        let mut read = |stat: &str| {
            tree.write("proc/stat", stat);
            machine.read(&mut buffer).iter().map(|cpu| cpu.cpu).collect::<Vec<_>>()
        };
        read("cpu  0\ncpu0 100 0 50 1000 0 0 10 0\n");
        assert_eq!(read("cpu  0\ncpu0 1 0 0 1 0 0 0 0\ncpu3 1 0 0 1 0 0 0 0\n"), [0_u32; 0]);
        assert_eq!(read("cpu  0\ncpu0 2 0 0 1 0 0 0 0\ncpu3 1 0 0 1 0 0 0 0\n"), [0, 3]);
        assert_eq!(read("garbage"), [0_u32; 0]);
        assert_eq!(read("cpu  0\ncpu0 3 0 0 1 0 0 0 0\n"), [0_u32; 0]);
    }

    #[test]
    fn a_kernel_that_times_interrupts_apart_shows_it() {
        let ask = |stat: &str| {
            let (_tree, mut machine) = machine(stat);
            machine.read(&mut buffer());
            machine.charges_softirqs()
        };
        assert_eq!(ask("cpu  0\ncpu0 900000 0 50000 1 0 0 800 0\n"), Some(true));
        assert_eq!(ask("cpu  0\ncpu0 900000 0 50000 1 0 2000 800 0\n"), Some(false));
        assert_eq!(ask("cpu  0\ncpu0 9 0 5 1 0 0 0 0\n"), None);
    }
}
