//! What was measured where: places, traffic, applications, controls, cells; and what identifies the run.
//!
//! Reads the run only; it judges nothing.

use analysis::{
    contention::{Cell, Contention, LeftOut},
    quantity::{ABSENT, count},
};
use model::{
    cell::Role,
    run::Run,
    traffic::{Application, Endpoints, Flow, Road, Traffic},
};

use super::controls;
use crate::{
    identity::{self, Fact, plain},
    page::{self, core, machine},
    table::Table,
};

/// The line under the title.
pub(super) fn status(contention: &Contention, run: &Run) -> Vec<String> {
    let shape = &run.study.trial;
    let blocks = contention.cells.iter().map(|cell| cell.blocks).max().unwrap_or(0);
    let mut status = vec![
        format!("{}", count(contention.counted, "valid trial")),
        format!("{blocks} of {} at most", count(shape.repetitions, "block")),
        format!("{} window", shape.window),
    ];
    status.extend(page::places(run).iter().map(|cell| format!("{}: {}", cell.place(), core(cell))));
    status
}

/// Where trials were made.
pub(super) fn places(run: &Run) -> Table {
    Table::of("Places", page::places(run))
        .head("place", "", |cell| cell.place().to_owned())
        .text("machine and time", "", |cell| machine(cell).to_owned())
        .text("the traffic crosses", "", |cell| {
            let road = match cell.road() {
                Road::Radio => "WAN namespace, veth, routing, wlan0, the air, a station",
                Road::Veth => "namespace, veth, a router’s namespace, veth, namespace; no radio",
            };
            road.to_owned()
        })
        .table()
}

/// Every traffic of the study.
pub(super) fn traffics(run: &Run) -> Table {
    Table::of("Traffic", &run.study.traffics)
        .head("traffic", "", |named| named.name.clone())
        .text("what it is", "", |named| traffic(named))
        .table()
}

fn traffic(traffic: &Traffic) -> String {
    let mut words = vec![match traffic.flow {
        Flow::Udp => format!("UDP, {} bytes", traffic.bytes),
        Flow::Tcp(streams) => format!("TCP, {}", count(streams, "stream")),
    }];
    words.push(match (traffic.rate, traffic.paced) {
        (_, Some(share)) => format!("paced at {share} of what it reaches alone at full rate"),
        (Some(rate), None) => format!("paced at {} Mb/s", rate as f64 / 1e6),
        (None, None) => "as fast as it goes".to_owned(),
    });
    words.push(match traffic.endpoints {
        Endpoints::RealTime => "endpoints at SCHED_RR".to_owned(),
        Endpoints::Normal => "endpoints as any process, so they may starve".to_owned(),
    });
    words.extend(traffic.nat.then(|| "addresses translated".to_owned()));
    words.extend(traffic.threaded.then(|| "receive work in threads (threaded NAPI)".to_owned()));
    words.extend(traffic.no_offload.then(|| "one packet per buffer".to_owned()));
    words.extend(
        traffic.link_limit.map(|limit| format!("the link carries {} Mb/s", limit as f64 / 1e6)),
    );
    words.extend(traffic.bursts.map(|(on, off)| format!("on for {on}, off for {off}")));
    words.push(format!("{} round trips probed a second", traffic.probes));
    words.join("; ")
}

/// Every application of the study.
pub(super) fn applications(run: &Run) -> Table {
    Table::of("Applications", &run.study.applications)
        .head("application", "", |named| named.name.clone())
        .text("what it is", "", |named| application(named))
        .table()
}

fn application(application: &Application) -> String {
    let words = std::iter::once(&application.stressor).chain(&application.words);
    let command = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let workers = count(application.workers, "worker");
    let swap = application.swap.as_ref().map_or(String::new(), |(other, span)| {
        let other = if other.is_empty() { "a pause" } else { other };
        format!("; every {span} in turn with {other}")
    });
    format!("stress-ng {command}, {workers} for each CPU{swap}")
}

