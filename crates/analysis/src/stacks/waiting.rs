//! CPU that is spent waiting: known delays and spin loops, and cost that does not follow the work.
//!
//! The table holds functions whose *own* instructions wait: loops of `cpu_relax`, reads of a clock until
//! it is late enough, polls of a device. Functions that sleep are not in it, because sleeping costs no
//! CPU. A function of the table that is inlined into another one is seen where debug information tells.
//!
//! # Sources
//!
//! Linux: `arch/*/lib/delay.[cS]`, `kernel/locking/{qspinlock,qrwlock,osq_lock,mutex,rwsem,rtmutex}.c`,
//! `kernel/sched/idle.c`, `drivers/cpuidle/poll_state.c`, `drivers/tty/serial/8250/8250_port.c`,
//! `kernel/{smp,stop_machine}.c`, `drivers/net/virtio_net.c`. User space: the names of the libraries.

use crate::{
    profiles::{Waiting, WhyWaiting},
    stacks::{
        cost::Costs,
        difference::Side,
        functions::{Function, Functions},
        profile::Profile,
    },
    stats::Estimate,
};

const DELAY: &str = "a delay that counts time in a loop";
const SPIN_LOCK: &str = "spins for a lock that another CPU holds";
const OWNER: &str = "spins while a lock's owner runs";
const IDLE: &str = "the CPU has nothing to do";
const UART: &str = "polls a serial port";
const OTHER_CPU: &str = "spins until other CPUs have answered";
const DEVICE: &str = "spins until a device has answered";
const YIELD: &str = "gives its turn away and comes back";
const SPIN: &str = "a spin loop";

const KERNEL: [(&str, &str); 8] = [
    (
        DELAY,
        "__const_udelay __delay __loop_const_udelay __loop_delay __loop_udelay __ndelay \
         __timer_const_udelay __timer_delay __timer_udelay __udelay acpi_os_stall delay_halt \
         delay_halt_mwaitx delay_halt_tpause delay_loop delay_tsc native_io_delay",
    ),
    (
        SPIN_LOCK,
        "__pv_queued_spin_lock_slowpath native_queued_spin_lock_slowpath osq_lock \
         queued_read_lock_slowpath queued_spin_lock_slowpath queued_write_lock_slowpath",
    ),
    (
        OWNER,
        "__mutex_spin_on_owner mutex_optimistic_spin mutex_spin_on_owner rtmutex_spin_on_owner \
         rwsem_optimistic_spin rwsem_spin_on_owner",
    ),
    (
        IDLE,
        "acpi_idle_do_entry arch_cpu_idle cpu_do_idle cpu_idle_poll default_idle intel_idle \
         mwait_idle native_safe_halt poll_idle pv_native_safe_halt",
    ),
    (UART, "io_serial_in mem32_serial_in mem_serial_in wait_for_lsr wait_for_xmitr"),
    (
        OTHER_CPU,
        "csd_lock_wait multi_cpu_stop smp_call_function_many_cond smp_call_function_single",
    ),
    (DEVICE, "virtnet_send_command virtnet_send_command_reply"),
    (YIELD, "__do_sys_sched_yield __x64_sys_sched_yield do_sched_yield"),
];

/// Functions of programs and libraries; a name with `::` matches the end of a longer one.
const USER: [(&str, &str); 3] = [
    (SPIN_LOCK, "__pthread_spin_lock pthread_spin_lock pthread_spin_lock@plt"),
    (YIELD, "__sched_yield runtime.osyield sched_yield thread::yield_now"),
    (
        SPIN,
        "_mm_pause backoff::Backoff::snooze backoff::Backoff::spin futex::Mutex::spin \
         futex::RwLock::spin_read futex::RwLock::spin_until futex::RwLock::spin_write \
         hint::spin_loop rte_delay_us_block rte_pause runtime.procyield \
         spinwait::SpinWait::spin spinwait::SpinWait::spin_no_yield",
    ),
];

/// Below this share of a profile no one asks whether it is waiting.
const WORTH_SAYING: f64 = 0.01;
/// Clients, and the subject's cost, must differ by so much before “it does not grow” means anything.
const CLIENTS_RATIO: f64 = 3.0;
const SUBJECT_RATIO: f64 = 1.5;
/// A change of this part of itself is none.
const SAME: f64 = 0.05;

