//! The rules of traffic, applications and controls that their types cannot say. Pure.

use model::{
    span::Span,
    traffic::{Application, Control, Flow, Traffic},
};
use toml::de::DeTable;

use super::{Checked, lines::ensure};

/// The smallest and the largest payload of a datagram that crosses the road in one packet, bytes: iperf3's own
/// header, and an Ethernet packet without those of IPv4 and UDP.
const PAYLOADS: std::ops::RangeInclusive<u32> = 16..=1472;

/// iperf3 opens no more streams (its `MAX_STREAMS`).
const MOST_STREAMS: u32 = 128;

/// Shares of a control group: 2 and 262144 are the kernel's `MIN_SHARES` and `MAX_SHARES`.
const WEIGHTS: std::ops::RangeInclusive<u32> = 2..=262_144;

/// Applications with more workers for each CPU measure the scheduler and nothing else.
const MOST_WORKERS: u32 = 64;

/// Round trips in a second beyond which the probes are traffic themselves.
const MOST_PROBES: u32 = 1000;

pub(super) fn traffic(traffic: &Traffic, window: Span) -> Checked {
    let Traffic { rate, paced, link_limit, bytes, probes, .. } = *traffic;
    ensure!(
        rate.is_none() || paced.is_none(),
        "paced",
        "`rate` and `paced` both say how fast; leave one out"
    );
    for (key, is_said) in [("rate", rate.is_some()), ("paced", paced.is_some())] {
        ensure!(
            !is_said || traffic.flow == Flow::Udp,
            key,
            "TCP finds its own rate; a rate is for flow = \"udp\""
        );
    }
    for (key, limit) in [("rate", rate), ("link-limit", link_limit)] {
        ensure!(
            limit != Some(0),
            key,
            "0 bits in a second is no traffic; leave it out for no limit"
        );
    }
    if let Some(paced) = paced {
        ensure!(
            (0.01..=1.0).contains(&paced.get()),
            "paced",
            "{paced} of the rate alone; write 1% to 100%"
        );
    }
    let (least, most) = (PAYLOADS.start(), PAYLOADS.end());
    ensure!(
        PAYLOADS.contains(&bytes),
        "bytes",
        "{bytes} bytes; a datagram in one packet has {least} to {most}"
    );
    if let Flow::Tcp(streams) = traffic.flow {
        ensure!(
            (1..=MOST_STREAMS).contains(&streams),
            "flow",
            "{streams} streams; iperf3 has 1 to {MOST_STREAMS}"
        );
    }
    ensure!(probes <= MOST_PROBES, "probes", "{probes} probes in a second; at most {MOST_PROBES}");
    let Some((on, off)) = traffic.bursts else { return Ok(()) };
    let has_both = on.as_nanos() > 0 && off.as_nanos() > 0;
    ensure!(has_both, "bursts", "a burst and a pause are longer than 0s");
    // A window that ends in the middle of a burst would lose what a control only made later.
    let round = Span::from_nanos(on.as_nanos().saturating_add(off.as_nanos()));
    ensure!(
        window.as_nanos().is_multiple_of(round.as_nanos()),
        "bursts",
        "a window of {window} is not a whole number of rounds of {round}"
    );
    Ok(())
}

pub(super) fn application(application: &Application) -> Checked {
    let Application { workers, words, swap, .. } = application;
    stressor("stressor", &application.stressor)?;
    ensure!(
        (1..=MOST_WORKERS).contains(workers),
        "workers",
        "{workers} workers for each CPU; write 1 to {MOST_WORKERS}"
    );
    let ours = ["--timeout", "-t", "--metrics", "--metrics-brief"];
    for word in words {
        let is_ours = ours.contains(&word.as_str());
        ensure!(!is_ours, "words", "`{word}` is said by headroom itself; leave it out");
    }
    if let Some((word, every)) = swap {
        ensure!(every.as_nanos() > 0, "swap", "each takes its turn for longer than 0s");
        if !word.is_empty() {
            stressor("swap", word)?;
        }
    }
    Ok(())
}

fn stressor(key: &str, word: &str) -> Checked {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let name = word.strip_prefix("--").unwrap_or_default();
    ensure!(
        !name.is_empty() && name.chars().all(plain),
        key,
        "`{word}` is not a stressor; write stress-ng's word, as --stream"
    );
    Ok(())
}

pub(super) fn control(control: &Control) -> Result<(), String> {
    match control {
        Control::None => Ok(()),
        Control::Together(parts) => together(parts),
        alone => control_alone(alone),
    }
}

/// Several at once: each kind once, and none that is more than a setting or a rule.
fn together(parts: &[Control]) -> Result<(), String> {
    let is_more =
        |part: &Control| matches!(part, Control::None | Control::Guard(_) | Control::Together(_));
    let is_quota = |part: &&Control| matches!(part, Control::Quota(_) | Control::Headroom(_));
    let kinds: Vec<_> = parts.iter().map(std::mem::discriminant).collect();
    let why = if parts.len() < 2 {
        "`together` has at least two controls; write one alone without it"
    } else if parts.iter().any(is_more) {
        "`together` is of settings and rules; guard and no control stand alone"
    } else if (1..kinds.len()).any(|at| kinds[..at].contains(&kinds[at])) {
        "`together` has one kind of control twice; keep one of them"
    } else if parts.iter().filter(is_quota).count() > 1 {
        "`quota` and `headroom` set the same figure; keep one of them"
    } else {
        return parts.iter().try_for_each(control_alone);
    };
    Err(why.to_owned())
}

fn control_alone(control: &Control) -> Result<(), String> {
    Err(match control {
        Control::Weight(weight) if !WEIGHTS.contains(weight) => {
            format!("a weight of {weight}; the kernel has 2 to 262144, 1024 is the default")
        }
        Control::Quota(share) if !(0.001..=1.0).contains(&share.get()) => {
            format!("a quota of {share}; write 0.1% to 100% of all CPUs")
        }
        Control::Headroom(share) if !(0.0..1.0).contains(&share.get()) => {
            format!("headroom of {share}; write less than 100%")
        }
        Control::PacketNice(nice) if !(-20..=19).contains(nice) => {
            format!("a nice value of {nice}; the kernel has -20 to 19, 0 is the default")
        }
        Control::FreezeAbove(0) => {
            "frozen above 0 packets a second is frozen always; write at least 1".to_owned()
        }
        Control::Guard(policy) => match DeTable::parse(policy) {
            Ok(_) => return Ok(()),
            Err(error) => {
                format!("the policy is no TOML: {}", error.message().replace('\n', "; "))
            }
        },
        _ => return Ok(()),
    })
}
