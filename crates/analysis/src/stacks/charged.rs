//! CPU that a profile's process is charged with for the machine's work: what interrupted it, and memory that it had to
//! win back.
//!
//! A kernel without `CONFIG_IRQ_TIME_ACCOUNTING` charges an interrupt, and the softirqs that follow it, to whoever runs.
//! That is where most rare events of a comparison come from. A softirq that the process's own call let run
//! (`local_bh_enable`) is usually that call's doing, and is none of it. A profile whose samples come from a timer
//! interrupt sees no work that is done with interrupts off; it sees softirqs.
//!
//! # Sources
//!
//! Linux: `arch/x86/include/asm/idtentry.h`, `arch/arm64/kernel/entry-common.c`, `arch/arm/kernel/entry-armv.S`,
//! `kernel/softirq.c`, `mm/vmscan.c`, `mm/compaction.c`.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{
    profiles::{Charged, ChargedFor},
    stacks::{
        cost::Costs,
        profile::{Frame, Naming, Profile},
        waiting,
    },
};

/// How the ways into the kernel by an interrupt begin: the functions that the hardware jumps to.
const INTERRUPTS: &str = "__irq_svc __irq_usr asm_common_interrupt asm_sysvec_ common_interrupt \
    el0_interrupt el1_interrupt gic_handle_irq sysvec_";
const SOFTIRQS: &str = "__do_softirq handle_softirqs";
const ACTIONS: [(&str, ChargedFor); 12] = [
    ("net_rx_action", ChargedFor::NetworkReceive),
    ("net_tx_action", ChargedFor::NetworkTransmit),
    ("run_timer_softirq", ChargedFor::Timers),
    ("hrtimer_run_softirq", ChargedFor::Timers),
    ("tasklet_action", ChargedFor::Tasklets),
    ("tasklet_hi_action", ChargedFor::Tasklets),
    ("rcu_core", ChargedFor::Rcu),
    ("rcu_core_si", ChargedFor::Rcu),
    ("run_rebalance_domains", ChargedFor::Scheduler),
    ("sched_balance_softirq", ChargedFor::Scheduler),
    ("blk_done_softirq", ChargedFor::Block),
    ("irq_poll_softirq", ChargedFor::Block),
];
const RECLAIM: &str = "__alloc_pages_direct_compact try_to_compact_pages \
    try_to_free_mem_cgroup_pages try_to_free_pages";

/// What a kernel's function says of the stack that it is in.
#[derive(Clone, Copy)]
enum Sign {
    /// What is called from here on, an interrupt does.
    Interrupt,
    /// What is called from here on, softirqs do.
    Softirqs,
    Action(ChargedFor),
    Reclaim,
}

/// What the process was charged with for others, most samples first.
pub(crate) fn charged(profile: &Profile, costs: &Costs) -> Vec<Charged> {
    let signs: Vec<_> = profile.frames.iter().map(|frame| sign(profile, frame)).collect();
    let mut found: BTreeMap<ChargedFor, Vec<u64>> = BTreeMap::new();
    for stack in &profile.stacks {
        let signs = stack.frames.iter().filter_map(|frame| *signs.get(*frame as usize)?);
        let Some(what) = what(signs) else { continue };
        let samples = found.entry(what).or_insert_with(|| vec![0; profile.samples.len()]);
        samples.iter_mut().zip(&stack.samples).for_each(|(all, one)| *all += one);
    }
    let all: u64 = profile.samples.iter().sum();
    let of = |(what, samples): (ChargedFor, Vec<u64>)| {
        let sum: u64 = samples.iter().sum();
        let share = sum as f64 / all.max(1) as f64;
        Charged { what, samples: sum, share, cpu: costs.estimate(&samples) }
    };
    let mut found: Vec<_> = found.into_iter().map(of).collect();
    found.sort_by_key(|one| Reverse(one.samples));
    found
}