/// Whether a function is known to wait.
pub(super) fn is_known(name: &str, kernel: bool) -> bool {
    reason(name, kernel).is_some()
}

/// Why a function counts as waiting, in a few words.
pub(super) fn reason(name: &str, kernel: bool) -> Option<&'static str> {
    let matches = |known: &str| if kernel { same(name, known) } else { ends(name, known) };
    let table = if kernel { KERNEL.as_slice() } else { USER.as_slice() };
    table.iter().find(|(_, names)| names.split(' ').any(matches)).map(|(why, _)| *why)
}

/// Equal but for what a compiler appends to a copy: `.part.0`, `.isra.0`, `.constprop.0`.
pub(super) fn same(name: &str, known: &str) -> bool {
    let rest = name.strip_prefix(known);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Equal, or the end of a path of names; `<a::B>::c` is `a::B::c`.
fn ends(name: &str, known: &str) -> bool {
    let Some((kept, _)) = known.split_once("::") else { return same(name, known) };
    if !name.contains(kept) {
        return false;
    }
    let plain: String = name.chars().filter(|letter| !matches!(letter, '<' | '>')).collect();
    let before = plain.strip_suffix(known);
    before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
}

/// Functions of a profile that are known to wait, most samples first.
pub(crate) fn named(functions: &Functions, profile: &Profile, costs: &Costs) -> Vec<Waiting> {
    let known = |function: &Function| {
        let reason = reason(&function.name, function.kernel)?;
        let waiting = waiting(function, functions, profile, costs);
        Some(Waiting { reason: reason.to_owned(), ..waiting }).filter(|one| one.samples > 0)
    };
    let mut found: Vec<_> = functions.all.iter().filter_map(known).collect();
    found.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.function.cmp(&b.function)));
    found
}

fn waiting(
    function: &Function,
    functions: &Functions,
    profile: &Profile,
    costs: &Costs,
) -> Waiting {
    let samples: u64 = function.own.iter().sum();
    Waiting {
        function: function.name.clone(),
        module: function.module.clone(),
        caller: functions.caller(function),
        why: WhyWaiting::Known,
        reason: String::new(),
        samples,
        share: samples as f64 / profile.samples.iter().sum::<u64>().max(1) as f64,
        cpu: costs.estimate(&function.own),
    }
}

/// Functions whose own cost is the same at the fewest and at the most clients while the subject's is not.
/// That may be waiting, or the fixed work of each poll: it grows with time, and not with clients.
pub(crate) fn constant(few: &Side, many: &Side) -> Vec<Waiting> {
    let subject = |side: &Side| Some(side.costs.estimate(&side.profile.samples)?.mean);
    let Some(subject) = subject(few).zip(subject(many)) else { return Vec::new() };
    let clients = f64::from(many.clients) >= CLIENTS_RATIO * f64::from(few.clients.max(1));
    if !clients || subject.0 <= 0.0 || subject.1 < SUBJECT_RATIO * subject.0 {
        return Vec::new();
    }
    let of = |function: &Function| {
        let same = |one: &&Function| one.name == function.name && one.module == function.module;
        let partner = few.functions.all.iter().find(same)?;
        let own = [few.costs.estimate(&partner.own)?, many.costs.estimate(&function.own)?];
        (!is_known(&function.name, function.kernel) && stands_still(own, subject)).then(|| {
            Waiting {
                why: WhyWaiting::Constant { from: few.clients, to: many.clients },
                reason: "costs the same for few clients and for many".to_owned(),
                ..waiting(function, many.functions, many.profile, many.costs)
            }
        })
    };
    many.functions.all.iter().filter_map(of).collect()
}