/// Every control of the study.
pub(super) fn controls(run: &Run) -> Table {
    Table::of("Controls", &run.study.variants)
        .head("control", "", |named| named.name.to_string())
        .text("what it does", "", |named| controls::explained(&named.control))
        .text("candidate for best fixed", "", |named| {
            let fixed = if named.candidate { "yes" } else { "no" };
            fixed.to_owned()
        })
        .table()
}

/// Every cell, and how much of it counts.
pub(super) fn cells(contention: &Contention) -> Table {
    Table::of("Cells", &contention.cells)
        .head("cell", "", |cell| cell.name.clone())
        .text("what for", "", |cell| {
            let role = match cell.role {
                Role::Harm => "candidate for harm",
                Role::Paced => "paced below capacity",
                Role::Changing => "load that comes and goes",
                Role::NoHarm => "negative control",
            };
            role.to_owned()
        })
        .number("controls", "tried", |cell| cell.arms.len().to_string())
        .number("blocks", "that count", |cell| cell.blocks.to_string())
        .table()
}

/// Cells without a figure, each with the reason: the run does not have them, or their trials do not count.
pub(super) fn unmeasured(contention: &Contention, run: &Run) -> Vec<String> {
    let shapes = run.study.cells();
    let empty = contention.cells.iter().filter(|cell| cell.blocks == 0);
    let why = |cell: &Cell| {
        let first = contention.left_out.iter().find(|trial| trial.cell == cell.name);
        let shape = shapes.get(cell.number as usize);
        let is_planned =
            run.plan.iter().any(|planned| shape.is_some_and(|shape| planned.id.cell == shape.name));
        match first {
            Some(trial) => {
                format!("{}: none of its trials counts; the first: {}", cell.name, trial.why)
            }
            None if is_planned => format!("{}: not tried yet", cell.name),
            None => format!("{}: left out of this run by its options", cell.name),
        }
    };
    empty.map(why).collect()
}

/// Trials that do not count: the same reason in one cell is one row.
pub(super) fn left_out(contention: &Contention) -> Table {
    // By cell, control and reason, the first one first.
    let mut groups: Vec<Vec<&LeftOut>> = Vec::new();
    for trial in &contention.left_out {
        let is_alike = |group: &&mut Vec<&LeftOut>| {
            let first = group[0];
            (&first.cell, &first.arm, &first.why) == (&trial.cell, &trial.arm, &trial.why)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    Table::of("Trials that do not count", groups)
        .head("cell", "", |group| group[0].cell.clone())
        .text("control", "", |group| group[0].arm.clone())
        .text("blocks", "from 0", |group| {
            group.iter().map(|trial| trial.block.to_string()).collect::<Vec<_>>().join(", ")
        })
        .number("trials", "", |group| group.len().to_string())
        .text("why", "", |group| group[0].why.clone())
        .table()
}

pub(super) fn facts(run: &Run) -> Vec<Fact> {
    let shape = &run.study.trial;
    vec![
        plain("Began", identity::utc(run.began_unix)),
        plain("Host", run.host.to_string()),
        Fact {
            name: "Image, SHA-256",
            value: run.lab.image().map_or_else(
                || format!("{ABSENT} the virtual access point was not used"),
                str::to_owned,
            ),
            code: run.lab.image().is_some(),
        },
        plain("headroom", format!("{} (format {})", run.headroom, run.format)),
        plain(
            "Trial",
            format!(
                "{} warm-up, {} window, seconds counted one by one",
                shape.warm_up, shape.window
            ),
        ),
        plain(
            "Blocks",
            format!(
                "{}; each has every control once in an order drawn from seed {}, and traffic alone first and last",
                shape.repetitions, shape.seed
            ),
        ),
        plain(
            "Idle gate",
            format!(
                "a trial in real time begins after a second in which the machine was idle for {}",
                shape.idle_gate.map_or("94%".to_owned(), |gate| gate.to_string())
            ),
        ),
    ]
}