/// What a frame says; `None` for most, and for all that is not the kernel's.
fn sign(profile: &Profile, frame: &Frame) -> Option<Sign> {
    let module = profile.modules.get(frame.module as usize)?;
    if !module.kernel || frame.naming != Naming::Named {
        return None;
    }
    let is_any = |known: &str| known.split(' ').any(|known| waiting::same(&frame.name, known));
    let action = || ACTIONS.iter().find(|(name, _)| is_any(name));
    if INTERRUPTS.split(' ').any(|way| frame.name.starts_with(way)) {
        Some(Sign::Interrupt)
    } else if is_any(SOFTIRQS) {
        Some(Sign::Softirqs)
    } else if is_any(RECLAIM) {
        Some(Sign::Reclaim)
    } else {
        action().map(|(_, what)| Sign::Action(*what))
    }
}

/// Whose work a stack is, by its frames' signs, outermost first; `None` where it is the process's own.
fn what(signs: impl Iterator<Item = Sign> + Clone) -> Option<ChargedFor> {
    let mut below = signs.clone().skip_while(|sign| !matches!(sign, Sign::Interrupt));
    if below.next().is_none() {
        let mut own = signs;
        return own.any(|sign| matches!(sign, Sign::Reclaim)).then_some(ChargedFor::Reclaim);
    }
    let mut softirqs = below.skip_while(|sign| !matches!(sign, Sign::Softirqs));
    if softirqs.next().is_none() {
        return Some(ChargedFor::Interrupts);
    }
    let action = softirqs.find_map(|sign| match sign {
        Sign::Action(what) => Some(what),
        _ => None,
    });
    Some(action.unwrap_or(ChargedFor::Softirqs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    fn found(stacks: &[(&str, &[u64])]) -> Vec<(ChargedFor, u64)> {
        let profile = profile(stacks);
        let costs = Costs::of(&profile.samples, &[Some(100.0)]);
        charged(&profile, &costs).iter().map(|one| (one.what, one.samples)).collect()
    }

    #[test]
    fn what_an_interrupt_does_is_the_machines_and_named_by_its_softirq() {
        let entry = "d;main;k:asm_sysvec_apic_timer_interrupt;k:irq_exit_rcu;k:__do_softirq";
        let receive = format!("{entry};k:net_rx_action;k:process_backlog");
        let timers = format!("{entry};k:run_timer_softirq.part.0");
        let stacks: [(&str, &[u64]); 5] = [
            (&receive, &[5]),
            (&timers, &[3]),
            (entry, &[2]),
            ("d;main;k:asm_common_interrupt;k:handle_edge_irq", &[1]),
            ("d;main;k:do_syscall_64;k:try_to_free_pages;k:shrink_node", &[4]),
        ];
        let expected = [
            (ChargedFor::NetworkReceive, 5),
            (ChargedFor::Reclaim, 4),
            (ChargedFor::Timers, 3),
            (ChargedFor::Softirqs, 2),
            (ChargedFor::Interrupts, 1),
        ];
        assert_eq!(found(&stacks), expected);
    }

    #[test]
    fn what_the_process_calls_is_its_own_even_where_softirqs_follow() {
        let own: [(&str, &[u64]); 2] = [
            (
                "d;main;k:do_syscall_64;k:sock_sendmsg;k:do_softirq;k:__do_softirq;k:net_rx_action",
                &[9],
            ),
            ("d;asm_sysvec_apic_timer_interrupt;net_rx_action", &[1]),
        ];
        assert_eq!(found(&own), []);
    }

    #[test]
    fn it_costs_what_its_samples_cost() {
        let profile = profile(&[
            ("d;main", &[8]),
            ("d;main;k:el1_interrupt;k:handle_softirqs;k:net_rx_action", &[2]),
        ]);
        let found = charged(&profile, &Costs::of(&[10], &[Some(500.0)]));
        assert_eq!((found[0].share, found[0].cpu.unwrap().mean), (0.2, 100.0));
    }
}
