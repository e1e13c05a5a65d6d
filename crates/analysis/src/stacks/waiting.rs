//! CPU that is spent waiting: known delays and spin loops.
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
    profiles::Waiting,
    stacks::{
        cost::Costs,
        functions::{Function, Functions},
        profile::Profile,
    },
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

/// Why a function counts as waiting, in a few words.
pub(super) fn reason(name: &str, kernel: bool) -> Option<&'static str> {
    let matches = |known: &str| if kernel { same(name, known) } else { ends(name, known) };
    let table = if kernel { KERNEL.as_slice() } else { USER.as_slice() };
    table.iter().find(|(_, names)| names.split(' ').any(matches)).map(|(why, _)| *why)
}

/// Equal but for what a compiler appends to a copy: `.part.0`, `.isra.0`, `.constprop.0`.
fn same(name: &str, known: &str) -> bool {
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
    let known = |(place, function): (usize, &Function)| {
        let samples: u64 = function.own.iter().sum();
        let reason = reason(&function.name, function.kernel).filter(|_| samples > 0)?;
        Some(Waiting {
            function: function.name.clone(),
            module: function.module.clone(),
            caller: functions.caller(profile, place).map(str::to_owned),
            reason: reason.to_owned(),
            samples,
            share: samples as f64 / profile.samples.iter().sum::<u64>().max(1) as f64,
            cpu: costs.estimate(&function.own),
        })
    };
    let mut found: Vec<_> = functions.all.iter().enumerate().filter_map(known).collect();
    found.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.function.cmp(&b.function)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    #[test]
    fn delays_and_spin_loops_are_known_and_what_sleeps_or_only_sounds_alike_is_not() {
        let kernel = "delay_tsc __const_udelay native_queued_spin_lock_slowpath poll_idle cpu_idle_poll.isra.0 \
            delay_loop.constprop.0";
        let user = "core::hint::spin_loop <crossbeam_utils::backoff::Backoff>::spin \
            crossbeam_utils::backoff::Backoff::snooze std::thread::yield_now pthread_spin_lock";
        let others = "usleep_range msleep schedule delay_tsc_like _raw_spin_lock";
        let other_users = "nanosleep delay_tsc my_hint::spin_loops a_hint::spin_loop";
        let cases = [(kernel, true, true), (user, false, true), (others, true, false)];
        for (names, kernel, known) in cases.into_iter().chain([(other_users, false, false)]) {
            for name in names.split_whitespace() {
                assert_eq!(reason(name, kernel).is_some(), known, "{name}");
            }
        }
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
}