/// Whether a function's own cost allows no growth, and is worth a word at both counts.
fn stands_still(own: [Estimate; 2], subject: (f64, f64)) -> bool {
    let [few, many] = own;
    if few.mean < WORTH_SAYING * subject.0 || many.mean < WORTH_SAYING * subject.1 {
        return false;
    }
    let change = many.mean - few.mean;
    if change.abs() <= SAME * few.mean {
        return true;
    }
    let halves = few.interval.zip(many.interval).map(|(a, b)| a.half().hypot(b.half()));
    // Wide intervals would call everything the same: growth by half as much as the subject's must be
    // outside of them.
    let grown = few.mean * (subject.1 / subject.0 - 1.0) / 2.0;
    halves.is_some_and(|half| change.abs() <= half && change + half < grown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    #[test]
    fn delays_and_spin_loops_are_known_by_their_names() {
        for name in ["delay_tsc", "__const_udelay", "native_queued_spin_lock_slowpath", "poll_idle"]
        {
            assert!(is_known(name, true), "{name}");
        }
        for name in [
            "core::hint::spin_loop",
            "<crossbeam_utils::backoff::Backoff>::spin",
            "crossbeam_utils::backoff::Backoff::snooze",
            "std::thread::yield_now",
            "pthread_spin_lock",
        ] {
            assert!(is_known(name, false), "{name}");
        }
    }

    #[test]
    fn what_sleeps_or_only_sounds_alike_is_not_waiting() {
        for name in ["usleep_range", "msleep", "schedule", "delay_tsc_like", "_raw_spin_lock"] {
            assert!(!is_known(name, true), "{name}");
        }
        for name in ["nanosleep", "delay_tsc", "my_hint::spin_loops", "a_hint::spin_loop"] {
            assert!(!is_known(name, false), "{name}");
        }
    }

    #[test]
    fn a_copy_that_the_compiler_made_is_the_same_function() {
        assert!(is_known("cpu_idle_poll.isra.0", true) && is_known("delay_loop.constprop.0", true));
    }

    #[test]
    fn waiting_is_reported_with_its_caller_and_its_own_cost() {
        let profile =
            profile(&[("d;main;k:read;k:delay_tsc", &[2]), ("d;main;k:delay_tsc;k:irq", &[8])]);
        let functions = Functions::of(&profile);
        let found = named(&functions, &profile, &Costs::of(&[10], &[Some(100.0)]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].samples, found[0].share), (2, 0.2));
        assert_eq!(found[0].caller.as_deref(), Some("read"));
        assert_eq!((found[0].cpu.unwrap().mean, &*found[0].reason), (20.0, DELAY));
    }

    fn constant_of(
        few: &[(&str, &[u64])],
        many: &[(&str, &[u64])],
        clients: [u32; 2],
    ) -> Vec<String> {
        let profiles = [profile(few), profile(many)];
        let costs = profiles.each_ref().map(|profile| {
            let cpu: Vec<_> = profile.samples.iter().map(|all| Some(*all as f64)).collect();
            Costs::of(&profile.samples, &cpu)
        });
        let functions = profiles.each_ref().map(Functions::of);
        let side = |at: usize| Side {
            clients: clients[at],
            functions: &functions[at],
            profile: &profiles[at],
            costs: &costs[at],
            repetitions: &[],
        };
        constant(&side(0), &side(1)).into_iter().map(|one| one.function).collect()
    }

    #[test]
    fn what_stays_the_same_while_the_subject_grows_is_named() {
        let few: [(&str, &[u64]); 2] = [("d;work", &[100, 102]), ("d;beat", &[50, 51])];
        let many: [(&str, &[u64]); 2] = [("d;work", &[600, 604]), ("d;beat", &[51, 50])];
        assert_eq!(constant_of(&few, &many, [18, 114]), ["beat"]);
        assert!(constant_of(&few, &many, [60, 114]).is_empty(), "too few clients more");
        assert!(constant_of(&few, &few, [18, 114]).is_empty(), "the subject did not grow");
    }

    #[test]
    fn wide_intervals_do_not_make_growth_the_same() {
        let few: [(&str, &[u64]); 2] = [("d;work", &[100, 300]), ("d;beat", &[10, 90])];
        let many: [(&str, &[u64]); 2] = [("d;work", &[400, 900]), ("d;beat", &[20, 190])];
        assert!(constant_of(&few, &many, [18, 114]).is_empty());
    }
}
